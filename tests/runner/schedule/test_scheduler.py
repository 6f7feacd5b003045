# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import pytest
import trio
from trio.testing import MockClock

from runner.model.event import (
    AttemptFinished,
    AttemptStarted,
    DeviceStateChanged,
    PlanAdmitted,
    VerdictReached,
)
from runner.model.plan import CheckedPlan
from runner.schedule.ports import Assignment, DeviceChange
from runner.schedule.retry import Quotas
from runner.schedule.scheduler import SweepControls, SweepResult, SweepSettings, run_sweep
from tests.support.plans import make_facts, make_plan
from tests.support.recording import Recorder, TrioClock
from tests.support.simpool import Script, SimPool, passes_after


async def sweep(
    plans: list[CheckedPlan],
    pool: SimPool,
    *,
    settings: SweepSettings | None = None,
    controls: SweepControls | None = None,
    recorder: Recorder | None = None,
) -> SweepResult:
    return await run_sweep(
        plans,
        pool,
        emit=recorder or Recorder(),
        settings=settings or SweepSettings(),
        clock=TrioClock(),
        controls=controls or SweepControls(),
    )


async def test_every_plan_runs_once_and_the_events_tell_it(autojump_clock: MockClock) -> None:
    recorder = Recorder()
    pool = SimPool([make_facts("a1"), make_facts("a2")], passes_after(2))
    result = await sweep([make_plan(n) for n in "pqr"], pool, recorder=recorder)

    assert [(r.plan_id, r.verdict, len(r.attempts)) for r in result.plans] == [
        ("p", "passed", 1),
        ("q", "passed", 1),
        ("r", "passed", 1),
    ]
    assert result.makespan_ms == 4000
    assert len(recorder.bodies(PlanAdmitted)) == 3
    assert len(recorder.bodies(AttemptStarted)) == 3
    assert [b.outcome for b in recorder.bodies(AttemptFinished)] == ["passed"] * 3
    assert [b.verdict for b in recorder.bodies(VerdictReached)] == ["passed"] * 3
    assert [b.state for b in recorder.bodies(DeviceStateChanged)] == ["ready", "ready"]
    assert autojump_clock.autojump_threshold == 0


async def test_no_plans_is_no_work() -> None:
    result = await sweep([], SimPool([make_facts("a1")], passes_after(1)))

    assert (result.plans, result.dispatch_gaps_ms) == ((), ())


async def test_an_attempts_record_has_its_device_and_times(autojump_clock: MockClock) -> None:
    pool = SimPool([make_facts("a1")], passes_after(3))
    result = await sweep([make_plan("p"), make_plan("q")], pool)
    (first,), (second,) = (r.attempts for r in result.plans)

    assert (first.device_id, first.outcome, first.duration_ms) == ("a1", "passed", 3000)
    assert first.ended_wall_ms - first.started_wall_ms == 3000
    assert second.started_wall_ms == first.ended_wall_ms


async def test_drain_lets_the_running_plan_finish(autojump_clock: MockClock) -> None:
    controls = SweepControls()
    pool = SimPool([make_facts("a1")], passes_after(10))
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _drain() -> None:
            await trio.sleep(4)
            controls.drain()

        result = await sweep([make_plan("p"), make_plan("q")], pool, controls=controls)

    assert [(r.verdict, r.reason) for r in result.plans] == [
        ("passed", ""),
        ("not_run", "interrupted"),
    ]
    assert result.makespan_ms == 10_000
    assert result.stopped == "interrupted"


async def test_abort_cancels_the_running_plan(autojump_clock: MockClock) -> None:
    controls = SweepControls()
    pool = SimPool([make_facts("a1")], passes_after(10))
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _abort() -> None:
            await trio.sleep(4)
            controls.drain()
            await trio.sleep(1)
            controls.abort()
            controls.abort()

        result = await sweep([make_plan("p"), make_plan("q")], pool, controls=controls)

    assert [(r.verdict, r.reason) for r in result.plans] == [
        ("cancelled", "interrupted"),
        ("not_run", "interrupted"),
    ]
    assert result.makespan_ms == 5000
    assert pool.busy == set()


