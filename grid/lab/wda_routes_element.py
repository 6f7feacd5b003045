"""WebDriverAgent's routes about elements and text: finding, reading, tapping, typing.

May be imported by: grid.lab. Imports: grid.lab.
"""

from typing import Any, Final

from grid.lab.wda_call import Route, WdaCall
from grid.lab.wda_error import NO_KEYBOARD, WdaError
from grid.lab.wda_query import find_elements
from grid.lab.wda_routes_gesture import reveal
from grid.lab.wda_source import XcuiElement, attribute_of, rect_of

MAX_TEXT: Final = 10_000


async def _search(call: WdaCall) -> tuple[XcuiElement, ...]:
    using, value = call.text("using"), call.text("value")
    await call.process.wait_idle()
    scope = call.element() if "e" in call.path else call.process.application()
    return find_elements(scope, using, value)


async def find_one(call: WdaCall) -> Any:
    """POST /element: the first that fits."""
    found = await _search(call)
    if not found:
        raise WdaError(
            "no such element",
            f"unable to find an element using '{call.text('using')}', value '{call.text('value')}'",
        )
    return call.reference(found[0])


async def find_all(call: WdaCall) -> Any:
    """POST /elements: all that fit, none being an empty list."""
    return [call.reference(element) for element in await _search(call)]


async def read_focus(call: WdaCall) -> Any:
    """GET /element/active: the field that the keyboard types into."""
    for element in call.process.application().walk():
        if element.has_keyboard_focus:
            return call.reference(element)
    raise WdaError("no such element", "no element has the keyboard focus")


async def read_text(call: WdaCall) -> Any:
    """GET /element/:e/text: the value, or else the label."""
    element = call.element()
    return element.value or element.label


async def read_name(call: WdaCall) -> Any:
    """GET /element/:e/name: the type."""
    return call.element().type


async def read_rect(call: WdaCall) -> Any:
    """GET /element/:e/rect, in points."""
    return rect_of(call.element())


async def read_enabled(call: WdaCall) -> Any:
    """GET /element/:e/enabled."""
    return call.element().enabled


async def read_displayed(call: WdaCall) -> Any:
    """GET /element/:e/displayed."""
    return call.element().visible


async def read_selected(call: WdaCall) -> Any:
    """GET /element/:e/selected."""
    return call.element().selected


async def read_accessible(call: WdaCall) -> Any:
    """GET /wda/element/:e/accessible."""
    return call.element().accessible


async def read_container(call: WdaCall) -> Any:
    """GET /wda/element/:e/accessibilityContainer."""
    return attribute_of(call.element(), "accessibilityContainer")


async def read_attribute(call: WdaCall) -> Any:
    """GET /element/:e/attribute/:n: truth values come as text."""
    value = attribute_of(call.element(), call.path["n"])
    return str(value).lower() if isinstance(value, bool) else value


async def click(call: WdaCall) -> Any:
    """POST /element/:e/click: scrolled into view when needed, then tapped in its middle."""
    element = await _tappable(call)
    call.phone.tap(*element.rect.center)


async def _tappable(call: WdaCall) -> XcuiElement:
    await call.process.wait_idle()
    element = await reveal(call, call.element())
    alert = call.phone.alert()
    if alert is not None and not _is_in_alert(call, element):
        raise WdaError(
            "unexpected alert open",
            f"Failed to tap {element.name!r}: an alert is open: {alert.title or alert.text}",
        )
    if not element.visible:
        raise WdaError("element not visible", f"The element {element.name!r} is not visible")
    return element


def _is_in_alert(call: WdaCall, element: XcuiElement) -> bool:
    for candidate in call.process.application().walk():
        if candidate.kind == "Alert":
            return any(below.ref == element.ref for below in candidate.walk())
    return False


async def clear(call: WdaCall) -> Any:
    """POST /element/:e/clear."""
    element = call.element()
    if not element.content:
        return
    await _focus(call, element)
    call.phone.clear_focused()


async def write_value(call: WdaCall) -> Any:
    """POST /element/:e/value: focus the element and append the text."""
    text = _text_of(call)
    await _focus(call, call.element())
    call.type_text(text)


async def _focus(call: WdaCall, element: XcuiElement) -> None:
    if not element.has_keyboard_focus:
        element = await _tappable(call)
        call.phone.tap(*element.rect.center)
        await call.process.wait_idle()
        element = call.element()
    if not element.has_keyboard_focus or not call.phone.keyboard_shown:
        raise WdaError("invalid element state", NO_KEYBOARD)


async def write_keys(call: WdaCall) -> Any:
    """POST /wda/keys: type into what has the keyboard."""
    text = _text_of(call)
    await call.process.wait_idle()
    if not call.phone.keyboard_shown:
        raise WdaError("invalid element state", NO_KEYBOARD)
    call.type_text(text)


def _text_of(call: WdaCall) -> str:
    value = call.arguments.get("value", call.arguments.get("text"))
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "".join(value)
    if not isinstance(value, str):
        raise WdaError(
            "invalid argument", "Neither 'value' nor 'text' is a string or a list of strings"
        )
    if len(value) > MAX_TEXT:
        raise WdaError("invalid argument", f"more than {MAX_TEXT} characters to type")
    return value


async def dismiss_keyboard(call: WdaCall) -> Any:
    """POST /wda/keyboard/dismiss: on a phone, by tapping one of `keyNames`."""
    names = call.arguments.get("keyNames") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise WdaError("invalid argument", "'keyNames' argument must be a list of strings")
    if not call.phone.keyboard_shown:
        return
    for element in call.process.application().walk():
        if element.kind == "Keyboard":
            key = next((k for k in element.walk() if {k.identifier, k.label} & set(names)), None)
            if key is not None:
                call.phone.tap(*key.rect.center)
    if call.phone.keyboard_shown:
        raise WdaError(
            "invalid element state",
            "Did not know how to dismiss the keyboard. Try to dismiss it in the way supported by "
            "your application under test.",
        )


ROUTES: Final[tuple[Route, ...]] = (
    Route(method="POST", path="/element", handler=find_one),
    Route(method="POST", path="/elements", handler=find_all),
    Route(method="POST", path="/element/:e/element", handler=find_one),
    Route(method="POST", path="/element/:e/elements", handler=find_all),
    Route(method="GET", path="/element/active", handler=read_focus),
    Route(method="GET", path="/element/:e/text", handler=read_text),
    Route(method="GET", path="/element/:e/name", handler=read_name),
    Route(method="GET", path="/element/:e/rect", handler=read_rect),
    Route(method="GET", path="/element/:e/enabled", handler=read_enabled),
    Route(method="GET", path="/element/:e/displayed", handler=read_displayed),
    Route(method="GET", path="/element/:e/selected", handler=read_selected),
    Route(method="GET", path="/element/:e/attribute/:n", handler=read_attribute),
    Route(method="GET", path="/wda/element/:e/accessible", handler=read_accessible),
    Route(method="GET", path="/wda/element/:e/accessibilityContainer", handler=read_container),
    Route(method="POST", path="/element/:e/click", handler=click),
    Route(method="POST", path="/element/:e/clear", handler=clear),
    Route(method="POST", path="/element/:e/value", handler=write_value),
    Route(method="POST", path="/wda/element/:e/keyboardInput", handler=write_value),
    Route(method="POST", path="/wda/keys", handler=write_keys),
    Route(method="POST", path="/wda/keyboard/dismiss", handler=dismiss_keyboard),
)
