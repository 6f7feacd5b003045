"""Stale pins: what to pin instead, and everything above that then has to be pinned anew.

Pure. A fragment's digest covers the pins in it, so a new pin changes the digest of the source that
holds it, and its callers' pins after it. The digests here are those of the sources as they will
be once every stale pin under them is corrected, so one pass from the leaf upward is enough.
Nothing is written.

May be imported by: runner.preflight, runner.cli. Imports: runner.compose, runner.model.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from runner.compose.fact import Reader
from runner.compose.fault import Fault, Place
from runner.compose.graph import Edge, EdgeKey, SourceGraph
from runner.model.ids import Digest

CHAIN_LIMIT = 200
"""How many includes one fault lists; `chainOmitted` counts the rest."""
_SPOKEN = 3
"""How many of them its message names."""


class Repin(Struct, frozen=True, kw_only=True, rename="camel"):
    """One include to repin: where it stands, and the digest to write there.

    `digest` is `None` where the fragment has faults that leave it without a digest.
    """

    path: str
    line: int
    call_site_id: str | None
    locator: str
    fragment: str
    digest: Digest | None


def explain_stale(
    graph: SourceGraph, site_faults: Mapping[EdgeKey, Fault], *, reader: Reader
) -> dict[EdgeKey, Fault]:
    """Return the faults, each stale pin with its chain of repins from the leaf upward."""
    stale = [key for key, fault in site_faults.items() if fault.place is Place.STALE]
    faults = dict(site_faults)
    if not stale:
        return faults
    corrected = _correct(graph, reader)
    callers = _find_callers(graph)
    ranks = {path: rank for rank, path in enumerate(graph.postorder)}
    above: dict[str, list[Edge]] = {}
    for path, ordinal in stale:
        if path not in above:
            above[path] = _find_above(path, callers=callers, ranks=ranks)
        edges = [graph.edges[path][ordinal], *above[path]]
        faults[path, ordinal] = _with_chain(faults[path, ordinal], edges, corrected)
    return faults


def _correct(graph: SourceGraph, reader: Reader) -> dict[str, Digest | None]:
    """Return every source's digest once all pins in it and under it are right."""
    corrected: dict[str, Digest | None] = {}
    for path in graph.postorder:
        facts = graph.facts[path]
        if path in graph.cyclic or facts.digest is None:
            corrected[path] = None
            continue
        pins: dict[int, Digest] = {}
        for edge, child in graph.descents(path):
            wanted = corrected[child]
            if wanted is not None and wanted != edge.site.pin:
                pins[edge.ordinal] = wanted
        corrected[path] = reader.repinned(path, pins) if pins else facts.digest
    return corrected


def _find_callers(graph: SourceGraph) -> dict[str, list[Edge]]:
    callers: dict[str, list[Edge]] = {}
    for path in graph.postorder:
        for edge, child in graph.descents(path):
            callers.setdefault(child, []).append(edge)
    return callers


def _find_above(
    path: str, *, callers: Mapping[str, list[Edge]], ranks: Mapping[str, int]
) -> list[Edge]:
    """Return every include whose pin changes when `path` changes, from the leaf upward."""
    reached = {path}
    pending = [path]
    above: list[Edge] = []
    while pending:
        for caller in callers.get(pending.pop(), ()):
            above.append(caller)
            if caller.path not in reached:
                reached.add(caller.path)
                pending.append(caller.path)
    above.sort(key=lambda each: (ranks[each.child or ""], ranks[each.path], each.ordinal))
    return above


def _repin(edge: Edge, corrected: Mapping[str, Digest | None]) -> Repin:
    child = edge.child or ""
    return Repin(
        path=edge.path,
        line=edge.site.line,
        call_site_id=edge.site.call_site_id,
        locator=edge.site.locator,
        fragment=child,
        digest=corrected.get(child),
    )


def _with_chain(fault: Fault, edges: list[Edge], corrected: Mapping[str, Digest | None]) -> Fault:
    chain = [_repin(edge, corrected) for edge in edges[:CHAIN_LIMIT]]
    details: dict[str, Any] = {**fault.details, "chain": to_builtins(chain)}
    if len(edges) > len(chain):
        details["chainOmitted"] = len(edges) - len(chain)
    spoken = ", ".join(
        f"{each.path}:{each.line} to {each.digest or 'a digest that is not known yet'}"
        for each in chain[:_SPOKEN]
    )
    rest = f", and {len(edges) - _SPOKEN} more" if len(edges) > _SPOKEN else ""
    return replace(
        fault,
        message=f"{fault.message}; after a review pin, in this order, {spoken}{rest}",
        details=details,
    )
