"""Entering text: type, fill, the keyboard.

Nothing is taken on trust: typing needs a focused field, and a filled field is read again. A
secure field shows one sign for each character, so its length is compared. Text that was lost on
the way is typed once more, since keyboards do lose it.

May be imported by: drivers.android. Imports: drivers.android, runner.model, runner.errors.
"""

import shlex
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from drivers.android.app import read_screen_facts
from drivers.android.keystroke import (
    KEY_DELETE,
    KEY_MOVE_END,
    KEY_PASTE,
    Key,
    Paste,
    Write,
    keys_command,
    not_typeable,
    plan_typing,
    shows,
    write_command,
)
from drivers.android.line import Line
from runner.errors import DeviceError
from runner.model.action import FillText, TypeText
from runner.model.screen import Node, Snapshot

KEY_ESCAPE: Final = 111

_HIDE_TRIES: Final = 2
_HIDE_LIMIT_S: Final = 1.0
_POLL_S: Final = 0.1
_DELETES_PER_CALL: Final = 100
_EDITABLE: Final = ("EditText", "AutoCompleteTextView", "SearchAutoComplete")

Look = Callable[[], Awaitable[Snapshot]]
"""Captures the screen."""


async def type_text(line: Line, action: TypeText, look: Look) -> None:
    """Type into the focused field.

    Reasons: `text_input_not_focused`, `text_not_typeable`, those of `Line.expect` and of a
    capture.
    """
    facts = await read_screen_facts(line)
    # A shown keyboard means a focused field, and spares the slow look at the tree.
    if not facts.keyboard_shown and find_focused(await look()) is None:
        raise _not_focused("type")
    await _enter(line, action.text, delay_ms=action.delay_ms)


async def fill_text(line: Line, action: FillText, look: Look) -> None:
    """Tap the field, clear it, type, and verify. Reasons: as `type_text`, `text_not_accepted`."""
    await line.expect(f"input tap {round(action.x)} {round(action.y)}")
    field = find_field(await look(), action.x, action.y)
    if field is None:
        raise _not_focused("fill")
    for _ in range(2):
        await _clear(line, len(field.value))
        await _enter(line, action.text, delay_ms=action.delay_ms)
        seen = find_field(await look(), action.x, action.y)
        if seen is not None and is_filled(seen, action.text):
            return
        field = seen or field
    raise _not_accepted(field, action)


def _not_accepted(field: Node, action: FillText) -> DeviceError:
    details: dict[str, object] = {
        "field": field.identifier or field.type,
        "expectedLength": len(action.text),
        "shownLength": len(field.value),
    }
    if action.secret or field.secure:
        seen = f"{len(field.value)} characters instead of {len(action.text)}"
    else:
        seen = f"{field.value[:100]!r} instead of {action.text[:100]!r}"
        details |= {"expected": action.text[:2000], "shown": field.value[:2000]}
    return DeviceError(
        kind="product",
        reason="text_not_accepted",
        message=f"after typing twice the field shows {seen}",
        details=details,
    )


async def hide_keyboard(line: Line) -> None:
    """Press escape until no keyboard is shown; never the back key, which may leave the app.

    Reasons: `keyboard_not_hidden`, and those of `Line.expect`.
    """
    for _ in range(_HIDE_TRIES):
        if not (await read_screen_facts(line)).keyboard_shown:
            return
        await line.expect(keys_command(KEY_ESCAPE))
        limit = trio.current_time() + _HIDE_LIMIT_S
        while (await read_screen_facts(line)).keyboard_shown:
            if trio.current_time() >= limit:
                break
            await trio.sleep(_POLL_S)
        else:
            return
    raise DeviceError(
        kind="product",
        reason="keyboard_not_hidden",
        message=f"the keyboard is still shown after {_HIDE_TRIES} escape keys",
    )


def find_focused(snapshot: Snapshot) -> Node | None:
    """Return the text field that has the focus."""
    for node in snapshot.nodes:
        if node.focused and node.type.endswith(_EDITABLE):
            return node
    return None


def find_field(snapshot: Snapshot, x: float, y: float) -> Node | None:
    """Return the field that a tap on the point gave the focus, else the smallest one there.

    The focus goes first: a keyboard that came up may have moved the field away from the point.
    """
    focused = find_focused(snapshot)
    if focused is not None:
        return focused
    there = [
        node for node in snapshot.nodes if node.type.endswith(_EDITABLE) and _holds(node, x, y)
    ]
    return min(there, key=lambda node: node.rect.area if node.rect else 0.0, default=None)


def is_filled(field: Node, text: str) -> bool:
    """Tell whether the field shows that it took `text`."""
    # An empty field shows its hint in the place of its text.
    value = "" if field.value == field.placeholder else field.value
    if field.secure:
        return len(value) == len(text)
    return shows(value, text)


def _not_focused(command: str) -> DeviceError:
    return DeviceError(
        kind="product",
        reason="text_input_not_focused",
        message=f"{command!r} found no text field with the focus",
    )


def _holds(node: Node, x: float, y: float) -> bool:
    rect = node.rect
    return (
        rect is not None
        and rect.x <= x <= rect.x + rect.width
        and rect.y <= y <= rect.y + rect.height
    )


async def _clear(line: Line, length: int) -> None:
    await line.expect(keys_command(KEY_MOVE_END))
    for done in range(0, length, _DELETES_PER_CALL):
        count = min(_DELETES_PER_CALL, length - done)
        await line.expect(keys_command(*[KEY_DELETE] * count))


async def _enter(line: Line, text: str, *, delay_ms: int) -> None:
    for position, step in enumerate(plan_typing(text, one_by_one=delay_ms > 0)):
        if position and delay_ms:
            await trio.sleep(delay_ms / 1000)
        if isinstance(step, Key):
            await line.expect(keys_command(step.code))
        elif isinstance(step, Write):
            await _write(line, step)
        else:
            await _paste(line, step)


async def _write(line: Line, step: Write) -> None:
    label = f"input text ({len(step.text)} characters)"
    answer = await line.run(write_command(step), label=label)
    if b"NullPointerException" in answer.stderr + answer.stdout:
        raise not_typeable(step.text, "the device's keyboard map lacks a character")
    line.check(answer, label)


async def _paste(line: Line, step: Paste) -> None:
    """Paste by way of the clipboard, and put back what it held.

    Most releases give the shell no clipboard: the command then says so, or what was put in does
    not come out.
    """
    label = f"cmd clipboard set text ({len(step.text)} characters)"
    before = await line.run("cmd clipboard get text")
    await line.run(f"cmd clipboard set text {shlex.quote(step.text)}", label=label)
    after = await line.run("cmd clipboard get text")
    if after.text != step.text.strip():
        raise not_typeable(step.text, "it is not ASCII, and the device gives no clipboard")
    await line.expect(keys_command(KEY_PASTE))
    await line.run(f"cmd clipboard set text {shlex.quote(before.text)}", label=label)
