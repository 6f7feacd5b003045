"""The preflight of a whole sweep: one pass, all problems, and plans for what is clean.

It reads sources and touches nothing else. The bytes that are read are parsed, digested and put
into the plans; no file is read twice.

May be imported by: runner.cli. Imports: runner.compose, runner.formats.ad, runner.preflight,
runner.model, runner.errors.
"""

import os
from collections.abc import Iterator, Sequence
from typing import final

from runner.compose.closure import Closure, check_closure
from runner.compose.fault import Fault
from runner.compose.graph import EdgeKey, SourceGraph, build_graph
from runner.compose.pin import explain_stale
from runner.compose.site import find_site_faults
from runner.compose.source import Absent, Source, SourceLoader
from runner.errors import InputError
from runner.formats.ad.reader import AdReader, Bulk
from runner.formats.ad.reading import AdSource
from runner.model.finding import Finding
from runner.model.ids import PlanId
from runner.model.plan import CheckedPlan
from runner.preflight.calls import pin_calls
from runner.preflight.flow import (
    FlowContext,
    build_plans,
    caller_bindings,
    find_context,
    find_flow_problems,
    is_selected,
)
from runner.preflight.problem import ProblemBook
from runner.preflight.select import Selection, select_sources
from runner.preflight.settings import GraphEdge, ListedFragment, Preflight, PreflightSettings


def check_sweep(
    paths: Sequence[str], settings: PreflightSettings, *, bulk: Bulk | None = None
) -> Preflight:
    """Check everything that the sweep over `paths` would run; problems are in the result.

    With `bulk` the selected sources are read by it, as far as it can.
    """
    return _Sweep(settings, bulk).check(paths)


@final
class _Sweep:
    """What one preflight knows."""

    def __init__(self, settings: PreflightSettings, bulk: Bulk | None) -> None:
        self._settings = settings
        self._caller = caller_bindings(settings)
        self._loader = SourceLoader(settings.root)
        self._reader = AdReader(level=settings.ad_level, bulk=bulk)
        self._book = ProblemBook()
        self._plans: list[CheckedPlan] = []
        self._fragments_of: dict[PlanId, tuple[str, ...]] = {}
        self._users: dict[str, set[str]] = {}

    def check(self, paths: Sequence[str]) -> Preflight:
        selection = select_sources(paths, cwd=self._settings.cwd, loader=self._loader)
        for problem in selection.problems:
            self._book.add(problem)
        flows = tuple(self._find_flows(selection))
        graph = build_graph([flow.path for flow in flows], loader=self._loader, reader=self._reader)
        call = pin_calls(self._settings)
        found = find_site_faults(graph)
        faults = explain_stale(graph, found, reader=self._reader, call=call)
        for flow in flows:
            self._check_flow(flow, graph, faults)
        self._check_expectations(flows)
        problems = self._book.problems()
        blocked = self._book.blocked(problems)
        stopped = {each.path for each in blocked}
        return Preflight(
            plans=tuple(plan for plan in self._plans if plan.path not in stopped),
            problems=problems,
            blocked=blocked,
            fragments=tuple(self._list_fragments(selection)),
            edges=tuple(_list_edges(graph)),
            fragments_of=self._fragments_of,
            sources={path: source.data for path, source in graph.sources.items()},
            kinds={flow.path: flow.kind for flow in flows},
        )

    def _find_flows(self, selection: Selection) -> Iterator[AdSource]:
        """Yield the flows to run; fragments are listed, and refused where they are named."""
        sources: list[Source] = []
        for name in selection.names:
            source = self._loader.load(name)
            if isinstance(source, Absent):
                self._book.add(_unreadable(name, source))
            else:
                sources.append(source)
        self._reader.read_all(sources)
        for source in sources:
            name = source.path
            read = self._reader.read(source)
            if read.kind != "fragment":
                if is_selected(name, self._settings):
                    yield read
            elif name in selection.named:
                self._book.add(_needs_composition(read), name)

    def _check_flow(self, flow: AdSource, graph: SourceGraph, faults: dict[EdgeKey, Fault]) -> None:
        context = find_context(flow, self._settings, self._caller)
        closure = check_closure(graph, flow.path, site_faults=faults, scope=context.scope())
        fragments = [self._reader.sources[path] for path in closure.sources[1:]]
        for fragment in fragments:
            self._users.setdefault(fragment.path, set()).add(flow.path)
        data = graph.sources[flow.path].data
        findings = list(find_flow_problems(flow, context, self._settings, data=data))
        findings += [finding for fragment in fragments for finding in fragment.findings]
        if not self._book.add_flow(flow.path, findings, closure.faults):
            self._add_plans(flow, context, fragments, closure)

    def _add_plans(
        self,
        flow: AdSource,
        context: FlowContext,
        fragments: Sequence[AdSource],
        closure: Closure,
    ) -> None:
        try:
            plans = list(
                build_plans(
                    flow,
                    context,
                    fragments=fragments,
                    step_count=closure.steps,
                    settings=self._settings,
                )
            )
        except InputError as error:
            self._book.add(
                Finding(
                    reason=error.reason,
                    path=flow.path,
                    message=error.message,
                    details=dict(error.details),
                ),
                flow.path,
            )
            return
        self._plans += plans
        self._fragments_of.update((plan.id, closure.sources[1:]) for plan in plans)

    def _check_expectations(self, flows: Sequence[AdSource]) -> None:
        """Hold plans to the digests that the caller expects; an idle expectation is a problem."""
        known = {flow.path for flow in flows}
        for argument, digest in sorted(self._settings.expect_digests.items()):
            name = self._loader.adopt(os.path.join(self._settings.cwd, argument))  # noqa: PTH118 -- `argument` may be absolute.
            if isinstance(name, Absent) or name not in known:
                self._book.add(_idle_expectation(argument, digest))
                continue
            # The plans of one flow, one a platform, are of the same bytes and have equal digests.
            plan = next((plan for plan in self._plans if plan.path == name), None)
            if plan is not None and digest not in {plan.composition_digest, plan.plan_digest}:
                self._book.add(_stale_plan(plan, digest), name)

    def _list_fragments(self, selection: Selection) -> Iterator[ListedFragment]:
        selected = {
            name
            for name in selection.names
            if name in self._reader.sources and self._reader.sources[name].kind == "fragment"
        }
        for path in sorted(selected.union(self._users)):
            facts = self._reader.sources[path].facts
            yield ListedFragment(
                path=path,
                digest=facts.digest,
                platform=facts.platform,
                target=facts.target,
                flows=tuple(sorted(self._users.get(path, ()))),
            )


