# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import math

import pytest
import trio
from trio.testing import MockClock

from grid.play import Play, Played, TimeLimits, failure_of_any
from grid.tenure import lapsed_lease
from runner.errors import DeviceError
from runner.machine.intent import Keep, MachineInputs, Shoot, Tell
from runner.model.action import Back
from runner.model.event import StepFinished, StepStarted
from runner.model.failure import Failure, failure_of
from tests.support.device import PNG, FakeDevice, FakePhone, address, failed, make_machine
from tests.support.plans import make_facts, make_plan


class Heard:
    def __init__(self) -> None:
        self.tells: list[Tell] = []
        self.shots: list[tuple[str, bytes]] = []

    def tell(self, tell: Tell) -> None:
        self.tells.append(tell)

    def keep_artifact(self, asked: Shoot | Keep, data: bytes) -> None:
        self.shots.append((asked.name, data))


class Stage:
    """One phone, one play of one program."""

    def __init__(
        self, program: str, limits: TimeLimits | None = None, *, lease_ends_s: float = math.inf
    ) -> None:
        self.phone = FakePhone(make_facts("d"))
        self.heard = Heard()
        self.lease_ends_s = lease_ends_s
        self.play = Play(
            FakeDevice(self.phone),
            limits or TimeLimits(step_ms=90_000),
            self.heard,
            lapse=self.lapse,
        )
        plan = make_plan("p", program=program.encode())
        self.machine = make_machine(plan, MachineInputs(platform="android", target="mobile"))

    def lapse(self) -> Failure | None:
        return lapsed_lease() if trio.current_time() >= self.lease_ends_s else None

    async def run(self) -> Played:
        return await self.play.run(self.machine)


async def test_intents_reach_the_device_and_answers_the_interpreter(
    autojump_clock: MockClock,
) -> None:
    stage = Stage("tap\nlook\npause 1500\nshoot here\ntap")
    played = await stage.run()

    assert played == Played(outcome="passed")
    assert stage.phone.actions == [Back(), Back()]
    assert stage.heard.shots == [("here", PNG)]
    assert stage.play.last_read is not None
    assert sum(isinstance(t.body, StepFinished) for t in stage.heard.tells) == 5
    assert stage.heard.tells[0].address == address(1)
    assert 1.7 < trio.current_time() < 1.9


async def test_a_product_failure_after_the_first_step_is_a_failure(
    autojump_clock: MockClock,
) -> None:
    played = await Stage("tap\nfail").run()

    assert (played.outcome, played.address) == ("failed", address(2))
    assert played.failure is not None
    assert played.failure.reason == "text_not_accepted"


async def test_a_product_failure_before_the_first_step_is_infrastructure() -> None:
    stage = Stage("early")
    played = await stage.run()

    assert (played.outcome, stage.play.has_begun) == ("infra", False)


@pytest.mark.parametrize("kind", ["device_lost", "device_busy", "driver_fault"])
async def test_failures_of_device_and_driver_are_infrastructure(kind: str) -> None:
    assert (await Stage(f"trouble {kind}").run()).outcome == "infra"


async def test_misuse_counts_as_a_failure_of_the_flow() -> None:
    assert (await Stage("trouble misuse").run()).outcome == "failed"


async def test_a_device_error_is_told_to_the_interpreter(autojump_clock: MockClock) -> None:
    for program in ("tap", "look", "shoot x"):
        stage = Stage(program)
        stage.phone.is_dead = True
        played = await stage.run()

        assert (played.outcome, played.address) == ("infra", address(1))
        assert played.failure is not None
        assert played.failure.kind == "device_lost"


async def test_a_drivers_bug_is_a_driver_fault_with_its_trace(autojump_clock: MockClock) -> None:
    stage = Stage("tap")
    stage.phone.breaks_contract = True
    played = await stage.run()

    assert played.outcome == "infra"
    assert played.failure is not None
    assert (played.failure.kind, played.failure.reason) == ("driver_fault", "worker_fault")
    assert "ZeroDivisionError" in played.failure.details["trace"]


@pytest.mark.parametrize(
    ("limits", "program", "reason", "after_s"),
    [
        (TimeLimits(step_ms=3000), "tap\nhang", "step_time_limit", 3.1),
        (TimeLimits(step_ms=3000), "pause 2000\npause 2000\npause 9000", "step_time_limit", 7),
        (TimeLimits(step_ms=3000, plan_ms=4000), "pause 2900\npause 2900", "plan_time_limit", 4),
        (TimeLimits(step_ms=3000, budget_ms=500), "pause 2000", "run_time_limit", 0.5),
        (TimeLimits(step_ms=500, plan_ms=500, budget_ms=500), "pause 900", "run_time_limit", 0.5),
        (TimeLimits(step_ms=3000, budget_ms=0), "pause 2000", "run_time_limit", 0),
    ],
)
async def test_the_nearest_limit_ends_the_attempt(
    autojump_clock: MockClock, limits: TimeLimits, program: str, reason: str, after_s: float
) -> None:
    stage = Stage(program, limits)
    stage.phone.hangs = "hang" in program
    if stage.phone.hangs:
        after_s -= 0.1  # The phone hangs from its first command on.
    played = await stage.run()

    assert played.outcome == "timed_out"
    assert played.failure is not None
    assert played.failure.reason == reason
    assert trio.current_time() == pytest.approx(after_s, abs=0.01)
    assert not stage.phone.is_busy


