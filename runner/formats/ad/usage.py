"""Whether the operands of an action could ever work.

Pure. A check yields one value per mistake, which names the operand or option that it is about. It
judges only what stands in the script: an operand with `${...}` may become anything and is left
alone, and superfluous operands are ignored, as the format does. The interpreter runs the same
checks over an expanded action.

May be imported by: runner.formats.ad. Imports: runner.formats.ad.numbers,
runner.formats.ad.phrase, runner.formats.ad.request, runner.formats.ad.script.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from runner.formats.ad.numbers import SPACES, is_numeric, to_finite
from runner.formats.ad.phrase import PREDICATES, Question, read_question, read_wait
from runner.formats.ad.request import (
    COORDINATE_LIMIT,
    COUNT_LIMIT,
    DURATION_LIMIT_MS,
    FRACTION_LEAST,
    FRACTION_MOST,
    HOLD_LIMIT_MS,
    JITTER_LIMIT_PX,
    PAUSE_LIMIT_MS,
)
from runner.formats.ad.script import Action

MAX_SWIPING_MS: Final = 60_000
SWIPE_MS: Final = 100

_DIRECTIONS: Final = ("up", "down", "left", "right", "top", "bottom")
_KEYBOARD: Final = ("dismiss", "enter", "return", "status", "get")
_ALERT: Final = ("accept", "dismiss", "get", "wait")
# The name of each number option, and the least and most that makes sense.
_OPTIONS: Final = {
    "count": ("--count", 1, COUNT_LIMIT),
    "intervalMs": ("--interval-ms", 0, PAUSE_LIMIT_MS),
    "holdMs": ("--hold-ms", 0, HOLD_LIMIT_MS),
    "jitterPx": ("--jitter-px", 0, JITTER_LIMIT_PX),
    "delayMs": ("--delay-ms", 0, PAUSE_LIMIT_MS),
    "pauseMs": ("--pause-ms", 0, PAUSE_LIMIT_MS),
}


class Misuse(NamedTuple):
    """What is wrong, and where.

    `operand` is the position among the action's operands and `option` the key of an option; with
    neither the action as a whole is meant.
    """

    message: str
    operand: int | None = None
    option: str = ""


UsageCheck: TypeAlias = Callable[[Action], Iterator[Misuse]]


def is_open(text: str) -> bool:
    """Tell whether a variable may still change `text`."""
    return "${" in text


def check_open(action: Action) -> Iterator[Misuse]:
    """An app or a link is needed, and at most a link behind an app."""
    words = action.positionals
    links = (action.runtime or {}).get("launchUrl", "")
    if not words and not links:
        yield Misuse("open names neither an app nor a link")
    if len(words) > 2:
        yield Misuse(f"open takes an app and a link, got {len(words)} operands", operand=2)
    if "" in words:
        yield Misuse("an operand of open is empty", operand=words.index(""))


def check_close(action: Action) -> Iterator[Misuse]:
    """At most one app, with a name."""
    words = action.positionals
    if len(words) > 1:
        yield Misuse(f"close takes one app, got {len(words)} operands", operand=1)
    elif words == ("",):
        yield Misuse("the app of close is empty", operand=0)


def check_press(action: Action) -> Iterator[Misuse]:
    """A target is needed; a point must lie on a screen."""
    yield from _check_target(action)
    yield from _check_options(action)
    if action.flags.get("doubleTap") and action.flags.get("holdMs"):
        yield Misuse("a double tap cannot be held", option="holdMs")


def check_longpress(action: Action) -> Iterator[Misuse]:
    """As a press, with a positive duration."""
    yield from _check_target(action)
    words = action.positionals
    if _is_point(words):
        yield from _check_number("duration", words, 2, least=1, most=DURATION_LIMIT_MS)
        if len(words) > 3:
            text = f"longpress takes a point and a duration, got {len(words)} operands"
            yield Misuse(text, operand=3)
    elif len(words) > 1 and is_numeric(words[-1]):
        last = len(words) - 1
        yield from _check_number("duration", words, last, least=1, most=DURATION_LIMIT_MS)


def check_fill(action: Action) -> Iterator[Misuse]:
    """A target and a text are needed; the text may be empty."""
    words = action.positionals
    if len(words) > 2:
        yield from _check_point(words)
    elif not words or not words[0].strip(SPACES):
        yield Misuse("fill has no target", operand=0)
    if len(words) == 1:
        yield Misuse("fill has a target but no text")
    yield from _check_options(action)


def check_type(action: Action) -> Iterator[Misuse]:
    """A text is needed."""
    if not any(action.positionals):
        yield Misuse("type has no text", operand=0)
    yield from _check_options(action)


def check_wait(action: Action) -> Iterator[Misuse]:
    """Something to wait for is needed, for a day at most."""
    words = action.positionals
    wait = read_wait(words)
    if wait is None:
        yield Misuse("wait has no operand")
        return
    if wait.kind in ("text", "absent", "selector") and not wait.subject:
        what = "text" if wait.kind == "text" else "selector"
        yield Misuse(f"wait {words[0][:40]!r} has no {what}", operand=0)
    if wait.kind == "stable":
        yield from _check_number("quiet time", words, 1, most=DURATION_LIMIT_MS)
        yield from _check_number("timeout", words, 2, most=DURATION_LIMIT_MS)
    elif wait.ms is not None and not 0 <= wait.ms <= DURATION_LIMIT_MS:
        text = f"wait cannot take {wait.ms:g} ms; it takes from 0 to {DURATION_LIMIT_MS}"
        yield Misuse(text, operand=0 if wait.kind == "sleep" else len(words) - 1)
    for scoped in sorted({"snapshotScope", "snapshotDepth"} & action.flags.keys()):
        text = "wait must see the whole screen: leave --scope and --depth out"
        yield Misuse(text, option=scoped)
        return


def check_get(action: Action) -> Iterator[Misuse]:
    """What to read and from which element."""
    words = action.positionals
    yield from _check_word(action, ("text", "attrs"), "what to read")
    if words and not "".join(words[1:2]).strip(SPACES):
        yield Misuse("get has no selector", operand=1)


def check_is(action: Action) -> Iterator[Misuse]:
    """A predicate, a selector, and an expected value exactly for `text`."""
    words = action.positionals
    question = read_question(words)
    if question is not None:
        yield from _check_question(question, words)
    elif not any(map(is_open, words)):
        known = ", ".join(sorted(PREDICATES))
        if words:
            yield Misuse(f"is asks {words[0][:40]!r}, not one of {known}", operand=0)
        else:
            yield Misuse(f"is has no predicate; the predicates are {known}")


def check_scroll(action: Action) -> Iterator[Misuse]:
    """A direction, and a positive fraction of the screen."""
    yield from _check_word(action, _DIRECTIONS, "direction")
    yield from _check_number(
        "fraction", action.positionals, 1, least=FRACTION_LEAST, most=FRACTION_MOST
    )


def check_swipe(action: Action) -> Iterator[Misuse]:
    """Four coordinates, and a schedule that ends within a minute."""
    words = action.positionals
    if len(words) < 4:
        yield Misuse(f"swipe takes 4 numbers (x1 y1 x2 y2), got {len(words)}")
    for at, name in enumerate(("x1", "y1", "x2", "y2")):
        yield from _check_number(name, words, at, most=COORDINATE_LIMIT)
    problems = list(_check_options(action))
    yield from problems
    count, pause = action.flags.get("count", 1), action.flags.get("pauseMs", 0)
    if not problems and count * SWIPE_MS + (count - 1) * pause > MAX_SWIPING_MS:
        text = f"{count} swipes with pauses of {pause} ms take more than {MAX_SWIPING_MS} ms"
        yield Misuse(text, option="count")


def check_keyboard(action: Action) -> Iterator[Misuse]:
    """One of the words."""
    yield from _check_word(action, _KEYBOARD, "action")


def check_alert(action: Action) -> Iterator[Misuse]:
    """One of the words, and a timeout."""
    yield from _check_word(action, _ALERT, "action")
    yield from _check_number("timeout", action.positionals, 1, most=DURATION_LIMIT_MS)


def _is_point(words: Sequence[str]) -> bool:
    return len(words) > 1 and is_numeric(words[0]) and is_numeric(words[1])


def _check_target(action: Action) -> Iterator[Misuse]:
    words = action.positionals
    if _is_point(words):  # First, because a blank text is the number 0.
        yield from _check_point(words)
    elif not words or not words[0].strip(SPACES):
        yield Misuse(f"{action.command} has no target", operand=0)


def _check_point(words: Sequence[str]) -> Iterator[Misuse]:
    for at, name in enumerate("xy"):
        yield from _check_number(name, words, at, most=COORDINATE_LIMIT)


def _check_question(question: Question, words: Sequence[str]) -> Iterator[Misuse]:
    if not question.selector.strip(SPACES):
        yield Misuse(f"is {question.predicate} has no selector")
    elif question.selector.startswith("@"):
        return  # What is wrong is the ref itself, not the form.
    elif question.predicate == "text" and not question.value:
        yield Misuse("is text has no expected value")
    elif question.predicate != "text" and question.value and not is_open(question.selector):
        text = f"is {question.predicate} takes no value, got {question.value[:80]!r}"
        yield Misuse(text, operand=len(words) - 1)


def _check_options(action: Action) -> Iterator[Misuse]:
    for key, value in action.flags.items():
        name, least, most = _OPTIONS.get(key, ("", 0, 0))
        if name and not least <= value <= most:
            yield Misuse(f"{name} {value} is not between {least} and {most}", option=key)


def _check_word(action: Action, accepted: Sequence[str], what: str) -> Iterator[Misuse]:
    words = action.positionals
    known = ", ".join(accepted)
    if not words:
        yield Misuse(f"{action.command} has no {what}; it is one of {known}")
    elif words[0] not in accepted and not is_open(words[0]):
        text = f"the {what} {words[0][:40]!r} of {action.command} is not one of {known}"
        yield Misuse(text, operand=0)


def _check_number(
    name: str, words: Sequence[str], at: int, *, least: float = 0, most: float
) -> Iterator[Misuse]:
    if at >= len(words) or is_open(words[at]):
        return
    number = to_finite(words[at])
    if number is None or not least <= number <= most:
        text = f"the {name} {words[at][:40]!r} is no number from {least:g} to {most:g}"
        yield Misuse(text, operand=at)
