from typing import Any

import pytest
from msgspec.structs import replace

from runner.formats.ad.machine import play
from runner.formats.ad.wait import POLL_MS
from runner.machine.playbook import Frame, Played, play_screens
from runner.model.event import Diverged, WaitProgress
from runner.model.failure import Failure
from tests.runner.formats.ad.screens import BUSY, EMPTY, LOST, node, program, screen

HOME = screen(node(label="Home", identifier="home"))
BLANK = screen(node(label="Loading"))
EVIDENCE = (
    '# agent-device:target-v1 {"id":"home","role":"button","label":"Home","ancestry":[],'
    '"sibling":3,"viewportOrder":9,"verification":"verified"}\n'
)


def run(line: str, *timetable: Frame, evidence: str = "") -> Played:
    return play_screens(play(program(f"{evidence}{line}\n"), scope={}), timetable)


def failure(played: Played) -> Failure:
    assert played.outcome.failure is not None
    return played.outcome.failure


def polls(played: Played) -> list[tuple[int, int, str]]:
    return [
        (poll["startedMs"], poll["durationMs"], poll["outcome"])
        for poll in failure(played).details["polls"]
    ]


def test_a_number_sleeps() -> None:
    played = run("wait 1500")

    assert (1500,) == played.pauses
    assert played.looks == 0
    assert played.outcome.failure is None


@pytest.mark.parametrize(
    "line",
    [
        'wait "id=home" 1000',
        "wait label=Home 1000",
        'wait "label=nope || label=home"',
        'wait text "Home" 1000',
        'wait text "hom"',
        'wait "Home"',
        'wait absent "label=Other"',
        "wait stable 500",
    ],
)
def test_every_form_succeeds_on_the_screen_that_it_waits_for(line: str) -> None:
    assert run(line, Frame(screen=HOME)).outcome.failure is None


def test_polls_come_every_300_ms_and_the_last_sleep_is_cut() -> None:
    played = run('wait "id=home" 1000', Frame(screen=BLANK))

    assert (300, 300, 300, 100) == played.pauses
    assert failure(played).reason == "wait_target_absent"
    assert failure(played).kind == "product"
    assert polls(played) == [(at, 0, "readable") for at in (0, 300, 600, 900, 1000)]
    assert failure(played).details["readableCaptures"] == 5
    assert failure(played).details["waitedMs"] == 1000


def test_a_target_that_appears_at_the_last_poll_is_seen() -> None:
    played = run('wait "id=home" 1000', Frame(screen=BLANK), Frame(screen=HOME, from_ms=1000))

    assert played.outcome.failure is None
    assert played.ended_ms == 1000


def test_the_default_budget_is_ten_seconds() -> None:
    played = run('wait "id=home"', Frame(screen=BLANK))

    assert played.ended_ms == 10_000
    assert failure(played).details["captures"] == 35
    assert len(failure(played).details["polls"]) == 30


def test_a_budget_of_nothing_looks_once() -> None:
    assert run('wait "id=home" 0', Frame(screen=HOME)).outcome.failure is None

    played = run('wait "id=home" 0', Frame(screen=BLANK, takes_ms=40))

    assert failure(played).reason == "wait_target_absent"
    assert polls(played) == [(0, 40, "readable")]


def test_success_in_a_capture_that_crossed_the_deadline_counts() -> None:
    played = run('wait "id=home" 100', Frame(screen=HOME, takes_ms=400))

    assert played.outcome.failure is None


def test_where_the_first_look_alone_used_up_the_time_another_one_decides() -> None:
    slow = Frame(screen=BLANK, takes_ms=1500)
    late = run('wait "id=home" 1000', slow, Frame(screen=HOME, from_ms=1500, takes_ms=1500))
    still = run("wait stable 500 1000", Frame(screen=HOME, takes_ms=1500))
    never = run('wait "id=home" 1000', slow)

    assert late.outcome.failure is None
    assert still.outcome.failure is None
    assert [(0, 1500, "readable"), (1501, 1500, "readable")] == polls(never)
    assert "wait_target_absent" == failure(never).reason


def test_a_capture_that_used_up_the_time_after_readable_ones_is_told() -> None:
    played = run(
        'wait "id=home" 1000',
        Frame(screen=BLANK),
        Frame(failure=BUSY, from_ms=300, takes_ms=2000),
    )

    assert failure(played).reason == "wait_deadline_exceeded"
    assert polls(played) == [(0, 0, "readable"), (300, 2000, "deadline")]


def test_three_unreadable_captures_then_success_is_success() -> None:
    played = run(
        'wait "id=home" 5000',
        Frame(failure=BUSY),
        Frame(screen=EMPTY, from_ms=300),
        Frame(failure=BUSY, from_ms=600),
        Frame(screen=HOME, from_ms=900),
    )

    assert played.outcome.failure is None
    assert played.looks == 4


def test_a_wait_that_never_saw_a_screen_blames_the_device() -> None:
    played = run('wait "id=home" 700', Frame(failure=BUSY))

    assert (failure(played).reason, failure(played).kind) == ("wait_capture_stalled", "device_busy")
    assert failure(played).details["cause"] == "screen_busy"
    assert [outcome for _, _, outcome in polls(played)] == [*["unreadable"] * 3, "deadline"]


def test_a_reader_of_the_screen_that_dies_again_and_again_is_told_apart() -> None:
    died = replace(BUSY, reason="screen_reader_died")
    played = run('wait "id=home" 700', Frame(failure=died))

    assert ("wait_runner_restart_exhausted", "device_busy") == (
        failure(played).reason,
        failure(played).kind,
    )
    assert failure(played).details["cause"] == "screen_reader_died"
    assert [outcome for _, _, outcome in polls(played)] == ["runner-restart"] * 4