async def test_a_time_limit_names_the_step_and_its_address(autojump_clock: MockClock) -> None:
    played = await Stage("tap\npause 9000", TimeLimits(step_ms=1000)).run()

    assert played.address == address(2)
    assert played.failure is not None
    assert "'pause 9000'" in played.failure.message
    assert played.failure.details["limitMs"] == 1000


async def test_the_step_limit_starts_anew_with_each_step(autojump_clock: MockClock) -> None:
    limits = TimeLimits(step_ms=1000)

    assert (await Stage("pause 900\npause 900\npause 900", limits).run()).outcome == "passed"


async def test_stopping_ends_it_as_cancelled_or_lost(autojump_clock: MockClock) -> None:
    for failure, outcome in [
        (failed("misuse", "attempt_cancelled"), "cancelled"),
        (failed("device_lost"), "infra"),
    ]:
        stage = Stage("tap\nhang")
        stage.phone.hangs = True
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _stop() -> None:
                await trio.sleep(2)
                stage.play.stop(failure)  # noqa: B023  # The nursery ends within the turn.
                stage.play.stop(failed("driver_fault"))  # noqa: B023

            played = await stage.run()

        assert (played.outcome, played.failure) == (outcome, failure)


async def test_an_interpreter_that_never_stops_talking_can_be_stopped() -> None:
    stage = Stage("chatter")
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _stop() -> None:
            while len(stage.heard.tells) < 100:
                await trio.lowlevel.checkpoint()
            stage.play.stop(failed("misuse", "attempt_cancelled"))

        assert (await stage.run()).outcome == "cancelled"


async def test_stopping_before_the_start_runs_nothing() -> None:
    stage = Stage("tap")
    stage.play.stop(failed("misuse", "attempt_cancelled"))

    assert (await stage.run()).outcome == "cancelled"
    assert stage.phone.actions == []


async def test_the_interpreter_is_closed_whatever_happens(autojump_clock: MockClock) -> None:
    stage = Stage("pause 5000", TimeLimits(step_ms=10))
    await stage.run()
    with pytest.raises(StopIteration):
        next(stage.machine)
    started = [t for t in stage.heard.tells if isinstance(t.body, StepStarted)]

    assert len(started) == 1


async def test_an_error_in_a_drivers_own_nursery_keeps_its_kind() -> None:
    error = DeviceError(kind="device_lost", reason="device_lost", message="gone")

    assert failure_of_any(ExceptionGroup("g", [ExceptionGroup("g", [error])])) == failure_of(error)


@pytest.mark.parametrize("program", ["tap\ntap", "pause 5000\ntap", "pause 5000"])
async def test_no_verdict_of_an_attempt_stands_whose_lease_is_over(
    autojump_clock: MockClock, program: str
) -> None:
    stage = Stage(program, lease_ends_s=0.15)
    played = await stage.run()

    assert ("infra", "lease_lapsed") == (played.outcome, played.failure and played.failure.reason)
    assert len(stage.phone.actions) <= 2


@pytest.mark.parametrize(
    "limits",
    [
        TimeLimits(step_ms=2000),
        TimeLimits(step_ms=90_000, plan_ms=2000),
        TimeLimits(step_ms=90_000, budget_ms=2000),
    ],
)
async def test_a_time_limit_that_passes_with_the_lease_is_not_the_products(
    autojump_clock: MockClock, limits: TimeLimits
) -> None:
    # A process that stood still for long wakes up behind both.
    stage = Stage("tap\npause 60000", limits, lease_ends_s=1)
    played = await stage.run()

    assert ("infra", "lease_lapsed") == (played.outcome, played.failure and played.failure.reason)
    assert played.address == address(2)


async def test_a_cancelled_attempt_stays_cancelled_when_its_lease_is_over_too(
    autojump_clock: MockClock,
) -> None:
    stage = Stage("pause 60000", lease_ends_s=1)
    asked = failure_of(DeviceError(kind="misuse", reason="attempt_cancelled", message=""))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cancel_at, stage, 2, asked)
        played = await stage.run()

    assert "cancelled" == played.outcome


async def cancel_at(stage: Stage, seconds: float, failure: Failure) -> None:
    await trio.sleep(seconds)
    stage.play.stop(failure)


async def test_a_passed_limit_tells_how_long_the_device_left_its_last_call_unanswered(
    autojump_clock: MockClock,
) -> None:
    stage = Stage("pause 1000\ntap", TimeLimits(step_ms=90_000, plan_ms=4000))
    stage.phone.hangs = True
    played = await stage.run()

    assert played.failure is not None
    assert (3000, 3000) == (played.unanswered_ms, played.failure.details["unansweredMs"])
    assert "for 3.0 s the device had not answered" in played.failure.message
    quiet = await Stage("pause 9000", TimeLimits(step_ms=90_000, plan_ms=4000)).run()

    assert 0 == quiet.unanswered_ms
