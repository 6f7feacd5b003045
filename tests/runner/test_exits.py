import pytest

from runner.exits import ExitStatus, exit_of
from runner.model.verdict import Verdict


@pytest.mark.parametrize(
    ("verdict", "reason", "expected"),
    [
        ("passed", "", 0),
        ("flaky", "", 0),
        ("failed", "predicate_false", 1),
        ("timed_out", "step_time_limit", 1),
        ("inconclusive", "", 1),
        ("not_run", "preflight", 3),
        ("not_run", "no_eligible_device", 5),
        ("infra_exhausted", "device_lost", 6),
        ("needs_attention", "", 6),
        ("not_run", "run_limit", 7),
        ("timed_out", "run_time_limit", 7),
        ("cancelled", "interrupted", 10),
        ("not_run", "interrupted", 10),
    ],
)
async def test_each_verdict_has_its_exit_status(
    verdict: Verdict, reason: str, expected: int
) -> None:
    actual = exit_of([("passed", ""), (verdict, reason)])

    assert actual.exit == expected


async def test_the_first_cause_in_the_documented_order_is_the_status_and_all_are_listed() -> None:
    verdicts: list[tuple[Verdict, str]] = [
        ("flaky", ""),
        ("failed", ""),
        ("not_run", "no_eligible_device"),
        ("infra_exhausted", ""),
        ("not_run", "run_limit"),
        ("cancelled", ""),
    ]
    every = exit_of(verdicts, evidence_lost=True, preflight_problems=True, flaky_fails=True)

    assert every == ExitStatus(8, (8, 10, 7, 6, 3, 5, 1, 9))
    without_evidence = exit_of(verdicts, flaky_fails=True)

    assert without_evidence == ExitStatus(10, (10, 7, 6, 5, 1, 9))


async def test_plans_left_because_others_failed_add_no_cause() -> None:
    actual = exit_of([("failed", ""), ("not_run", "fail_fast"), ("not_run", "max_failures")])

    assert actual == ExitStatus(1, (1,))


async def test_flaky_plans_fail_the_run_only_on_request() -> None:
    assert exit_of([("flaky", "")]) == ExitStatus(0)
    assert exit_of([("flaky", "")], flaky_fails=True) == ExitStatus(9, (9,))


async def test_a_run_of_nothing_says_so_unless_preflight_stopped_it() -> None:
    assert exit_of([]) == ExitStatus(4, (4,))
    assert exit_of([], preflight_problems=True) == ExitStatus(3, (3,))
