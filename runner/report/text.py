"""The text report of a run, for people.

Pure. May be imported by: runner.cli, tests. Imports: runner.model, runner.report.
"""

from runner.exits import ExitStatus
from runner.model.address import render_token
from runner.model.finding import Finding
from runner.report.json_report import totals
from runner.report.summary import (
    AttemptEntry,
    PlanEntry,
    RunSummary,
    decisive_attempt,
    elapsed_ms,
    exit_status,
    final_verdict,
)
from runner.report.words import one_line, plural, render_duration, render_place

_ORDER = (
    "failed", "timed_out", "inconclusive", "infra_exhausted", "needs_attention", "not_run",
    "cancelled", "flaky", "passed",
)  # fmt: skip


def render_text(run: RunSummary, *, stored: bool = True, status: ExitStatus | None = None) -> str:
    """Return the report: failures first and explained, then the totals."""
    status = status or exit_status(run)
    lines: list[str] = []
    for plan in sorted(run.plans, key=lambda one: (_ORDER.index(final_verdict(one)[0]), one.id)):
        lines += _plan_lines(run, plan)
    lines += [_problem_line(problem) for problem in run.problems]
    lines.append("")
    counts = totals(run)
    parts = [f"{counts[verdict]} {verdict}" for verdict in reversed(_ORDER) if verdict in counts]
    lines.append(f"{plural(len(run.plans), 'plan')}: {', '.join(parts) or 'nothing ran'}")
    if run.started_ms is not None:
        end = run.last_event_ms if run.finished_ms is None else run.finished_ms
        lines.append(f"time: {render_duration(end - run.started_ms)}")
    if run.problems:
        lines.append(f"preflight: {plural(len(run.problems), 'problem')}")
    if run.exit is None:
        lines.append("the run did not end: plans without a verdict count as not run")
    if not stored:
        lines.append("NOT STORED: the journal failed, this report is all there is")
    shown = ", ".join(map(str, status.causes))
    others = f" (all causes: {shown})" if len(status.causes) > 1 else ""
    lines.append(f"exit status: {status.exit}{others}")
    return "\n".join(lines) + "\n"


def _problem_line(problem: Finding) -> str:
    place = f"{one_line(problem.path)}:{problem.line}:{problem.column}"
    return f"problem   {place}: {problem.reason}: {problem.message}"


def _plan_lines(run: RunSummary, plan: PlanEntry) -> list[str]:
    verdict, reason = final_verdict(plan)
    last = decisive_attempt(plan)
    time = sum(elapsed_ms(run, attempt) for attempt in plan.attempts)
    more = " or more" if any(attempt.outcome is None for attempt in plan.attempts) else ""
    where = f" on {last.device}" if last is not None and last.device else ""
    platform = f" [{plan.platform}]" if plan.platform else ""
    took = f" {render_duration(time)}{more}" if plan.attempts else ""
    tail = f" ({reason})" if reason and verdict not in {"passed", "flaky"} else ""
    lines = [f"{verdict:<9} {one_line(plan.path)}{platform}{where}{took}{tail}"]
    if plan.message:
        lines.append(f"    {plan.message}")
    lost = [attempt for attempt in plan.attempts if attempt.outcome != "passed"]
    if verdict != "passed":
        for attempt in lost:
            lines += _attempt_lines(attempt)
    elif lost:
        causes = "; ".join(f"{_cause(attempt)} on {attempt.device}" for attempt in lost)
        attempts = plural(len(lost), "infrastructure attempt")
        lines.append(f"    passed after {attempts}: {causes}")
    return lines


def _cause(attempt: AttemptEntry) -> str:
    if attempt.failure is None:
        return attempt.outcome or "the run ended in it"
    return f"{attempt.failure.message} [{attempt.failure.reason}]"


def _attempt_lines(attempt: AttemptEntry) -> list[str]:
    lines = [f"    attempt {attempt.number} on {attempt.device}: {_cause(attempt)}"]
    step = attempt.steps[-1] if attempt.steps else None
    if attempt.address is not None:
        if step is not None and step.address == attempt.address and step.text:
            lines.append(f"      step: {step.text}")
        lines.append(f"      at: {render_place(attempt.provenance)}")
        lines.append(f"      address: {render_token(attempt.address)}")
    if attempt.failure is not None and attempt.failure.hint:
        lines.append(f"      next: {attempt.failure.hint}")
    lines += [f"      {artifact.kind}: {artifact.path}" for artifact in attempt.artifacts]
    return lines
