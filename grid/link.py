"""The grid's side of one worker's channel: assignments out, events, artifacts and ends in.

A link lives as long as one session of a device. `run` gives exactly one result for every
assignment: the worker's, or one made here when the channel ends first. Events pass to the sink
once, in the worker's own sequence; doubled ones and doubled ends are ignored. The worker's outbox
absorbs a slow sink or store, so they may be slow, but they hold back the next attempt.

May be imported by: grid, tests. Imports: grid, runner.schedule.ports, runner.model, trio.
"""

from collections import deque
from typing import Final, final

import trio
from msgspec import Struct
from msgspec.structs import replace

from grid.artifact import ArtifactStore, PieceJoiner
from grid.channel import Channel, phase_of
from grid.message import ArtifactPiece, Assign, Cancel, Ended, Events, Message
from runner.errors import DeviceError, EvidenceError, GridError, RunnerError
from runner.model.event import Event, Logged, StepStarted
from runner.model.failure import Failure, failure_of, is_infrastructure
from runner.model.ids import AttemptId, DeviceId, Fence
from runner.schedule.ports import Assignment, AttemptResult, Emit, EventSink

CANCEL_GRACE_S: Final = 5.0


class LinkPorts(Struct, frozen=True, kw_only=True):
    """Where what a worker sends goes to."""

    sink: EventSink
    emit: Emit
    artifacts: ArtifactStore


