"""Events a second: through the coordinator's end of a channel, and into the durable journal."""

import gc
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, final

import trio

from grid.channel import open_channel
from grid.link import Link, LinkPorts
from grid.message import Events, encode_frame
from grid.outbox import Outbox, Stamp
from grid.pipe import MemoryStream, open_memory_pair
from runner.clock import SystemClock
from runner.model.address import (
    FragmentOwner,
    InvocationSegment,
    Provenance,
    SourceRef,
    StepAddress,
)
from runner.model.event import Event, StepFinished, StepStarted
from runner.model.ids import AttemptId, DeviceId, Digest, Fence, PlanId, RunId
from runner.record.journal import Journal, open_journal
from runner.record.redaction import Redactor
from runner.record.store import JOURNAL_NAME, filesystem_type
from runner.schedule.ports import EventSink
from tests.bench.scale import Scale
from tests.bench.table import Bar, Row
from tests.support.pooling import MemoryStore
from tests.support.recording import Recorder

Send: TypeAlias = Callable[[MemoryStream], Awaitable[None]]
"""The worker's end of a pair."""

RUN: Final = RunId("bench")
DEVICE: Final = DeviceId("device-1")
FENCE: Final = Fence(1)
DISK: Final = Path("/var/tmp")  # noqa: S108  Temporary files that lie on a disk, not in memory.
_BATCH: Final = 256
"""What an outbox sends in one frame at most."""
_LIMIT_S: Final = 120.0


@final
class _Counter:
    """A sink that knows when the last event came; it hands events on, if anywhere."""

    def __init__(self, expected: int, onward: EventSink | None = None) -> None:
        self.is_done = trio.Event()
        self._left = expected
        self._onward = onward

    def take(self, event: Event) -> None:
        if self._onward is not None:
            self._onward.take(event)
        self._left -= 1
        if self._left == 0:
            self.is_done.set()


async def measure(scale: Scale) -> list[Row]:
    """Return the rows for the coordinator's end, the journal, and the whole way."""
    events = tuple(_make_event(number) for number in range(1, scale.events + 1))
    batches = [events[start : start + _BATCH] for start in range(0, len(events), _BATCH)]
    send_frames = partial(_send_frames, [encode_frame(Events(events=one)) for one in batches])
    send_events = partial(_send_by_outbox, batches)
    gc.collect()
    gc.freeze()  # What is prepared here would lie in no run's memory.
    what = f"{len(events):,} ends and starts of steps with their addresses, {_BATCH} a frame"
    with trio.fail_after(_LIMIT_S):
        received = await _link(send_frames, len(events))
        carried = await _link(send_events, len(events))
        fed, on_disk = await _keep(partial(_feed, batches), len(events))
        whole, _ = await _keep(partial(_carry, send_events, len(events)), len(events))
    gc.unfreeze()
    return [
        _row("coordinator, from frames to the sink", received, Bar(100_000, ">="), note=what),
        _row("durable in the journal", fed, Bar(30_000, ">="), note=on_disk),
        _row("worker and coordinator on one loop", carried),
        _row("the same, durable in the journal", whole),
    ]


def _row(what: str, per_s: float, bar: Bar | None = None, *, note: str = "") -> Row:
    return Row(what=f"events: {what}", value=per_s, unit="/s", bar=bar, note=note)


def _make_event(number: int) -> Event:
    """Return an event of a composed plan: each step of a fragment starts and ends."""
    step = (number + 1) // 2
    line = step % 40 + 1
    plan = f"flows/checkout-{step // 40}.ad"
    owner = FragmentOwner(format="ad", fragment_digest=Digest("sha256:" + "ab" * 32))
    return Event(
        run_id=RUN,
        source=DEVICE,
        fence=FENCE,
        sequence=number,
        wall_ms=1_750_000_000_000 + number,
        offset_ms=number,
        body=StepStarted(command="press", text=f'press "id=row_{step % 200}"')
        if number % 2
        else StepFinished(command="press", passed=True, duration_ms=180),
        plan_id=PlanId(f"{plan}#android"),
        attempt_id=AttemptId(f"{plan}#android.1"),
        device_id=DEVICE,
        address=StepAddress(
            owner=owner,
            invocation_path=(InvocationSegment("call-login"),),
            local_step=line,
        ),
        provenance=Provenance(
            invocation_sources=(SourceRef(plan, 7),),
            step_source=SourceRef("fragments/login.ad", line),
        ),
    )


async def _send_frames(frames: Sequence[bytes], stream: MemoryStream) -> None:
    """Send ready frames, so that only the reader works."""
    async with open_channel(stream, name="worker"):
        for frame in frames:
            await stream.send_all(frame)
        await trio.sleep_forever()


async def _send_by_outbox(batches: Sequence[Sequence[Event]], stream: MemoryStream) -> None:
    """Put events as a worker does, as fast as the channel takes them."""
    stamp = Stamp(run_id=RUN, device_id=DEVICE, fence=FENCE, run_start_s=trio.current_time())
    outbox = Outbox(stamp, SystemClock())
    async with open_channel(stream, name="worker") as channel, trio.open_nursery() as nursery:
        nursery.start_soon(outbox.send_to, channel)
        for batch in batches:
            for event in batch:
                outbox.put(
                    event.body,
                    plan_id=event.plan_id or PlanId(""),
                    attempt_id=event.attempt_id or AttemptId(""),
                    address=event.address,
                    provenance=event.provenance,
                )
            await outbox.wait_sent()


async def _link(send: Send, count: int, onward: EventSink | None = None) -> float:
    """Return the rate at which a link hands on what `send` sends."""
    sink = _Counter(count, onward)
    ports = LinkPorts(sink=sink, emit=Recorder(), artifacts=MemoryStore())
    link = Link(DEVICE, session=1, fence=FENCE, ports=ports)
    ours, theirs = open_memory_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send, theirs)
        async with open_channel(ours, name="grid") as channel:
            began = time.perf_counter()
            nursery.start_soon(link.serve, channel)
            await sink.is_done.wait()
            spent = time.perf_counter() - began
            nursery.cancel_scope.cancel()
    return count / spent


async def _keep(feed: Callable[[Journal], Awaitable[None]], count: int) -> tuple[float, str]:
    """Return the rate until everything that `feed` feeds is on the disk, and what lies there."""
    with tempfile.TemporaryDirectory(prefix="sweepgrid-bench-", dir=DISK) as name:
        folder = Path(name)
        async with open_journal(folder, run_id=RUN, redactor=Redactor({})) as journal:
            began = time.perf_counter()
            await feed(journal)
            await journal.wait_durable()
            spent = time.perf_counter() - began
        if journal.failure is not None:
            raise journal.failure
        return count / spent, _describe(folder, count)


async def _feed(batches: Sequence[Sequence[Event]], journal: Journal) -> None:
    for batch in batches:
        for event in batch:
            journal.take(event)
        await trio.lowlevel.checkpoint()


async def _carry(send: Send, count: int, journal: Journal) -> None:
    await _link(send, count, journal)


def _describe(folder: Path, count: int) -> str:
    size = (folder / JOURNAL_NAME).stat().st_size
    mounts = Path("/proc/mounts")
    kind = filesystem_type(folder, mounts.read_text()) if mounts.exists() else "unknown"
    return f"committed with fsync to {kind}, {size / count:.0f} bytes an event"
