"""Progress events: the tagged, versioned union that workers and the scheduler emit.

An event is an envelope (who, when, about which step) and a body (what). `source` and `sequence`
order the events of one emitter without gaps; with the run id and the fence they identify an event,
so that redelivery is idempotent. An old reader meets a body with an unknown tag as a decode error
of that row only; a new optional field decodes to its default in old data and is ignored by an old
reader.

May be imported by: everyone. Imports: runner.model.
"""

from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import Struct

from runner.model.address import Provenance, StepAddress
from runner.model.failure import Failure
from runner.model.finding import Finding
from runner.model.ids import AttemptId, DeviceId, Digest, Fence, PlanId, Platform, RunId
from runner.model.verdict import AttemptOutcome, Verdict

EVENT_VERSION = 1


class RunStarted(Struct, frozen=True, gc=False, kw_only=True, tag="run_started", rename="camel"):
    """The sweep begins: `plans` were selected, `devices` are known."""

    plans: int
    devices: tuple[DeviceId, ...]
    product_version: str


class RunFinished(Struct, frozen=True, gc=False, kw_only=True, tag="run_finished", rename="camel"):
    """The sweep ended with this exit status; `causes` lists every cause, first one deciding."""

    exit: int
    causes: tuple[int, ...]
    reason: str = ""


class PlanAdmitted(
    Struct, frozen=True, gc=False, kw_only=True, tag="plan_admitted", rename="camel"
):
    """A plan takes part in the run. Everything that reports need of it without the sources.

    A flow that preflight stopped has no platform and no digest.
    """

    path: str
    format: str
    platform: Platform | None
    composition_digest: Digest
    plan_digest: str
    step_count: int
    tags: tuple[str, ...] = ()


class AttemptStarted(
    Struct, frozen=True, gc=False, kw_only=True, tag="attempt_started", rename="camel"
):
    """Attempt `number` (from 1) of a plan begins on a device."""

    number: int


class AttemptFinished(
    Struct, frozen=True, gc=False, kw_only=True, tag="attempt_finished", rename="camel"
):
    """The attempt ended; the envelope's address is the failing step's, when there is one."""

    number: int
    outcome: AttemptOutcome
    duration_ms: int
    failure: Failure | None = None


class InvocationEntered(
    Struct, frozen=True, gc=False, kw_only=True, tag="invocation_entered", rename="camel"
):
    """A fragment begins; the address is that of its local step 1."""

    call_site_id: str
    locator: str


class InvocationLeft(
    Struct, frozen=True, gc=False, kw_only=True, tag="invocation_left", rename="camel"
):
    """A fragment ended without failure."""

    call_site_id: str
    locator: str


class StepStarted(Struct, frozen=True, gc=False, kw_only=True, tag="step_started", rename="camel"):
    """A step begins. `command` is its word, `text` the redacted line for people."""

    command: str
    text: str


class StepFinished(
    Struct, frozen=True, gc=False, kw_only=True, tag="step_finished", rename="camel"
):
    """A step ended; `failure` is absent when it passed. `detail` is a read value or a note."""

    command: str
    passed: bool
    duration_ms: int
    failure: Failure | None = None
    detail: str = ""


class WaitProgress(
    Struct, frozen=True, gc=False, kw_only=True, tag="wait_progress", rename="camel"
):
    """A step is still polling: `waited_ms` of `timeout_ms`, after `polls` looks."""

    waited_ms: int
    timeout_ms: int
    polls: int


class Diverged(Struct, frozen=True, gc=False, kw_only=True, tag="diverged", rename="camel"):
    """The replay left the recording; `report` is the format's divergence report."""

    kind: str
    report: dict[str, Any]


class ArtifactStored(
    Struct, frozen=True, gc=False, kw_only=True, tag="artifact_stored", rename="camel"
):
    """A file of evidence stands in the run directory; `path` is relative to it."""

    kind: Literal["screenshot", "hierarchy", "device_log", "divergence", "other"]
    path: str
    size_bytes: int
    sha256: str


class DeviceStateChanged(
    Struct, frozen=True, gc=False, kw_only=True, tag="device_state", rename="camel"
):
    """A device joined, was lost, came back, is unhealthy, or was put in quarantine."""

    state: Literal["ready", "busy", "lost", "unhealthy", "quarantined", "released"]
    platform: Platform
    reason: str = ""
    message: str = ""
    serial: str = ""
    model: str = ""
    os_version: str = ""


class LeaseChanged(Struct, frozen=True, gc=False, kw_only=True, tag="lease", rename="camel"):
    """A device's lease was taken, released, or lapsed."""

    change: Literal["taken", "released", "lapsed"]
    fence: Fence


class Logged(Struct, frozen=True, gc=False, kw_only=True, tag="log", rename="camel"):
    """A line for people."""

    level: Literal["debug", "info", "warning", "error"]
    message: str


class VerdictReached(Struct, frozen=True, gc=False, kw_only=True, tag="verdict", rename="camel"):
    """The one final result of a plan. `reason` refines `not_run` and failures.

    `message` says for people why a plan was not run.
    """

    verdict: Verdict
    reason: str = ""
    attempts: int = 0
    message: str = ""


class ProblemFound(
    Struct, frozen=True, gc=False, kw_only=True, tag="problem_found", rename="camel"
):
    """Preflight found this in a run that left the flows with problems out."""

    problem: Finding


EventBody: TypeAlias = (
    RunStarted
    | ProblemFound
    | RunFinished
    | PlanAdmitted
    | AttemptStarted
    | AttemptFinished
    | InvocationEntered
    | InvocationLeft
    | StepStarted
    | StepFinished
    | WaitProgress
    | Diverged
    | ArtifactStored
    | DeviceStateChanged
    | LeaseChanged
    | Logged
    | VerdictReached
)

EVENT_KINDS: Final = frozenset(str(body.__struct_config__.tag) for body in get_args(EventBody))
"""The tags of all bodies."""


class Event(Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """One event. `wall_ms` is UTC since the epoch, `offset_ms` monotonic since the run began.

    `source` names the emitter (`scheduler`, or a worker's device id); `sequence` counts its events
    from 1 within one fence.
    """

    version: int = EVENT_VERSION
    run_id: RunId
    source: str
    fence: Fence = Fence(0)
    sequence: int
    wall_ms: int
    offset_ms: int
    body: EventBody
    plan_id: PlanId | None = None
    attempt_id: AttemptId | None = None
    device_id: DeviceId | None = None
    address: StepAddress | None = None
    provenance: Provenance | None = None