@final
class _Pending:
    """An assignment that waits for its end."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.since_s = trio.current_time()
        self.done = trio.Event()
        self.result: AttemptResult | None = None
        self.is_cancelled = False
        self.has_begun = False


@final
class Link:
    """One session's link to the worker of `device_id`."""

    def __init__(
        self,
        device_id: DeviceId,
        *,
        session: int,
        fence: Fence,
        ports: LinkPorts,
    ) -> None:
        self._device_id = device_id
        self._session = session
        self._fence = fence
        self._ports = ports
        self._joiner = PieceJoiner()
        self._pending: _Pending | None = None
        self._commands: deque[Message] = deque()
        self._wake = trio.Event()
        self._cancelled = trio.Event()
        self._is_over = False
        self._last_sequence = 0
        self.has_worked = False
        self.is_unusable = False
        self.evidence_failures: list[Failure] = []
        self.trouble: Failure | None = None
        """Why the session ended, when the device has to be opened anew."""

    async def serve(self, channel: Channel) -> None:
        """Carry messages until the channel ends, the device is unusable, or it is cancelled."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.beat, phase_of(self._device_id))
                nursery.start_soon(self._send, channel)
                nursery.start_soon(self._enforce_cancel, nursery.cancel_scope)
                await self._receive(channel)
                nursery.cancel_scope.cancel()
        finally:
            self.close()

    def close(self) -> None:
        """Take no more assignments, and give the waiting one its result; may be repeated."""
        self._is_over = True
        self._settle_without_worker(self.trouble or _ended_session(self._device_id))

    async def run(self, assignment: Assignment) -> AttemptResult:
        """Run one assignment; when the caller is cancelled the worker is asked to end it."""
        if self._is_over or self._pending is not None:
            await trio.lowlevel.checkpoint()
            return refusal(assignment, session=self._session)
        pending = self._pending = _Pending(assignment)
        self._command(self._assign(assignment))
        try:
            await pending.done.wait()
        finally:
            self.cancel(assignment.attempt_id)
        if pending.result is None:
            raise LookupError("an attempt was settled without a result")
        return pending.result

    def cancel(self, attempt_id: AttemptId) -> None:
        """Ask the running attempt to end; any other id is ignored."""
        pending = self._pending
        if pending is not None and pending.assignment.attempt_id == attempt_id:
            pending.is_cancelled = True
            self._command(Cancel(attempt_id=attempt_id))
            self._cancelled.set()

    def _assign(self, assignment: Assignment) -> Assign:
        budget_ms = None
        if assignment.deadline_s is not None:
            left_s = assignment.deadline_s - trio.current_time()
            budget_ms = max(0, round(left_s * 1000))
        return Assign(
            plan=assignment.plan,
            attempt_id=assignment.attempt_id,
            number=assignment.number,
            budget_ms=budget_ms,
        )

    def _command(self, message: Message) -> None:
        self._commands.append(message)
        self._wake.set()

    async def _send(self, channel: Channel) -> None:
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._commands:
                message = self._commands.popleft()
                try:
                    await channel.send(message)
                except GridError as error:
                    if error.reason != "channel_frame_too_large":
                        return  # The receiving task learns of the same end, and settles.
                    failure = replace(failure_of(error), kind="misuse")
                    self._settle_without_worker(failure, usable=True)

    async def _enforce_cancel(self, serving: trio.CancelScope) -> None:
        while True:
            await self._cancelled.wait()
            self._cancelled = trio.Event()
            asked = self._pending
            await trio.sleep(CANCEL_GRACE_S)
            if asked is not None and self._pending is asked:
                self.trouble = _silent_worker(self._device_id)
                serving.cancel()

    async def _receive(self, channel: Channel) -> None:
        while True:
            try:
                message = await channel.receive()
            except GridError as error:
                self.trouble = self.trouble or failure_of(error)
                return
            match message:
                case Events():
                    self._take_events(message)
                case ArtifactPiece():
                    await self._take_piece(message)
                case Ended():
                    self._take_end(message)
                    if not message.usable:
                        self.is_unusable = True
                        self.trouble = message.failure
                        return
                case _:
                    self.trouble = failure_of(_unexpected(message))
                    return

    def _take_events(self, message: Events) -> None:
        for event in message.events:
            is_ours = event.source == self._device_id and event.fence == self._fence
            if is_ours and event.sequence > self._last_sequence:
                self._last_sequence = event.sequence
                self._note_begin(event)
                self._ports.sink.take(event)
        if message.dropped:
            self._log("warning", f"{message.dropped} progress events were left out: slow reader")

    def _note_begin(self, event: Event) -> None:
        pending = self._pending
        if (
            pending is not None
            and isinstance(event.body, StepStarted)
            and event.attempt_id == pending.assignment.attempt_id
        ):
            pending.has_begun = True

    async def _take_piece(self, piece: ArtifactPiece) -> None:
        try:
            data = self._joiner.join(piece)
            if data is None:
                return
            stored = await self._ports.artifacts.store(
                kind=piece.kind,
                name=piece.name,
                attempt_id=piece.attempt_id,
                address=piece.address,
                data=data,
            )
        except (GridError, EvidenceError) as error:
            self._note_lost(piece, error)
            return
        self._ports.emit(
            stored,
            plan_id=piece.plan_id,
            attempt_id=piece.attempt_id,
            device_id=self._device_id,
            address=piece.address,
            provenance=piece.provenance,
        )

    def _note_lost(self, piece: ArtifactPiece, error: RunnerError) -> None:
        if isinstance(error, EvidenceError):
            self.evidence_failures.append(failure_of(error))
        self._log("error", f"{piece.kind} of {piece.attempt_id} is lost: {error}")

    def _take_end(self, ended: Ended) -> None:
        pending = self._pending
        if pending is None or pending.assignment.attempt_id != ended.attempt_id:
            self._log("warning", f"a second end of {ended.attempt_id} was ignored")
            return
        self.has_worked = True
        whole_ms = (trio.current_time() - pending.since_s) * 1000
        self._settle(
            AttemptResult(
                plan_id=pending.assignment.plan.id,
                attempt_id=ended.attempt_id,
                device_id=self._device_id,
                outcome=ended.outcome,
                began=ended.began,
                refused=_was_refused(ended),
                duration_ms=ended.duration_ms,
                failure=ended.failure,
                address=ended.address,
                provenance=ended.provenance,
                usable=ended.usable,
                session=self._session,
                start_delay_ms=max(0.0, whole_ms - ended.busy_ms),
            )
        )

    def _settle_without_worker(self, failure: Failure, *, usable: bool = False) -> None:
        pending = self._pending
        if pending is None:
            return
        is_lost = not pending.is_cancelled and is_infrastructure(failure.kind)
        self._settle(
            AttemptResult(
                plan_id=pending.assignment.plan.id,
                attempt_id=pending.assignment.attempt_id,
                device_id=self._device_id,
                outcome="cancelled" if pending.is_cancelled else "infra",
                began=pending.has_begun,
                refused=is_lost and not pending.has_begun,
                duration_ms=round((trio.current_time() - pending.since_s) * 1000),
                failure=failure,
                usable=usable,
                session=self._session,
            )
        )

    def _settle(self, result: AttemptResult) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result = result
            pending.done.set()

    def _log(self, level: str, message: str) -> None:
        body = Logged(level="error" if level == "error" else "warning", message=message)
        self._ports.emit(body, device_id=self._device_id)


def _was_refused(ended: Ended) -> bool:
    """Tell whether the device was lost before the attempt reached its first step."""
    if ended.outcome != "infra" or ended.began or ended.failure is None:
        return False
    return is_infrastructure(ended.failure.kind)


def refusal(assignment: Assignment, *, session: int) -> AttemptResult:
    """Return the result of an assignment that did not reach its device."""
    error = DeviceError(
        kind="device_lost",
        reason="device_not_ready",
        message=f"device {assignment.device_id} was gone before the attempt reached it",
    )
    return AttemptResult(
        plan_id=assignment.plan.id,
        attempt_id=assignment.attempt_id,
        device_id=assignment.device_id,
        outcome="infra",
        began=False,
        duration_ms=0,
        failure=failure_of(error),
        refused=True,
        usable=False,
        session=session,
    )


def _silent_worker(device_id: DeviceId) -> Failure:
    error = GridError(
        reason="channel_silent",
        message=f"the worker of {device_id} did not end its attempt in {CANCEL_GRACE_S:g} s",
    )
    return failure_of(error)


def _ended_session(device_id: DeviceId) -> Failure:
    error = GridError(
        reason="channel_closed", message=f"the session of {device_id} ended with the pool"
    )
    return failure_of(error)


def _unexpected(message: Message) -> GridError:
    return GridError(
        reason="channel_frame_invalid",
        message=f"a worker may not send {type(message).__name__}",
    )
