"""The plan of one file as a tree in execution order, as values.

Pure. Nothing is expanded: values of variables are not in it, only where they come from.

May be imported by: runner.preflight, runner.cli. Imports: runner.formats.ad, runner.preflight,
runner.model.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from runner.formats.ad.fragment import ScriptKind
from runner.model.address import SourceRef, StepAddress
from runner.model.finding import Finding
from runner.model.ids import Digest
from runner.preflight.render import ProblemJson, problem_json

Origin: TypeAlias = Literal["option", "environment", "header", "built_in", "default", "unbound"]


class EvidenceEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was recorded of one element."""

    end: Literal["target", "source", "destination"]
    role: str | None
    id: str | None
    label: str | None
    verified: bool


class StepEntry(Struct, frozen=True, kw_only=True, rename="camel", tag="step"):
    """One step. `address` is `None` where the plan has none yet; `token` is its text.

    `wait_ms` is how long a `wait` waits at most, `step_limit_ms` when any step is cut off, unless
    the grid or the caller says otherwise.
    """

    local_step: int
    address: StepAddress | None
    token: str | None
    path: str
    line: int
    text: str
    wait_ms: int | None
    step_limit_ms: int
    evidence: tuple[EvidenceEntry, ...]
    variables: tuple[str, ...]


class IncludeEntry(Struct, frozen=True, kw_only=True, rename="camel", tag="include"):
    """One include and what runs there; `reason` is what a preflight has against it."""

    call_site_id: str | None
    path: str
    line: int
    locator: str
    fragment: str | None
    pin: Digest | None
    digest: Digest | None
    reason: str | None
    entries: "tuple[TreeEntry, ...]"


TreeEntry: TypeAlias = StepEntry | IncludeEntry


class VariableEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One variable and what binds it; `line` is that of a header that does."""

    name: str
    origin: Origin
    line: int | None
    uses: tuple[SourceRef, ...]
    use_count: int


class PlanTree(Struct, frozen=True, kw_only=True):
    """The whole. `timeout_ms` is the limit of the plan, where the file states one.

    `is_cut` tells that the tree has more entries than a composition may have.
    """

    path: str
    kind: ScriptKind | None = None
    platform: str | None = None
    target: str | None = None
    composition_digest: Digest | None = None
    plan_digest: str | None = None
    fragment_digest: Digest | None = None
    timeout_ms: int | None = None
    steps: int = 0
    is_cut: bool = False
    entries: tuple[TreeEntry, ...] = ()
    variables: tuple[VariableEntry, ...] = ()
    problems: tuple[Finding, ...] = ()


class PlanTreeJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """The plan of one file as a tree; version 1 of the shape."""

    version: int = 1
    path: str
    kind: ScriptKind | None
    platform: str | None
    target: str | None
    composition_digest: Digest | None
    plan_digest: str | None
    fragment_digest: Digest | None
    timeout_ms: int | None
    steps: int
    is_cut: bool
    entries: tuple[TreeEntry, ...]
    variables: tuple[VariableEntry, ...]
    problems: tuple[ProblemJson, ...]


def plan_tree_json(tree: PlanTree) -> PlanTreeJson:
    """Return the JSON-ready form of a plan tree."""
    return PlanTreeJson(
        path=tree.path,
        kind=tree.kind,
        platform=tree.platform,
        target=tree.target,
        composition_digest=tree.composition_digest,
        plan_digest=tree.plan_digest,
        fragment_digest=tree.fragment_digest,
        timeout_ms=tree.timeout_ms,
        steps=tree.steps,
        is_cut=tree.is_cut,
        entries=tree.entries,
        variables=tree.variables,
        problems=tuple(map(problem_json, tree.problems)),
    )
