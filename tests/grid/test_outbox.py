# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from grid.channel import Channel
from grid.message import MAX_FRAME_BYTES, MAX_PIECE_BYTES, ArtifactPiece, Ended, Events, Message
from grid.outbox import Outbox, Stamp
from grid.pipe import open_memory_pair
from runner.model.event import Diverged, Event, EventBody, Logged, StepStarted, WaitProgress
from runner.model.ids import AttemptId, DeviceId, Fence, PlanId, RunId
from tests.support.recording import TrioClock

STAMP = Stamp(run_id=RunId("r"), device_id=DeviceId("d"), fence=Fence(7), run_start_s=0.0)
PLAN, ATTEMPT = PlanId("p"), AttemptId("p.1")
STEP = StepStarted(command="press", text="press ok")
PROGRESS = WaitProgress(waited_ms=1, timeout_ms=2, polls=1)
ENDED = Ended(
    attempt_id=ATTEMPT,
    plan_id=PLAN,
    outcome="passed",
    began=True,
    duration_ms=1,
    busy_ms=1,
    usable=True,
)


def put(outbox: Outbox, body: EventBody) -> None:
    outbox.put(body, plan_id=PLAN, attempt_id=ATTEMPT)


def piece(data: bytes) -> ArtifactPiece:
    return ArtifactPiece(
        attempt_id=ATTEMPT, plan_id=PLAN, kind="other", name="n", data=data, is_last=True
    )


async def drain(outbox: Outbox) -> list[Message]:
    """Return what comes out when somebody reads."""
    ours, theirs = open_memory_pair(capacity=64 * 1024 * 1024)
    sender, reader = Channel(ours, heartbeat_s=5), Channel(theirs, heartbeat_s=5)
    got: list[Message] = []
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _read() -> None:
            while True:
                got.append(await reader.receive())

        nursery.start_soon(outbox.send_to, sender)
        with trio.fail_after(20):
            await outbox.wait_sent()
            await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    return got


def events_of(messages: list[Message]) -> list[Event]:
    return [event for m in messages if isinstance(m, Events) for event in m.events]


async def test_everything_leaves_in_order_and_events_in_batches() -> None:
    outbox = Outbox(STAMP, TrioClock())
    for _ in range(3):
        put(outbox, STEP)
    outbox.put_artifact(piece(b"png"))
    put(outbox, STEP)
    outbox.put_end(ENDED)
    messages = await drain(outbox)

    assert [type(m).__name__ for m in messages] == ["Events", "ArtifactPiece", "Events", "Ended"]
    assert [e.sequence for e in events_of(messages)] == [1, 2, 3, 4]
    assert {(e.source, e.fence, e.run_id, e.device_id) for e in events_of(messages)} == {
        ("d", 7, "r", "d")
    }


async def test_a_full_outbox_drops_progress_and_logs_but_no_step(
    autojump_clock: MockClock,
) -> None:
    outbox = Outbox(STAMP, TrioClock(), limit=10)
    for _ in range(20):
        put(outbox, STEP)
        put(outbox, PROGRESS)
        put(outbox, Logged(level="info", message="m"))
    messages = await drain(outbox)
    bodies = [event.body for event in events_of(messages)]

    assert bodies.count(STEP) == 20
    assert len(bodies) < 32
    assert sum(m.dropped for m in messages if isinstance(m, Events)) == 60 - len(bodies)
    assert [e.sequence for e in events_of(messages)] == list(range(1, len(bodies) + 1))


async def test_putting_never_waits_while_nobody_reads() -> None:
    outbox = Outbox(STAMP, TrioClock())
    ours, theirs = open_memory_pair(capacity=10)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.send_to, Channel(ours, heartbeat_s=5))
        for _ in range(5000):
            put(outbox, STEP)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert len(await theirs.receive_some()) == 10


async def test_artifacts_travel_in_pieces_and_have_a_bound() -> None:
    outbox = Outbox(STAMP, TrioClock(), artifact_limit_bytes=3 * MAX_PIECE_BYTES)
    data = bytes(range(256)) * (MAX_PIECE_BYTES // 100)

    assert outbox.put_artifact(piece(data))
    assert not outbox.put_artifact(piece(data))
    messages = [m for m in await drain(outbox) if isinstance(m, ArtifactPiece)]

    assert b"".join(m.data for m in messages) == data
    assert [m.is_last for m in messages] == [False, False, True]
    assert outbox.put_artifact(piece(data)), "what was sent makes room again"


async def test_an_empty_artifact_is_one_piece() -> None:
    outbox = Outbox(STAMP, TrioClock())
    outbox.put_artifact(piece(b""))

    assert await drain(outbox) == [piece(b"")]


async def test_a_batch_over_the_frame_bound_is_sent_in_parts() -> None:
    outbox = Outbox(STAMP, TrioClock())
    big = Diverged(kind="x", report={"text": "x" * (MAX_FRAME_BYTES // 3)})
    for _ in range(4):
        put(outbox, big)
    put(outbox, Diverged(kind="x", report={"text": "x" * (MAX_FRAME_BYTES + 1)}))
    events = events_of(await drain(outbox))

    assert [type(e.body).__name__ for e in events] == ["Diverged"] * 4 + ["Logged"]
    assert [e.sequence for e in events] == [1, 2, 3, 4, 5]


async def test_waiting_for_the_flush_ends_when_the_channel_is_closed() -> None:
    outbox = Outbox(STAMP, TrioClock())
    ours, theirs = open_memory_pair()
    await theirs.aclose()
    put(outbox, STEP)
    with trio.fail_after(5):
        await outbox.send_to(Channel(ours, heartbeat_s=5))
        put(outbox, STEP)
        await outbox.wait_sent()
