"""The state of a run, folded from its events: what every report is computed from.

Pure. A run that was killed has plans without a verdict; they count as `not_run(interrupted)` and
the run's exit status is 10. Unknown plans or attempts in an event make their own entry, so that no
event can be lost by order.

May be imported by: runner.report, runner.cli, tests. Imports: runner.model.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from runner.exits import INTERRUPTED, ExitStatus
from runner.model.address import Provenance, StepAddress
from runner.model.event import (
    ArtifactStored,
    AttemptFinished,
    AttemptStarted,
    Event,
    PlanAdmitted,
    ProblemFound,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    VerdictReached,
)
from runner.model.failure import Failure
from runner.model.finding import Finding
from runner.model.ids import AttemptId, DeviceId, PlanId, Platform, RunId
from runner.model.verdict import AttemptOutcome, Verdict


class ArtifactEntry(Struct, frozen=True, kw_only=True):
    """One file of evidence, relative to the run directory."""

    kind: str
    path: str
    size_bytes: int
    sha256: str


class StepEntry(Struct, frozen=True, kw_only=True):
    """One executed step, in order of execution."""

    address: StepAddress | None
    provenance: Provenance | None
    command: str
    text: str = ""
    passed: bool | None = None
    duration_ms: int = 0
    detail: str = ""
    failure: Failure | None = None


class AttemptEntry(Struct, frozen=True, kw_only=True):
    """One attempt. `outcome` is `None` while it runs, or when the run was killed in it."""

    id: AttemptId
    number: int = 0
    device: DeviceId | None = None
    outcome: AttemptOutcome | None = None
    started_ms: int | None = None
    finished_ms: int | None = None
    duration_ms: int | None = None
    failure: Failure | None = None
    address: StepAddress | None = None
    provenance: Provenance | None = None
    steps: tuple[StepEntry, ...] = ()
    artifacts: tuple[ArtifactEntry, ...] = ()


class PlanEntry(Struct, frozen=True, kw_only=True):
    """One plan of the run; `verdict` is `None` until it is reached.

    `message` says why it was not run, where the reason alone does not.
    """

    id: PlanId
    path: str = ""
    format: str = ""
    platform: Platform | None = None
    composition_digest: str = ""
    plan_digest: str = ""
    step_count: int = 0
    tags: tuple[str, ...] = ()
    verdict: Verdict | None = None
    reason: str = ""
    message: str = ""
    attempts: tuple[AttemptEntry, ...] = ()


class RunSummary(Struct, frozen=True, kw_only=True):
    """One run. `exit` is `None` while it runs or when it was killed.

    `problems` are what preflight found in the flows that were left out.
    """

    run_id: RunId
    product_version: str = ""
    started_ms: int | None = None
    finished_ms: int | None = None
    last_event_ms: int = 0
    exit: int | None = None
    exit_causes: tuple[int, ...] = ()
    plans: tuple[PlanEntry, ...] = ()
    problems: tuple[Finding, ...] = ()


class _Folding:
    """The tables of one fold; a value comes out of `summary`."""

    def __init__(self, run_id: RunId) -> None:
        self.run = RunSummary(run_id=run_id)
        self.problems: list[Finding] = []
        self.plans: dict[PlanId, PlanEntry] = {}
        self.attempts: dict[PlanId, dict[AttemptId, AttemptEntry]] = {}
        self.steps: dict[AttemptId, list[StepEntry]] = {}
        self.artifacts: dict[AttemptId, list[ArtifactEntry]] = {}

    def take(self, event: Event) -> None:
        self.run = replace(self.run, last_event_ms=max(self.run.last_event_ms, event.wall_ms))
        body = event.body
        match body:
            case RunStarted(product_version=version):
                self.run = replace(self.run, started_ms=event.wall_ms, product_version=version)
            case RunFinished(exit=status, causes=causes):
                self.run = replace(
                    self.run, finished_ms=event.wall_ms, exit=status, exit_causes=causes
                )
            case ProblemFound(problem=problem):
                self.problems.append(problem)
            case _:
                self._take_of_plan(event)

    def _take_of_plan(self, event: Event) -> None:
        if event.plan_id is None:
            return
        plan = self.plans.get(event.plan_id, PlanEntry(id=event.plan_id))
        body = event.body
        match body:
            case PlanAdmitted():
                plan = replace(
                    plan,
                    path=body.path,
                    format=body.format,
                    platform=body.platform,
                    composition_digest=body.composition_digest,
                    plan_digest=body.plan_digest,
                    step_count=body.step_count,
                    tags=body.tags,
                )
            case VerdictReached() if plan.verdict is None:
                plan = replace(plan, verdict=body.verdict, reason=body.reason, message=body.message)
            case _:
                pass
        self.plans[event.plan_id] = plan
        if event.attempt_id is not None:
            self._take_of_attempt(event, event.plan_id, event.attempt_id)

    def _take_of_attempt(self, event: Event, plan_id: PlanId, attempt_id: AttemptId) -> None:
        table = self.attempts.setdefault(plan_id, {})
        attempt = table.get(attempt_id, AttemptEntry(id=attempt_id))
        body = event.body
        match body:
            case AttemptStarted(number=number):
                attempt = replace(
                    attempt, number=number, device=event.device_id, started_ms=event.wall_ms
                )
            case AttemptFinished() if attempt.outcome is None:
                attempt = replace(
                    attempt,
                    number=body.number,
                    device=event.device_id,
                    outcome=body.outcome,
                    finished_ms=event.wall_ms,
                    duration_ms=body.duration_ms,
                    failure=body.failure,
                    address=event.address,
                    provenance=event.provenance,
                )
            case StepStarted() | StepFinished():
                self._take_of_step(event, attempt_id)
            case ArtifactStored():
                self.artifacts.setdefault(attempt_id, []).append(
                    ArtifactEntry(
                        kind=body.kind,
                        path=body.path,
                        size_bytes=body.size_bytes,
                        sha256=body.sha256,
                    )
                )
            case _:
                pass
        table[attempt_id] = attempt

    def _take_of_step(self, event: Event, attempt_id: AttemptId) -> None:
        steps = self.steps.setdefault(attempt_id, [])
        body = event.body
        if isinstance(body, StepStarted):
            steps.append(
                StepEntry(
                    address=event.address,
                    provenance=event.provenance,
                    command=body.command,
                    text=body.text,
                )
            )
        elif isinstance(body, StepFinished):
            if not steps or steps[-1].passed is not None or steps[-1].address != event.address:
                steps.append(
                    StepEntry(
                        address=event.address, provenance=event.provenance, command=body.command
                    )
                )
            steps[-1] = replace(
                steps[-1],
                passed=body.passed,
                duration_ms=body.duration_ms,
                detail=body.detail,
                failure=body.failure,
            )

    def summary(self) -> RunSummary:
        plans = tuple(
            replace(
                plan,
                attempts=tuple(
                    replace(
                        attempt,
                        steps=tuple(self.steps.get(attempt.id, ())),
                        artifacts=tuple(self.artifacts.get(attempt.id, ())),
                    )
                    for attempt in self.attempts.get(plan.id, {}).values()
                ),
            )
            for plan in self.plans.values()
        )
        return replace(self.run, plans=plans, problems=tuple(self.problems))


def summarise(run_id: RunId, events: Iterable[Event]) -> RunSummary:
    """Fold `events`, in journal order, into the state of the run."""
    folding = _Folding(run_id)
    for event in events:
        folding.take(event)
    return folding.summary()


def final_verdict(plan: PlanEntry) -> tuple[Verdict, str]:
    """Return the verdict and reason of a plan as reports show it."""
    if plan.verdict is None:
        return "not_run", "interrupted"
    return plan.verdict, plan.reason


def exit_status(run: RunSummary) -> ExitStatus:
    """Return the exit status and its causes; a run without an end was interrupted."""
    if run.exit is None:
        return ExitStatus(INTERRUPTED, (INTERRUPTED,))
    return ExitStatus(run.exit, run.exit_causes)


def elapsed_ms(run: RunSummary, attempt: AttemptEntry) -> int:
    """Return how long an attempt took; for one without an end, until the last that is known."""
    if attempt.duration_ms is not None or attempt.started_ms is None:
        return attempt.duration_ms or 0
    return max(0, run.last_event_ms - attempt.started_ms)


def decisive_attempt(plan: PlanEntry) -> AttemptEntry | None:
    """Return the last attempt, whose failure explains the verdict."""
    return plan.attempts[-1] if plan.attempts else None
