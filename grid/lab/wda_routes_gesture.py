"""WebDriverAgent's routes for fingers: taps, holds, drags, swipes, scrolling, W3C actions.

Durations that a client asks for pass on the clock, as on a phone; nothing else takes time here.

May be imported by: grid.lab. Imports: grid.lab, runner.model.
"""

from typing import Any, Final, assert_never

import trio

from grid.lab.wda_actions import MultiTouch, Pause, Stroke, Touch, Typed, read_actions
from grid.lab.wda_call import Route, WdaCall
from grid.lab.wda_error import NO_KEYBOARD, WdaError
from grid.lab.wda_query import find_elements
from grid.lab.wda_source import XcuiElement
from runner.model.screen import Rect

HOLD_MS: Final = 500.0
_DRAG_SPEED: Final = 800.0
"""Points per second of a drag whose speed nobody gave."""
_SWIPE_SPEED: Final = 1_000.0
_MAX_REVEALS: Final = 40
_DIRECTIONS: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def _point(call: WdaCall) -> tuple[float, float]:
    """Return the point of a gesture: absolute, or an offset into the element of the path."""
    if "e" not in call.path:
        return call.number("x"), call.number("y")
    rect = call.element().rect
    if "x" in call.arguments or "y" in call.arguments:
        return rect.x + call.number("x"), rect.y + call.number("y")
    return rect.center


async def tap(call: WdaCall) -> Any:
    """POST /wda/tap and /wda/element/:e/tap."""
    await call.process.wait_idle()
    call.phone.tap(*_point(call))


async def double_tap(call: WdaCall) -> Any:
    """POST /wda/doubleTap."""
    await call.process.wait_idle()
    x, y = _point(call)
    call.phone.tap(x, y)
    call.phone.tap(x, y)


async def hold(call: WdaCall) -> Any:
    """POST /wda/touchAndHold."""
    await call.process.wait_idle()
    x, y = _point(call)
    seconds = call.seconds("duration")
    await trio.sleep(seconds)
    call.phone.long_press(x, y, round(seconds * 1000))


async def drag(call: WdaCall) -> Any:
    """POST /wda/dragfromtoforduration: press for `duration`, then move; it ends at rest."""
    await call.process.wait_idle()
    x1, y1 = call.number("fromX"), call.number("fromY")
    x2, y2 = call.number("toX"), call.number("toY")
    await trio.sleep(call.seconds("duration"))
    length = max(abs(x2 - x1), abs(y2 - y1))
    call.phone.swipe(x1, y1, x2, y2, length / _DRAG_SPEED * 1000, hold=True)


async def swipe(call: WdaCall) -> Any:
    """POST /wda/swipe: a fling over the screen or the element."""
    await call.process.wait_idle()
    name = call.text("direction")
    if name not in _DIRECTIONS:
        raise WdaError("invalid argument", f"Unsupported swipe direction {name!r}")
    speed = call.number("velocity", _SWIPE_SPEED)
    if speed <= 0:
        raise WdaError("invalid argument", "'velocity' argument must be positive")
    rect = call.element().rect if "e" in call.path else call.process.application().rect
    _stroke(call, rect, name, 0.5, speed=speed, rests=False)


def _stroke(
    call: WdaCall, rect: Rect, direction: str, distance: float, *, speed: float, rests: bool
) -> None:
    """Move a finger in `direction` over a share of the rectangle, around its middle."""
    x, y = rect.center
    across, down = _DIRECTIONS[direction]
    half_x, half_y = across * rect.width * distance / 2, down * rect.height * distance / 2
    ms = 2 * max(abs(half_x), abs(half_y)) / speed * 1000
    call.phone.swipe(x - half_x, y - half_y, x + half_x, y + half_y, ms, hold=rests)


async def scroll(call: WdaCall) -> Any:
    """POST /wda/element/:e/scroll: into view, to a child, or in a direction."""
    await call.process.wait_idle()
    element = call.element()
    if call.arguments.get("toVisible"):
        await reveal(call, element)
    elif "name" in call.arguments:
        await _reveal_first(call, element, "name", call.text("name"))
    elif "predicateString" in call.arguments:
        await _reveal_first(call, element, "predicate string", call.text("predicateString"))
    elif "direction" in call.arguments:
        name = call.text("direction")
        if name not in _DIRECTIONS:
            raise WdaError("invalid argument", f"Unsupported scroll direction {name!r}")
        distance = call.number("distance", 1.0)
        opposite = {"up": "down", "down": "up", "left": "right", "right": "left"}[name]
        # To see what lies below, the finger moves up.
        for _ in range(max(1, round(abs(distance)))):
            share = min(0.9, abs(distance))
            _stroke(call, element.rect, opposite, share, speed=_DRAG_SPEED, rests=True)
    else:
        raise WdaError("invalid argument", "Unsupported scroll type")


