"""The JSON report of a run: stable keys for machines.

Pure. Version 1: a new key may appear; no key changes its meaning. `address` is the address's JSON
form and `addressToken` its text token; times are ISO 8601 UTC.

May be imported by: runner.cli, tests. Imports: runner.model, runner.report.
"""

from msgspec import Struct

from runner.exits import ExitStatus
from runner.model.address import Provenance, StepAddress, render_token
from runner.model.failure import Failure
from runner.model.finding import Finding
from runner.model.verdict import AttemptOutcome, Verdict
from runner.report.encode import render_value
from runner.report.summary import AttemptEntry, PlanEntry, RunSummary, exit_status, final_verdict
from runner.report.times import render_utc


class ArtifactJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """One file of evidence, relative to the run directory."""

    kind: str
    path: str
    size_bytes: int
    sha256: str


class AttemptJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """One attempt; `address` is the failing step's, `null` when none failed."""

    attempt_id: str
    number: int
    device: str | None
    outcome: AttemptOutcome | None
    started_at: str | None
    finished_at: str | None
    duration_ms: int | None
    address: StepAddress | None
    address_token: str | None
    provenance: Provenance | None
    failure: Failure | None
    artifacts: tuple[ArtifactJson, ...]


class PlanJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """One plan and its one verdict."""

    plan_id: str
    path: str
    platform: str | None
    format: str
    composition_digest: str
    plan_digest: str | None
    verdict: Verdict
    reason: str
    message: str = ""
    steps: int
    attempts: tuple[AttemptJson, ...]


class RunJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole run. `stored` is false when the journal failed and this is all there is.

    `problems` are what preflight found in flows that were left out.
    """

    version: int = 1
    run_id: str
    exit: int
    exit_causes: tuple[int, ...]
    complete: bool
    stored: bool
    started_at: str | None
    finished_at: str | None
    totals: dict[str, int]
    plans: tuple[PlanJson, ...]
    problems: tuple[Finding, ...]


def run_json(run: RunSummary, *, stored: bool = True, status: ExitStatus | None = None) -> RunJson:
    """Return the report of `run`.

    `status` overrides what the journal says, for a run whose journal failed.
    """
    status = status or exit_status(run)
    return RunJson(
        run_id=run.run_id,
        exit=status.exit,
        exit_causes=status.causes,
        complete=run.exit is not None,
        stored=stored,
        started_at=None if run.started_ms is None else render_utc(run.started_ms),
        finished_at=None if run.finished_ms is None else render_utc(run.finished_ms),
        totals=totals(run),
        plans=tuple(_plan(plan) for plan in run.plans),
        problems=run.problems,
    )


def render_json(run: RunJson) -> str:
    """Return the report as indented JSON with a final newline."""
    return render_value(run)


def totals(run: RunSummary) -> dict[str, int]:
    """Count the plans of each verdict that occurs, and all of them."""
    counts: dict[str, int] = {"plans": len(run.plans)}
    for plan in run.plans:
        verdict, _ = final_verdict(plan)
        counts[verdict] = counts.get(verdict, 0) + 1
    return counts


def _plan(plan: PlanEntry) -> PlanJson:
    verdict, reason = final_verdict(plan)
    return PlanJson(
        plan_id=plan.id,
        path=plan.path,
        platform=plan.platform,
        format=plan.format,
        composition_digest=plan.composition_digest,
        plan_digest=plan.plan_digest or None,
        verdict=verdict,
        reason=reason,
        message=plan.message,
        steps=plan.step_count,
        attempts=tuple(_attempt(attempt) for attempt in plan.attempts),
    )


def _attempt(attempt: AttemptEntry) -> AttemptJson:
    return AttemptJson(
        attempt_id=attempt.id,
        number=attempt.number,
        device=attempt.device,
        outcome=attempt.outcome,
        started_at=None if attempt.started_ms is None else render_utc(attempt.started_ms),
        finished_at=None if attempt.finished_ms is None else render_utc(attempt.finished_ms),
        duration_ms=attempt.duration_ms,
        address=attempt.address,
        address_token=None if attempt.address is None else render_token(attempt.address),
        provenance=attempt.provenance,
        failure=attempt.failure,
        artifacts=tuple(
            ArtifactJson(kind=a.kind, path=a.path, size_bytes=a.size_bytes, sha256=a.sha256)
            for a in attempt.artifacts
        ),
    )
