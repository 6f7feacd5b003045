"""Makers of events for tests."""

from runner.model.address import RootOwner, StepAddress
from runner.model.event import Event, EventBody, Logged
from runner.model.ids import AttemptId, DeviceId, Digest, PlanId, RunId

RUN = RunId("run-1")
DIGEST = Digest("sha256:" + "ab" * 32)


def step_address(step: int = 1) -> StepAddress:
    return StepAddress(owner=RootOwner(format="ad", composition_digest=DIGEST), local_step=step)


def event(
    sequence: int,
    body: EventBody | None = None,
    *,
    source: str = "scheduler",
    plan: str | None = None,
    attempt: str | None = None,
    device: str | None = None,
    address: StepAddress | None = None,
) -> Event:
    return Event(
        run_id=RUN,
        source=source,
        sequence=sequence,
        wall_ms=1_700_000_000_000 + sequence,
        offset_ms=sequence,
        body=body or Logged(level="info", message=f"line {sequence}"),
        plan_id=None if plan is None else PlanId(plan),
        attempt_id=None if attempt is None else AttemptId(attempt),
        device_id=None if device is None else DeviceId(device),
        address=address,
    )