def _list_edges(graph: SourceGraph) -> Iterator[GraphEdge]:
    for path in sorted(graph.edges):
        for edge in graph.edges[path]:
            yield GraphEdge(
                path=path,
                line=edge.site.line,
                call_site_id=edge.site.call_site_id,
                locator=edge.site.locator,
                pin=edge.site.pin,
                fragment=edge.child,
                digest=graph.facts[edge.child].digest if edge.child is not None else None,
            )


def _unreadable(name: str, absent: Absent) -> Finding:
    return Finding(
        reason="source_unreadable",
        path=name,
        message=absent.message,
        details={"kind": absent.kind},
        flows=(name,),
    )


def _needs_composition(source: AdSource) -> Finding:
    return Finding(
        reason="fragment_composition_required",
        path=source.path,
        line=source.guard.line if source.guard else 1,
        message=f"{source.path} is a fragment; it runs only inside a flow that includes it",
        details={"source": source.path, "kind": source.kind},
    )


def _idle_expectation(argument: str, digest: str) -> Finding:
    return Finding(
        reason="path_missing",
        path=argument,
        message=f"a digest is expected of {argument}, which is no flow of this sweep",
        details={"argument": argument, "expectedDigest": digest},
    )


def _stale_plan(plan: CheckedPlan, digest: str) -> Finding:
    return Finding(
        reason="fragment_stale",
        path=plan.path,
        message=(
            f"the plan is not the expected one: its composition digest is "
            f"{plan.composition_digest}, its plan digest {plan.plan_digest or 'none'}, "
            f"expected was {digest}"
        ),
        hint="Review what changed; `sweepgrid digest` prints the digests to expect then.",
        details={
            "source": plan.path,
            "locator": None,
            "callSiteId": None,
            "expectedDigest": digest,
            "actualDigest": plan.composition_digest,
        },
    )
