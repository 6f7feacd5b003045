"""The plan of one file, explained: `sweepgrid explain`.

Every step has its address where the plan has one, its line, its time limits, its evidence and its
variables; every include shows what it brings in. A fragment is shown by itself. What is wrong is
told beside, and takes away no more of the tree than cannot be known.

May be imported by: runner.cli. Imports: runner.compose, runner.formats.ad, runner.preflight,
runner.model.
"""

from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace

from runner.compose.closure import Scope
from runner.formats.ad import digest as ad_digest
from runner.formats.ad.program import FORMAT
from runner.formats.ad.reading import AdSource, pins_of
from runner.model.address import FragmentOwner, Owner, RootOwner
from runner.model.finding import Finding
from runner.model.ids import Digest
from runner.preflight.edition import FREE, Edition, open_edition, ordered
from runner.preflight.flow import FlowContext, caller_bindings, find_context, find_flow_problems
from runner.preflight.plan_tree import PlanTree
from runner.preflight.plan_walk import PlanWalk
from runner.preflight.problem import ProblemBook, finding_of, untold
from runner.preflight.settings import PreflightSettings


def find_plan_tree(path: str, *, settings: PreflightSettings) -> PlanTree:
    """Return the plan of one file as a tree; what is wrong with it is in the result."""
    edition = open_edition(path, settings=settings)
    if not isinstance(edition, Edition):
        return PlanTree(path=path, problems=ordered(edition))
    read = edition.read
    context = find_context(read, settings, caller_bindings(settings))
    is_fragment = read.kind == "fragment"
    tree = PlanTree(
        path=read.path,
        kind=read.kind,
        platform=read.context.platform if is_fragment else context.stated,
        target=read.context.target if is_fragment else context.target,
        fragment_digest=read.facts.digest if is_fragment else None,
        composition_digest=None if is_fragment else _composition_digest(edition),
        plan_digest=_plan_digest(read, context) if read.kind == "flat" else None,
        timeout_ms=read.context.timeout_ms if settings.timeout_ms is None else settings.timeout_ms,
        problems=_find_problems(edition, context, settings),
    )
    walk = PlanWalk(
        edition, _scope_of(read, context), bound=context.bindings.variables, settings=settings
    )
    owner = _owner_of(tree)
    entries = tuple(walk.entries(read.path, owner=owner, calls=(), depth=0))
    return replace(
        tree,
        entries=entries,
        steps=walk.steps,
        is_cut=walk.left < 0,
        variables=tuple(walk.variables()),
    )


def _owner_of(tree: PlanTree) -> Owner | None:
    if tree.fragment_digest is not None:
        return FragmentOwner(format=FORMAT, fragment_digest=tree.fragment_digest)
    if tree.composition_digest is not None:
        return RootOwner(format=FORMAT, composition_digest=tree.composition_digest)
    return None


def _scope_of(read: AdSource, context: FlowContext) -> Scope:
    """Return what is handed down; a fragment by itself leaves its variables to whoever has it."""
    if read.kind != "fragment":
        return context.scope()
    return Scope(platform=read.context.platform, target=read.context.target, names=None)


def _composition_digest(edition: Edition) -> Digest | None:
    """Return the digest of a root whose closure is right, whatever a run makes of it."""
    closure = edition.closure(FREE)
    if closure.faults or not edition.read.is_readable:
        return None
    sources = [edition.sources[each] for each in closure.sources]
    if any(each.reason == "text_unencodable" for source in sources for each in source.findings):
        return None
    pins = chain.from_iterable(map(pins_of, sources))
    read = edition.read
    return ad_digest.composition_digest_of(read.steps, read.context, graph=pins)


def _plan_digest(read: AdSource, context: FlowContext) -> str | None:
    if not read.is_readable:
        return None
    return ad_digest.plan_digest_of(
        read.numbered_steps, platform=context.stated, target=read.context.target
    )


def _find_problems(
    edition: Edition, context: FlowContext, settings: PreflightSettings
) -> tuple[Finding, ...]:
    read = edition.read
    scope = _scope_of(read, context)
    closure = edition.closure(scope)
    book = ProblemBook(map(finding_of, closure.faults))
    below = chain.from_iterable(edition.sources[each].findings for each in closure.sources[1:])
    found: Iterator[Finding]
    if read.kind == "fragment":
        found = _fragment_problems(read)
    else:
        found = find_flow_problems(read, context, settings, data=edition.source.data)
    for finding in untold(chain(below, found), closure.faults):
        book.add(finding)
    return book.problems()


def _fragment_problems(read: AdSource) -> Iterator[Finding]:
    """Yield what is wrong with a fragment, also as what others include."""
    yield from read.findings
    facts = read.facts
    faults = [("fragment_unsupported", facts.unsupported)]
    faults += [("fragment_lifecycle", fault) for fault in facts.unsafe]
    faults.append(("fragment_entry_guard", facts.entry_missing or facts.entry_mismatch))
    for reason, fault in faults:
        if fault is not None:
            yield Finding(
                reason=reason,
                path=read.path,
                line=fault.line,
                column=fault.column,
                message=fault.message,
                details={**fault.details, "source": read.path, "feature": fault.feature},
            )
