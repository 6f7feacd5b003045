# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from grid.lease import LeaseStore, Take
from runner.model.device import HealthReport
from runner.model.event import (
    ArtifactStored,
    DeviceStateChanged,
    LeaseChanged,
    Logged,
    StepFinished,
    StepStarted,
)
from runner.model.ids import AttemptId, DeviceId
from runner.model.plan import CheckedPlan, Limits
from runner.schedule.ports import Assignment
from runner.schedule.retry import Quotas
from runner.schedule.scheduler import AttemptRecord, SweepResult, SweepSettings
from tests.support.device import FakePhone
from tests.support.plans import make_facts, make_plan
from tests.support.pooling import FakeGrid


def plan(name: str, program: str = "tap", limits: Limits | None = None) -> CheckedPlan:
    return make_plan(name, program=program.encode(), limits=limits)


def verdicts(result: SweepResult) -> list[tuple[str, str]]:
    return [(r.verdict, r.reason) for r in result.plans]


def attempts(result: SweepResult) -> list[AttemptRecord]:
    return [attempt for each in result.plans for attempt in each.attempts]


def assert_released(grid: FakeGrid) -> None:
    assert grid.open_phones == 0
    assert grid.lease_files == []
    assert not any(phone.is_busy for phone in grid.phones)


def states(grid: FakeGrid) -> list[tuple[str, str]]:
    return [(b.state, b.reason) for b in grid.recorder.bodies(DeviceStateChanged)]


async def at(seconds: float, *calls: object) -> None:
    await trio.sleep_until(seconds)
    for call in calls:
        assert callable(call)
        call()


async def test_a_sweep_runs_on_opened_devices_and_releases_everything(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 3)
    result = await grid.sweep([plan(f"p{n}", "tap\nlook\ntap") for n in range(9)])

    assert verdicts(result) == [("passed", "")] * 9
    assert [phone.opened for phone in grid.phones] == [1, 1, 1]
    assert states(grid) == [("ready", "")] * 3
    assert [b.change for b in grid.recorder.bodies(LeaseChanged)] == ["taken"] * 3 + [
        "released"
    ] * 3
    assert len(grid.recorder.bodies(StepFinished)) == 27
    assert_released(grid)


async def test_worker_events_keep_gapless_sequences_of_their_own(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)
    await grid.sweep([plan(f"p{n}", "tap\ntap") for n in range(6)])
    for phone in grid.phones:
        own = [e for e in grid.recorder.events if e.source == phone.facts.id]

        assert [e.sequence for e in own] == list(range(1, len(own) + 1))
        assert len({e.fence for e in own}) == 1
        assert {e.run_id for e in own} == {"run"}
        assert all(e.attempt_id and e.plan_id and e.device_id == phone.facts.id for e in own)


