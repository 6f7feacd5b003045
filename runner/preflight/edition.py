"""One file with its closure, as it is and as an edit would make it.

The bytes that an edit starts from are the bytes that were judged. What an edit would make is judged
by the same rules as any source, before it stands on the disk; everything around it stays as it was
read. A path is looked for from the current folder, and from the source root, from where problems
name files.

May be imported by: runner.preflight, runner.cli. Imports: runner.compose, runner.formats.ad,
runner.preflight, runner.model.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from types import MappingProxyType
from typing import Final, final

from msgspec import Struct
from msgspec.structs import replace

from runner.compose.closure import Closure, Scope, check_closure
from runner.compose.fact import SourceFacts
from runner.compose.fault import Fault, Place
from runner.compose.graph import Edge, SourceGraph, build_graph
from runner.compose.pin import Repin, explain_stale, find_repins
from runner.compose.site import find_site_faults
from runner.compose.source import Absent, Source, SourceLoader
from runner.formats.ad.reader import AdReader
from runner.formats.ad.reading import AdSource
from runner.model.finding import Finding
from runner.model.ids import Digest
from runner.preflight.calls import pin_calls
from runner.preflight.problem import ProblemBook, finding_of
from runner.preflight.render import ProblemJson, problem_json
from runner.preflight.select import select_sources
from runner.preflight.settings import PreflightSettings

_QUOTED: Final = re.compile(r'["\\\x00-\x1f\x7f]')
_ESCAPES: Final = {'"': '"', "\\": "\\"}

FREE = Scope(platform=None, target=None, names=None)
"""What a flow hands down is not compared: it changes no digest."""


class PinChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """One include and its pin; `old` is `None` where it had none, and equals `new` where right."""

    line: int
    call_site_id: str
    locator: str
    fragment: str
    old: Digest | None
    new: Digest


class Edit(Struct, frozen=True, kw_only=True):
    """What an edit makes of a file. With problems, `after` is `before`.

    `repin_first` are the calls that have to come before this one, `repin_next` those that it makes
    necessary, both from the leaf upward.
    """

    path: str
    before: bytes = b""
    after: bytes = b""
    changes: tuple[PinChange, ...] = ()
    problems: tuple[Finding, ...] = ()
    repin_first: tuple[Repin, ...] = ()
    repin_next: tuple[Repin, ...] = ()


class EditJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """What `pin` or `include` did to a file, or would do; version 1 of the shape.

    `written` tells whether the file was changed; `diff` is the unified diff of the change.
    """

    version: int = 1
    path: str
    written: bool
    changes: tuple[PinChange, ...]
    diff: str
    problems: tuple[ProblemJson, ...]
    repin_first: tuple[Repin, ...]
    repin_next: tuple[Repin, ...]


def edit_json(edit: Edit, *, written: bool) -> EditJson:
    """Return the JSON-ready form of an edit."""
    return EditJson(
        path=edit.path,
        written=written,
        changes=edit.changes,
        diff=render_diff(edit),
        problems=tuple(map(problem_json, edit.problems)),
        repin_first=edit.repin_first,
        repin_next=edit.repin_next,
    )


def render_diff(edit: Edit) -> str:
    """Return the change as a unified diff, empty where there is none."""
    before, after = (_lines_of(data) for data in (edit.before, edit.after))
    lines = unified_diff(before, after, _quote(f"a/{edit.path}"), _quote(f"b/{edit.path}"))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _quote(path: str) -> str:
    """Return a path as git writes it: quoted where it holds a character that needs it."""
    if not _QUOTED.search(path):
        return path
    text = _QUOTED.sub(lambda found: f"\\{_ESCAPES.get(found[0]) or f'{ord(found[0]):03o}'}", path)
    return f'"{text}"'


def _lines_of(data: bytes) -> list[str]:
    text = data.decode("utf-8", "surrogateescape")
    return [line for line in re.split(r"(?<=\n)", text) if line]


@final
class Edition:
    """One state of one file, among the files as they were read."""

    def __init__(
        self, source: Source, *, loader: SourceLoader, settings: PreflightSettings
    ) -> None:
        self.name = source.path
        self.source = source
        self.loader = loader
        self._settings = settings
        self._reader = AdReader(level=settings.ad_level)
        self._call = pin_calls(settings)
        self.read: AdSource = self._reader.read(source)
        self.graph: SourceGraph = self._build([self.name])
        self.faults = explain_stale(
            self.graph, find_site_faults(self.graph), reader=self._reader, call=self._call
        )
        self._closures: dict[Scope, tuple[Fault, ...]] = {}
        self._reach: dict[str, frozenset[str]] = {}

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The includes of the file."""
        return self.graph.edges[self.name]

    @property
    def sources(self) -> Mapping[str, AdSource]:
        """What was read, by name: this file and everything that it reaches."""
        return self._reader.sources

    def amended(self, data: bytes) -> "Edition":
        """Return what the file would be with other bytes."""
        source = Source(path=self.name, data=data)
        return Edition(source, loader=self.loader, settings=self._settings)

    def closure(self, scope: Scope = FREE) -> Closure:
        """Return the closure of the file, for a flow that hands down `scope`."""
        return check_closure(self.graph, self.name, site_faults=self.faults, scope=scope)

    def faults_at(self, edge: Edge, scope: Scope = FREE) -> tuple[Fault, ...]:
        """Return the faults of an include of the file, and of everything below it."""
        if scope not in self._closures:
            self._closures[scope] = self.closure(scope).faults
        below = self._below(edge)
        return tuple(
            fault
            for fault in self._closures[scope]
            if fault.path in below or (fault.path, fault.line) == (self.name, edge.site.line)
        )

    def repins_below(self, edges: Sequence[Edge]) -> tuple[Repin, ...]:
        """Return the stale pins at and below includes of the file, and what is stale in turn."""
        below = frozenset[str]().union(*map(self._below, edges))
        own = {(self.name, edge.ordinal) for edge in edges}
        keys = [key for key, fault in self.faults.items() if fault.place is Place.STALE]
        keys = [key for key in keys if key[0] in below or key in own]
        return find_repins(self.graph, keys, reader=self._reader, call=self._call)

    def repins_above(self) -> tuple[Repin, ...]:
        """Return what is stale in the source root because this file is what it is now."""
        if self.read.facts.digest is None:
            return ()
        root = self.loader.root
        names = select_sources([root], cwd=root, loader=self.loader).names
        graph = self._build([name for name in names if isinstance(self._load(name), Source)])
        keys = [
            key
            for key, fault in find_site_faults(graph).items()
            if fault.place is Place.STALE and graph.edges[key[0]][key[1]].child == self.name
        ]
        return find_repins(graph, keys, reader=self._reader, call=self._call)

    def facts(self, source: Source) -> SourceFacts:
        """Return the facts of a source; those of this file are of this state of it."""
        return self._reader.facts(self.source if source.path == self.name else source)

    def repinned(self, path: str, pins: dict[int, Digest]) -> Digest | None:
        """Return the digest of a source with other pins."""
        return self._reader.repinned(path, pins)

    def _load(self, name: str) -> Source | Absent:
        return self.source if name == self.name else self.loader.load(name)

    def _build(self, roots: Sequence[str]) -> SourceGraph:
        graph = build_graph(roots, loader=self.loader, reader=self)
        if self.name not in graph.sources:
            return graph
        sources = {**graph.sources, self.name: self.source}
        return replace(graph, sources=MappingProxyType(sources))

    def _below(self, edge: Edge) -> frozenset[str]:
        """Return the sources that an include brings in, this file itself apart."""
        top = edge.child
        if top is None or top == self.name:
            return frozenset()
        if top not in self._reach:
            reached = {self.name, top}
            pending = [top]
            while pending:
                for each in self.graph.edges.get(pending.pop(), ()):
                    if each.child is not None and each.child not in reached:
                        reached.add(each.child)
                        pending.append(each.child)
            self._reach[top] = frozenset(reached - {self.name})
        return self._reach[top]


