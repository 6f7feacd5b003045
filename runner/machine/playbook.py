"""Playbooks: play an interpreter without a device, against lines or against screens.

`play_lines` holds it to a conversation, line by line. `play_screens` answers it from a timetable
of screens on a virtual clock, and returns what it asked. Both are strict: an intent that does not
fit raises with both sides of the conversation.

May be imported by: runner.formats, runner.preflight, tests. Imports: runner.machine.intent,
runner.model, runner.errors.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, assert_never

from msgspec import Struct

from runner.errors import InternalError
from runner.machine.intent import (
    Act,
    Acted,
    ActFailed,
    Intent,
    Keep,
    Look,
    Machine,
    Observation,
    Outcome,
    Pause,
    Resumed,
    Seen,
    Shoot,
    Tell,
    Unseen,
)
from runner.model.action import Action
from runner.model.event import EventBody
from runner.model.failure import Failure
from runner.model.screen import Snapshot

Line: TypeAlias = tuple[Intent, Observation]
"""What is asked, and the answer."""

INTENT_LIMIT: Final = 100_000
_SHOWN: Final = 1_200


class Frame(Struct, frozen=True, kw_only=True):
    """A screen of a timetable: shown from `from_ms` on and after `after_acts` actions.

    Of the frames that apply, the last one stands. A `failure` makes every look fail, retriably
    unless told otherwise. `takes_ms` is how long a look takes.
    """

    screen: Snapshot | None = None
    failure: Failure | None = None
    is_retriable: bool = True
    from_ms: float = 0
    after_acts: int = 0
    takes_ms: float = 0


class Played(Struct, frozen=True, kw_only=True):
    """What an interpreter did: everything it asked, how it ended, and when."""

    outcome: Outcome
    intents: tuple[Intent, ...]
    ended_ms: float

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions in order."""
        return tuple(intent.action for intent in self.intents if isinstance(intent, Act))

    @property
    def events(self) -> tuple[EventBody, ...]:
        """The bodies of the events in order."""
        return tuple(intent.body for intent in self.intents if isinstance(intent, Tell))

    @property
    def looks(self) -> int:
        """How often the screen was captured."""
        return sum(isinstance(intent, Look) for intent in self.intents)

    @property
    def pauses(self) -> tuple[int, ...]:
        """The pauses in order, in milliseconds."""
        return tuple(intent.ms for intent in self.intents if isinstance(intent, Pause))


def play_lines(machine: Machine, lines: Sequence[Line], *, with_events: bool = False) -> Played:
    """Hold `machine` to `lines`; events are answered at once unless they are part of the lines.

    Reasons: `playbook_mismatch`.
    """
    asked: list[Intent] = []
    expected = iter(lines)
    now_ms = 0.0
    answer: Observation | None = None
    while True:
        try:
            # A generator starts by being sent nothing.
            intent = next(machine) if answer is None else machine.send(answer)
        except StopIteration as end:
            rest = next(expected, None)
            if rest is not None:
                raise _mismatch(asked, f"{rest[0]!r} was not asked", _outcome(end)) from end
            return Played(outcome=end.value, intents=tuple(asked), ended_ms=now_ms)
        asked.append(intent)
        if isinstance(intent, Tell | Keep) and not with_events:
            answer = Resumed(at_ms=now_ms)
            continue
        line = next(expected, None)
        if line is None:
            raise _mismatch(asked, "the end", repr(intent))
        if line[0] != intent:
            raise _mismatch(asked, repr(line[0]), repr(intent))
        answer = line[1]
        now_ms = answer.at_ms


def play_screens(
    machine: Machine,
    frames: Sequence[Frame],
    *,
    answers: Mapping[type[Action], Sequence[str | Failure]] | None = None,
    act_ms: float = 0,
    limit: int = INTENT_LIMIT,
) -> Played:
    """Answer `machine` from a timetable of screens.

    `answers` gives what actions of a type read, or how they fail, one after the other; the last
    one stays. Reasons: `playbook_mismatch` (no frame applies, or more than `limit` intents).
    """
    pending = {kind: list(texts) for kind, texts in (answers or {}).items()}
    asked: list[Intent] = []
    now_ms = 0.0
    acts = 0
    answer: Observation | None = None
    while len(asked) < limit:
        try:
            intent = next(machine) if answer is None else machine.send(answer)
        except StopIteration as end:
            return Played(outcome=end.value, intents=tuple(asked), ended_ms=now_ms)
        asked.append(intent)
        match intent:
            case Look():
                frame = _frame_at(frames, now_ms, acts, asked)
                now_ms += frame.takes_ms
                answer = _seen(frame, now_ms)
            case Act(action=action):
                now_ms += act_ms
                acts += 1
                answer = _acted(pending.get(type(action), []), now_ms)
            case Shoot():
                answer = Acted(at_ms=now_ms)
            case Pause(ms=ms):
                now_ms += ms
                answer = Resumed(at_ms=now_ms)
            case Tell() | Keep():
                answer = Resumed(at_ms=now_ms)
            case _:
                assert_never(intent)
    machine.close()
    raise _mismatch(asked, f"an end within {limit} intents", "no end")


def _frame_at(frames: Sequence[Frame], now_ms: float, acts: int, asked: Sequence[Intent]) -> Frame:
    current = None
    for frame in frames:
        if frame.from_ms <= now_ms and frame.after_acts <= acts:
            current = frame
    if current is None:
        raise _mismatch(asked, "no look, as no frame applies", f"a look at {now_ms:g} ms")
    return current


def _seen(frame: Frame, now_ms: float) -> Seen | Unseen:
    if frame.screen is not None:
        return Seen(snapshot=frame.screen, at_ms=now_ms)
    if frame.failure is None:
        raise InternalError(
            reason="playbook_mismatch", message="a frame has neither a screen nor a failure"
        )
    return Unseen(failure=frame.failure, retriable=frame.is_retriable, at_ms=now_ms)


def _acted(texts: list[str | Failure], now_ms: float) -> Acted | ActFailed:
    if not texts:
        return Acted(at_ms=now_ms)
    text = texts.pop(0) if len(texts) > 1 else texts[0]
    if isinstance(text, Failure):
        return ActFailed(failure=text, at_ms=now_ms)
    return Acted(text=text, at_ms=now_ms)


def _outcome(end: StopIteration) -> str:
    return f"the program ended with {end.value!r}"


def _mismatch(asked: Sequence[Intent], expected: str, actual: str) -> InternalError:
    said = [_brief(intent) for intent in asked if not isinstance(intent, Tell)]
    return InternalError(
        reason="playbook_mismatch",
        message="the interpreter left its playbook at intent "
        f"{len(asked)}\n  expected: {expected[:_SHOWN]}\n  actual:   {actual[:_SHOWN]}\n"
        f"  so far:   {', '.join(said[-10:]) or 'nothing'}",
    )


def _brief(intent: Intent) -> str:
    match intent:
        case Act(action=action):
            return f"act {type(action).__name__}"
        case Pause(ms=ms):
            return f"pause {ms}"
        case Look() | Shoot() | Tell() | Keep():
            return type(intent).__name__.lower()