async def test_artifacts_are_stored_and_announced_with_their_step(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    result = await grid.sweep([plan("p", "look\nfail")])

    assert verdicts(result) == [("failed", "text_not_accepted")]
    assert [(kind, name) for kind, name, *_ in grid.store.stored] == [
        ("screenshot", "failure.png"),
        ("hierarchy", "failure.xml"),
        ("device_log", "failure.log"),
    ]
    events = [e for e in grid.recorder.events if isinstance(e.body, ArtifactStored)]

    assert [(e.attempt_id, e.device_id) for e in events] == [("p.1", "d0")] * 3
    assert all(e.address is not None and e.address.local_step == 2 for e in events)


async def test_an_artifact_that_cannot_be_stored_is_told_and_changes_no_verdict(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    grid.store.is_full = True
    async with grid.open() as pool:
        await pool.next_change()
        result = await pool.run(
            Assignment(
                plan=plan("p", "look\nshoot a"),
                attempt_id=AttemptId("p.1"),
                number=1,
                device_id=DeviceId("d0"),
            )
        )
    assert result.outcome == "passed"
    assert [f.message for f in pool.evidence_failures] == ["the disk is full"]
    assert [b.level for b in grid.recorder.bodies(Logged)] == ["error"]


async def test_a_slow_store_holds_back_the_end_but_not_the_device(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    grid.store.delay_s = 10
    result = await grid.sweep([plan("p", "shoot a\ntap\nshoot b\ntap")])

    assert verdicts(result) == [("passed", "")]
    assert result.plans[0].attempts[0].duration_ms == 240
    assert result.makespan_ms > 20_000


async def test_a_plan_whose_device_is_lost_passes_on_another(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 3, grid.phones[1].unplug)
        result = await grid.sweep([plan(f"p{n}", "pause 2000\ntap") for n in range(6)])

    assert verdicts(result) == [("passed", "")] * 6
    (lost,) = [r for r in result.plans if len(r.attempts) == 2]

    assert [(a.device_id, a.outcome) for a in lost.attempts] == [("d1", "infra"), ("d0", "passed")]
    assert lost.attempts[0].failure is not None
    assert lost.attempts[0].failure.kind == "device_lost"
    assert lost.attempts[0].address is not None
    assert ("lost", "device_lost") in states(grid)
    assert_released(grid)


async def test_the_only_device_is_waited_for_and_used_when_it_returns(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 3, grid.phones[0].unplug)
        nursery.start_soon(at, 23, grid.phones[0].plug_in)
        result = await grid.sweep([plan(f"p{n}", "pause 2000") for n in range(3)])

    assert verdicts(result) == [("passed", "")] * 3
    assert [len(r.attempts) for r in result.plans] == [1, 2, 1]
    assert states(grid) == [("ready", ""), ("lost", "device_lost"), ("ready", "")]
    fences = {e.fence for e in grid.recorder.events if e.source == "d0"}

    assert len(fences) == 2, "a device that returned works under a new fence"
    assert_released(grid)


async def test_the_only_device_gone_for_good_leaves_the_plans_without_a_device(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 3, grid.phones[0].unplug)
        result = await grid.sweep([plan(f"p{n}", "pause 2000") for n in range(3)])

    assert verdicts(result) == [
        ("passed", ""),
        ("infra_exhausted", "device_lost"),
        ("not_run", "no_eligible_device"),
    ]
    assert 33 <= trio.current_time() < 35
    assert_released(grid)


@pytest.mark.parametrize("trouble", ["is_dead", "opening_hangs"])
async def test_a_device_that_never_opens_is_given_up_after_the_grace(
    tmp_path: Path, autojump_clock: MockClock, trouble: str
) -> None:
    grid = FakeGrid(tmp_path)
    setattr(grid.phones[0], trouble, True)
    result = await grid.sweep([plan("p")])

    assert verdicts(result) == [("not_run", "no_eligible_device")]
    assert 29 < trio.current_time() < 61
    assert_released(grid)


async def test_a_device_that_fails_the_gate_takes_no_plan_until_it_is_healthy(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)
    ill = HealthReport(health="unhealthy", reason="device_unhealthy", message="not booted")
    grid.phones[0].health = ill

    def heal() -> None:
        grid.phones[0].health = HealthReport(health="healthy")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 10, heal)
        result = await grid.sweep([plan(f"p{n}", "pause 4000") for n in range(8)])
    first = [a for r in result.plans for a in r.attempts if a.device_id == "d0"]

    assert verdicts(result) == [("passed", "")] * 8
    assert first
    assert min(a.started_wall_ms for a in first) >= 10_000
    assert ("unhealthy", "device_unhealthy") in states(grid)


async def test_a_hung_plan_is_one_time_out_and_the_device_serves_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    phone = grid.phones[0]
    limits = Limits(step_ms=5000)
    plans = [plan("a"), plan("b", "pause 60000", limits), plan("c"), plan("d")]
    result = await grid.sweep(plans)

    assert verdicts(result) == [
        ("passed", ""),
        ("timed_out", "step_time_limit"),
        ("passed", ""),
        ("passed", ""),
    ]
    assert phone.opened == 2, "after a time-out the connection is opened anew"


async def test_a_device_that_answers_nothing_any_more_blocks_nobody(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)

    def hang() -> None:
        grid.phones[0].hangs = True

    limits = Limits(step_ms=5000)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 1, hang)
        quotas = Quotas(timeout_retries=1)
        plans = [plan(f"p{n}", "tap\npause 900\ntap", limits) for n in range(60)]
        result = await grid.sweep(plans, SweepSettings(quotas=quotas))

    # The plan that was running there was lost to the device: no failure of the product.
    assert {v for v, _ in verdicts(result)} == {"passed"}
    assert [a.failure.reason for a in attempts(result) if a.failure] == ["device_unhealthy"]
    assert ("unhealthy", "device_unhealthy") in states(grid)
    assert_released(grid)


async def test_an_interpreters_bug_on_every_plan_ends_the_run_and_blames_no_device(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)
    result = await grid.sweep([plan(f"p{n}", "bug") for n in range(5)])

    assert verdicts(result) == [("infra_exhausted", "worker_fault")] * 5
    assert [phone.opened for phone in grid.phones] == [1, 1]


async def test_a_drivers_bug_takes_its_device_out_after_three_plans(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)
    bad = grid.phones[0]
    health = bad.health

    class Breaking(FakePhone):
        def check_alive(self) -> None:
            if self.opened > self.closed and self.tap_s == 0.1 and self.actions_begun():
                raise ZeroDivisionError("a driver's bug")

        def actions_begun(self) -> bool:
            return any(e.device_id == "d0" for e in grid.recorder.events if _is_step(e.body))

    grid.phones[0] = Breaking(make_facts("d0"))
    result = await grid.sweep([plan(f"p{n}", "tap\npause 3000") for n in range(10)])

    assert health.health == "healthy"
    assert verdicts(result) == [("passed", "")] * 10
    ended = [a for r in result.plans for a in r.attempts if a.device_id == "d0"]

    assert 1 <= len(ended) <= 3


def _is_step(body: object) -> bool:
    return isinstance(body, StepStarted)


async def test_the_same_phone_by_two_routes_is_one_device(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    grid.phones = [
        FakePhone(make_facts("usb", hardware_id="SERIAL")),
        FakePhone(make_facts("wifi", hardware_id="SERIAL")),
    ]
    result = await grid.sweep([plan(f"p{n}", "pause 1000") for n in range(4)])

    assert verdicts(result) == [("passed", "")] * 4
    assert len({a.device_id for r in result.plans for a in r.attempts}) == 1
    assert sorted(states(grid)) == [("ready", ""), ("unhealthy", "device_duplicate")]


async def test_a_second_route_to_a_phone_is_found_before_it_is_opened(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    grid.phones = [
        FakePhone(make_facts(name, hardware_id="UUID")) for name in ("url", "usbmux", "wifi")
    ]
    for phone in grid.phones:
        phone.tells_identity = True
    result = await grid.sweep([plan(f"p{n}", "pause 1000") for n in range(4)])

    assert verdicts(result) == [("passed", "")] * 4
    assert sorted(phone.opened for phone in grid.phones) == [0, 0, 1]
    assert [b.change for b in grid.recorder.bodies(LeaseChanged)] == ["taken", "released"]
    messages = [b.message for b in grid.recorder.bodies(DeviceStateChanged) if b.message]
    assert len(messages) == 2
    assert all("it is the same phone as" in message for message in messages)


async def test_a_phone_that_another_run_holds_by_another_route_is_left_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    other = Take(device="android:UUID", holder="run 0", at_ms=0, ttl_ms=12_000)
    await LeaseStore(tmp_path).apply(other)
    grid = FakeGrid(tmp_path)
    grid.phones = [FakePhone(make_facts("url", hardware_id="UUID"))]
    grid.phones[0].tells_identity = True
    result = await grid.sweep([plan("p")])

    assert verdicts(result) == [("passed", "")]
    assert states(grid) == [("unhealthy", "lease_held"), ("ready", "")]


async def test_a_phone_that_does_not_say_which_one_it_is_is_not_opened(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)
    grid.phones[0].tells_identity = True
    grid.phones[0].is_dead = True
    result = await grid.sweep([plan("p")])

    assert verdicts(result) == [("passed", "")]
    assert [phone.opened for phone in grid.phones] == [0, 1]
    assert ("lost", "device_lost") in states(grid)


async def test_a_device_that_another_run_holds_is_left_alone_until_its_lease_is_over(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    other = Take(device="android:d0", holder="run 0", at_ms=0, ttl_ms=12_000)
    await LeaseStore(tmp_path).apply(other)
    grid = FakeGrid(tmp_path)
    result = await grid.sweep([plan("p")])

    assert verdicts(result) == [("passed", "")]
    assert states(grid) == [("unhealthy", "lease_held"), ("ready", "")]
    assert grid.recorder.bodies(DeviceStateChanged)[0].message == "it is in use by run 0"
    assert 12 < trio.current_time() < 20


async def test_two_runs_never_drive_one_device_at_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    first, second = FakeGrid(tmp_path), FakeGrid(tmp_path)
    second.phones = first.phones  # The phone itself asserts that it is open once at most.
    first.set(return_grace_s=300)
    second.set(holder="run 2", return_grace_s=300)
    results: list[SweepResult] = []

    async def run(grid: FakeGrid) -> None:
        results.append(await grid.sweep([plan(f"p{n}", "pause 9000") for n in range(4)]))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, first)
        nursery.start_soon(run, second)

    assert [verdicts(result) for result in results] == [[("passed", "")] * 4] * 2
    assert_released(first)


async def test_a_lapsed_lease_ends_the_work_and_is_taken_anew(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)

    def steal() -> None:
        for path in grid.lease_files:
            path.unlink()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 12, steal)
        result = await grid.sweep([plan("p", "pause 20000")])

    assert verdicts(result) == [("passed", "")]
    assert [(a.outcome, a.failure and a.failure.reason) for a in attempts(result)] == [
        ("infra", "lease_lapsed"),
        ("passed", None),
    ]
    assert ("unhealthy", "lease_lapsed") in states(grid)
    assert [b.change for b in grid.recorder.bodies(LeaseChanged)] == [
        "taken",
        "lapsed",
        "taken",
        "released",
    ]


@pytest.mark.parametrize("stolen_s", [1, 6, 9])
@pytest.mark.parametrize(
    ("left", "told"),
    [
        (b"", "its record is gone"),
        (
            b'{"device":"android:d0","holder":"run 7","fence":999999999999999,"expiresMs":13000}',
            "it is held by run 7 now",
        ),
    ],
)
async def test_a_renewal_that_fails_ends_the_attempt_at_once_and_says_why(
    tmp_path: Path, autojump_clock: MockClock, left: bytes, told: str, stolen_s: int
) -> None:
    grid = FakeGrid(tmp_path)

    def steal() -> None:
        for path in grid.lease_files:
            path.write_bytes(left)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, stolen_s, steal)
        result = await grid.sweep([plan("p", "pause 20000")])

    first, last = attempts(result)
    assert ("infra", "passed") == (first.outcome, last.outcome)
    assert first.failure is not None
    assert "lease_lapsed" == first.failure.reason
    assert told in first.failure.message
    # The renewal that finds it is at most a third of the lease's time away.
    assert first.duration_ms <= 1000 * (stolen_s + grid.settings.lease_ttl_s / 3)
    messages = [b.message for b in grid.recorder.bodies(DeviceStateChanged)]
    assert any(told in message for message in messages)


async def test_a_device_lost_before_the_first_step_costs_the_plan_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)
    quotas = Quotas(infra_retries=0)
    async with trio.open_nursery() as nursery:
        # The interpreter of this plan still gets ready when its phone goes away.
        nursery.start_soon(at, 1, grid.phones[0].unplug)
        nursery.start_soon(at, 1, grid.phones[1].unplug)
        nursery.start_soon(at, 9, grid.phones[0].plug_in)
        result = await grid.sweep(
            [plan(f"p{n}", "ready 2000\ntap") for n in range(2)], SweepSettings(quotas=quotas)
        )

    assert [("passed", "")] * 2 == verdicts(result)
    assert {"infra"} == {each.attempts[0].outcome for each in result.plans}