async def test_an_abort_before_the_start_runs_nothing(autojump_clock: MockClock) -> None:
    controls = SweepControls()
    controls.abort()
    pool = SimPool([make_facts("a1")], passes_after(10))
    result = await sweep([make_plan("p")], pool, controls=controls)

    assert result.plans[0].verdict in {"cancelled", "not_run"}
    assert result.makespan_ms == 0


async def test_the_run_limit_ends_running_plans_and_leaves_the_rest(
    autojump_clock: MockClock,
) -> None:
    pool = SimPool([make_facts("a1")], passes_after(10))
    settings = SweepSettings(run_limit_ms=15_000)
    result = await sweep([make_plan(n) for n in "pqr"], pool, settings=settings)

    assert [(r.verdict, r.reason) for r in result.plans] == [
        ("passed", ""),
        ("timed_out", "run_time_limit"),
        ("not_run", "run_limit"),
    ]
    assert result.makespan_ms == 15_000


async def test_a_failed_plan_is_retried_and_both_attempts_are_kept(
    autojump_clock: MockClock,
) -> None:
    def script(assignment: Assignment) -> tuple[float, str, str]:
        return (1, "passed", "") if assignment.number == 2 else (1, "failed", "predicate_false")

    chosen: Script = script  # type: ignore[assignment]  # The literals are outcomes.
    pool = SimPool([make_facts("a1")], chosen)
    settings = SweepSettings(quotas=Quotas(retries=1))
    result = await sweep([make_plan("p")], pool, settings=settings)

    assert result.plans[0].verdict == "flaky"
    assert [a.outcome for a in result.plans[0].attempts] == ["failed", "passed"]
    assert [a.attempt_id for a in result.plans[0].attempts] == ["p.1", "p.2"]


async def test_a_black_hole_device_consumes_three_plans_at_most(
    autojump_clock: MockClock,
) -> None:
    def script(assignment: Assignment) -> tuple[float, str, str]:
        if assignment.device_id == "bad":
            return 0.01, "infra", "device_lost"
        return 5, "passed", ""

    chosen: Script = script  # type: ignore[assignment]  # The literals are outcomes.
    recorder = Recorder()
    pool = SimPool([make_facts("bad"), make_facts("good")], chosen)
    plans = [make_plan(f"p{n}") for n in range(10)]
    result = await sweep(plans, pool, recorder=recorder)

    assert {r.verdict for r in result.plans} == {"passed"}
    assert sum(a.device_id == "bad" for a in pool.started) == 3
    quarantines = [b for b in recorder.bodies(DeviceStateChanged) if b.state == "quarantined"]

    assert [b.reason for b in quarantines] == ["device_black_hole"]


async def test_a_device_that_comes_late_is_used(autojump_clock: MockClock) -> None:
    pool = SimPool([make_facts("a1")], passes_after(10))
    pool.announce(DeviceChange(facts=make_facts("late"), state="ready"))
    result = await sweep([make_plan(n) for n in "pq"], pool)

    assert result.makespan_ms == 10_000
    assert {r.attempts[0].device_id for r in result.plans} == {"a1", "late"}


@pytest.mark.slow
async def test_fifty_devices_share_five_hundred_plans_evenly(autojump_clock: MockClock) -> None:
    pool = SimPool([make_facts(f"d{n}") for n in range(50)], passes_after(60))
    result = await sweep([make_plan(f"p{n}") for n in range(500)], pool)

    assert {r.verdict for r in result.plans} == {"passed"}
    assert result.makespan_ms == 600_000
    assert len(result.dispatch_gaps_ms) == 500
    assert max(result.dispatch_gaps_ms) < 1
