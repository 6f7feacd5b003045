"""Requests: what an expanded action asks for, as typed values.

Pure. Reading is strict: a variable may have brought in what the check of the source could not
judge. Errors are `InputError`s that name what the command takes.

May be imported by: runner.formats.ad, tests. Imports: runner.formats.ad, runner.errors.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast

from msgspec import Struct

from runner.errors import InputError
from runner.formats.ad import phrase
from runner.formats.ad.numbers import SPACES, is_numeric, to_finite
from runner.formats.ad.selector import Selector, parse_selector

WAIT_MS: Final = 10_000
QUIET_MS: Final = 500
LONG_PRESS_MS: Final = 800
DURATION_LIMIT_MS: Final = 86_400_000
COORDINATE_LIMIT: Final = 1e6
COUNT_LIMIT: Final = 200
PAUSE_LIMIT_MS: Final = 10_000
"""Most milliseconds between two presses, swipes or typed characters."""
HOLD_LIMIT_MS: Final = 60_000
JITTER_LIMIT_PX: Final = 1_000
FRACTION_LEAST: Final = 0.001
FRACTION_MOST: Final = 1e6
"""Fractions of a screen over the whole are cut to what one pan can do."""

StatePredicate: TypeAlias = Literal["visible", "hidden", "editable", "selected", "focused", "text"]


class Point(Struct, frozen=True):
    """Coordinates in the unit of the device's snapshots."""

    x: float
    y: float


Place: TypeAlias = Point | Selector


class Sleep(Struct, frozen=True):
    """Let time pass."""

    ms: int


class ForText(Struct, frozen=True):
    """Wait until a text is on the screen."""

    text: str
    timeout_ms: int


class ForSelector(Struct, frozen=True):
    """Wait until a selector matches; with evidence, the recorded element."""

    selector: Selector
    timeout_ms: int


class ForAbsence(Struct, frozen=True):
    """Wait until a selector matches nothing."""

    selector: Selector
    timeout_ms: int


class ForStillness(Struct, frozen=True):
    """Wait until the screen has not changed for `quiet_ms`."""

    quiet_ms: int
    timeout_ms: int


WaitFor: TypeAlias = Sleep | ForText | ForSelector | ForAbsence | ForStillness


class PresenceQuestion(Struct, frozen=True):
    """Whether anything matches, or nothing does."""

    predicate: Literal["exists", "absent"]
    selector: Selector


class StateQuestion(Struct, frozen=True):
    """Whether the one element that matches is so; `value` belongs to `text` alone."""

    predicate: StatePredicate
    selector: Selector
    value: str = ""


Question: TypeAlias = PresenceQuestion | StateQuestion


def refuse_operands(command: str, why: str, usage: str) -> NoReturn:
    """Raise the error for words that the command cannot take. Reasons: `arguments_invalid`."""
    raise InputError(
        reason="arguments_invalid",
        message=f"{command} cannot run: {why}",
        details={"usage": usage},
        hint=f"write {usage}",
    )


def read_number(command: str, text: str, usage: str, *, low: float, high: float) -> float:
    """Read a number within bounds. Reasons: `arguments_invalid`."""
    number = to_finite(text)
    if number is None or not low <= number <= high:
        refuse_operands(command, f"{text[:80]!r} is no number from {low:g} to {high:g}", usage)
    return number


def read_option(
    command: str, flags: dict[str, Any], key: str, *, high: float, default: int = 0
) -> int:
    """Read a number option. Reasons: `arguments_invalid`."""
    value = flags.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high:
        usage = f"{key} from 0 to {high:g}"
        refuse_operands(command, f"its option {key} is {str(value)[:80]}", usage)
    return int(value)


def refuse_ref(command: str, word: str) -> None:
    """Refuse a ref, which only the session that gave it can resolve.

    Reasons: `ref_without_session`.
    """
    if word.startswith("@"):
        raise InputError(
            reason="ref_without_session",
            message=f"{command} names {word[:80]}, a ref of another session",
            details={"ref": word[:256]},
        )


