# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from grid.channel import Channel, open_channel
from grid.message import ArtifactPiece, Assign, Cancel, Ended, Events, Hello, Message
from grid.outbox import Stamp
from grid.pipe import open_memory_pair
from grid.tenure import lapsed_lease
from grid.worker import WorkerSettings, serve_worker
from runner.errors import GridError
from runner.model.event import Logged, StepStarted
from runner.model.failure import Failure
from runner.model.ids import AttemptId, DeviceId, Fence, RunId
from runner.model.plan import Limits
from tests.support.device import PNG, FakeDevice, FakePhone, address, make_machine
from tests.support.plans import make_facts, make_plan
from tests.support.recording import TrioClock

STAMP = Stamp(run_id=RunId("r"), device_id=DeviceId("d"), fence=Fence(7), run_start_s=0.0)


def assign(program: str, number: int = 1, limits: Limits | None = None) -> Assign:
    return Assign(
        plan=make_plan("p", program=program.encode(), limits=limits),
        attempt_id=AttemptId(f"p.{number}"),
        number=number,
    )


class Rig:
    """A worker on a fake phone, and the grid's side of its channel."""

    def __init__(self) -> None:
        self.phone = FakePhone(make_facts("d"))
        self.got: list[Message] = []
        self.over = trio.Event()
        self.lost: Failure | None = None
        self.lease_ends_s = math.inf

    def lapse(self) -> Failure | None:
        return lapsed_lease() if trio.current_time() >= self.lease_ends_s else None

    async def serve(self, stream: trio.abc.Stream) -> None:
        self.lost = await serve_worker(
            stream,
            FakeDevice(self.phone),
            wait_lost=self.phone.wait_gone,
            machine_factory=make_machine,
            clock=TrioClock(),
            settings=WorkerSettings(stamp=STAMP, lapse=self.lapse),
        )
        self.over.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Channel]:
        ours, theirs = open_memory_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.serve, theirs)
            async with open_channel(ours, name="grid") as channel:
                nursery.start_soon(channel.beat)
                yield channel
            with trio.fail_after(10):
                await self.over.wait()
            nursery.cancel_scope.cancel()

    async def until_end(self, channel: Channel) -> Ended:
        while True:
            message = await channel.receive()
            self.got.append(message)
            if isinstance(message, Ended):
                return message

    async def play(self, message: Assign) -> Ended:
        async with self.open() as channel:
            await channel.send(message)
            return await self.until_end(channel)

    @property
    def bodies(self) -> list[object]:
        return [e.body for m in self.got if isinstance(m, Events) for e in m.events]

    @property
    def artifacts(self) -> list[tuple[str, str, bytes]]:
        return [(m.kind, m.name, m.data) for m in self.got if isinstance(m, ArtifactPiece)]


async def test_a_passing_plan_sends_its_events_and_its_end(autojump_clock: MockClock) -> None:
    rig = Rig()
    ended = await rig.play(assign("tap\nshoot home.png\ntap"))

    assert (ended.outcome, ended.began, ended.usable) == ("passed", True, True)
    assert ended.duration_ms == 220
    assert round(ended.busy_ms) == 220
    assert sum(isinstance(body, StepStarted) for body in rig.bodies) == 3
    assert rig.artifacts == [("screenshot", "home.png", PNG)]


async def test_attempts_follow_each_other_on_one_channel(autojump_clock: MockClock) -> None:
    rig = Rig()
    async with rig.open() as channel:
        for number in (1, 2, 3):
            await channel.send(assign("tap", number))

            assert (await rig.until_end(channel)).attempt_id == f"p.{number}"


async def test_a_failure_brings_screenshot_tree_and_log(autojump_clock: MockClock) -> None:
    rig = Rig()
    ended = await rig.play(assign("look\nfail"))

    assert (ended.outcome, ended.address) == ("failed", address(2))
    assert rig.artifacts == [
        ("screenshot", "failure.png", PNG),
        ("hierarchy", "failure.xml", b"<hierarchy/>"),
        ("device_log", "failure.log", b"log line\n"),
    ]
    pieces = [m for m in rig.got if isinstance(m, ArtifactPiece)]

    assert {p.address for p in pieces} == {address(2)}


