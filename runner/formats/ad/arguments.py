"""How the words of a line become the operands and options of one action.

Pure. One reader per way of reading; a command names its reader in the registry. Readers do not
judge what they read: too few operands or an impossible direction are for the check, because a
variable may still change them.

May be imported by: runner.formats.ad. Imports: runner.errors, runner.formats.ad.numbers,
runner.formats.ad.options.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from runner.errors import InputError
from runner.formats.ad.numbers import SPACES, is_numeric, shrink_number, to_finite
from runner.formats.ad.options import OptionTable, take_options


class Arguments(NamedTuple):
    """What a line says besides its command word."""

    positionals: tuple[str, ...]
    flags: dict[str, Any]
    runtime: dict[str, Any] | None = None
    label: str | None = None


Reader: TypeAlias = Callable[[Sequence[str], OptionTable], Arguments]

_GENERATION = re.compile(r"~s[0-9]+\Z")


def strip_generation(token: str) -> str:
    """Return a ref without the `~s<generation>` that pins it to one snapshot."""
    if not token.startswith("@"):
        return token
    trimmed = token.strip(SPACES)
    tilde = trimmed.find("~")
    if tilde < 0:
        return trimmed
    return trimmed[:tilde] if _GENERATION.fullmatch(trimmed, tilde) else token


def read_verbatim(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """Take out the options, if the command has any; the rest are operands as they stand."""
    if not table.flags:
        return Arguments(tuple(tokens), {})
    rest, flags = take_options(tokens, table.flags)
    return Arguments(tuple(rest), flags)


def read_refs(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """As verbatim, with refs freed of their snapshot generation."""
    positionals, flags, _, _ = read_verbatim(tokens, table)
    return Arguments(tuple(map(strip_generation, positionals)), flags)


def read_snapshot(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """Keep the options alone."""
    return Arguments((), take_options(tokens, table.flags)[1])


def read_open(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """Take out the options, then the runtime hints; empty hints are no hints."""
    rest, flags = take_options(tokens, table.flags)
    rest, runtime = take_options(rest, table.runtime)
    stated = any(value != "" for value in runtime.values())
    return Arguments(tuple(rest), flags, runtime if stated else None)


def read_press(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """A ref with a display label, a point, or a selector of all the words."""
    rest, flags = take_options(tokens, table.flags)
    if not rest:
        return Arguments((), flags)
    if rest[0].startswith("@"):
        label = rest[1] if len(rest) > 1 and rest[1] else None
        return Arguments((strip_generation(rest[0]),), flags, label=label)
    if len(rest) > 1 and is_numeric(rest[0]) and is_numeric(rest[1]):
        return Arguments((rest[0], rest[1]), flags)
    return Arguments((" ".join(rest),), flags)


def read_fill(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """A target (point, ref with an optional display label, or selector) and a text."""
    rest, flags = take_options(tokens, table.flags)
    if len(rest) < 2:
        return Arguments(tuple(rest), flags)
    first, second, more = rest[0], rest[1], rest[2:]
    if is_numeric(first) and is_numeric(second):
        return Arguments((first, second, " ".join(more)), flags)
    if not first.startswith("@"):
        return Arguments((first, " ".join(rest[1:])), flags)
    ref = strip_generation(first)
    if more:
        return Arguments((ref, " ".join(more)), flags, label=second)
    return Arguments((ref, second), flags)


def read_get(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """What to read, then a ref with a display label, or a selector of the other words."""
    del table  # `get` has no options in a script.
    if len(tokens) < 2:
        return Arguments(tuple(tokens), {})
    if tokens[1].startswith("@"):
        label = tokens[2] if len(tokens) > 2 and tokens[2] else None
        return Arguments((tokens[0], strip_generation(tokens[1])), {}, label=label)
    return Arguments((tokens[0], " ".join(tokens[1:])), {})


def read_swipe(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """Four numbers at most. Reason: `parse_error`."""
    rest, flags = take_options(tokens, table.flags)
    _check_arity("swipe", rest)
    return Arguments(tuple(rest), flags)


def read_gesture(tokens: Sequence[str], table: OptionTable) -> Arguments:
    """A kind and as many operands as it takes. Reason: `parse_error`."""
    rest, flags = take_options(tokens, table.flags)
    if rest:
        _check_arity(f"gesture {rest[0]}", rest[1:])
    return Arguments(tuple(rest), flags)


class _Arity(NamedTuple):
    most: int
    operands: str
    retired: bool = False
    """Whether one more number was once allowed, as a duration or velocity."""


_ARITIES: Final = {
    "swipe": _Arity(4, "x1 y1 x2 y2", retired=True),
    "gesture pan": _Arity(5, "x y dx dy [ms]"),
    "gesture fling": _Arity(4, "direction x y [distance]", retired=True),
    "gesture swipe": _Arity(1, "preset", retired=True),
    "gesture pinch": _Arity(3, "scale [x y]"),
    "gesture rotate": _Arity(3, "degrees [x y]", retired=True),
    "gesture transform": _Arity(7, "x y dx dy scale degrees [ms]"),
    "gesture drag": _Arity(5, "source destination [holdMs] [moveMs] [dropMs]"),
}


def _check_arity(form: str, operands: Sequence[str]) -> None:
    arity = _ARITIES.get(form)
    if arity is None or len(operands) <= arity.most:
        return
    hint = f"Usage: {form} {arity.operands}."
    extra = operands[arity.most]
    if arity.retired and _is_retired(extra):
        hint = _advise(form, operands, arity)
    raise InputError(
        reason="parse_error",
        message=f"{form} takes at most {arity.most} operands ({arity.operands}), "
        f"got {len(operands)}",
        hint=hint,
    )


def _is_retired(extra: str) -> bool:
    return is_numeric(extra) or "${" in extra


def _advise(form: str, operands: Sequence[str], arity: _Arity) -> str:
    shorter = f"{form} {' '.join(operands[: arity.most])}"
    if form == "gesture rotate":
        return f"A velocity is no longer given: write `{shorter}`; the angle sets the pace."
    if form == "swipe":
        numbers = [to_finite(text) for text in operands[:4]]
        if None not in numbers:
            x1, y1, x2, y2 = (number or 0.0 for number in numbers)
            dx, dy = shrink_number(x2 - x1), shrink_number(y2 - y1)
            pan = f"gesture pan {operands[0]} {operands[1]} {dx} {dy} {operands[4]}"
            return f"A duration is no longer given: write `{shorter}`, or `{pan}` to time it."
    return f"A duration is no longer given: write `{shorter}`, or use `gesture pan` to time it."
