"""What `pin`, `include`, `graph` and `explain` tell people.

Pure. May be imported by: runner.cli, tests. Imports: runner.compose, runner.model,
runner.preflight, runner.report, runner.cli.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from runner.cli.output import render_finding
from runner.compose.pin import CHAIN_LIMIT, Repin
from runner.model.plan import Limits
from runner.preflight.drawing import render_lines
from runner.preflight.edition import Edit
from runner.preflight.include_graph import IncludeGraph
from runner.preflight.plan_tree import (
    EvidenceEntry,
    IncludeEntry,
    Origin,
    PlanTree,
    StepEntry,
    TreeEntry,
    VariableEntry,
)
from runner.report.words import plural, render_duration, render_short_address

_ORIGINS: Final[dict[Origin, str]] = {
    "option": "-e",
    "environment": "the environment (AD_VAR_...)",
    "header": "an env line",
    "built_in": "the run",
    "default": "its default",
    "unbound": "nothing",
}


def render_edit(edit: Edit, *, is_dry: bool) -> str:
    """Return what was done to a file, or why nothing was, and what comes next."""
    lines = [render_finding(problem) for problem in edit.problems]
    if edit.problems:
        lines.append(f"{edit.path}: nothing was written")
        lines += _order("pin in this order, each after a review:", edit.repin_first)
        return "\n".join(lines)
    for change in edit.changes:
        is_right = change.old == change.new
        lines.append(f"{edit.path}:{change.line}: {change.call_site_id} > {change.fragment}")
        if not is_right:
            lines.append(f"    - {change.old or 'no pin'}")
        lines.append(f"    {'=' if is_right else '+'} {change.new}")
    count = sum(change.old != change.new for change in edit.changes)
    if not count:
        lines.append(f"{edit.path}: every pin is right already; nothing was written")
    else:
        done = "would be pinned; nothing was written" if is_dry else "pinned"
        lines.append(f"{edit.path}: {plural(count, 'include')} {done}")
    lines += _order(
        "now stale because of it" if not is_dry else "then stale because of it", edit.repin_next
    )
    return "\n".join(lines)


def _order(head: str, repins: Sequence[Repin]) -> Iterator[str]:
    if not repins:
        return
    yield head if head.endswith(":") else f"{head}; pin in this order, each after a review:"
    for each in repins[:CHAIN_LIMIT]:
        yield f"  {each.command or f'({each.path}:{each.line} has no call site)'}"
    if len(repins) > CHAIN_LIMIT:
        yield f"  and {len(repins) - CHAIN_LIMIT} more, which --json lists"


def render_graph(graph: IncludeGraph, *, is_drawn: bool) -> str:
    """Return the graph for people; where it was drawn elsewhere, only what is wrong with it."""
    lines = [render_finding(problem) for problem in graph.problems]
    if is_drawn:
        return "\n".join(lines)
    if graph.uses is not None:
        users = graph.uses.users
        flows = sum(user.kind != "fragment" for user in users)
        body = render_lines(graph)
        counts = f"{plural(flows, 'flow')} and {plural(len(users) - flows, 'fragment')}"
        lines += [body] if body else []
        return "\n".join([*lines, f"{graph.uses.fragment}: reached by {counts}"])
    if graph.nodes:
        lines.append(render_lines(graph))
    elif not graph.problems:
        lines.append("nothing was selected: no flow is under these paths")
    counts = f"{plural(len(graph.nodes), 'source')}, {plural(len(graph.links), 'include')}"
    states = [link.state for link in graph.links]
    for state in ("stale", "missing", "faulty"):
        if state in states:
            counts += f", {states.count(state)} {state}"
    return "\n".join([*lines, counts])


def render_tree(tree: PlanTree) -> str:
    """Return a plan as a tree for people."""
    lines = []
    if tree.kind is not None:
        place = f" for {tree.platform or 'any platform'}, {tree.target or 'any target'}"
        limit = "" if tree.timeout_ms is None else f", limit {render_duration(tree.timeout_ms)}"
        lines.append(f"{tree.path}: {tree.kind}{place}, {plural(tree.steps, 'step')}{limit}")
        lines += [
            f"  {name:<18} {digest}"
            for name, digest in (
                ("fragmentDigest", tree.fragment_digest),
                ("compositionDigest", tree.composition_digest),
                ("planDigest", tree.plan_digest),
            )
            if digest is not None
        ]
        limit = render_duration(Limits().step_ms)
        lines.append(f"  each step is cut off after {limit}, unless the run says otherwise")
        lines += _entries(tree.entries, "  ")
        if tree.is_cut:
            lines.append("  (the tree goes on; it has more steps than a composition may have)")
    if tree.variables:
        lines += ["variables:", *(_variable(each) for each in tree.variables)]
    lines += [render_finding(problem) for problem in tree.problems]
    if tree.problems:
        lines.append(plural(len(tree.problems), "problem"))
    return "\n".join(lines)


def _entries(entries: Iterable[TreeEntry], indent: str) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, StepEntry):
            yield f"{indent}{entry.local_step} {entry.text}"
            yield f"{indent}    {'; '.join(_facts(entry))}"
        else:
            yield f"{indent}include {_include(entry)}"
            yield from _entries(entry.entries, f"{indent}  ")


def _facts(entry: StepEntry) -> Iterator[str]:
    yield f"{entry.path}:{entry.line}"
    if entry.address is not None:
        yield render_short_address(entry.address)
    if entry.wait_ms is not None:
        yield f"waits {render_duration(entry.wait_ms)} at most"
    for evidence in entry.evidence:
        yield _evidence(evidence)
    if entry.variables:
        yield f"uses {', '.join(entry.variables)}"


def _evidence(evidence: EvidenceEntry) -> str:
    facts = (("id", evidence.id), ("role", evidence.role), ("label", evidence.label))
    said = " ".join(f"{name}={value!r}" for name, value in facts if value)
    end = "evidence" if evidence.end == "target" else f"evidence of the {evidence.end}"
    return f"{end} {said} ({'verified' if evidence.verified else 'unverifiable'})"


def _include(entry: IncludeEntry) -> str:
    name = entry.call_site_id or "(no call site)"
    text = f"{name} > {entry.fragment or entry.locator} ({entry.path}:{entry.line})"
    if entry.digest is not None:
        text += f" {entry.digest}"
    return text if entry.reason is None else f"{text} [{entry.reason}]"


def _variable(variable: VariableEntry) -> str:
    origin = _ORIGINS[variable.origin]
    if variable.line is not None:
        origin += f" (line {variable.line})"
    first = variable.uses[0]
    more = f" and {variable.use_count - 1} more" if variable.use_count > 1 else ""
    return f"  {variable.name} bound by {origin}; used at {first.path}:{first.line}{more}"