async def test_nobody_commands_a_phone_after_a_lease_that_ended_unnoticed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    done_before: list[int] = []

    def stand_still() -> None:
        # The process slept, and others saw its lease end; the renewal is not due for a while.
        done_before.append(len(grid.phones[0].actions))
        grid.clock.ahead_s = 3600

    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 1, stand_still)
        result = await grid.sweep([plan("p", "tap\npause 400\n" * 5)])

    first, second = attempts(result)
    assert (first.outcome, first.failure and first.failure.reason) == ("infra", "lease_lapsed")
    assert second.outcome == "passed"
    assert len(grid.phones[0].actions) == done_before[0] + 5


async def test_a_phone_whose_lease_ended_while_it_was_opened_is_given_no_plan(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)

    def stand_still() -> None:
        grid.clock.ahead_s = 3600

    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 0.005, stand_still)
        result = await grid.sweep([plan("p")])

    assert ["passed"] == [attempt.outcome for attempt in attempts(result)]
    assert [("unhealthy", "lease_lapsed"), ("ready", "")] == states(grid)
    assert_released(grid)


async def test_a_store_that_fails_costs_the_device_at_the_end_of_its_lease(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path / "leases")
    ended: list[float] = []

    def break_store() -> None:
        for path in (tmp_path / "leases").iterdir():
            path.unlink()
        (tmp_path / "leases").rmdir()
        (tmp_path / "leases").write_text("no folder any more")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(at, 1, break_store)
        grid.set(return_grace_s=1)
        result = await grid.sweep([plan("p", "tap\npause 100\n" * 600)])
        ended.append(trio.current_time())

    assert verdicts(result) == [("infra_exhausted", "lease_lapsed")]
    # Commands went on while the lease held, and no longer.
    assert grid.settings.lease_ttl_s * 0.9 < ended[0] < grid.settings.lease_ttl_s * 1.4