async def test_a_tree_is_captured_when_none_was_seen(autojump_clock: MockClock) -> None:
    rig = Rig()
    await rig.play(assign("tap\nfail"))

    assert ("hierarchy", "failure.xml", b"<hierarchy/>") in rig.artifacts


async def test_evidence_that_cannot_be_had_is_noted_and_bounded(
    autojump_clock: MockClock,
) -> None:
    rig = Rig()
    rig.phone.screenshot_hangs = True
    ended = await rig.play(assign("tap\nfail"))

    assert ended.outcome == "failed"
    assert [kind for kind, _, _ in rig.artifacts] == ["hierarchy", "device_log"]
    notes = [body for body in rig.bodies if isinstance(body, Logged)]

    assert [note.level for note in notes] == ["warning"]
    assert "screenshot" in notes[0].message
    assert trio.current_time() < 6


async def test_a_hung_device_ends_at_the_step_limit_and_is_to_blame(
    autojump_clock: MockClock,
) -> None:
    rig = Rig()
    rig.phone.hangs = True
    ended = await rig.play(assign("tap", limits=Limits(step_ms=2000)))

    assert (ended.outcome, ended.usable) == ("infra", False)
    assert ended.failure is not None
    assert (ended.failure.kind, ended.failure.reason) == ("device_busy", "device_unhealthy")
    assert ended.failure.details["limit"] == "step_time_limit"
    assert ended.duration_ms == 2000
    assert trio.current_time() < 2 + 15 + 1


async def _wake_at(phone: FakePhone, seconds: float) -> None:
    await trio.sleep_until(seconds)
    phone.hangs = False


async def test_a_device_that_was_silent_beyond_the_limit_is_to_blame_also_when_it_came_back(
    autojump_clock: MockClock,
) -> None:
    rig = Rig()
    rig.phone.hangs = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_wake_at, rig.phone, 7)
        ended = await rig.play(assign("tap", limits=Limits(step_ms=90_000, plan_ms=3000)))

    assert "infra" == ended.outcome
    assert ended.failure is not None
    assert ("device_busy", "device_unhealthy") == (ended.failure.kind, ended.failure.reason)
    assert "plan_time_limit" == ended.failure.details["limit"]
    assert "did not answer for 7." in ended.failure.message


@pytest.mark.parametrize(("program", "wakes_s"), [("pause 60000", 6.0), ("tap", 3.5)])
async def test_a_device_that_answers_at_the_limit_is_not_to_blame(
    autojump_clock: MockClock, program: str, wakes_s: float
) -> None:
    rig = Rig()
    rig.phone.hangs = program == "tap"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_wake_at, rig.phone, wakes_s)
        ended = await rig.play(assign(program, limits=Limits(step_ms=90_000, plan_ms=3000)))

    assert "timed_out" == ended.outcome


async def test_evidence_is_not_collected_from_a_phone_whose_lease_is_over(
    autojump_clock: MockClock,
) -> None:
    rig = Rig()
    rig.phone.screenshot_hangs = True  # The lease ends while the first piece is waited for.
    rig.lease_ends_s = 2
    ended = await rig.play(assign("tap\nfail"))

    assert "failed" == ended.outcome
    assert [] == rig.artifacts
    notes = [body.message for body in rig.bodies if isinstance(body, Logged)]
    assert 3 == len(notes)
    assert all("the lease of the device is over" in note for note in notes[1:])


async def test_a_program_that_is_not_what_its_digest_says_is_not_started(
    autojump_clock: MockClock,
) -> None:
    rig = Rig()
    ended = await rig.play(assign("stale"))

    assert (ended.outcome, ended.began, ended.usable) == ("infra", False, True)
    assert ended.failure is not None
    assert (ended.failure.reason, ended.failure.kind) == ("fragment_stale", "misuse")
    assert rig.phone.actions == []