def read_place(command: str, words: Sequence[str]) -> Place:
    """Read the target of an action.

    Reasons: `arguments_invalid`, `selector_invalid`, `ref_without_session`.
    """
    if not _is_point(words) and not "".join(words[:1]).strip(SPACES):
        refuse_operands(command, "it has no target", f"{command} <selector> or {command} <x> <y>")
    refuse_ref(command, words[0])
    if _is_point(words):
        limits = {"low": -COORDINATE_LIMIT, "high": COORDINATE_LIMIT}
        x, y = (read_number(command, word, f"{command} <x> <y>", **limits) for word in words[:2])
        return Point(x, y)
    return parse_selector(" ".join(words))


def read_long_press(words: Sequence[str]) -> tuple[Place, int]:
    """Read target and duration of `longpress`. Reasons: those of a place."""
    usage = "longpress <selector|x y> [ms]"
    size = 2 if _is_point(words) else 1
    if len(words) <= size or not is_numeric(words[-1]):
        return read_place("longpress", words), LONG_PRESS_MS
    duration = read_number("longpress", words[-1], usage, low=1, high=DURATION_LIMIT_MS)
    return read_place("longpress", words[:-1]), int(duration)


def read_fill(words: Sequence[str]) -> tuple[Place, str]:
    """Read target and text of `fill`. Reasons: those of a place."""
    if len(words) < 2:
        refuse_operands("fill", "it needs a target and a text", "fill <selector|x y> <text>")
    return read_place("fill", words[:-1]), words[-1]


def read_wait(words: Sequence[str]) -> WaitFor:
    """Read what `wait` waits for.

    Reasons: `arguments_invalid`, `selector_invalid`, `ref_without_session`.
    """
    usage = "wait <ms>, wait [text|stable|absent] ..., or wait <selector> [ms]"
    wait = phrase.read_wait(words)
    if wait is None:
        refuse_operands("wait", "it has no operand", usage)
    timeout_ms = _read_time(wait.ms, WAIT_MS, usage)
    match wait.kind:
        case "sleep":
            return Sleep(timeout_ms)
        case "stable":
            for word in words[1:3]:
                read_number("wait", word, usage, low=0, high=DURATION_LIMIT_MS)
            return ForStillness(_read_time(wait.quiet_ms, QUIET_MS, usage), timeout_ms)
        case "text":
            if not wait.subject:
                refuse_operands("wait", "it has no text", "wait text <text> [ms]")
            return ForText(wait.subject, timeout_ms)
        case "absent" | "selector" | "ref":
            refuse_ref("wait", wait.subject)
            selector = parse_selector(wait.subject)
            if wait.kind == "absent":
                return ForAbsence(selector, timeout_ms)
            return ForSelector(selector, timeout_ms)


def read_question(words: Sequence[str]) -> Question:
    """Read what `is` asks.

    Reasons: `arguments_invalid`, `selector_invalid`, `ref_without_session`.
    """
    usage = f"is <{'|'.join(sorted(phrase.PREDICATES))}> <selector> [value]"
    question = phrase.read_question(words)
    if question is None:
        refuse_operands("is", "it has no predicate", usage)
    refuse_ref("is", question.selector)
    selector = parse_selector(question.selector)
    if (question.predicate == "text") != bool(question.value):
        refuse_operands("is", "`text` needs a value, the others take none", usage)
    match question.predicate:
        case "exists" | "absent" as presence:
            return PresenceQuestion(presence, selector)
        case predicate:
            # The reader returns none but its own predicates.
            return StateQuestion(cast("StatePredicate", predicate), selector, question.value)


def _is_point(words: Sequence[str]) -> bool:
    return len(words) >= 2 and is_numeric(words[0]) and is_numeric(words[1])


def _read_time(ms: float | None, default: int, usage: str) -> int:
    if ms is None:
        return default
    if not 0 <= ms <= DURATION_LIMIT_MS:
        refuse_operands("wait", f"it cannot take {ms:g} ms", usage)
    return int(ms)