def open_edition(path: str, *, settings: PreflightSettings) -> Edition | tuple[Finding, ...]:
    """Open one `.ad` file, or tell why it cannot be edited."""
    loader = SourceLoader(settings.root)
    name = find_file(path, settings=settings, loader=loader)
    if not isinstance(name, str):
        return name
    source = loader.load(name)
    if isinstance(source, Absent):
        return (Finding(reason="source_unreadable", path=name, message=source.message),)
    edition = Edition(source, loader=loader, settings=settings)
    if source.is_oversized:
        return findings_of(edition.closure().faults)
    return edition


def find_file(
    path: str, *, settings: PreflightSettings, loader: SourceLoader
) -> str | tuple[Finding, ...]:
    """Return the name of one `.ad` file, or why there is none."""
    problems: tuple[Finding, ...] = ()
    for folder in (settings.cwd, loader.root):
        selection = select_sources([path], cwd=folder, loader=loader)
        name = next(iter(selection.named), None)
        if name is not None:
            return name
        problems = problems or selection.problems
    return problems or (
        Finding(
            reason="path_missing",
            path=path,
            message=f"{path}: one file is asked for, and this names none",
            details={"argument": path},
        ),
    )


def findings_of(faults: Sequence[Fault]) -> tuple[Finding, ...]:
    """Return faults as problems, each once, in the order of their places."""
    return ProblemBook(map(finding_of, faults)).problems()


def ordered(findings: Iterator[Finding] | Sequence[Finding]) -> tuple[Finding, ...]:
    """Return problems, each once, in the order of their places, with what to do."""
    return ProblemBook(findings).problems()
