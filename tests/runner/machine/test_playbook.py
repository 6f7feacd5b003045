from collections.abc import Iterator
from itertools import count

import pytest

from runner.errors import InternalError
from runner.machine.intent import (
    Act,
    Acted,
    ActFailed,
    Look,
    Machine,
    Outcome,
    Pause,
    Resumed,
    Seen,
    Tell,
    Unseen,
)
from runner.machine.playbook import Frame, play_lines, play_screens
from runner.model.action import Back, Home, ReadAlert
from runner.model.event import StepStarted
from runner.model.failure import Failure
from runner.model.screen import Snapshot

SCREEN = Snapshot(platform="android", nodes=(), width=1, height=1)
OTHER = Snapshot(platform="android", nodes=(), width=2, height=2)
FAILURE = Failure(kind="product", code="X", reason="x", message="no")


def machine(*, fails: bool = False) -> Machine:
    yield Tell(body=StepStarted(command="back", text="back"))
    seen = yield Look()
    yield Pause(ms=5)
    acted = yield Act(action=Back())
    del seen, acted
    return Outcome(failure=FAILURE if fails else None)


def lines() -> list[tuple[object, object]]:
    return [
        (Look(), Seen(snapshot=SCREEN, at_ms=1)),
        (Pause(ms=5), Resumed(at_ms=6)),
        (Act(action=Back()), Acted(at_ms=9)),
    ]


def test_a_machine_that_keeps_to_its_lines_ends_with_its_outcome() -> None:
    played = play_lines(machine(fails=True), lines())  # type: ignore[arg-type]

    assert Outcome(failure=FAILURE) == played.outcome
    assert played.ended_ms == 9
    assert (Back(),) == played.actions
    assert (5,) == played.pauses
    assert 1 == played.looks
    assert (StepStarted(command="back", text="back"),) == played.events


def test_events_may_be_lines_too() -> None:
    told = (Tell(body=StepStarted(command="back", text="back")), Resumed(at_ms=0))

    played = play_lines(machine(), [told, *lines()], with_events=True)  # type: ignore[list-item]

    assert Outcome() == played.outcome


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ([0, 1], "the end"),
        ([0], "Pause"),
        ([1, 2], "Pause"),
        ([0, 1, 2, 2], "was not asked"),
    ],
)
def test_leaving_the_lines_shows_both_sides(kept: list[int], said: str) -> None:
    with pytest.raises(InternalError) as caught:
        play_lines(machine(), [lines()[at] for at in kept])  # type: ignore[misc]

    assert caught.value.reason == "playbook_mismatch"
    assert said in caught.value.message
    assert "so far" in caught.value.message


def asking() -> Machine:
    said = []
    for _ in range(3):
        seen = yield Look()
        said.append(seen)
        yield Pause(ms=10)
        read = yield Act(action=ReadAlert())
        said.append(read)
    return Outcome(failure=Failure(kind="product", code="", reason="", message=repr(said)))


def test_screens_follow_the_clock_and_the_actions() -> None:
    frames = [
        Frame(screen=SCREEN, takes_ms=2),
        Frame(failure=FAILURE, from_ms=12),
        Frame(screen=OTHER, after_acts=2),
    ]

    played = play_screens(asking(), frames, answers={ReadAlert: ["a", FAILURE, "b"]}, act_ms=1)

    failure = played.outcome.failure
    assert failure is not None
    assert failure.message == repr(
        [
            Seen(snapshot=SCREEN, at_ms=2.0),
            Acted(text="a", at_ms=13.0),
            Unseen(failure=FAILURE, retriable=True, at_ms=13.0),
            ActFailed(failure=FAILURE, at_ms=24.0),
            Seen(snapshot=OTHER, at_ms=24.0),
            Acted(text="b", at_ms=35.0),
        ]
    )
    assert played.ended_ms == 35


def endless() -> Machine:
    numbers: Iterator[int] = count()
    for _ in numbers:
        yield Act(action=Home())
    return Outcome()


def test_a_machine_that_does_not_end_is_stopped() -> None:
    with pytest.raises(InternalError) as caught:
        play_screens(endless(), [], limit=50)

    assert "an end within 50 intents" in caught.value.message


def test_a_look_without_a_frame_is_a_mismatch() -> None:
    with pytest.raises(InternalError) as caught:
        play_screens(machine(), [Frame(screen=SCREEN, from_ms=1)])

    assert caught.value.reason == "playbook_mismatch"


def test_a_frame_that_shows_nothing_is_a_mismatch() -> None:
    with pytest.raises(InternalError) as caught:
        play_screens(machine(), [Frame()])

    assert caught.value.reason == "playbook_mismatch"
