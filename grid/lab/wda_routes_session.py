"""WebDriverAgent's routes about itself, its session, its settings and the apps.

May be imported by: grid.lab. Imports: grid.lab.
"""

from typing import Any, Final

from grid.lab.wda_call import Route, WdaCall
from grid.lab.wda_error import WdaError
from grid.lab.wda_session import DEFAULT_SETTINGS

VERSION: Final = "16.12.7"
_RUNNER: Final = "com.facebook.WebDriverAgentRunner"
_FIRST_SYSTEM_PID: Final = 50


async def read_status(call: WdaCall) -> Any:
    """GET /status: the process is up, which says nothing of the main queue."""
    phone = call.phone
    return {
        "ready": True,
        "message": "WebDriverAgent is ready to accept commands",
        "state": "success",
        "os": {"name": "iOS", "version": phone.os_version, "sdkVersion": phone.os_version},
        "ios": {"ip": "127.0.0.1"},
        "build": {
            "time": "Jan  1 2026 00:00:00",
            "productBundleIdentifier": _RUNNER,
            "version": VERSION,
        },
        "device": "iphone",
    }


async def create_session(call: WdaCall) -> Any:
    """POST /session: end the active session, start the app if one is asked for."""
    wanted = call.arguments.get("capabilities")
    if not isinstance(wanted, dict):
        raise WdaError("session not created", "'capabilities' is mandatory to create a new session")
    always, first = wanted.get("alwaysMatch") or {}, wanted.get("firstMatch") or [{}]
    if (
        not isinstance(always, dict)
        or not isinstance(first, list)
        or not first
        or not isinstance(first[0], dict)
    ):
        raise WdaError("session not created", "alwaysMatch must be an object, firstMatch a list")
    capabilities = {**first[0], **always}
    bundle = capabilities.get("bundleId") or ""
    if not isinstance(bundle, str):
        raise WdaError("session not created", "'bundleId' must be a string")
    for key in ("waitForIdleTimeout", "defaultAlertAction"):
        if key in capabilities:
            _check_setting(key, capabilities[key])
    session = call.process.make_session(bundle=bundle, capabilities=capabilities)
    if bundle:
        relaunch = capabilities.get("forceAppLaunch", True) is not False
        if call.phone.locked or not call.phone.launch(bundle, relaunch=relaunch):
            call.process.session = None
            raise WdaError(
                "session not created",
                f"Cannot launch {bundle} application. Make sure the correct bundle identifier has "
                "been provided in capabilities and check the device log for possible crash report "
                "occurrences",
            )
        await call.process.wait_idle()
    return {"sessionId": session.id, "capabilities": _capabilities(call)}


async def read_session(call: WdaCall) -> Any:
    """GET /session/:s."""
    return {"sessionId": call.session.id, "capabilities": _capabilities(call)}


async def delete_session(call: WdaCall) -> Any:
    """DELETE /session/:s: also the way out of a hang, since queued requests end at once."""
    call.process.end_session()


def _capabilities(call: WdaCall) -> dict[str, Any]:
    names = {spec.id: spec.name for spec in call.phone.installed}
    bundle = call.session.bundle or call.phone.foreground
    return {
        "device": "iphone",
        "browserName": names.get(bundle, " "),
        "sdkVersion": call.phone.os_version,
        "CFBundleIdentifier": bundle,
    }


async def read_settings(call: WdaCall) -> Any:
    """GET /appium/settings."""
    return call.session.settings


async def write_settings(call: WdaCall) -> Any:
    """POST /appium/settings: unknown names are ignored."""
    wanted = call.arguments.get("settings")
    if not isinstance(wanted, dict):
        raise WdaError("invalid argument", "'settings' argument must be an object")
    known = {key: value for key, value in wanted.items() if key in DEFAULT_SETTINGS}
    for key, value in known.items():
        _check_setting(key, value)
    call.session.settings.update(known)
    return call.session.settings


def _check_setting(key: str, value: object) -> None:
    default = DEFAULT_SETTINGS[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        isinstance(value, bool) or (is_number and value in {0, 1})
        if isinstance(default, bool)
        else is_number
        if isinstance(default, int)
        else isinstance(value, str)
    )
    if not fits:
        raise WdaError("invalid argument", f"the setting {key!r} cannot be {value!r}")


async def read_health(call: WdaCall) -> Any:
    """GET /health."""
    del call
    return "I-AM-ALIVE"


async def launch_app(call: WdaCall) -> Any:
    """POST /wda/apps/launch: a running app is only brought to the front."""
    bundle = call.text("bundleId")
    _launch(call, bundle)
    if call.session.bundle == bundle:
        call.session.expects_app = True
    await call.process.wait_idle()


def _launch(call: WdaCall, bundle: str) -> None:
    if call.phone.locked:
        raise WdaError(
            "unknown error",
            f"Unable to launch {bundle} because the device was not, or could not be, unlocked",
        )
    if not call.phone.launch(bundle):
        raise WdaError("unknown error", f"Application '{bundle}' is unknown to FrontBoard")


async def terminate_app(call: WdaCall) -> Any:
    """POST /wda/apps/terminate: whether it was running."""
    bundle = call.text("bundleId")
    if call.session.bundle == bundle:
        call.session.expects_app = False
    return call.phone.terminate(bundle)


async def read_app_state(call: WdaCall) -> Any:
    """POST /wda/apps/state."""
    return call.phone.app_state(call.text("bundleId"))


async def list_apps(call: WdaCall) -> Any:
    """GET /wda/apps/list: what is active."""
    front = call.phone.foreground
    return [{"pid": _pid(call, front), "bundleId": front}]


async def read_active_app(call: WdaCall) -> Any:
    """GET /wda/activeAppInfo."""
    application = call.process.application()
    return {
        "pid": _pid(call, application.bundle),
        "bundleId": application.bundle,
        "name": application.label,
        "processArguments": {"env": {}, "args": []},
    }


def _pid(call: WdaCall, bundle: str) -> int:
    return call.phone.pid_of(bundle) or _FIRST_SYSTEM_PID + len(bundle)


async def open_url(call: WdaCall) -> Any:
    """POST /url: a deep link, in the app that `bundleId` names or that takes it."""
    url, bundle = call.text("url"), call.text("bundleId", "")
    if call.phone.locked or not call.phone.open_url(url, bundle or None):
        raise WdaError("unknown error", f"Cannot open the url {url!r}: no app takes it")
    await call.process.wait_idle()


ROUTES: Final[tuple[Route, ...]] = (
    Route(method="GET", path="/status", handler=read_status, scope="outside", off_queue=True),
    Route(method="POST", path="/session", handler=create_session, scope="outside"),
    Route(method="GET", path="/health", handler=read_health, scope="outside"),
    Route(method="GET", path="/wda/healthcheck", handler=read_health, scope="either"),
    Route(method="GET", path="/", handler=read_session),
    Route(method="DELETE", path="/", handler=delete_session, off_queue=True),
    Route(method="GET", path="/appium/settings", handler=read_settings),
    Route(method="POST", path="/appium/settings", handler=write_settings),
    Route(method="POST", path="/wda/apps/launch", handler=launch_app),
    Route(method="POST", path="/wda/apps/activate", handler=launch_app),
    Route(method="POST", path="/wda/apps/terminate", handler=terminate_app),
    Route(method="POST", path="/wda/apps/state", handler=read_app_state),
    Route(method="GET", path="/wda/apps/list", handler=list_apps),
    Route(method="GET", path="/wda/activeAppInfo", handler=read_active_app, scope="either"),
    Route(method="POST", path="/url", handler=open_url),
)
