"""A format whose sources are the composition facts themselves, as JSON.

It lets a test of the composition model plant any fact, also those that no real format of the
product has yet (controls).
"""

from pathlib import Path

import msgspec
from msgspec.structs import replace

from runner.compose.closure import Closure, Scope, check_closure
from runner.compose.fact import IncludeSite, SourceFacts
from runner.compose.fault import Fault
from runner.compose.graph import SourceGraph, build_graph
from runner.compose.pin import explain_stale
from runner.compose.site import find_site_faults
from runner.compose.source import Source, SourceLoader
from runner.model.digest import digest_of
from runner.model.ids import Digest

FREE = Scope(platform=None, target=None, names=None)


class FactReader:
    """Reads facts; the digest of a fragment is the hash of its JSON."""

    def __init__(self) -> None:
        self.read_paths: list[str] = []
        self._known: dict[str, SourceFacts] = {}

    def facts(self, source: Source) -> SourceFacts:
        self.read_paths.append(source.path)
        if source.is_oversized:
            return SourceFacts(is_fragment=True)
        facts = msgspec.json.decode(source.data, type=SourceFacts)
        self._known[source.path] = facts
        return replace(facts, digest=identity(facts)) if facts.is_fragment else facts

    def repinned(self, path: str, pins: dict[int, Digest]) -> Digest | None:
        facts = self._known[path]
        sites = tuple(
            replace(site, pin=pins.get(number, site.pin))
            for number, site in enumerate(facts.includes)
        )
        return identity(replace(facts, includes=sites))


def identity(facts: SourceFacts) -> Digest:
    """Return the digest that a fragment with these facts has."""
    return digest_of(msgspec.json.encode(facts))


def write_facts(root: Path, name: str, facts: SourceFacts) -> Digest:
    """Write a source and return its digest as a fragment."""
    (root / name).write_bytes(msgspec.json.encode(facts))
    return identity(facts)


def include(locator: str, pin: Digest | None, *, site: str = "", line: int = 1) -> IncludeSite:
    """Return an include site; its call site is the locator unless it is given."""
    return IncludeSite(locator=locator, call_site_id=site or locator, pin=pin, line=line)


def graph_of(
    root: Path, *roots: str, reader: FactReader | None = None
) -> tuple[SourceGraph, dict[tuple[str, int], Fault]]:
    """Return the graph under `roots` and its site faults."""
    reader = reader or FactReader()
    graph = build_graph(roots, loader=SourceLoader(str(root)), reader=reader)
    return graph, explain_stale(graph, find_site_faults(graph), reader=reader)


def closure_of(root: Path, name: str, scope: Scope = FREE) -> Closure:
    """Return the checked closure of one source."""
    graph, faults = graph_of(root, name)
    return check_closure(graph, name, site_faults=faults, scope=scope)
