"""What the scheduler needs from the grid, and what it asks of it.

The grid implements `Pool`; the simulator implements it too. Nothing here knows adb, WDA or a
format.

May be imported by: runner.schedule, grid, runner.cli, tests. Imports: runner.model, trio types.
"""

from typing import Literal, Protocol

from msgspec import Struct

from runner.model.address import Provenance, StepAddress
from runner.model.device import DeviceFacts
from runner.model.event import Event, EventBody
from runner.model.failure import Failure
from runner.model.ids import AttemptId, DeviceId, PlanId
from runner.model.plan import CheckedPlan
from runner.model.verdict import AttemptOutcome


class Assignment(Struct, frozen=True, kw_only=True):
    """One attempt to run: a plan on a device. `deadline_s` is on the run's monotonic clock."""

    plan: CheckedPlan
    attempt_id: AttemptId
    number: int
    device_id: DeviceId
    deadline_s: float | None = None


class AttemptResult(Struct, frozen=True, kw_only=True):
    """How an attempt ended. `began` tells whether its first step was started.

    `refused`: no step was reached, for the device or the way to it was gone.
    `usable`: the device can take the next attempt at once; when it cannot, a later change
    announces it. `session` is the session of the device (see `DeviceChange`) that it ran in.
    `start_delay_ms` is what passed between the call and the first command on the device.
    """

    plan_id: PlanId
    attempt_id: AttemptId
    device_id: DeviceId
    outcome: AttemptOutcome
    began: bool
    duration_ms: int
    failure: Failure | None = None
    address: StepAddress | None = None
    provenance: Provenance | None = None
    refused: bool = False
    usable: bool = True
    session: int = 0
    start_delay_ms: float = 0.0


class DeviceChange(Struct, frozen=True, kw_only=True):
    """A device became usable or unusable for new attempts.

    `session` grows each time the device is opened anew, so that late news of an older session is
    recognised. `returns` tells of a device that is not ready whether its return is awaited.
    """

    facts: DeviceFacts
    state: Literal["ready", "lost", "unhealthy", "quarantined"]
    reason: str = ""
    message: str = ""
    session: int = 0
    returns: bool = True


class Pool(Protocol):
    """Devices that run one attempt at a time each.

    `run` returns exactly one result for every assignment, also when the device is lost or the
    call is cancelled with `cancel`; it raises only `trio.Cancelled`. `next_change` waits for the
    next device change; the first changes announce the devices that are ready.
    """

    @property
    def devices(self) -> tuple[DeviceFacts, ...]:
        """Every device that will be announced, with the facts known before it is opened."""
        ...

    async def run(self, assignment: Assignment) -> AttemptResult:
        """Run one attempt on its device."""
        ...

    def cancel(self, attempt_id: AttemptId) -> None:
        """Ask a running attempt to end as `cancelled`; unknown ids are ignored."""
        ...

    async def next_change(self) -> DeviceChange:
        """Wait for the next change of a device's usability."""
        ...


class EventSink(Protocol):
    """Takes events in order; never blocks and never fails (a full disk is a state, not a call)."""

    def take(self, event: Event) -> None:
        """Accept one event."""
        ...


class Emit(Protocol):
    """Stamps a body with run, source, sequence and time, and hands it to the sink."""

    def __call__(
        self,
        body: EventBody,
        *,
        plan_id: PlanId | None = None,
        attempt_id: AttemptId | None = None,
        device_id: DeviceId | None = None,
        address: StepAddress | None = None,
        provenance: Provenance | None = None,
    ) -> None:
        """Emit one event."""
        ...
