"""Takes what a run emits, for tests to look at."""

from typing import TypeVar

import trio

from runner.model.address import Provenance, StepAddress
from runner.model.event import Event, EventBody
from runner.model.ids import AttemptId, DeviceId, PlanId, RunId

Body = TypeVar("Body")


class TrioClock:
    """A clock that shows the event loop's time, so that tests control it.

    `ahead_s` is what the wall clock has gained, as after a machine stood still.
    """

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def wall_ms(self) -> int:
        return round((trio.current_time() + self.ahead_s) * 1000)

    def monotonic(self) -> float:
        return trio.current_time()


class Recorder:
    """An `Emit` and an `EventSink` that keep everything."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._sequence = 0

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
        self._sequence += 1
        self.take(
            Event(
                run_id=RunId("run"),
                source="scheduler",
                sequence=self._sequence,
                wall_ms=0,
                offset_ms=0,
                body=body,
                plan_id=plan_id,
                attempt_id=attempt_id,
                device_id=device_id,
                address=address,
                provenance=provenance,
            )
        )

    def take(self, event: Event) -> None:
        self.events.append(event)

    def bodies(self, kind: type[Body]) -> list[Body]:
        return [event.body for event in self.events if isinstance(event.body, kind)]