def test_a_reader_of_the_screen_that_comes_back_costs_the_wait_nothing() -> None:
    died = replace(BUSY, reason="screen_reader_died")
    played = run('wait "id=home"', Frame(failure=died), Frame(screen=HOME, from_ms=600))

    assert played.outcome.failure is None
    assert played.looks == 3


def test_a_wait_that_saw_only_empty_screens_blames_the_product() -> None:
    played = run('wait "id=home" 700', Frame(screen=EMPTY))

    assert (failure(played).reason, failure(played).kind) == ("wait_capture_stalled", "product")
    assert failure(played).details["cause"] == "capture_sparse"


def test_a_capture_that_cannot_succeed_later_ends_the_wait_at_once() -> None:
    played = run('wait "id=home"', Frame(failure=LOST, is_retriable=False))

    assert LOST == played.outcome.failure
    assert played.looks == 1


def test_a_landmark_needs_the_recorded_identity_but_not_its_place_among_equals() -> None:
    assert run('wait "label=Home"', Frame(screen=HOME), evidence=EVIDENCE).outcome.failure is None


def test_a_landmark_of_another_identity_is_a_mismatch_at_the_deadline() -> None:
    other = screen(node(label="Home", identifier="other"))

    played = run('wait "label=Home" 600', Frame(screen=other), evidence=EVIDENCE)

    assert failure(played).reason == "wait_landmark_identity_mismatch"
    assert "id was 'home', is 'other'" in failure(played).message
    assert played.ended_ms == 600


def test_a_landmark_that_never_matched_is_an_ordinary_timeout() -> None:
    played = run('wait "label=Home" 600', Frame(screen=BLANK), evidence=EVIDENCE)

    assert failure(played).reason == "wait_target_absent"


def test_a_landmark_that_shows_its_identity_in_time_is_met() -> None:
    other = screen(node(label="Home", identifier="other"))

    played = run(
        'wait "label=Home" 600',
        Frame(screen=other),
        Frame(screen=HOME, from_ms=600),
        evidence=EVIDENCE,
    )

    assert played.outcome.failure is None


def test_a_landmark_recorded_as_unverifiable_fails_closed() -> None:
    unverifiable = EVIDENCE.replace('"verified"', '"unverifiable"')

    played = run('wait "label=Home" 600', Frame(screen=HOME), evidence=unverifiable)

    assert failure(played).reason == "identity_unverifiable"


@pytest.mark.parametrize(
    "still_there",
    [
        screen(node(label="Home", rect=(0, 5000, 1, 1))),
        screen(node(label="Home", rect=(0, 0, 0, 0))),
        screen(node(label="Home", rect=None), node(label="Home")),
    ],
)
def test_hidden_and_off_screen_matches_are_still_present(still_there: Any) -> None:
    played = run("wait absent label=home 600", Frame(screen=still_there))

    assert failure(played).reason == "wait_target_present"
    assert failure(played).details["matchCount"] >= 1


def test_absence_is_proved_by_a_complete_readable_capture_alone() -> None:
    cut = screen(node(label="Loading"), truncated=True)

    assert failure(run("wait absent label=home 600", Frame(screen=cut))).reason == (
        "wait_capture_stalled"
    )
    assert failure(run("wait absent label=home 600", Frame(screen=EMPTY))).reason == (
        "wait_capture_stalled"
    )
    assert (
        run(
            "wait absent label=home 600", Frame(screen=cut), Frame(screen=BLANK, from_ms=300)
        ).outcome.failure
        is None
    )


def test_stillness_needs_equal_screens_over_the_quiet_time() -> None:
    played = run(
        "wait stable 500 5000",
        Frame(screen=BLANK),
        Frame(screen=HOME, from_ms=600),
    )

    assert played.outcome.failure is None
    assert played.ended_ms == 600 + 600


def test_an_unreadable_capture_starts_the_quiet_time_anew() -> None:
    played = run(
        "wait stable 500 5000",
        Frame(screen=HOME),
        Frame(failure=BUSY, from_ms=300),
        Frame(screen=HOME, from_ms=600),
    )

    assert played.ended_ms == 600 + 600


def test_a_screen_that_never_rests_times_out() -> None:
    timetable = [
        Frame(screen=screen(node(label=str(at))), from_ms=at) for at in range(0, 3000, POLL_MS)
    ]

    assert failure(run("wait stable 500 2000", *timetable)).reason == "wait_stable_timeout"


def test_progress_is_told_once_a_second_at_most() -> None:
    played = run('wait "id=home" 3500', Frame(screen=BLANK))

    told = [body for body in played.events if isinstance(body, WaitProgress)]
    assert [body.waited_ms for body in told] == [1200, 2400]
    assert {body.timeout_ms for body in told} == {3500}
    assert [body.polls for body in told] == [5, 9]


def test_a_landmark_reports_the_match_of_the_screen_that_had_it() -> None:
    other = screen(*(node("Text") for _ in range(9)), node(label="Home", identifier="other"))

    played = run(
        'wait "label=Home" 600',
        Frame(screen=other),
        Frame(screen=BLANK, from_ms=600),
        evidence=EVIDENCE,
    )

    (report,) = [body.report for body in played.events if isinstance(body, Diverged)]
    assert report["kind"] == "identity-mismatch"
    assert report["targetBinding"]["observed"] == {
        "role": "button",
        "id": "other",
        "label": "Home",
    }
    assert report["targetBinding"]["candidates"][0]["ref"] == "e11"
