"""A preflight as values for machines: the shape that `--json` prints, without program bytes.

Pure. The shape is an API: fields are only added.

May be imported by: runner.cli. Imports: runner.preflight, runner.model.
"""

from typing import Any

from msgspec import Struct

from runner.formats.ad.fragment import ScriptKind
from runner.model.finding import Finding
from runner.model.ids import Digest, PlanId, Platform
from runner.model.plan import PlanKind
from runner.preflight.digest import DigestReport
from runner.preflight.settings import BlockedFlow, GraphEdge, ListedFragment, Preflight


class ProblemJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """One problem."""

    reason: str
    path: str
    line: int
    column: int
    message: str
    hint: str
    details: dict[str, Any]
    flows: tuple[str, ...]


class PlanJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """One plan, without its program."""

    id: PlanId
    path: str
    format: str
    kind: PlanKind
    platform: Platform
    target: str
    composition_digest: Digest
    plan_digest: str | None
    steps: int
    fragments: tuple[str, ...]
    tags: tuple[str, ...]
    retries: int
    timeout_ms: int | None


class PreflightJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole result; version 1 of the shape."""

    version: int = 1
    plans: tuple[PlanJson, ...]
    problems: tuple[ProblemJson, ...]
    blocked: tuple[BlockedFlow, ...]
    fragments: tuple[ListedFragment, ...]
    graph: tuple[GraphEdge, ...]


class DigestJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """The digests of one file; version 1 of the shape. `problems` say why one is missing."""

    version: int = 1
    path: str
    kind: ScriptKind | None
    plan_digest: str | None
    fragment_digest: Digest | None
    composition_digest: Digest | None
    problems: tuple[ProblemJson, ...]


def digest_json(report: DigestReport) -> DigestJson:
    """Return the JSON-ready form of a digest report."""
    return DigestJson(
        path=report.path,
        kind=report.kind,
        plan_digest=report.plan_digest,
        fragment_digest=report.fragment_digest,
        composition_digest=report.composition_digest,
        problems=tuple(problem_json(problem) for problem in report.problems),
    )


def preflight_json(preflight: Preflight) -> PreflightJson:
    """Return the JSON-ready form of `preflight`."""
    return PreflightJson(
        plans=tuple(
            PlanJson(
                id=plan.id,
                path=plan.path,
                format=plan.format,
                kind=plan.kind,
                platform=plan.platform,
                target=plan.target,
                composition_digest=plan.composition_digest,
                plan_digest=plan.plan_digest or None,
                steps=plan.step_count,
                fragments=preflight.fragments_of[plan.id],
                tags=plan.tags,
                retries=plan.retries,
                timeout_ms=plan.limits.plan_ms,
            )
            for plan in preflight.plans
        ),
        problems=tuple(problem_json(problem) for problem in preflight.problems),
        blocked=preflight.blocked,
        fragments=preflight.fragments,
        graph=preflight.edges,
    )


def problem_json(problem: Finding) -> ProblemJson:
    """Return the JSON-ready form of one problem."""
    return ProblemJson(
        reason=problem.reason,
        path=problem.path,
        line=problem.line,
        column=problem.column,
        message=problem.message,
        hint=problem.hint,
        details=problem.details,
        flows=problem.flows,
    )
