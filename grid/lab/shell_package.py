"""Device commands about installed packages, and `cmd`, which reaches the system's services.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections.abc import Mapping
from typing import Final

from grid.lab.android import short_component
from grid.lab.appfile import AppSpec
from grid.lab.shell_app import run_am
from grid.lab.shell_call import Call, DeviceCommand
from grid.lab.shell_input import run_input
from grid.lab.shell_screen import run_wm

_SERVICE_MISSING: Final = 20
_FEATURES: Final = ("android.hardware.touchscreen", "android.hardware.wifi")


async def run_pm(call: Call) -> int:
    """`pm list|path|clear|grant|revoke|resolve-activity|has-feature ...`."""
    match call.args:
        case ("list", "packages" | "package", *words):
            return _list_packages(call, words)
        case ("list", "features"):
            call.out("".join(f"feature:{name}\n" for name in _FEATURES))
            return 0
        case ("list", "users"):
            call.out("Users:\n\tUserInfo{0:Owner:c13} running\n")
            return 0
        case ("has-feature", name, *_):
            call.out("true\n" if name in _FEATURES else "false\n")
            return 0 if name in _FEATURES else 1
        case ("path", *words) if words:
            app = call.system.find_app(words[-1])
            if app is None:
                return 1
            call.out(f"package:{apk_path(app)}\n")
            return 0
        case ("clear", *words) if words:
            is_done = call.phone.clear(words[-1])
            call.out("Success\n" if is_done else "Failed\n")
            return 0 if is_done else 1
        case ("grant" | "revoke" as verb, *words) if len(words) >= 2:
            return _change_permission(call, verb, words)
        case ("resolve-activity", *words):
            return _resolve_activity(call, words)
        case (verb, *_):
            call.err(f"Unknown command: {verb}\n")
            return 255
        case _:
            call.err("Package manager (package) commands:\n  help\n")
            return 255


def apk_path(app: AppSpec) -> str:
    """Return where an app's package file would lie."""
    return f"/data/app/{app.id}-1/base.apk"


def _list_packages(call: Call, words: list[str]) -> int:
    filters = [word for word in words if not word.startswith("-")]
    user_app = call.phone.installed[0].id
    for app in call.phone.installed:
        if ("-3" in words and app.id != user_app) or ("-s" in words and app.id == user_app):
            continue
        if filters and filters[0] not in app.id:
            continue
        prefix = f"{apk_path(app)}=" if "-f" in words else ""
        version = f" versionCode:{app.version_code}" if "--show-versioncode" in words else ""
        call.out(f"package:{prefix}{app.id}{version}\n")
    return 0


def _change_permission(call: Call, verb: str, words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    if call.system.find_app(names[0] if names else "") is None:
        call.err(
            f"\nException occurred while executing '{verb}':\n"
            f"java.lang.IllegalArgumentException: Unknown package: {names[:1]}\n"
        )
        return 255
    return 0


def _resolve_activity(call: Call, words: list[str]) -> int:
    app = call.system.find_app(words[-1]) if words else None
    if app is None:
        call.out("No activity found\n")
        return 0
    call.out("priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true\n")
    name = short_component(app.id, app.activity)
    call.out(f"{name}\n" if "--brief" in words else f"ActivityInfo:\n  name={name}\n")
    return 0


async def run_cmd(call: Call) -> int:
    """`cmd SERVICE ...`."""
    match call.args:
        case ("-l",):
            call.out("Currently running services:\n  activity\n  clipboard\n  input\n  package\n")
            return 0
        case ("package", *words):
            return await run_pm(_behind(call, words))
        case ("activity", *words):
            return await run_am(_behind(call, words))
        case ("window", *words):
            return await run_wm(_behind(call, words))
        case ("input", *words):
            return await run_input(_behind(call, words))
        case ("clipboard", *words):
            return _use_clipboard(call, words)
        case ("statusbar", *_):
            return 0
        case (service, *_):
            call.err(f"cmd: Can't find service: {service}\n")
            return _SERVICE_MISSING
        case _:
            call.err("cmd: No service specified; use -l to list all services\n")
            return _SERVICE_MISSING


def _use_clipboard(call: Call, words: list[str]) -> int:
    match words:
        case ["get" | "get-text"] | ["get", "text"]:
            call.out(f"{call.phone.clipboard}\n")
        case ["set" | "set-text", text] | ["set", "text", text]:
            call.phone.set_clipboard(text)
        case _:
            call.err("Unknown command of the clipboard service\n")
            return 255
    return 0


def _behind(call: Call, words: list[str]) -> Call:
    return call.with_args(call.args[0], tuple(words))


PACKAGE_COMMANDS: Final[Mapping[str, DeviceCommand]] = {"pm": run_pm, "cmd": run_cmd}
