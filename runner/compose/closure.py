"""The closure of one flow: its sources, and the first applicable fault of each include site.

Pure. The bounds, the context and the variables depend on the flow that asks; everything else is
known per site before. Sites stand in authored depth-first order.

May be imported by: runner.preflight, runner.formats. Imports: runner.compose.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from runner.compose.bound import BYTE_LIMIT, DEPTH_LIMIT, SOURCE_LIMIT, STEP_LIMIT
from runner.compose.fact import SourceFacts
from runner.compose.fault import Fault, Place, fault_at
from runner.compose.graph import Edge, EdgeKey, SourceGraph
from runner.compose.site import find_control_fault, find_loose_references


class Scope(Struct, frozen=True, kw_only=True):
    """What a flow hands down to its fragments: the effective context and the bound names.

    What is `None` is not compared.
    """

    platform: str | None
    target: str | None
    names: frozenset[str] | None


class Closure(Struct, frozen=True, kw_only=True):
    """One flow's sources, itself first, and its faults in authored depth-first order."""

    root: str
    sources: tuple[str, ...]
    faults: tuple[Fault, ...]
    steps: int


def check_closure(
    graph: SourceGraph, root: str, *, site_faults: Mapping[EdgeKey, Fault], scope: Scope
) -> Closure:
    """Return the closure of `root` with the first applicable fault of each of its sites."""
    sources, edges, faults = _collect(graph, root)
    if graph.heights[root] > DEPTH_LIMIT:
        _keep_first(faults, _find_deep(graph, root))
    if graph.steps[root] > STEP_LIMIT:
        _keep_first(faults, _find_crossing(graph, root))
    verdicts: dict[str, tuple[Place, str, dict[str, object]] | None] = {}
    ordered = list(_root_faults(graph, root))
    for edge in edges:
        key = (edge.path, edge.ordinal)
        fault = _first(faults.get(key), site_faults.get(key))
        if fault is None and edge.child is not None:
            if edge.child not in verdicts:
                verdicts[edge.child] = _judge(graph.facts[edge.child], scope)
            fault = _inherited(graph, edge, edge.child, verdicts[edge.child])
        if fault is not None:
            ordered.append(fault)
    return Closure(root=root, sources=sources, faults=tuple(ordered), steps=graph.steps[root])


def first_in_order(faults: tuple[Fault, ...]) -> Fault | None:
    """Return the fault that is a flow's own reason: first in the order, then as authored."""
    return min(faults, key=lambda fault: fault.place, default=None)


def _collect(
    graph: SourceGraph, root: str
) -> tuple[tuple[str, ...], list[Edge], dict[EdgeKey, Fault]]:
    """Walk depth first; the include that goes over a bound is not entered."""
    seen: dict[str, None] = {root: None}
    total = len(graph.sources[root].data)
    edges: list[Edge] = []
    faults: dict[EdgeKey, Fault] = {}
    is_over_count = is_over_size = False
    stack: list[Iterator[Edge]] = [iter(graph.edges[root])]
    while stack:
        edge = next(stack[-1], None)
        if edge is None:
            stack.pop()
            continue
        edges.append(edge)
        if not edge.is_followed or edge.child is None or edge.child in seen:
            continue
        size = len(graph.sources[edge.child].data)
        key = (edge.path, edge.ordinal)
        if len(seen) >= SOURCE_LIMIT:
            if not is_over_count:
                faults[key] = _over(graph, Place.SOURCES, edge, "sources", SOURCE_LIMIT)
            is_over_count = True
        elif graph.sources[edge.child].is_oversized:
            seen[edge.child] = None  # A source all the same; each site has its own fault of size.
        elif total + size > BYTE_LIMIT:
            if not is_over_size:
                faults[key] = _over(graph, Place.SIZE, edge, "bytes", BYTE_LIMIT)
            is_over_size = True
        else:
            seen[edge.child] = None
            total += size
            stack.append(iter(graph.edges[edge.child]))
    return tuple(seen), edges, faults


