import pytest
from msgspec.structs import replace

from runner.errors import FailureKind
from runner.model.failure import Failure
from runner.model.ids import AttemptId, DeviceId, PlanId
from runner.model.verdict import AttemptOutcome
from runner.schedule.ports import AttemptResult
from runner.schedule.retry import (
    FREE_REFUSALS,
    Decision,
    Quotas,
    Tally,
    blames_device,
    conclude,
    count,
    decide,
)


def ended(outcome: AttemptOutcome, *, began: bool = True, refused: bool = False) -> AttemptResult:
    reason = "" if outcome == "passed" else f"because_{outcome}"
    return AttemptResult(
        plan_id=PlanId("p"),
        attempt_id=AttemptId("p.1"),
        device_id=DeviceId("d"),
        outcome=outcome,
        began=began,
        duration_ms=1,
        refused=refused,
        failure=Failure(kind="product", code="X", reason=reason, message="") if reason else None,
    )


def play(*results: AttemptResult, retries: int = 0, quotas: Quotas | None = None) -> list[object]:
    tally, decisions = Tally(), list[object]()
    for result in results:
        tally = count(tally, result)
        decisions.append(decide(tally, result, retries=retries, quotas=quotas or Quotas()))
    return decisions


async def test_a_product_failure_is_final_once_the_plans_retries_are_used() -> None:
    assert play(ended("failed")) == [Decision("failed", "because_failed")]
    assert play(ended("failed"), ended("failed"), retries=1) == [
        None,
        Decision("failed", "because_failed"),
    ]


async def test_a_pass_after_a_failed_or_timed_out_attempt_is_flaky() -> None:
    assert play(ended("failed"), ended("passed"), retries=1)[-1] == Decision("flaky")
    quotas = Quotas(timeout_retries=1)

    assert play(ended("timed_out"), ended("passed"), quotas=quotas)[-1] == Decision("flaky")


async def test_a_pass_after_an_infrastructure_end_is_a_plain_pass() -> None:
    assert play(ended("infra"), ended("passed")) == [None, Decision("passed")]


async def test_infrastructure_has_a_quota_of_its_own() -> None:
    assert play(ended("infra"), ended("infra"), retries=5) == [
        None,
        Decision("infra_exhausted", "because_infra"),
    ]
    assert play(ended("infra"), ended("failed")) == [None, Decision("failed", "because_failed")]


async def test_a_failure_before_the_first_step_is_never_a_product_failure() -> None:
    early = ended("failed", began=False)

    assert play(early, early) == [None, Decision("infra_exhausted", "because_failed")]


async def test_a_refused_attempt_uses_no_quota() -> None:
    refused = ended("infra", began=False, refused=True)

    assert play(refused, refused, refused, ended("infra")) == [None, None, None, None]


async def test_a_plan_that_never_reaches_a_step_is_given_up_within_a_bound() -> None:
    refused = ended("infra", began=False, refused=True)
    decisions = play(*[refused] * (FREE_REFUSALS + 2))

    assert decisions[-2:] == [None, Decision("infra_exhausted", "because_infra")]


@pytest.mark.parametrize(
    ("kind", "reason", "refused", "blamed"),
    [
        ("device_lost", "device_not_ready", True, False),
        ("driver_fault", "channel_closed", True, True),
        ("device_lost", "device_lost", False, True),
        ("misuse", "worker_fault", False, False),
    ],
)
async def test_a_device_is_blamed_for_what_was_lost_to_it(
    kind: FailureKind, reason: str, *, refused: bool, blamed: bool
) -> None:
    failure = Failure(kind=kind, code="X", reason=reason, message="")
    result = replace(ended("infra", began=False, refused=refused), failure=failure)

    assert blamed == blames_device(result)


async def test_timeouts_have_a_quota_of_their_own() -> None:
    assert play(ended("timed_out"), retries=5) == [Decision("timed_out", "because_timed_out")]


async def test_cancelled_is_final() -> None:
    assert play(ended("cancelled")) == [Decision("cancelled", "interrupted")]


@pytest.mark.parametrize(
    ("tally", "expected"),
    [
        (Tally(), Decision("not_run", "no_eligible_device")),
        (Tally(infra=1, infra_reason="x"), Decision("infra_exhausted", "x")),
        (Tally(failures=1, failure_reason="f", infra=1), Decision("failed", "f")),
        (Tally(timeouts=1, timeout_reason="t"), Decision("timed_out", "t")),
    ],
)
async def test_a_plan_that_loses_its_last_device_keeps_what_it_showed(
    tally: Tally, expected: Decision
) -> None:
    assert conclude(tally, "no_eligible_device") == expected


async def test_a_plan_stopped_after_an_infrastructure_end_was_not_run() -> None:
    assert conclude(Tally(infra=1, infra_reason="x"), "interrupted") == Decision(
        "not_run", "interrupted"
    )
