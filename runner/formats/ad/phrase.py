"""What the operands of `.ad` commands mean: targets, predicates and the forms of `wait`.

Pure. The forms are read here once, for the check and for the interpreter. Texts with `${...}` may
be read before and after expansion; before it, what a variable hides is not judged.

May be imported by: runner.formats.ad. Imports: runner.formats.ad.numbers,
runner.formats.ad.selector.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from runner.formats.ad.numbers import SPACES, is_numeric, to_number
from runner.formats.ad.selector import is_selector_shaped, looks_like_selector, split_operand

TargetReader: TypeAlias = Callable[[Sequence[str]], tuple[str, ...]]
"""Returns the operands that name elements: selectors and refs."""

PREDICATES: Final = frozenset(
    {"visible", "hidden", "exists", "absent", "editable", "selected", "focused", "text"}
)
WaitKind: TypeAlias = Literal["sleep", "text", "stable", "absent", "ref", "selector"]


class Wait(Struct, frozen=True, kw_only=True):
    """One form of `wait`. `subject` is the text, ref or selector; times are in milliseconds.

    `ms` is the time to sleep, or the timeout of the other forms (`None`: the default). Times are
    as written, also those that no wait can take: negative or infinite.
    """

    kind: WaitKind
    subject: str = ""
    ms: float | None = None
    quiet_ms: float | None = None


class Question(Struct, frozen=True, kw_only=True):
    """What `is` asks: `value` is the expected text of the predicate `text`, else empty."""

    predicate: str
    selector: str
    value: str = ""


def read_wait(positionals: Sequence[str]) -> Wait | None:
    """Return the form of a `wait`, or None where there is no operand."""
    if not positionals:
        return None
    first = positionals[0]
    duration = _read_ms(first)
    if duration is not None:
        return Wait(kind="sleep", ms=duration)
    if first == "stable":
        times = [_read_ms(text) for text in positionals[1:3]]
        return Wait(
            kind="stable",
            quiet_ms=times[0] if times else None,
            ms=times[1] if len(times) > 1 else None,
        )
    words = list(positionals)
    timeout = _read_ms(words[-1])
    if timeout is not None:
        words.pop()
    if first in ("text", "absent"):
        # A number that stands alone behind `text` is a timeout too; then no text is left.
        kind: WaitKind = "text" if first == "text" else "absent"
        return Wait(kind=kind, subject=" ".join(words[1:]).strip(SPACES), ms=timeout)
    if first.startswith("@"):
        return Wait(kind="ref", subject=first, ms=timeout)
    subject = " ".join(words)
    # A text of that shape is rather a mistyped selector; `wait text` is for all texts.
    is_selector = is_selector_shaped(words[0]) or looks_like_selector(subject)
    return Wait(
        kind="selector" if is_selector else "text", subject=subject.strip(SPACES), ms=timeout
    )


def read_question(positionals: Sequence[str]) -> Question | None:
    """Return what an `is` asks; the predicate may also stand behind the selector.

    None where there is no predicate.
    """
    words = list(positionals)
    at = next((i for i, word in enumerate(words) if word.lower() in PREDICATES), None)
    if at is None:
        return None
    predicate = words.pop(at).lower()
    if not words:
        return Question(predicate=predicate, selector="")
    if predicate == "text" and len(words) > 1:
        # The expected text may look like a term; the selector takes at least one word.
        selector, rest = split_operand(tuple(words[:-1]))
        value = (*rest, words[-1])
    else:
        selector, value = split_operand(tuple(words))
    return Question(predicate=predicate, selector=selector, value=" ".join(value).strip(SPACES))


def split_press(positionals: Sequence[str]) -> tuple[str, ...]:
    """Return the target of press-like commands, unless it is a point."""
    if len(positionals) > 1 and is_numeric(positionals[0]) and is_numeric(positionals[1]):
        return ()
    return tuple(positionals[:1])


def split_fill(positionals: Sequence[str]) -> tuple[str, ...]:
    """Return the target of `fill`, which stands before its text unless it is a point."""
    return tuple(positionals[:1]) if len(positionals) < 3 else ()


def split_longpress(positionals: Sequence[str]) -> tuple[str, ...]:
    """Return the target of `longpress`, whose words are not joined and may end in a duration."""
    if not split_press(positionals):
        return ()
    words = list(positionals)
    if words[0].startswith("@"):
        return (words[0],)
    if len(words) > 1 and is_numeric(words[-1]):
        words.pop()
    return (" ".join(words),)


def split_get(positionals: Sequence[str]) -> tuple[str, ...]:
    """Return the target of `get`."""
    return tuple(positionals[1:2])


def split_is(positionals: Sequence[str]) -> tuple[str, ...]:
    """Return the target of `is`."""
    question = read_question(positionals)
    return (question.selector,) if question and question.selector else ()


def split_wait(positionals: Sequence[str]) -> tuple[str, ...]:
    """Return the target of the forms of `wait` that have one."""
    wait = read_wait(positionals)
    return (wait.subject,) if wait and wait.kind in ("absent", "ref", "selector") else ()


def split_gesture(positionals: Sequence[str]) -> tuple[str, ...]:
    """Return both ends of a drag; the other gestures have coordinates."""
    return tuple(positionals[1:3]) if positionals[:1] == ("drag",) else ()


def _read_ms(text: str) -> float | None:
    """Return what a word says as a number, infinity included."""
    return to_number(text) if text else None


def is_reading_find(positionals: Sequence[str]) -> bool:
    """Tell whether a `find` only reads; without an action it clicks."""
    locators = {"any", "text", "label", "value", "role", "id"}
    has_locator = len(positionals) > 1 and positionals[0] in locators
    action = tuple(positionals[2 if has_locator else 1 :])
    if action[:1] == ("get",):
        return action[1:2] in (("text",), ("attrs",))
    return action[:1] in (("exists",), ("wait",), ("list",))
