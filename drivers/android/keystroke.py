"""Text as the device's `input` tool takes it.

Pure. The tool reads `%s` as a space, so a literal one is typed in two pieces; it throws on
characters that the virtual keyboard map lacks, so whatever is not ASCII is pasted. Control
characters have keys or cannot be typed at all.

May be imported by: drivers.android, tests. Imports: runner.errors.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct

from runner.errors import DeviceError

KEY_ENTER: Final = 66
KEY_TAB: Final = 61
KEY_DELETE: Final = 67
KEY_MOVE_END: Final = 123
KEY_PASTE: Final = 279

CHUNK_CHARS: Final = 200
"""Longer lines are typed in pieces: the tool's own queue drops keys of very long ones."""


class Write(Struct, frozen=True):
    """Characters for one call of `input text`."""

    text: str


class Key(Struct, frozen=True):
    """One key, by its Android code."""

    code: int


class Paste(Struct, frozen=True):
    """A line that only the clipboard can enter."""

    text: str


TypeStep: TypeAlias = Write | Key | Paste


def plan_typing(text: str, *, one_by_one: bool = False) -> tuple[TypeStep, ...]:
    """Return the steps that type `text`, each character a step of its own when `one_by_one`.

    Reasons: `text_not_typeable`.
    """
    steps: list[TypeStep] = []
    for piece in re.split(r"(\n|\t)", text.replace("\r\n", "\n").replace("\r", "\n")):
        if piece == "\n":
            steps.append(Key(KEY_ENTER))
        elif piece == "\t":
            steps.append(Key(KEY_TAB))
        elif piece.isascii():
            _refuse_control(piece)
            steps.extend(Write(part) for part in _split(piece, 1 if one_by_one else CHUNK_CHARS))
        else:
            _refuse_control(piece)
            steps.append(Paste(piece))
    return tuple(steps)


def write_command(step: Write) -> str:
    """Return the shell command that types the characters of `step`."""
    return f"input text {shlex.quote(step.text.replace(' ', '%s'))}"


def keys_command(*codes: int) -> str:
    """Return the shell command that presses keys one after another."""
    return "input keyevent " + " ".join(str(code) for code in codes)


def shows(value: str, text: str) -> bool:
    """Tell whether a field whose value is `value` took `text`.

    A field may lay its text out while it is typed (a card number in groups): signs may come in
    between, but no letter or digit, and nothing may be lost.
    """
    wanted = text.replace("\r\n", "\n").rstrip("\n")
    value = value.rstrip("\n")
    if value == wanted:
        return True
    if not any(char.isalnum() for char in wanted):
        return False
    rest = iter(wanted)
    awaited = next(rest, None)
    for char in value:
        if char == awaited:
            awaited = next(rest, None)
        elif char.isalnum():
            return False
    return awaited is None


def not_typeable(text: str, why: str) -> DeviceError:
    """Return the error for text that cannot be entered; the text itself may be secret."""
    return DeviceError(
        kind="misuse",
        reason="text_not_typeable",
        message=f"a text of {len(text)} characters cannot be typed: {why}",
        details={"length": len(text)},
    )


def _split(line: str, size: int) -> Iterator[str]:
    # "%" and "s" never share a call.
    for part in re.split(r"(?<=%)(?=s)", line):
        for start in range(0, len(part), size):
            yield part[start : start + size]


def _refuse_control(piece: str) -> None:
    if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in piece):
        raise not_typeable(piece, "it holds control characters that no key enters")
