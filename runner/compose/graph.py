"""The include graph of a sweep: every source once, in one iterative walk.

Facts that do not depend on which flow asks are computed here once per source: depth below it,
steps of its expansion, and which includes close a cycle. An include is *followed* when a
fragment's grammar stands behind it, also a faulty one, so that its own includes are judged too.

The walk goes through the roots in the given order and through includes as authored. Every cycle
gets exactly one closing include, the one that the walk finds; without the closing includes the
graph is acyclic. No input makes it recurse.

May be imported by: runner.compose, runner.preflight. Imports: runner.compose.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from runner.compose.fact import IncludeSite, Reader, SourceFacts
from runner.compose.source import Absent, Source, SourceLoader

CYCLE_LIMIT = 100
"""How many paths of a cycle are kept: of a longer one its beginning and its end."""


class Edge(Struct, frozen=True, kw_only=True):
    """One include site of `path`, its `ordinal`-th from 0, and what stands there."""

    path: str
    ordinal: int
    site: IncludeSite
    child: str | None = None
    absent: Absent | None = None
    is_followed: bool = False


EdgeKey: TypeAlias = tuple[str, int]


class SourceGraph(Struct, frozen=True, kw_only=True):
    """Every source that a sweep reaches.

    `postorder` has children before parents. `closing` maps each include that closes a cycle to the
    paths of the cycle; `cyclic` maps each source on a cycle to its group. `heights` and `steps`
    measure without the closing includes.
    """

    sources: Mapping[str, Source]
    facts: Mapping[str, SourceFacts]
    edges: Mapping[str, tuple[Edge, ...]]
    postorder: tuple[str, ...]
    closing: Mapping[EdgeKey, tuple[str, ...]]
    cyclic: Mapping[str, int]
    heights: Mapping[str, int]
    steps: Mapping[str, int]

    def is_closing(self, edge: Edge) -> bool:
        """Tell whether `edge` closes a cycle."""
        return (edge.path, edge.ordinal) in self.closing

    def is_within_cycle(self, edge: Edge) -> bool:
        """Tell whether both ends of `edge` stand on one cycle: no pin can ever fit there."""
        group = self.cyclic.get(edge.path)
        return group is not None and edge.child is not None and self.cyclic.get(edge.child) == group

    def descents(self, path: str) -> Iterator[tuple[Edge, str]]:
        """Yield the followed includes of `path` that close no cycle, with their sources."""
        for edge in self.edges[path]:
            if edge.is_followed and edge.child is not None and not self.is_closing(edge):
                yield edge, edge.child


def build_graph(roots: Sequence[str], *, loader: SourceLoader, reader: Reader) -> SourceGraph:
    """Load and read everything that `roots` reach. The roots themselves must load."""
    walk = _Walk(loader, reader)
    for root in roots:
        walk.visit(root)
    heights: dict[str, int] = {}
    steps: dict[str, int] = {}
    graph = SourceGraph(
        sources=walk.sources,
        facts=walk.facts,
        edges=walk.edges,
        postorder=tuple(walk.postorder),
        closing=walk.closing,
        cyclic=walk.cyclic,
        heights=MappingProxyType(heights),
        steps=MappingProxyType(steps),
    )
    for path in graph.postorder:
        below = [child for _, child in graph.descents(path)]
        heights[path] = max((heights[child] + 1 for child in below), default=0)
        steps[path] = walk.facts[path].steps + sum(steps[child] for child in below)
    return graph


class _Walk:
    """Tarjan's walk with its stacks made explicit."""

    def __init__(self, loader: SourceLoader, reader: Reader) -> None:
        self._loader = loader
        self._reader = reader
        self.sources: dict[str, Source] = {}
        self.facts: dict[str, SourceFacts] = {}
        self.edges: dict[str, tuple[Edge, ...]] = {}
        self.postorder: list[str] = []
        self.closing: dict[EdgeKey, tuple[str, ...]] = {}
        self.cyclic: dict[str, int] = {}
        self._index: dict[str, int] = {}
        self._low: dict[str, int] = {}
        self._component: list[str] = []  # Visited, and not yet known to be in a finished component.
        self._unfinished: set[str] = set()
        self._trail: dict[str, int] = {}  # The chain being walked, and each one's place in it.

    def visit(self, root: str) -> None:
        """Walk everything that can be reached from `root` and was not walked before."""
        if root in self._index:
            return
        stack = [(root, self._open(root))]
        while stack:
            path, pending = stack[-1]
            edge = next(pending, None)
            if edge is None:
                stack.pop()
                self._close(path)
                if stack:
                    parent = stack[-1][0]
                    self._low[parent] = min(self._low[parent], self._low[path])
            elif edge.is_followed and edge.child is not None:
                if edge.child not in self._index:
                    stack.append((edge.child, self._open(edge.child)))
                elif edge.child in self._unfinished:
                    self._low[path] = min(self._low[path], self._index[edge.child])
                    if edge.child in self._trail:
                        self._note_cycle(edge, edge.child)

    def _open(self, path: str) -> Iterator[Edge]:
        self._index[path] = self._low[path] = len(self._index)
        self._component.append(path)
        self._unfinished.add(path)
        self._trail[path] = len(self._trail)
        self._read(path)
        self.edges[path] = tuple(
            self._resolve(path, ordinal, site)
            for ordinal, site in enumerate(self.facts[path].includes)
        )
        return iter(self.edges[path])

    def _close(self, path: str) -> None:
        del self._trail[path]
        self.postorder.append(path)
        if self._low[path] != self._index[path]:
            return
        members: list[str] = []
        while not members or members[-1] != path:
            members.append(self._component.pop())
            self._unfinished.discard(members[-1])
        loops = any(edge.child == path and edge.is_followed for edge in self.edges[path])
        if len(members) > 1 or loops:
            self.cyclic.update(dict.fromkeys(members, self._index[path]))

    def _note_cycle(self, edge: Edge, child: str) -> None:
        start, half = self._trail[child], CYCLE_LIMIT // 2
        members = [child, *islice(self._trail, start + 1, start + half)]
        rest = len(self._trail) - start - len(members)
        members += list(islice(reversed(self._trail), min(rest, half)))[::-1]
        self.closing[edge.path, edge.ordinal] = (*members, child)

    def _resolve(self, path: str, ordinal: int, site: IncludeSite) -> Edge:
        name = self._loader.locate(site.locator, base=path)
        absent = name if isinstance(name, Absent) else self._read(name)
        if isinstance(name, Absent) or absent is not None:
            return Edge(path=path, ordinal=ordinal, site=site, absent=absent)
        return Edge(
            path=path,
            ordinal=ordinal,
            site=site,
            child=name,
            is_followed=self.facts[name].is_fragment,
        )

    def _read(self, path: str) -> Absent | None:
        if path in self.facts:
            return None
        source = self._loader.load(path)
        if isinstance(source, Absent):
            return source
        self.sources[path] = source
        self.facts[path] = self._reader.facts(source)
        return None