async def test_an_interpreters_bug_ends_one_attempt(autojump_clock: MockClock) -> None:
    rig = Rig()
    async with rig.open() as channel:
        await channel.send(assign("bug"))
        ended = await rig.until_end(channel)

        assert (ended.outcome, ended.usable) == ("infra", True)
        assert ended.failure is not None
        assert ended.failure.reason == "worker_fault"
        await channel.send(assign("tap", 2))

        assert (await rig.until_end(channel)).outcome == "passed"


async def test_cancel_ends_the_running_attempt_and_no_other(autojump_clock: MockClock) -> None:
    rig = Rig()
    async with rig.open() as channel:
        await channel.send(assign("pause 60000"))
        await channel.send(Cancel(attempt_id=AttemptId("other.1")))
        await trio.sleep(3)
        await channel.send(Cancel(attempt_id=AttemptId("p.1")))
        ended = await rig.until_end(channel)

        assert (ended.outcome, ended.duration_ms) == ("cancelled", 3000)
        await channel.send(Cancel(attempt_id=AttemptId("p.1")))
        await channel.send(assign("tap", 2))

        assert (await rig.until_end(channel)).outcome == "passed"


async def test_cancel_cuts_the_collection_of_evidence_short(autojump_clock: MockClock) -> None:
    rig = Rig()
    rig.phone.screenshot_hangs = True
    async with rig.open() as channel:
        await channel.send(assign("tap\nfail"))
        await trio.sleep(1)
        await channel.send(Cancel(attempt_id=AttemptId("p.1")))
        ended = await rig.until_end(channel)

    assert ended.outcome == "failed"
    assert trio.current_time() < 2


async def test_the_loss_of_the_device_ends_attempt_and_worker(autojump_clock: MockClock) -> None:
    rig = Rig()
    rig.phone.hangs = True
    async with rig.open() as channel:
        await channel.send(assign("tap"))
        await trio.sleep(1)
        rig.phone.unplug()
        ended = await rig.until_end(channel)
        await rig.over.wait()

    assert (ended.outcome, ended.usable) == ("infra", False)
    assert ended.failure is not None
    assert ended.failure.kind == "device_lost"
    assert rig.lost == ended.failure
    assert trio.current_time() < 2


async def test_the_loss_of_an_idle_device_ends_the_worker(autojump_clock: MockClock) -> None:
    rig = Rig()
    async with rig.open():
        rig.phone.unplug()
        with trio.fail_after(1):
            await rig.over.wait()

    assert rig.lost is not None
    assert rig.lost.reason == "device_lost"


async def test_a_second_assignment_at_once_ends_the_channel(autojump_clock: MockClock) -> None:
    rig = Rig()
    async with rig.open() as channel:
        await channel.send(assign("pause 60000"))
        await channel.send(assign("tap", 2))
        with trio.fail_after(1):
            await rig.over.wait()

    assert not rig.phone.is_busy


async def test_the_end_of_the_channel_stops_the_device_at_once(autojump_clock: MockClock) -> None:
    rig = Rig()
    rig.phone.hangs = True
    async with rig.open() as channel:
        await channel.send(assign("tap"))
        await trio.sleep(1)
        was_busy = rig.phone.is_busy

    assert was_busy
    assert not rig.phone.is_busy
    assert trio.current_time() < 2


async def test_a_grid_of_another_version_is_refused() -> None:
    ours, theirs = open_memory_pair()
    rig = Rig()
    channel = Channel(ours, heartbeat_s=5)
    await channel.send(Hello(protocol=0, name="old"))
    try:
        await rig.serve(theirs)
    except GridError as error:
        reason = error.reason
    else:
        reason = ""

    assert reason == "channel_version"
