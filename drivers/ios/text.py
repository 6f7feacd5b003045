"""Typing: into whatever has the focus, and into a field that is emptied and read again.

WDA drops characters when it types fast and after a redraw, so a fill is read back and made once
more when it differs. A secure field shows bullets, so only their number is compared. No text
that was to be typed stands in an error when it is secret.

May be imported by: drivers.ios. Imports: runner.{errors,model}, drivers.ios.{answer,source,wda},
trio.
"""

from typing import Final

import trio
from msgspec import Struct

from drivers.ios.answer import WdaRefusedError
from drivers.ios.source import PREFIX, usable_rect
from drivers.ios.wda import Wda
from runner.errors import DeviceError
from runner.model.action import FillText, TypeText

FREQUENCY: Final = 60
"""Characters a second. Above it, characters get lost."""

_CHUNK: Final = 300
_FOCUS_WAIT_S: Final = 3.0
_FOCUS_POLL_S: Final = 0.1
_ATTEMPTS: Final = 2


class _Shown(Struct, frozen=True):
    """What stands in a field."""

    text: str
    is_secure: bool


async def type_text(wda: Wda, action: TypeText) -> None:
    """Type into the focused field. Reasons: `text_input_not_focused` (product)."""
    await require_focus(wda)
    await send_keys(wda, action.text, delay_ms=action.delay_ms)


async def press_enter(wda: Wda) -> None:
    """Press the return key. Reasons: `text_input_not_focused` (product)."""
    await require_focus(wda)
    await send_keys(wda, "\n", delay_ms=0)


async def require_focus(wda: Wda) -> str:
    """Return the focused element. Reasons: `text_input_not_focused` (product)."""
    element = await wda.find_active()
    if element is None:
        raise _not_focused("no element has the keyboard's focus")
    return element


async def send_keys(wda: Wda, text: str, *, delay_ms: int) -> None:
    """Send keys to the focused field; each call is short enough for its deadline."""
    size = 1 if delay_ms > 0 else _CHUNK
    for start in range(0, len(text), size):
        if start > 0 and delay_ms > 0:
            await trio.sleep(delay_ms / 1000)
        keys = list(text[start : start + size])
        await wda.post("/wda/keys", {"value": keys, "frequency": FREQUENCY})


async def fill_text(wda: Wda, action: FillText) -> None:
    """Tap the field, empty it, type, and read it again.

    Reasons: `text_input_not_focused`, `text_not_accepted` (product).
    """
    before = await wda.find_active()
    await wda.post("/wda/tap", {"x": action.x, "y": action.y})
    await _wait_focus(wda, action, before)
    body = action.text.rstrip("\n")
    shown = _Shown("", is_secure=False)
    for attempt in range(_ATTEMPTS):
        try:
            shown = await _fill_once(wda, body, delay_ms=action.delay_ms)
        except WdaRefusedError as refusal:
            # The field was drawn anew under its id. Emptying comes first, so once more is safe.
            if refusal.error != "stale element reference" or attempt + 1 == _ATTEMPTS:
                raise
            continue
        if _is_accepted(shown, body):
            await send_keys(wda, action.text[len(body) :], delay_ms=action.delay_ms)
            return
    raise _not_accepted(shown, body, is_secret=action.secret)


async def _wait_focus(wda: Wda, action: FillText, before: str | None) -> None:
    """Wait until the tapped field has the focus: it is at the point, or it is newly focused.

    The second is for a form that moves its field out of the keyboard's way.
    """
    give_up = trio.current_time() + _FOCUS_WAIT_S
    element = await wda.find_active()
    while element is None or (element == before and not await _is_at(wda, element, action)):
        if trio.current_time() >= give_up:
            break
        await trio.sleep(_FOCUS_POLL_S)
        element = await wda.find_active()
    else:
        return
    raise _not_focused(
        "no element took the keyboard's focus after the tap"
        if element is None
        else "another element kept the keyboard's focus after the tap",
        {"x": action.x, "y": action.y},
    )


async def _is_at(wda: Wda, element: str, action: FillText) -> bool:
    try:
        rect = usable_rect(await wda.element_rect(element))
    except WdaRefusedError as refusal:
        if refusal.error == "stale element reference":
            return False  # It is being redrawn; the caller looks again.
        raise
    return (
        rect is not None
        and rect.x <= action.x <= rect.x + rect.width
        and rect.y <= action.y <= rect.y + rect.height
    )


async def _fill_once(wda: Wda, text: str, *, delay_ms: int) -> _Shown:
    element = await require_focus(wda)
    await wda.clear_element(element)
    if delay_ms > 0:
        await send_keys(wda, text, delay_ms=delay_ms)
    else:
        for start in range(0, len(text), _CHUNK):
            await wda.type_into(element, text[start : start + _CHUNK], frequency=FREQUENCY)
    return await _read_field(wda, element)


async def _read_field(wda: Wda, element: str) -> _Shown:
    is_secure = await wda.element_type(element) == f"{PREFIX}SecureTextField"
    value = await wda.element_text(element, "value")
    if value and value == await wda.element_text(element, "placeholderValue"):
        value = ""  # An empty field shows its placeholder as its value.
    return _Shown(value, is_secure)


def _is_accepted(shown: _Shown, text: str) -> bool:
    if shown.is_secure:
        return len(shown.text) == len(text)
    return shown.text == text


def _not_accepted(shown: _Shown, text: str, *, is_secret: bool) -> DeviceError:
    sizes = {"expectedLength": len(text), "shownLength": len(shown.text)}
    if is_secret or shown.is_secure:
        seen = f"{len(shown.text)} characters instead of {len(text)}"
        details: dict[str, object] = dict(sizes)
    else:
        seen = f"{shown.text[:100]!r} instead of {text[:100]!r}"
        details = {**sizes, "expected": text[:2000], "shown": shown.text[:2000]}
    return DeviceError(
        kind="product",
        reason="text_not_accepted",
        message=f"after typing twice the field shows {seen}",
        details=details,
    )


def _not_focused(why: str, details: dict[str, object] | None = None) -> DeviceError:
    return DeviceError(
        kind="product", reason="text_input_not_focused", message=why, details=details
    )
