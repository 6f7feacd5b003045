"""Whether the operands of an action could ever work.

Pure. A check yields one text per mistake. It judges only what stands in the script: an operand
with `${...}` may become anything and is left alone, and superfluous operands are ignored, as the
format does.

May be imported by: runner.formats.ad. Imports: runner.formats.ad.numbers,
runner.formats.ad.phrase, runner.formats.ad.request, runner.formats.ad.script.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from runner.formats.ad.numbers import is_numeric, to_finite
from runner.formats.ad.phrase import PREDICATES, read_question, read_wait
from runner.formats.ad.request import COORDINATE_LIMIT, DURATION_LIMIT_MS
from runner.formats.ad.script import Action

UsageCheck: TypeAlias = Callable[[Action], Iterator[str]]

MAX_SWIPES: Final = 200
MAX_PAUSE_MS: Final = 10_000
MAX_SWIPING_MS: Final = 60_000
SWIPE_MS: Final = 100

_DIRECTIONS: Final = ("up", "down", "left", "right", "top", "bottom")
_KEYBOARD: Final = ("dismiss", "enter", "return", "status", "get")
_ALERT: Final = ("accept", "dismiss", "get", "wait")


def is_open(text: str) -> bool:
    """Tell whether a variable may still change `text`."""
    return "${" in text


def check_open(action: Action) -> Iterator[str]:
    """An app or a link is needed, and at most a link behind an app."""
    links = (action.runtime or {}).get("launchUrl", "")
    if not action.positionals and not links:
        yield "open names neither an app nor a link"
    if len(action.positionals) > 2:
        yield f"open takes an app and a link, got {len(action.positionals)} operands"
    if "" in action.positionals:
        yield "an operand of open is empty"


def check_close(action: Action) -> Iterator[str]:
    """At most one app, with a name."""
    if len(action.positionals) > 1:
        yield f"close takes one app, got {len(action.positionals)} operands"
    elif action.positionals == ("",):
        yield "the app of close is empty"


def check_press(action: Action) -> Iterator[str]:
    """A target is needed; a point must lie on a screen."""
    yield from _check_target(action)
    if action.flags.get("count") == 0:
        yield "--count 0 presses nothing"


def check_longpress(action: Action) -> Iterator[str]:
    """As a press, with a positive duration."""
    yield from _check_target(action)
    words = action.positionals
    if len(words) > 1 and is_numeric(words[0]) and is_numeric(words[1]):
        yield from _check_number("duration", words[2:3], least=1, most=DURATION_LIMIT_MS)
        if len(words) > 3:
            yield f"longpress takes a point and a duration, got {len(words)} operands"
    elif len(words) > 1 and is_numeric(words[-1]):
        yield from _check_number("duration", words[-1:], least=1, most=DURATION_LIMIT_MS)


def check_fill(action: Action) -> Iterator[str]:
    """A target and a text are needed; the text may be empty."""
    words = action.positionals
    if len(words) > 2:
        yield from _check_point(words)
        return
    if not words or not words[0].strip():
        yield "fill has no target"
    if len(words) == 1:
        yield "fill has a target but no text"


def check_type(action: Action) -> Iterator[str]:
    """A text is needed."""
    if not any(action.positionals):
        yield "type has no text"


def check_wait(action: Action) -> Iterator[str]:
    """Something to wait for is needed."""
    wait = read_wait(action.positionals)
    if wait is None:
        yield "wait has no operand"
        return
    if wait.kind in ("text", "absent", "selector") and not wait.subject:
        what = "text" if wait.kind == "text" else "selector"
        yield f"wait {action.positionals[0]} has no {what}"
    if wait.kind == "stable":
        for name, text in zip(("quiet time", "timeout"), action.positionals[1:], strict=False):
            yield from _check_number(name, (text,), most=DURATION_LIMIT_MS)
    elif wait.ms is not None and not 0 <= wait.ms <= DURATION_LIMIT_MS:
        yield f"wait cannot take {wait.ms:g} ms"
    if wait.kind == "absent":
        scoped = sorted({"snapshotScope", "snapshotDepth"} & action.flags.keys())
        if scoped:
            yield "wait absent needs the whole screen: leave --scope and --depth out"


def check_get(action: Action) -> Iterator[str]:
    """What to read and from which element."""
    yield from _check_word(action, ("text", "attrs"), "what to read")
    if action.positionals and not "".join(action.positionals[1:2]).strip():
        yield "get has no selector"


def check_is(action: Action) -> Iterator[str]:
    """A predicate, a selector, and an expected value exactly for `text`."""
    words = action.positionals
    question = read_question(words)
    if question is None:
        if not any(map(is_open, words)):
            known = ", ".join(sorted(PREDICATES))
            yield (
                f"is asks {words[0][:40]!r}, not one of {known}"
                if words
                else (f"is has no predicate; the predicates are {known}")
            )
        return
    if not question.selector:
        yield f"is {question.predicate} has no selector"
    elif question.selector.startswith("@"):
        yield "is takes a selector, not a ref"
    elif question.predicate == "text" and not question.value:
        yield "is text has no expected value"
    elif question.predicate != "text" and question.value and not is_open(question.selector):
        yield f"is {question.predicate} takes no value, got {question.value[:80]!r}"


def check_scroll(action: Action) -> Iterator[str]:
    """A direction, and a positive fraction of the screen."""
    yield from _check_word(action, _DIRECTIONS, "direction")
    fraction = action.positionals[1:2]
    if fraction and not is_open(fraction[0]):
        number = to_finite(fraction[0])
        if number is None or number <= 0:
            yield f"the fraction {fraction[0][:40]!r} of scroll is no number above 0"


def check_swipe(action: Action) -> Iterator[str]:
    """Four coordinates, and a schedule that ends within a minute."""
    if len(action.positionals) < 4:
        yield f"swipe takes 4 numbers (x1 y1 x2 y2), got {len(action.positionals)}"
    for name, text in zip(("x1", "y1", "x2", "y2"), action.positionals, strict=False):
        yield from _check_number(name, (text,), most=COORDINATE_LIMIT)
    count, pause = action.flags.get("count", 1), action.flags.get("pauseMs", 0)
    if not 1 <= count <= MAX_SWIPES:
        yield f"--count {count} is not between 1 and {MAX_SWIPES}"
    elif pause > MAX_PAUSE_MS:
        yield f"--pause-ms {pause} is more than {MAX_PAUSE_MS}"
    elif count * SWIPE_MS + (count - 1) * pause > MAX_SWIPING_MS:
        yield f"{count} swipes with pauses of {pause} ms take more than {MAX_SWIPING_MS} ms"


def check_keyboard(action: Action) -> Iterator[str]:
    """One of the words."""
    yield from _check_word(action, _KEYBOARD, "action")


def check_alert(action: Action) -> Iterator[str]:
    """One of the words, and a timeout."""
    yield from _check_word(action, _ALERT, "action")
    yield from _check_number("timeout", action.positionals[1:2], most=DURATION_LIMIT_MS)


def _check_target(action: Action) -> Iterator[str]:
    words = action.positionals
    if not words or not words[0].strip():
        yield f"{action.command} has no target"
    elif len(words) > 1 and is_numeric(words[0]) and is_numeric(words[1]):
        yield from _check_point(words)


def _check_point(words: Sequence[str]) -> Iterator[str]:
    for name, text in zip("xy", words, strict=False):
        yield from _check_number(name, (text,), most=COORDINATE_LIMIT)


def _check_word(action: Action, accepted: Sequence[str], what: str) -> Iterator[str]:
    known = ", ".join(accepted)
    if not action.positionals:
        yield f"{action.command} has no {what}; it is one of {known}"
    elif action.positionals[0] not in accepted and not is_open(action.positionals[0]):
        word = action.positionals[0][:40]
        yield f"the {what} {word!r} of {action.command} is not one of {known}"


def _check_number(
    name: str, texts: Iterable[str], *, least: float = 0, most: float
) -> Iterator[str]:
    for text in texts:
        number = None if is_open(text) else to_finite(text)
        if not is_open(text) and (number is None or not least <= number <= most):
            yield f"the {name} {text[:40]!r} is no number from {least:g} to {most:g}"
