"""WebDriverAgent's routes about the device: screen, source, buttons, lock, pasteboard, alerts.

May be imported by: grid.lab. Imports: grid.lab, Pillow.
"""

import base64
import binascii
import io
import uuid
from typing import Any, Final

import trio
from PIL import Image

from grid.lab.node import SimAlert
from grid.lab.wda_call import Route, WdaCall
from grid.lab.wda_error import NO_ALERT, WdaError
from grid.lab.wda_source import json_source, text_source, xml_source

_STATUS_BAR_HEIGHT: Final = 54
_ORIENTATIONS: Final = frozenset(
    {
        "PORTRAIT",
        "LANDSCAPE",
        "UIA_DEVICE_ORIENTATION_LANDSCAPERIGHT",
        "UIA_DEVICE_ORIENTATION_PORTRAIT_UPSIDEDOWN",
    }
)
_HID_HOME: Final = 0x40
_HID_POWER: Final = 0x30


async def read_source(call: WdaCall) -> Any:
    """GET /source in one of three formats."""
    kind = call.query.get("format", "xml")
    excluded = frozenset(call.query.get("excluded_attributes", "").split(",")) - {""}
    await call.process.wait_idle()
    root = call.process.application()
    if kind == "xml":
        return xml_source(root, excluded)
    if kind == "json":
        return json_source(root, excluded)
    if kind == "description":
        return text_source(root)
    raise WdaError(
        "invalid argument",
        f"Unknown source format {kind!r}. Only xml, json and description source formats are "
        "supported",
    )


async def take_screenshot(call: WdaCall) -> Any:
    """GET /screenshot: base64 of a PNG in pixels."""
    return base64.b64encode(call.phone.screenshot_png()).decode("ascii")


async def take_element_screenshot(call: WdaCall) -> Any:
    """GET /element/:e/screenshot: the element's part of it."""
    rect, scale = call.element().rect, call.phone.scale
    image = Image.open(io.BytesIO(call.phone.screenshot_png()))
    left, top = max(0, round(rect.x * scale)), max(0, round(rect.y * scale))
    right = min(image.width, round((rect.x + rect.width) * scale))
    bottom = min(image.height, round((rect.y + rect.height) * scale))
    if left >= right or top >= bottom:
        raise WdaError("unable to capture screen", "the element has no part on the screen")
    output = io.BytesIO()
    image.crop((left, top, right, bottom)).save(output, format="PNG")
    return base64.b64encode(output.getvalue()).decode("ascii")


async def read_window_size(call: WdaCall) -> Any:
    """GET /window/size, in points."""
    return {"width": round(call.phone.width), "height": round(call.phone.height)}


async def read_window_rect(call: WdaCall) -> Any:
    """GET /window/rect, in points."""
    return {"x": 0, "y": 0, **await read_window_size(call)}


async def read_screen(call: WdaCall) -> Any:
    """GET /wda/screen: `scale` is pixels per point."""
    return {
        "screenSize": await read_window_size(call),
        "statusBarSize": {"width": round(call.phone.width), "height": _STATUS_BAR_HEIGHT},
        "scale": call.phone.scale,
        "displayId": 1,
    }


async def read_orientation(call: WdaCall) -> Any:
    """GET /orientation."""
    del call
    return "PORTRAIT"


async def write_orientation(call: WdaCall) -> Any:
    """POST /orientation: the lab's apps support portrait alone."""
    wanted = call.text("orientation")
    if wanted not in _ORIENTATIONS:
        raise WdaError("invalid argument", f"no orientation {wanted!r}")
    if wanted != "PORTRAIT":
        raise WdaError("invalid element state", "Unable To Rotate Device")


async def read_rotation(call: WdaCall) -> Any:
    """GET /rotation."""
    del call
    return {"x": 0, "y": 0, "z": 0}


async def show_home(call: WdaCall) -> Any:
    """POST /wda/homescreen."""
    call.phone.key("home")


async def lock(call: WdaCall) -> Any:
    """POST /wda/lock."""
    call.phone.locked = True


async def unlock(call: WdaCall) -> Any:
    """POST /wda/unlock."""
    call.phone.locked = False


async def read_locked(call: WdaCall) -> Any:
    """GET /wda/locked."""
    return call.phone.locked


async def press_button(call: WdaCall) -> Any:
    """POST /wda/pressButton."""
    name = call.text("name")
    await trio.sleep(call.seconds("duration", 0))
    if name.lower() == "home":
        call.phone.key("home")
    elif name.lower() not in {"volumeup", "volumedown"}:
        raise WdaError("invalid argument", f"The button {name!r} is unknown or not on this device")


async def perform_hid(call: WdaCall) -> Any:
    """POST /wda/performIoHidEvent: the usages of home and power."""
    call.number("page")
    usage = call.number("usage")
    await trio.sleep(call.seconds("duration", 0))
    if usage == _HID_HOME:
        call.phone.key("home")
    elif usage == _HID_POWER:
        call.phone.key("power")


