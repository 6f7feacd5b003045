"""Who includes whom: the include graph of some paths, as values.

Fragments count as well as flows, also those that nobody includes. An include is *stale* when the
fragment is another than the one that was pinned, *missing* when nothing stands there, *faulty* for
any other reason that a preflight would give for the include itself; what depends on the flow that
asks (context, variables, bounds) is not judged.

May be imported by: runner.cli. Imports: runner.compose, runner.formats.ad, runner.preflight,
runner.model.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from runner.compose.bound import DEPTH_LIMIT
from runner.compose.fault import Fault, Place
from runner.compose.graph import Edge, EdgeKey, SourceGraph, build_graph
from runner.compose.site import find_site_faults
from runner.compose.source import Absent, SourceLoader
from runner.formats.ad.reader import AdReader
from runner.model.finding import Finding
from runner.model.ids import Digest
from runner.preflight.edition import find_file, ordered
from runner.preflight.render import ProblemJson, problem_json
from runner.preflight.select import select_sources
from runner.preflight.settings import PreflightSettings

NodeKind: TypeAlias = Literal["flat", "composition", "fragment", "foreign", "missing"]
LinkState: TypeAlias = Literal["current", "stale", "missing", "faulty"]


class GraphNode(Struct, frozen=True, kw_only=True, rename="camel"):
    """One source. `foreign` is of another format; of what is `missing` only the name is known."""

    path: str
    kind: NodeKind
    digest: Digest | None = None


class GraphLink(Struct, frozen=True, kw_only=True, rename="camel"):
    """One include: `fragment` is the node that it leads to, `reason` why it is not current."""

    path: str
    line: int
    call_site_id: str | None
    locator: str
    fragment: str
    pin: Digest | None
    digest: Digest | None
    state: LinkState
    reason: str | None = None


class FragmentUser(Struct, frozen=True, kw_only=True, rename="camel"):
    """A source that reaches a fragment; `via` is a shortest way, from the user to the fragment."""

    path: str
    kind: NodeKind
    is_direct: bool
    via: tuple[str, ...]


class FragmentUses(Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that reaches one fragment, flows and other fragments."""

    fragment: str
    users: tuple[FragmentUser, ...]


class IncludeGraph(Struct, frozen=True, kw_only=True):
    """The graph; with `uses`, only the part of it that leads to the one fragment."""

    nodes: tuple[GraphNode, ...] = ()
    links: tuple[GraphLink, ...] = ()
    uses: FragmentUses | None = None
    problems: tuple[Finding, ...] = ()


class GraphJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """An include graph; version 1 of the shape. `problems` say what could not be drawn."""

    version: int = 1
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphLink, ...]
    uses: FragmentUses | None
    problems: tuple[ProblemJson, ...]


def graph_json(graph: IncludeGraph) -> GraphJson:
    """Return the JSON-ready form of an include graph."""
    return GraphJson(
        nodes=graph.nodes,
        edges=graph.links,
        uses=graph.uses,
        problems=tuple(map(problem_json, graph.problems)),
    )


def find_include_graph(
    paths: Sequence[str], *, uses: str | None = None, settings: PreflightSettings
) -> IncludeGraph:
    """Return the include graph of `paths`; with `uses`, who of them reaches that fragment."""
    loader = SourceLoader(settings.root)
    reader = AdReader(level=settings.ad_level)
    selection = select_sources(paths, cwd=settings.cwd, loader=loader)
    problems = list(selection.problems)
    roots = []
    for name in selection.names:
        source = loader.load(name)
        if isinstance(source, Absent):
            details = {"kind": source.kind}
            problems.append(
                Finding(
                    reason="source_unreadable", path=name, message=source.message, details=details
                )
            )
        else:
            roots.append(name)
    graph = build_graph(roots, loader=loader, reader=reader)
    links = tuple(_links(graph, find_site_faults(graph), loader))
    nodes = tuple(_nodes(graph, links, reader))
    if uses is None:
        return IncludeGraph(nodes=nodes, links=links, problems=ordered(problems))
    target = _find_target(uses, nodes, settings=settings, loader=loader)
    if not isinstance(target, str):
        return IncludeGraph(nodes=nodes, links=links, problems=ordered([*problems, *target]))
    return _narrow(nodes, links, target, problems)


