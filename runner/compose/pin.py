"""Stale pins: what to pin instead, and everything above that then has to be pinned anew.

Pure. A fragment's digest covers the pins in it, so a new pin changes the digest of the source that
holds it, and its callers' pins after it. The digests here are those of the sources as they will
be once every stale pin under them is corrected, so one pass from the leaf upward is enough: each
list of repins, followed in its order, never asks for the pin of a fragment with a stale pin in it.
Nothing is written.

May be imported by: runner.preflight, runner.cli. Imports: runner.compose, runner.model.
"""

import shlex
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, TypeAlias, final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from runner.compose.fact import Reader
from runner.compose.fault import Fault, Place
from runner.compose.graph import Edge, EdgeKey, SourceGraph
from runner.model.ids import Digest

CHAIN_LIMIT = 200
"""How many includes one fault lists; `chainOmitted` counts the rest."""
_SPOKEN = 20
"""How many of them its message names."""


class Repin(Struct, frozen=True, kw_only=True, rename="camel"):
    """One include to repin: where it stands, the digest to write there, and the call that does it.

    `digest` is `None` where the fragment has faults that leave it without a digest, `command`
    where the include has no call site to name.
    """

    path: str
    line: int
    call_site_id: str | None
    locator: str
    fragment: str
    digest: Digest | None
    command: str | None


def pin_command(path: str, call_site_id: str) -> str:
    """Return the call that repins one include, as a shell takes it."""
    # A name that begins with a dash would be read as an option.
    shown = f"./{path}" if path.startswith("-") else path
    return f"sweepgrid pin {shlex.quote(shown)} --call-site {shlex.quote(call_site_id)}"


PinCall: TypeAlias = Callable[[str, str], str]
"""Spells the call that repins the include of a source at a call site."""


def explain_stale(
    graph: SourceGraph,
    site_faults: Mapping[EdgeKey, Fault],
    *,
    reader: Reader,
    call: PinCall = pin_command,
) -> dict[EdgeKey, Fault]:
    """Return the faults, each stale pin with its chain of repins from the leaf upward."""
    stale = [key for key, fault in site_faults.items() if fault.place is Place.STALE]
    faults = dict(site_faults)
    if not stale:
        return faults
    corrected = _correct(graph, reader)
    chains = _Chains(graph, stale)
    for path, ordinal in stale:
        edges = chains.of(path, ordinal)
        chain = [_repin(edge, corrected, call) for edge in chains.first(edges, CHAIN_LIMIT)]
        fault = faults[path, ordinal]
        faults[path, ordinal] = _with_chain(fault, chain, count=edges.bit_count())
    return faults


def find_repins(
    graph: SourceGraph, keys: Iterable[EdgeKey], *, reader: Reader, call: PinCall = pin_command
) -> tuple[Repin, ...]:
    """Return what must be pinned anew once the pins at `keys` change, from the leaf upward.

    Those includes themselves are listed, and everything above them.
    """
    changed = list(keys)
    corrected = _correct(graph, reader)
    chains = _Chains(graph, changed)
    edges = reduce(or_, (chains.of(*key) for key in changed), 0)
    return tuple(_repin(edge, corrected, call) for edge in chains.first(edges, edges.bit_count()))


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


@final
class _Chains:
    """The includes whose pins change when those at some keys do, from the leaf upward.

    A set of includes is a number with a bit for each, children before their callers, so that a
    thousand stale pins with a thousand includes above them take no long time. The includes of one
    fragment have their bits side by side.
    """

    def __init__(self, graph: SourceGraph, keys: Iterable[EdgeKey]) -> None:
        self._graph = graph
        callers: dict[str, list[Edge]] = {}
        for path in graph.postorder:
            for edge, child in graph.descents(path):
                callers.setdefault(child, []).append(edge)
        self._edges: list[Edge] = []
        self._bits: dict[EdgeKey, int] = {}
        spans: dict[str, int] = {}
        for path in graph.postorder:
            start = len(self._edges)
            for edge in callers.get(path, ()):
                self._bits[edge.path, edge.ordinal] = len(self._edges)
                self._edges.append(edge)
            spans[path] = ((1 << (len(self._edges) - start)) - 1) << start
        changed = set(keys)
        self._below: dict[str, int] = {}
        for path in graph.postorder:
            if path in callers:
                self._below[path] = self._find_below(path, changed)
        self._above: dict[str, int] = {}
        for path in reversed(graph.postorder):
            above = spans[path]
            if above:
                above |= self._below[path]
            for parent in {edge.path for edge in callers.get(path, ())} & callers.keys():
                above |= self._above[parent]
            self._above[path] = above

    def of(self, path: str, ordinal: int) -> int:
        """Return what a new pin there needs below it and brings about above it, and itself."""
        bit = self._bits[path, ordinal]
        below = self._below.get(self._edges[bit].child or "", 0)
        return 1 << bit | below | self._above[path]

    def first(self, edges: int, limit: int) -> list[Edge]:
        """Return the includes of a set, children before their callers, at most so many."""
        found: list[Edge] = []
        while edges and len(found) < limit:
            lowest = edges & -edges
            found.append(self._edges[lowest.bit_length() - 1])
            edges ^= lowest
        return found

    def _find_below(self, path: str, changed: Container[EdgeKey]) -> int:
        """Return the changing includes in a fragment and below it."""
        below = 0
        for edge, child in self._graph.descents(path):
            key = (path, edge.ordinal)
            if key in changed or self._below[child]:
                below |= 1 << self._bits[key] | self._below[child]
        return below


def _repin(edge: Edge, corrected: Mapping[str, Digest | None], call: PinCall) -> Repin:
    child = edge.child or ""
    call_site_id = edge.site.call_site_id
    return Repin(
        path=edge.path,
        line=edge.site.line,
        call_site_id=call_site_id,
        locator=edge.site.locator,
        fragment=child,
        digest=corrected.get(child),
        command=None if call_site_id is None else call(edge.path, call_site_id),
    )


def _with_chain(fault: Fault, chain: Sequence[Repin], *, count: int) -> Fault:
    details: dict[str, Any] = {**fault.details, "chain": to_builtins(chain)}
    if count > len(chain):
        details["chainOmitted"] = count - len(chain)
    spoken = " && ".join(
        each.command or f"(line {each.line} of {each.path} has no call site)"
        for each in chain[:_SPOKEN]
    )
    rest = f", and {count - _SPOKEN} more" if count > _SPOKEN else ""
    return replace(
        fault,
        message=f"{fault.message}; after a review: {spoken}{rest}",
        details=details,
    )