async def _reveal_first(call: WdaCall, scope: XcuiElement, using: str, value: str) -> None:
    found = find_elements(scope, using, value)
    if not found:
        raise WdaError("no such element", f"no child to scroll to by {using} {value!r}")
    await reveal(call, found[0])


async def scroll_to(call: WdaCall) -> Any:
    """POST /wda/element/:e/scrollTo: into view."""
    await call.process.wait_idle()
    await reveal(call, call.element())


async def reveal(call: WdaCall, element: XcuiElement) -> XcuiElement:
    """Scroll the list around an element until its middle is in view; return it as it then is."""
    for _ in range(_MAX_REVEALS):
        root = call.process.application()
        shown = next((n for n in root.walk() if n.ref == element.ref), None)
        if shown is None:
            return element
        box = _list_around(root, shown)
        if shown.visible or box is None:
            return shown
        below = shown.rect.y >= box.rect.y + box.rect.height / 2
        _stroke(call, box.rect, "up" if below else "down", 0.3, speed=_DRAG_SPEED, rests=True)
        await trio.lowlevel.checkpoint()
    return element


def _list_around(root: XcuiElement, element: XcuiElement) -> XcuiElement | None:
    found = None
    for candidate in root.walk():
        if candidate.kind == "CollectionView" and any(
            below.ref == element.ref for below in candidate.walk()
        ):
            found = candidate
    return found


async def perform_actions(call: WdaCall) -> Any:
    """POST /actions: W3C pointer and key sequences."""
    await call.process.wait_idle()

    def center(element_id: str) -> tuple[float, float]:
        return call.session.recall(element_id, call.process.application()).rect.center

    for gesture in read_actions(call.arguments, center):
        match gesture:
            case Touch(x=x, y=y, ms=ms):
                await trio.sleep(ms / 1000)
                if ms >= HOLD_MS:
                    call.phone.long_press(x, y, ms)
                else:
                    call.phone.tap(x, y)
            case Stroke():
                await trio.sleep((gesture.press_ms + gesture.ms) / 1000)
                call.phone.swipe(
                    gesture.x1,
                    gesture.y1,
                    gesture.x2,
                    gesture.y2,
                    gesture.ms,
                    hold=gesture.rests,
                )
            case Pause(ms=ms) | MultiTouch(ms=ms):
                await trio.sleep(ms / 1000)
            case Typed(text=text):
                if not call.phone.keyboard_shown:
                    raise WdaError("invalid element state", NO_KEYBOARD)
                call.type_text(text)
            case _:
                assert_never(gesture)


async def spread(call: WdaCall) -> Any:
    """POST /wda/pinch, /wda/rotate, /wda/twoFingerTap: no lab app reacts to two fingers."""
    if "e" in call.path:
        call.element()
    await call.process.wait_idle()


ROUTES: Final[tuple[Route, ...]] = (
    Route(method="POST", path="/wda/tap", handler=tap),
    Route(method="POST", path="/wda/element/:e/tap", handler=tap),
    Route(method="POST", path="/wda/doubleTap", handler=double_tap),
    Route(method="POST", path="/wda/element/:e/doubleTap", handler=double_tap),
    Route(method="POST", path="/wda/touchAndHold", handler=hold),
    Route(method="POST", path="/wda/element/:e/touchAndHold", handler=hold),
    Route(method="POST", path="/wda/dragfromtoforduration", handler=drag),
    Route(method="POST", path="/wda/swipe", handler=swipe),
    Route(method="POST", path="/wda/element/:e/swipe", handler=swipe),
    Route(method="POST", path="/wda/element/:e/scroll", handler=scroll),
    Route(method="POST", path="/wda/element/:e/scrollTo", handler=scroll_to),
    Route(method="POST", path="/wda/pinch", handler=spread),
    Route(method="POST", path="/wda/element/:e/pinch", handler=spread),
    Route(method="POST", path="/wda/element/:e/rotate", handler=spread),
    Route(method="POST", path="/wda/element/:e/twoFingerTap", handler=spread),
    Route(method="POST", path="/actions", handler=perform_actions),
)