async def write_pasteboard(call: WdaCall) -> Any:
    """POST /wda/setPasteboard: base64 text."""
    try:
        text = base64.b64decode(call.text("content"), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise WdaError("invalid argument", "Cannot decode the pasteboard content") from error
    if call.text("contentType", "plaintext") != "plaintext":
        raise WdaError("unsupported operation", "the lab's pasteboard holds plain text alone")
    call.phone.set_clipboard(text)


async def read_pasteboard(call: WdaCall) -> Any:
    """POST /wda/getPasteboard: base64 text."""
    return base64.b64encode(call.phone.clipboard.encode()).decode("ascii")


async def read_battery(call: WdaCall) -> Any:
    """GET /wda/batteryInfo: full and charging."""
    del call
    return {"level": 1, "state": 2}


async def read_device(call: WdaCall) -> Any:
    """GET /wda/device/info."""
    return {
        "name": call.phone.model,
        "model": "iPhone",
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, call.phone.serial)).upper(),
        "currentLocale": "en_US",
        "timeZone": "UTC",
        "userInterfaceIdiom": 0,
        "userInterfaceStyle": "light",
        "isSimulator": False,
    }


async def leave_app(call: WdaCall) -> Any:
    """POST /wda/deactivateApp: to the home screen and back."""
    seconds = call.seconds("duration", 3)
    front = call.phone.foreground
    call.phone.key("home")
    await trio.sleep(seconds)
    call.phone.launch(front)


def _alert(call: WdaCall) -> SimAlert:
    alert = call.phone.alert()
    if alert is None:
        raise WdaError("no such alert", NO_ALERT)
    return alert


def _buttons(alert: SimAlert) -> list[str]:
    """The buttons in reading order: iOS puts the one that changes nothing first."""
    return [alert.dismiss, *(label for label in alert.buttons if label != alert.dismiss)]


async def read_alert_text(call: WdaCall) -> Any:
    """GET /alert/text: title and message."""
    alert = _alert(call)
    return "\n".join(part for part in (alert.title, alert.text) if part)


async def read_alert_buttons(call: WdaCall) -> Any:
    """GET /wda/alert/buttons."""
    return _buttons(_alert(call))


async def write_alert_text(call: WdaCall) -> Any:
    """POST /alert/text: no alert of the lab has a field."""
    _alert(call)
    raise WdaError("unsupported operation", "The alert contains no input fields")


async def accept_alert(call: WdaCall) -> Any:
    """POST /alert/accept: the last button, or the named one."""
    await _press(call, _buttons(_alert(call))[-1])


async def dismiss_alert(call: WdaCall) -> Any:
    """POST /alert/dismiss: the first button, or the named one."""
    await _press(call, _buttons(_alert(call))[0])


async def _press(call: WdaCall, default: str) -> None:
    label = call.text("name", default)
    if not call.phone.press_alert(label):
        raise WdaError(
            "invalid element state", f"Failed to find button with label '{label}' for alert"
        )


ROUTES: Final[tuple[Route, ...]] = (
    Route(method="GET", path="/source", handler=read_source, scope="either"),
    Route(
        method="GET", path="/screenshot", handler=take_screenshot, scope="either", off_queue=True
    ),
    Route(method="GET", path="/element/:e/screenshot", handler=take_element_screenshot),
    Route(method="GET", path="/screenshot/:e", handler=take_element_screenshot),
    Route(method="GET", path="/window/size", handler=read_window_size, scope="either"),
    Route(method="GET", path="/window/rect", handler=read_window_rect, scope="either"),
    Route(method="GET", path="/wda/screen", handler=read_screen, scope="either"),
    Route(method="GET", path="/orientation", handler=read_orientation, scope="either"),
    Route(method="POST", path="/orientation", handler=write_orientation, scope="either"),
    Route(method="GET", path="/rotation", handler=read_rotation, scope="either"),
    Route(method="POST", path="/wda/homescreen", handler=show_home, scope="either"),
    Route(method="POST", path="/wda/lock", handler=lock, scope="either"),
    Route(method="POST", path="/wda/unlock", handler=unlock, scope="either"),
    Route(method="GET", path="/wda/locked", handler=read_locked, scope="either"),
    Route(method="POST", path="/wda/pressButton", handler=press_button, scope="either"),
    Route(method="POST", path="/wda/performIoHidEvent", handler=perform_hid, scope="either"),
    Route(method="POST", path="/wda/setPasteboard", handler=write_pasteboard, scope="either"),
    Route(method="POST", path="/wda/getPasteboard", handler=read_pasteboard, scope="either"),
    Route(method="GET", path="/wda/batteryInfo", handler=read_battery, scope="either"),
    Route(method="GET", path="/wda/device/info", handler=read_device, scope="either"),
    Route(method="POST", path="/wda/deactivateApp", handler=leave_app),
    Route(method="GET", path="/alert/text", handler=read_alert_text, scope="either"),
    Route(method="POST", path="/alert/text", handler=write_alert_text, scope="either"),
    Route(method="POST", path="/alert/accept", handler=accept_alert, scope="either"),
    Route(method="POST", path="/alert/dismiss", handler=dismiss_alert, scope="either"),
    Route(method="GET", path="/wda/alert/buttons", handler=read_alert_buttons, scope="either"),
)
