"""The device command `dumpsys`: the topics that clients read, in the lines that they parse.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from grid.lab.android import AndroidSystem, short_component
from grid.lab.shell_call import Call, DeviceCommand
from grid.lab.shell_package import apk_path

_DISPLAY_ID: Final = "4619827259835644672"


async def run_dumpsys(call: Call) -> int:
    """`dumpsys TOPIC [ARG...]`."""
    words = [word for word in call.args if word not in ("-t", "-a")]
    if call.args[:1] == ("-l",) or not words:
        call.out("Currently running services:\n" + "".join(f"  {name}\n" for name in _TOPICS))
        return 0
    topic = _TOPICS.get(words[0])
    if topic is None:
        call.err(f"Can't find service: {words[0]}\n")
        return 0
    call.out(topic(call.system, tuple(words[1:])))
    return 0


def _window(system: AndroidSystem, args: tuple[str, ...]) -> str:
    del args  # All parts are small enough to come at once.
    focused, focused_class = system.focused_component()
    package, activity = system.resumed_component()
    locked = str(system.phone.locked).lower()
    focus = "NotificationShade" if system.phone.locked else f"{focused}/{focused_class}"
    width, height = system.size_px
    return (
        "WINDOW MANAGER WINDOWS (dumpsys window windows)\n"
        f"  Window #0 Window{{a1b2c3 u0 {focus}}}:\n"
        "    mDisplayId=0 rootTaskId=14 mSession=Session{d4e5f6 900:u0a10}\n"
        f"  mCurrentFocus=Window{{a1b2c3 u0 {focus}}}\n"
        f"  mFocusedApp=ActivityRecord{{b2c3d4 u0 {short_component(package, activity)} t14}}\n"
        f"  mDreamingLockscreen={locked}\n"
        f"  init={width}x{height} {system.density}dpi cur={width}x{height}\n"
        f"  isStatusBarKeyguard={locked} mShowingLockscreen={locked}\n"
        "  mCurrentRotation=ROTATION_0 mRotation=0\n"
    )


def _activity(system: AndroidSystem, args: tuple[str, ...]) -> str:
    package, activity = system.resumed_component()
    name = short_component(package, activity)
    if args[:1] == ("top",):
        pid = system.phone.pid_of(package) or 900
        return f"TASK {package} id=14\n  ACTIVITY {name} b2c3d4 pid={pid}\n"
    return (
        "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)\n"
        "Display #0 (activities from top to bottom):\n"
        f"  topResumedActivity=ActivityRecord{{b2c3d4 u0 {name} t14}}\n"
        f"    mResumedActivity: ActivityRecord{{b2c3d4 u0 {name} t14}}\n"
    )


def _input_method(system: AndroidSystem, args: tuple[str, ...]) -> str:
    del args
    shown = str(system.phone.keyboard_shown).lower()
    ime = system.settings.get(("secure", "default_input_method"), "")
    return (
        f"Current Input Method Manager state:\n  mCurMethodId={ime}\n"
        f"  mInputShown={shown} mIsInputViewShown={shown}\n"
    )


def _battery(system: AndroidSystem, args: tuple[str, ...]) -> str:
    del system, args
    return (
        "Current Battery Service state:\n  AC powered: false\n  USB powered: true\n"
        "  Wireless powered: false\n  status: 2\n  health: 2\n  present: true\n  level: 100\n"
        "  scale: 100\n  voltage: 4300\n  temperature: 250\n  technology: Li-ion\n"
    )


def _display(system: AndroidSystem, args: tuple[str, ...]) -> str:
    del args
    width, height = system.size_px
    return (
        "DISPLAY MANAGER (dumpsys display)\n"
        f"  mViewports=[DisplayViewport{{type=INTERNAL, valid=true, displayId=0, "
        f"uniqueId='local:{_DISPLAY_ID}', orientation=0, "
        f"logicalFrame=Rect(0, 0 - {width}, {height}), "
        f"deviceWidth={width}, deviceHeight={height}}}]\n"
    )


def _power(system: AndroidSystem, args: tuple[str, ...]) -> str:
    del args
    state = "Asleep" if system.phone.locked else "Awake"
    on = "OFF" if system.phone.locked else "ON"
    return (
        f"POWER MANAGER (dumpsys power)\n  mWakefulness={state}\n"
        f"  mHoldingDisplaySuspendBlocker={str(not system.phone.locked).lower()}\n"
        f"Display Power: state={on}\n"
    )


def _package(system: AndroidSystem, args: tuple[str, ...]) -> str:
    app = system.find_app(args[-1]) if args else None
    if app is None:
        return f"Unable to find package: {args[-1] if args else ''}\n"
    when = f"{datetime.fromtimestamp(system.phone.booted_at, UTC):%Y-%m-%d %H:%M:%S}"
    return (
        f"Activity Resolver Table:\n  Non-Data Actions:\n      android.intent.action.MAIN:\n"
        f"        c3d4e5 {short_component(app.id, app.activity)} filter d4e5f6\n"
        f"Packages:\n  Package [{app.id}] (e5f6a7):\n    userId=10120\n"
        f"    codePath={apk_path(app)}\n"
        f"    versionCode={app.version_code} minSdk=26 targetSdk=34\n"
        f"    versionName={app.version_name}\n    pkgFlags=[ HAS_CODE ALLOW_CLEAR_USER_DATA ]\n"
        f"    firstInstallTime={when}\n    lastUpdateTime={when}\n"
        "    signatures=PackageSignatures{f6a7b8 version:2, signatures:[1a2b3c4d], past:[]}\n"
        "    runtime permissions:\n"
        "      android.permission.POST_NOTIFICATIONS: granted=false\n"
    )


def _surface_flinger(system: AndroidSystem, args: tuple[str, ...]) -> str:
    del system, args
    return f'Display {_DISPLAY_ID} (HWC display 0): port=0 pnpId=LAB displayName="Lab"\n'


_TOPICS: Final[Mapping[str, Callable[[AndroidSystem, tuple[str, ...]], str]]] = {
    "SurfaceFlinger": _surface_flinger,
    "activity": _activity,
    "battery": _battery,
    "display": _display,
    "input_method": _input_method,
    "package": _package,
    "power": _power,
    "window": _window,
}

DUMPSYS_COMMANDS: Final[Mapping[str, DeviceCommand]] = {"dumpsys": run_dumpsys}