def _find_deep(graph: SourceGraph, root: str) -> dict[EdgeKey, Fault]:
    """Find the includes that stand in a source at the last depth and go below it."""
    faults: dict[EdgeKey, Fault] = {}
    level: dict[str, None] = {root: None}
    for depth in range(DEPTH_LIMIT + 1):
        below: dict[str, None] = {}
        for path in level:
            for edge, child in graph.descents(path):
                if depth == DEPTH_LIMIT:
                    faults[path, edge.ordinal] = _over(
                        graph, Place.DEPTH, edge, "depth", DEPTH_LIMIT
                    )
                elif graph.heights[child] >= DEPTH_LIMIT - depth:
                    below[child] = None  # Only what is high enough can still reach the last depth.
        level = below
    return faults


def _find_crossing(graph: SourceGraph, root: str) -> dict[EdgeKey, Fault]:
    """Find the include at which the expansion, in execution order, goes over the bound.

    Own steps count before includes here; only their sum over a source decides.
    """
    path, count, entered = root, 0, None
    while True:
        count += graph.facts[path].steps
        if count > STEP_LIMIT:
            if entered is None:
                return {}  # The root alone is over the bound; that is a fault of no include.
            key = (entered.path, entered.ordinal)
            return {key: _over(graph, Place.SIZE, entered, "steps", STEP_LIMIT)}
        for edge, child in graph.descents(path):
            if count + graph.steps[child] > STEP_LIMIT:
                path, entered = child, edge
                break
            count += graph.steps[child]


def _root_faults(graph: SourceGraph, root: str) -> Iterator[Fault]:
    facts = graph.facts[root]
    if graph.sources[root].is_oversized:
        yield _over_root(root, "bytes", BYTE_LIMIT)
    elif facts.steps > STEP_LIMIT:
        yield _over_root(root, "steps", STEP_LIMIT)
    yield from find_loose_references(root, facts)
    control = find_control_fault(root, facts)
    if control is not None:
        yield control


def _judge(facts: SourceFacts, scope: Scope) -> tuple[Place, str, dict[str, object]] | None:
    for name, wanted, stated in (
        ("platform", scope.platform, facts.platform),
        ("target", scope.target, facts.target),
    ):
        if wanted is not None and stated is not None and stated != wanted:
            message = f"it is for {name} {stated}, the flow runs on {wanted}"
            return Place.CONTEXT, message, {"fact": name, "fragmentValue": stated, "value": wanted}
    if scope.names is None:
        return None
    unbound = [use for use in facts.variables if use.name not in scope.names]
    if not unbound:
        return None
    names = sorted({use.name for use in unbound})
    message = f"nothing binds {', '.join(names)} (first used at its line {unbound[0].line})"
    return Place.VARIABLE, message, {"names": names, "fragmentLine": unbound[0].line}


def _inherited(
    graph: SourceGraph,
    edge: Edge,
    child: str,
    verdict: tuple[Place, str, dict[str, object]] | None,
) -> Fault | None:
    if verdict is None:
        return None
    place, message, details = verdict
    return fault_at(
        place,
        path=edge.path,
        site=edge.site,
        message=f"{child} does not fit the flow: {message}",
        child=child,
        actual=graph.facts[child].digest,
        details=details,
    )


def _first(one: Fault | None, other: Fault | None) -> Fault | None:
    if one is None or (other is not None and other.place <= one.place):
        return other
    return one


def _keep_first(faults: dict[EdgeKey, Fault], more: Mapping[EdgeKey, Fault]) -> None:
    for key, fault in more.items():
        faults[key] = _first(faults.get(key), fault) or fault


def _over(graph: SourceGraph, place: Place, edge: Edge, bound: str, limit: int) -> Fault:
    known = None if edge.child is None else graph.facts.get(edge.child)
    return fault_at(
        place,
        path=edge.path,
        site=edge.site,
        message=f"with this include the flow has more than {limit} {_noun(bound)}",
        child=edge.child,
        actual=None if known is None else known.digest,
        details={"bound": bound, "limit": limit},
    )


def _over_root(root: str, bound: str, limit: int) -> Fault:
    return Fault(
        place=Place.SIZE,
        path=root,
        line=1,
        message=f"the flow alone has more than {limit} {_noun(bound)}",
        details={"source": root, "bound": bound, "limit": limit},
    )


def _noun(bound: str) -> str:
    return {
        "sources": "sources",
        "depth": "levels of includes",
        "bytes": "bytes of sources",
        "steps": "expanded steps",
    }[bound]
