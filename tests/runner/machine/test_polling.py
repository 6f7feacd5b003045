import pytest
from hypothesis import given, strategies as st

from runner.machine.polling import FIRST_KEPT, LAST_KEPT, Deadline, Poll, Timeline

times = st.floats(0, 1e7)


def test_a_pause_is_cut_to_what_remains_of_the_budget() -> None:
    deadline = Deadline(1_000, 500)

    assert [300, 200, 1] == [deadline.pause_ms(now, 300) for now in (1_000, 1_300, 1_500)]


def test_a_budget_of_nothing_is_over_at_once() -> None:
    assert Deadline(10, 0).is_over(10)


@pytest.mark.slow
@given(times, times, st.floats(0, 1e6), st.integers(1, 1_000))
def test_a_loop_over_pauses_always_reaches_the_deadline(
    start: float, ahead: float, timeout: float, interval: int
) -> None:
    deadline = Deadline(start, timeout)
    now = start + min(ahead, timeout)

    pause = deadline.pause_ms(now, interval)

    assert 1 <= pause <= max(1, interval)
    assert deadline.is_over(now) or now + pause <= start + timeout + 1


@pytest.mark.slow
@given(st.lists(st.sampled_from(["readable", "unreadable", "deadline"]), max_size=60))
def test_a_timeline_counts_all_and_keeps_the_first_and_the_last(outcomes: list[str]) -> None:
    polls = [Poll(at, 1, outcome) for at, outcome in enumerate(outcomes)]  # type: ignore[arg-type]
    timeline = Timeline()
    for poll in polls:
        timeline = timeline.add(poll)

    facts = timeline.details(7)

    assert facts["waitedMs"] == 7
    assert facts["captures"] == len(outcomes)
    assert facts["readableCaptures"] == outcomes.count("readable")
    rest = polls[FIRST_KEPT:]
    kept = [*polls[:FIRST_KEPT], *rest[-LAST_KEPT:]]
    assert [(poll.started_ms, poll.outcome) for poll in kept] == [
        (poll["startedMs"], poll["outcome"]) for poll in facts["polls"]
    ]