async def test_a_long_run_keeps_its_lease(tmp_path: Path, autojump_clock: MockClock) -> None:
    grid = FakeGrid(tmp_path)
    result = await grid.sweep([plan("p", "pause 80000")])

    assert verdicts(result) == [("passed", "")]
    assert [b.change for b in grid.recorder.bodies(LeaseChanged)] == ["taken", "released"]


@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.015, 0.03, 0.5, 1.015, 2.5])
@pytest.mark.parametrize("how", ["drain", "abort", "cancel", "unplug"])
async def test_nothing_is_left_whenever_and_however_a_run_is_stopped(
    tmp_path: Path, autojump_clock: MockClock, seconds: float, how: str
) -> None:
    grid = FakeGrid(tmp_path, 3)
    grid.set(return_grace_s=5)
    result: SweepResult | None = None
    with trio.CancelScope() as scope:
        stops = {
            "drain": grid.controls.drain,
            "abort": grid.controls.abort,
            "cancel": scope.cancel,
            "unplug": grid.unplug,
        }
        async with trio.open_nursery() as nursery:
            nursery.start_soon(at, seconds, stops[how])
            result = await grid.sweep([plan(f"p{n}", "pause 1000\nfail") for n in range(7)])

    if how == "cancel":
        assert result is None
    else:
        assert result is not None
        assert len(result.plans) == 7
    assert_released(grid)
    assert trio.current_time() < 20


