# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock

from grid.channel import Channel, open_channel
from grid.link import Link, LinkPorts
from grid.message import MAX_FRAME_BYTES, Assign, Cancel, Ended, Events, Heartbeat, Message
from grid.pipe import open_memory_pair
from runner.errors import FailureKind
from runner.model.event import Event, Logged, StepStarted
from runner.model.ids import AttemptId, DeviceId, Fence, PlanId, RunId
from runner.schedule.ports import Assignment, AttemptResult
from tests.support.device import failed
from tests.support.plans import make_plan
from tests.support.pooling import MemoryStore
from tests.support.recording import Recorder


def assignment(number: int = 1, *, program: bytes = b"tap") -> Assignment:
    return Assignment(
        plan=make_plan("p", program=program),
        attempt_id=AttemptId(f"p.{number}"),
        number=number,
        device_id=DeviceId("d"),
    )


def ended(number: int = 1, *, usable: bool = True) -> Ended:
    return Ended(
        attempt_id=AttemptId(f"p.{number}"),
        plan_id=PlanId("p"),
        outcome="passed",
        began=True,
        duration_ms=5,
        busy_ms=5,
        usable=usable,
    )


def event(sequence: int, *, source: str = "d", fence: int = 7) -> Event:
    return Event(
        run_id=RunId("r"),
        source=source,
        fence=Fence(fence),
        sequence=sequence,
        wall_ms=0,
        offset_ms=0,
        body=StepStarted(command="press", text="press ok"),
    )