def _links(
    graph: SourceGraph, faults: Mapping[EdgeKey, Fault], loader: SourceLoader
) -> Iterator[GraphLink]:
    for path in sorted(graph.edges):
        for edge in graph.edges[path]:
            fault = faults.get((path, edge.ordinal))
            yield GraphLink(
                path=path,
                line=edge.site.line,
                call_site_id=edge.site.call_site_id,
                locator=edge.site.locator,
                fragment=_target_of(edge, loader),
                pin=edge.site.pin,
                digest=None if edge.child is None else graph.facts[edge.child].digest,
                state=_state(fault),
                reason=None if fault is None else fault.reason,
            )


def _target_of(edge: Edge, loader: SourceLoader) -> str:
    if edge.child is not None:
        return edge.child
    name = loader.locate(edge.site.locator, base=edge.path)
    if not isinstance(name, Absent):
        return name
    # No source has such a name, so nothing that stands somewhere is taken for it.
    return f"{edge.site.locator} ({name.kind})"


def _state(fault: Fault | None) -> LinkState:
    if fault is None:
        return "current"
    if fault.place is Place.MISSING:
        return "missing"
    return "stale" if fault.place is Place.STALE else "faulty"


def _nodes(graph: SourceGraph, links: Iterable[GraphLink], reader: AdReader) -> Iterator[GraphNode]:
    paths = set(graph.facts).union(link.fragment for link in links)
    for path in sorted(paths):
        facts = graph.facts.get(path)
        if facts is None:
            yield GraphNode(path=path, kind="missing")
            continue
        is_foreign = facts.unsupported is not None and facts.unsupported.feature == "cross_format"
        kind: NodeKind = "foreign" if is_foreign else reader.sources[path].kind
        yield GraphNode(path=path, kind=kind, digest=facts.digest)


def _find_target(
    uses: str,
    nodes: Sequence[GraphNode],
    *,
    settings: PreflightSettings,
    loader: SourceLoader,
) -> str | tuple[Finding, ...]:
    """Return the node that was asked for; one that is missing can be asked for too."""
    found = find_file(uses, settings=settings, loader=loader)
    if isinstance(found, str):
        return found
    name = loader.adopt(f"{settings.cwd}/{uses}")
    known = {node.path for node in nodes}
    return name if isinstance(name, str) and name in known else found


def _way(ways: Mapping[str, str], start: str, target: str) -> Iterator[str]:
    """Yield the sources from `start` to `target`; of a way over the bound its beginning."""
    here = start
    for _ in range(DEPTH_LIMIT):
        if here == target:
            break
        yield here
        here = ways[here]
    yield target


def _narrow(
    nodes: Sequence[GraphNode],
    links: Sequence[GraphLink],
    target: str,
    problems: Sequence[Finding],
) -> IncludeGraph:
    """Keep what leads to `target`."""
    callers: dict[str, dict[str, None]] = {}
    for link in links:
        callers.setdefault(link.fragment, {})[link.path] = None
    ways: dict[str, str] = {target: target}
    pending = deque([target])
    while pending:
        here = pending.popleft()
        for caller in callers.get(here, ()):
            if caller not in ways:
                ways[caller] = here
                pending.append(caller)
    return IncludeGraph(
        nodes=tuple(node for node in nodes if node.path in ways),
        links=tuple(link for link in links if link.path in ways and link.fragment in ways),
        uses=FragmentUses(
            fragment=target,
            users=tuple(
                FragmentUser(
                    path=node.path,
                    kind=node.kind,
                    is_direct=node.path in callers.get(target, ()),
                    via=tuple(_way(ways, node.path, target)),
                )
                for node in nodes
                if node.path in ways and node.path != target
            ),
        ),
        problems=ordered(problems),
    )
