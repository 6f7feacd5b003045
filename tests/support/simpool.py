"""A pool of simulated devices: each attempt takes a scripted time and ends as scripted."""

from collections.abc import Callable, Sequence

import trio

from runner.errors import FailureKind
from runner.model.device import DeviceFacts
from runner.model.failure import Failure
from runner.model.ids import AttemptId, DeviceId
from runner.model.verdict import AttemptOutcome
from runner.schedule.ports import Assignment, AttemptResult, DeviceChange

Script = Callable[[Assignment], tuple[float, AttemptOutcome, str]]


def passes_after(seconds: float) -> Script:
    return lambda _assignment: (seconds, "passed", "")


class SimPool:
    """Implements `Pool`. `script` gives each attempt its seconds, outcome and reason."""

    def __init__(self, facts: Sequence[DeviceFacts], script: Script) -> None:
        self._facts = tuple(facts)
        self._script = script
        self._send, self._receive = trio.open_memory_channel[DeviceChange](10_000)
        self._cancels: dict[AttemptId, trio.Event] = {}
        self.busy: set[DeviceId] = set()
        self.started: list[Assignment] = []
        for one in self._facts:
            self.announce(DeviceChange(facts=one, state="ready"))

    @property
    def devices(self) -> tuple[DeviceFacts, ...]:
        return self._facts

    def announce(self, change: DeviceChange) -> None:
        self._send.send_nowait(change)

    async def next_change(self) -> DeviceChange:
        return await self._receive.receive()

    def cancel(self, attempt_id: AttemptId) -> None:
        if attempt_id in self._cancels:
            self._cancels[attempt_id].set()

    async def run(self, assignment: Assignment) -> AttemptResult:
        assert assignment.device_id not in self.busy, "two attempts on one device"
        self.busy.add(assignment.device_id)
        self.started.append(assignment)
        cancelled = self._cancels[assignment.attempt_id] = trio.Event()
        seconds, outcome, reason = self._script(assignment)
        deadline = trio.current_time() + seconds
        if assignment.deadline_s is not None and assignment.deadline_s < deadline:
            deadline, outcome, reason = assignment.deadline_s, "timed_out", "run_time_limit"
        with trio.move_on_at(deadline) as waiting:
            await cancelled.wait()
        if not waiting.cancelled_caught:
            outcome, reason = "cancelled", "attempt_cancelled"
        self.busy.remove(assignment.device_id)
        kind: FailureKind = "device_lost" if outcome == "infra" else "product"
        failure = Failure(kind=kind, code="X", reason=reason, message=reason)
        return AttemptResult(
            plan_id=assignment.plan.id,
            attempt_id=assignment.attempt_id,
            device_id=assignment.device_id,
            outcome=outcome,
            began=True,
            duration_ms=round(seconds * 1000),
            failure=failure if reason else None,
        )