class Rig:
    """A link, and a hand-driven worker at the other end of its channel."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        ports = LinkPorts(sink=self.recorder, emit=self.recorder, artifacts=MemoryStore())
        self.link = Link(DeviceId("d"), session=3, fence=Fence(7), ports=ports)
        self.results: list[AttemptResult] = []
        self.over = trio.Event()

    async def _serve(self, stream: trio.abc.Stream) -> None:
        async with open_channel(stream, name="grid") as channel:
            await self.link.serve(channel)
        self.over.set()

    async def run(self, wanted: Assignment) -> None:
        self.results.append(await self.link.run(wanted))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[Channel, trio.Nursery]]:
        ours, theirs = open_memory_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve, ours)
            async with open_channel(theirs, name="worker") as worker:
                yield worker, nursery
            with trio.fail_after(30):
                await self.over.wait()
            nursery.cancel_scope.cancel()

    @property
    def logs(self) -> list[str]:
        return [body.message for body in self.recorder.bodies(Logged)]


async def settle(*messages: Message, worker: Channel) -> None:
    for message in messages:
        await worker.send(message)
    await trio.testing.wait_all_tasks_blocked()


async def test_an_assignment_gets_the_workers_result_with_its_session() -> None:
    rig = Rig()
    async with rig.open() as (worker, nursery):
        nursery.start_soon(rig.run, assignment())

        assert isinstance(await worker.receive(), Assign)
        await settle(ended(), worker=worker)

        assert [(r.outcome, r.session, r.usable) for r in rig.results] == [("passed", 3, True)]


async def test_a_second_end_of_an_attempt_is_ignored_and_told() -> None:
    rig = Rig()
    async with rig.open() as (worker, nursery):
        nursery.start_soon(rig.run, assignment())
        await worker.receive()
        await settle(ended(), ended(), worker=worker)
        nursery.start_soon(rig.run, assignment(2))
        await worker.receive()
        await settle(ended(), ended(2), worker=worker)

    assert [r.attempt_id for r in rig.results] == ["p.1", "p.2"]
    assert rig.logs == ["a second end of p.1 was ignored"] * 2


async def test_doubled_and_foreign_events_do_not_pass() -> None:
    rig = Rig()
    sent = [event(1), event(2), event(2), event(1), event(3, source="x"), event(3, fence=6)]
    async with rig.open() as (worker, _):
        await settle(Events(events=tuple(sent)), Events(events=(event(2), event(3))), worker=worker)

    assert [e.sequence for e in rig.recorder.events] == [1, 2, 3]


async def test_dropped_events_are_told() -> None:
    rig = Rig()
    async with rig.open() as (worker, _):
        await settle(Events(events=(), dropped=41), worker=worker)

    assert rig.logs == ["41 progress events were left out: slow reader"]


async def test_a_worker_that_goes_away_is_infrastructure() -> None:
    rig = Rig()
    async with rig.open() as (worker, nursery):
        nursery.start_soon(rig.run, assignment())
        await worker.receive()
    (result,) = rig.results

    assert (result.outcome, result.usable, result.refused) == ("infra", False, True)
    assert result.failure is not None
    assert result.failure.reason == "channel_closed"


async def test_a_worker_that_sends_what_it_may_not_ends_the_link() -> None:
    rig = Rig()
    async with rig.open() as (worker, nursery):
        nursery.start_soon(rig.run, assignment())
        await worker.receive()
        await settle(Heartbeat(), Cancel(attempt_id=AttemptId("p.1")), worker=worker)
        with trio.fail_after(1):
            await rig.over.wait()

    assert rig.link.trouble is not None
    assert rig.link.trouble.reason == "channel_frame_invalid"
    assert [r.outcome for r in rig.results] == ["infra"]


async def test_a_worker_that_ignores_a_cancellation_is_left_after_the_grace(
    autojump_clock: MockClock,
) -> None:
    rig = Rig()
    async with rig.open() as (worker, nursery):
        nursery.start_soon(worker.beat)
        nursery.start_soon(rig.run, assignment())
        await worker.receive()
        rig.link.cancel(AttemptId("p.1"))

        assert isinstance(await worker.receive(), Cancel)
        begun = trio.current_time()
        await rig.over.wait()

        assert trio.current_time() - begun == 5
    assert [(r.outcome, r.usable) for r in rig.results] == [("cancelled", False)]


async def test_cancelling_the_caller_asks_the_worker_to_end(autojump_clock: MockClock) -> None:
    rig = Rig()
    async with rig.open() as (worker, _):
        with trio.move_on_after(1):
            await rig.run(assignment())

        assert isinstance(await worker.receive(), Assign)
        assert isinstance(await worker.receive(), Cancel)
        refused = await rig.link.run(assignment(2))

        assert (refused.refused, refused.usable) == (True, False)
        assert refused.failure is not None
        assert refused.failure.reason == "device_not_ready"


async def test_a_plan_over_the_frame_bound_blames_no_device() -> None:
    rig = Rig()
    async with rig.open() as (worker, nursery):
        big = assignment(program=b"x" * MAX_FRAME_BYTES)
        await rig.run(big)
        nursery.start_soon(rig.run, assignment(2))

        assert isinstance(await worker.receive(), Assign)
        await settle(ended(2), worker=worker)
    first, second = rig.results

    assert first.failure is not None
    assert (first.outcome, first.usable, first.failure.kind) == ("infra", True, "misuse")
    assert first.failure.reason == "channel_frame_too_large"
    assert second.outcome == "passed"


async def test_the_runs_deadline_travels_as_what_is_left_of_it(autojump_clock: MockClock) -> None:
    rig = Rig()
    async with rig.open() as (worker, nursery):
        wanted = replace(assignment(), deadline_s=trio.current_time() + 2.5)
        nursery.start_soon(rig.run, wanted)
        assign = await worker.receive()

        assert isinstance(assign, Assign)
        assert assign.budget_ms == 2500


async def test_a_closed_link_refuses(autojump_clock: MockClock) -> None:
    rig = Rig()
    rig.link.close()
    result = await rig.link.run(assignment())

    assert (result.refused, result.session) == (True, 3)


async def _result_of(end: Ended) -> AttemptResult:
    rig = Rig()
    async with rig.open() as (worker, nursery):
        nursery.start_soon(rig.run, assignment())
        await worker.receive()
        await settle(end, worker=worker)
    (result,) = rig.results
    return result


@pytest.mark.parametrize("kind", ["device_lost", "device_busy", "driver_fault"])
async def test_an_attempt_that_a_worker_lost_before_its_first_step_was_refused(
    kind: FailureKind,
) -> None:
    lost = replace(ended(usable=False), outcome="infra", began=False, failure=failed(kind))

    assert (await _result_of(lost)).refused
    assert not (await _result_of(replace(lost, began=True))).refused


async def test_a_plan_that_cannot_be_played_anywhere_was_not_refused() -> None:
    end = replace(ended(), outcome="infra", began=False, failure=failed("misuse"))

    assert not (await _result_of(end)).refused
    assert not (await _result_of(replace(end, outcome="failed", failure=None))).refused
