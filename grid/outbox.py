"""The outbox of a worker: what waits to be sent, so that a slow reader never holds a device up.

Putting never waits. When `limit` events wait, further progress and log lines are left out and
counted; step events, artifacts and ends of attempts never are. Memory stays bounded all the same:
an attempt has a bounded number of steps, the bytes of waiting artifacts have a bound of their own,
and the next attempt begins only after the end of the last was sent. Sequence numbers are given
when a batch is taken, so that they have no gaps.

May be imported by: grid, tests. Imports: grid.channel, grid.message, runner.model, trio.
"""

from collections import deque
from typing import Final, TypeAlias, final

import trio
from msgspec import Struct
from msgspec.structs import replace

from grid.channel import Channel
from grid.message import MAX_PIECE_BYTES, ArtifactPiece, Ended, Events, Message
from runner.clock import Clock
from runner.errors import GridError
from runner.model.address import Provenance, StepAddress
from runner.model.event import Event, EventBody, Logged, WaitProgress
from runner.model.ids import AttemptId, DeviceId, Fence, PlanId, RunId

_BATCH: Final = 256

Item: TypeAlias = Event | ArtifactPiece | Ended


class Stamp(Struct, frozen=True, kw_only=True):
    """Who emits: the run, the device, its fence, and when the run began on the loop's clock."""

    run_id: RunId
    device_id: DeviceId
    fence: Fence
    run_start_s: float


@final
class Outbox:
    """Items in order. One task sends them, any may put."""

    def __init__(
        self,
        stamp: Stamp,
        clock: Clock,
        *,
        limit: int = 2000,
        artifact_limit_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._stamp = stamp
        self._clock = clock
        self._limit = limit
        self._artifact_limit = artifact_limit_bytes
        self._artifact_bytes = 0
        self._items: deque[Item] = deque()
        self._dropped = 0
        self._sequence = 1
        self._put = trio.Event()
        self._sent = trio.Event()
        self._is_sending = False
        self._is_closed = False

    def put(
        self,
        body: EventBody,
        *,
        plan_id: PlanId,
        attempt_id: AttemptId,
        address: StepAddress | None = None,
        provenance: Provenance | None = None,
    ) -> None:
        """Take one event."""
        if isinstance(body, WaitProgress | Logged) and len(self._items) >= self._limit:
            self._dropped += 1
            return
        offset_s = trio.current_time() - self._stamp.run_start_s
        event = Event(
            run_id=self._stamp.run_id,
            source=self._stamp.device_id,
            fence=self._stamp.fence,
            sequence=0,
            wall_ms=self._clock.wall_ms(),
            offset_ms=round(offset_s * 1000),
            body=body,
            plan_id=plan_id,
            attempt_id=attempt_id,
            device_id=self._stamp.device_id,
            address=address,
            provenance=provenance,
        )
        self._append(event)

    def put_artifact(self, artifact: ArtifactPiece) -> bool:
        """Take one whole artifact and cut it into pieces; false when too much waits already."""
        size = len(artifact.data)
        if self._artifact_bytes + size > self._artifact_limit:
            return False
        self._artifact_bytes += size
        last = max(0, (size - 1) // MAX_PIECE_BYTES) * MAX_PIECE_BYTES
        for start in range(0, last + 1, MAX_PIECE_BYTES):
            data = artifact.data[start : start + MAX_PIECE_BYTES]
            self._append(replace(artifact, data=data, is_last=start == last))
        return True

    def put_end(self, ended: Ended) -> None:
        """Take the end of an attempt."""
        self._append(ended)

    async def send_to(self, channel: Channel) -> None:
        """Send what is put, until the channel is closed."""
        while True:
            await self._put.wait()
            self._put = trio.Event()
            while self._items:
                try:
                    await self._send_batch(channel)
                except GridError:
                    self._is_closed = True
                    self._sent.set()
                    return  # The receiving task learns of the same end, and reports it.
            self._sent.set()

    async def wait_sent(self) -> None:
        """Wait until nothing waits any more, or nothing can be sent any more."""
        while not self._is_closed and (self._items or self._is_sending):
            self._sent = trio.Event()
            await self._sent.wait()

    def _append(self, item: Item) -> None:
        self._items.append(item)
        self._put.set()

    async def _send_batch(self, channel: Channel) -> None:
        self._is_sending = True
        try:
            item = self._items[0]
            if isinstance(item, Event):
                await self._send_events(channel, self._take_events())
            else:
                self._items.popleft()
                await channel.send(item)
                if isinstance(item, ArtifactPiece):
                    self._artifact_bytes -= len(item.data)
        finally:
            self._is_sending = False

    def _take_events(self) -> tuple[Event, ...]:
        batch: list[Event] = []
        while self._items and len(batch) < _BATCH:
            item = self._items[0]
            if not isinstance(item, Event):
                break
            self._items.popleft()
            batch.append(replace(item, sequence=self._sequence))
            self._sequence += 1
        return tuple(batch)

    async def _send_events(self, channel: Channel, batch: tuple[Event, ...]) -> None:
        message: Message = Events(events=batch, dropped=self._dropped)
        try:
            await channel.send(message)
        except GridError as error:
            if error.reason != "channel_frame_too_large":
                raise
            await self._send_halves(channel, batch)
        self._dropped = 0

    async def _send_halves(self, channel: Channel, batch: tuple[Event, ...]) -> None:
        if len(batch) > 1:
            middle = len(batch) // 2
            await self._send_events(channel, batch[:middle])
            await self._send_events(channel, batch[middle:])
            return
        text = f"an event was left out: {type(batch[0].body).__name__} is over the frame bound"
        note = replace(batch[0], body=Logged(level="error", message=text))
        await channel.send(Events(events=(note,)))