async def test_a_driver_that_hangs_when_closed_is_left_after_the_release_limit(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    grid.phones[0].closing_hangs = True
    result = await grid.sweep([plan("p")])

    assert verdicts(result) == [("passed", "")]
    assert grid.lease_files == []
    assert trio.current_time() < 11
    assert "closing" in grid.recorder.bodies(Logged)[0].message


async def test_an_assignment_to_a_device_that_is_gone_is_refused_without_blame(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    grid.phones[0].is_dead = True
    async with grid.open() as pool:
        for device in ("d0", "nobody"):
            result = await pool.run(
                Assignment(
                    plan=plan("p"),
                    attempt_id=AttemptId("p.1"),
                    number=1,
                    device_id=DeviceId(device),
                )
            )

            assert (result.outcome, result.refused, result.usable) == ("infra", True, False)


@pytest.mark.slow
async def test_fifty_devices_and_five_hundred_plans_in_virtual_time(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 50)
    plans = [plan(f"p{n}", "pause 20000\ntap\npause 39000") for n in range(500)]
    result = await grid.sweep(plans)

    assert {v for v, _ in verdicts(result)} == {"passed"}
    assert len(result.dispatch_gaps_ms) == 500
    assert sorted(result.dispatch_gaps_ms)[495] <= 10
    assert result.makespan_ms <= 10 * 59_100 + 500
    assert_released(grid)


@pytest.mark.slow
async def test_a_fifth_of_the_devices_lost_costs_attempts_but_no_verdict(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 20)
    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(at, 55, grid.phones[number].unplug)
        result = await grid.sweep([plan(f"p{n}", "pause 10000\ntap") for n in range(300)])

    assert {v for v, _ in verdicts(result)} == {"passed"}
    assert sum(len(r.attempts) == 2 for r in result.plans) == 4
    assert_released(grid)


async def test_the_run_limit_ends_what_runs_and_asks_no_more_of_the_devices(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path, 2)
    settings = SweepSettings(run_limit_ms=10_000)
    result = await grid.sweep([plan(f"p{n}", "pause 7000") for n in range(6)], settings)

    assert verdicts(result) == [
        ("passed", ""),
        ("passed", ""),
        ("timed_out", "run_time_limit"),
        ("timed_out", "run_time_limit"),
        ("not_run", "run_limit"),
        ("not_run", "run_limit"),
    ]
    assert trio.current_time() < 10.1
    assert grid.store.stored == []
    assert_released(grid)


async def test_the_plan_limit_is_kept_on_the_device(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    grid = FakeGrid(tmp_path)
    limits = Limits(step_ms=5000, plan_ms=8000)
    result = await grid.sweep([plan("p", "pause 4000\npause 4000\npause 4000", limits)])

    assert verdicts(result) == [("timed_out", "plan_time_limit")]
    assert len(grid.store.stored) == 3
