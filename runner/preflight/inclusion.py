"""A new include in one file: `sweepgrid include`.

The result is read and judged before it is anywhere: the file has to say what it said before and the
include besides, and the include has to be one that a preflight takes. Nothing else is put right on
the way: a flat script is not made a composed one, and a stale fragment is not repinned.

May be imported by: runner.cli. Imports: runner.compose, runner.formats.ad, runner.preflight,
runner.model, runner.errors.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from runner.compose.closure import Scope
from runner.compose.fault import Fault, Place
from runner.compose.graph import Edge
from runner.compose.source import Absent, Source
from runner.formats.ad.edit import insert_include, relative_locator
from runner.formats.ad.reader import read_source
from runner.formats.ad.reading import AdSource
from runner.formats.ad.script import AdNode, AdScript, Include
from runner.model.finding import Finding
from runner.model.ids import Digest
from runner.preflight.edition import Edit, Edition, PinChange, findings_of, open_edition, ordered
from runner.preflight.flow import DEFAULT_TARGET
from runner.preflight.settings import PreflightSettings

_NO_DIGEST: Final = Digest(f"sha256:{'0' * 64}")
"""Stands in for the digest of what has none; that it has none is a fault, told before this one."""
_ADDED: Final = 2
"""Lines of an include."""
_BOUNDS: Final = (Place.SOURCES, Place.DEPTH, Place.SIZE)
_NEAR: Final = 30
_SMALL_BYTES: Final = 64 * 1024


def include_fragment(
    parent: str, child: str, *, after: int, call_site_id: str, settings: PreflightSettings
) -> Edit:
    """Return `parent` with an include of `child` behind line `after`. Reasons: `option_invalid`."""
    edition = open_edition(parent, settings=settings)
    if not isinstance(edition, Edition):
        return Edit(path=parent, problems=ordered(edition))
    problem = _find_obstacle(edition, call_site_id)
    source = _find_child(child, edition, settings)
    if problem is not None or not isinstance(source, Source):
        found = [each for each in (problem, source) if isinstance(each, Finding)]
        return _refuse(edition, found)
    locator = relative_locator(edition.name, source.path)
    digest = edition.facts(source).digest or _NO_DIGEST
    data = insert_include(
        edition.source.data,
        after=after,
        locator=locator,
        call_site_id=call_site_id,
        digest=digest,
    )
    amended = edition.amended(data)
    if amended.source.is_oversized:
        return _refuse(edition, findings_of(amended.closure().faults))
    why = _find_displacement(edition.read, amended.read, after)
    edge = next((each for each in amended.edges if each.site.line == after + _ADDED), None)
    if why or edge is None:
        return _refuse(edition, [_misplaced(edition, why, after, settings)])
    faults = [*amended.faults_at(edge, _scope_of(amended.read)), *_new_bounds(edition, amended)]
    if faults:
        return _refuse(edition, findings_of(faults), amended, (edge,))
    change = PinChange(
        line=edge.site.line,
        call_site_id=call_site_id,
        locator=locator,
        fragment=source.path,
        old=None,
        new=digest,
    )
    return Edit(
        path=edition.name,
        before=edition.source.data,
        after=data,
        changes=(change,),
        repin_next=amended.repins_above(),
    )


def _find_obstacle(edition: Edition, call_site_id: str) -> Finding | None:
    """Return why the file takes no such include wherever it stands."""
    read = edition.read
    details = {"source": edition.name, "callSiteId": call_site_id}
    if read.kind == "flat":
        return Finding(
            reason="fragment_unsupported",
            path=edition.name,
            message=f"{edition.name} is a flat script, and only a composed one has includes",
            details={**details, "feature": "include_without_guard"},
            hint="Write composition-v1 on a line of its own before its first action, then again.",
        )
    fault = read.guard_fault
    if fault is not None:
        return Finding(
            reason="fragment_unsupported",
            path=edition.name,
            line=fault.line,
            message=f"{edition.name} takes no includes: {fault.message}",
            details={**details, **fault.details, "feature": fault.feature},
        )
    for edge in edition.edges:
        if edge.site.call_site_id == call_site_id:
            return Finding(
                reason="fragment_call_site_invalid",
                path=edition.name,
                line=edge.site.line,
                message=f"the call site {call_site_id!r} stands at line {edge.site.line} already",
                details=details,
                hint="Name another call site; it has to be the only one of its name in the file.",
            )
    return None


def _find_child(child: str, edition: Edition, settings: PreflightSettings) -> Source | Finding:
    absent: Absent | None = None
    for folder in (settings.cwd, edition.loader.root):
        name = edition.loader.adopt(os.path.join(folder, child))  # noqa: PTH118 -- `child` may be absolute.
        source = name if isinstance(name, Absent) else edition.loader.load(name)
        if isinstance(source, Source):
            return edition.source if source.path == edition.name else source
        absent = absent or source
    return Finding(
        reason="fragment_missing",
        path=edition.name,
        message=f"there is no fragment {child}: {absent.message if absent else ''}",
        details={
            "source": edition.name,
            "argument": child,
            "kind": absent.kind if absent else "missing",
        },
    )


def _scope_of(read: AdSource) -> Scope:
    """Return what the file by itself hands down; a run may state another platform."""
    target = read.context.target
    if target is None and read.kind == "composition":
        target = DEFAULT_TARGET
    return Scope(platform=read.platform_hint or read.context.platform, target=target, names=None)


def _new_bounds(edition: Edition, amended: Edition) -> Iterator[Fault]:
    before = {fault.place for fault in edition.closure().faults}
    for fault in amended.closure().faults:
        if fault.place in _BOUNDS and fault.place not in before:
            yield fault


def _find_displacement(before: AdSource, after: AdSource, line: int) -> str:
    """Return what an include behind `line` does to the rest of the file, if anything."""
    old, new = _plain(before.script), _plain(_without(after.script, line))
    if old.guards != new.guards or old.guard_is_first != new.guard_is_first:
        return "it would stand before the format guard, which has to be the first executable line"
    if old.context != new.context or old.env != new.env:
        return "it would stand in the header, which ends at the first step"
    if old.nodes != new.nodes:
        return "it would part a comment from the line that the comment belongs to"
    if before.facts.entry_missing is None and after.facts.entry_missing is not None:
        return "it would stand before the entry guard, the first step of every fragment"
    if len(before.findings) < len(after.findings):
        return "the file could not be read as before"
    return ""


def _without(script: AdScript, line: int) -> AdScript:
    """Return a script without the include behind `line`, lines counted as without it."""
    added = line + _ADDED

    def shift(number: int) -> int:
        return number - _ADDED if number > added else number

    return replace(
        script,
        env=tuple(replace(each, line=shift(each.line)) for each in script.env),
        guards=tuple(replace(each, line=shift(each.line)) for each in script.guards),
        nodes=tuple(
            replace(node, line=shift(node.line)) for node in script.nodes if node.line != added
        ),
    )


def _plain(script: AdScript) -> AdScript:
    """Return a script without the texts of what is wrong with it, which name lines."""

    def plain(node: AdNode) -> AdNode:
        is_bad = isinstance(node, Include) and node.problem
        return replace(node, problem="bad") if is_bad else node

    return replace(script, nodes=tuple(map(plain, script.nodes)))


def _misplaced(edition: Edition, why: str, after: int, settings: PreflightSettings) -> Finding:
    near = _find_near(edition, after, settings)
    return Finding(
        reason="include_place_invalid",
        path=edition.name,
        line=max(after, 1),
        message=f"an include behind line {after} is no good: {why or 'the file ends before it'}",
        details={"source": edition.name, "after": after, "near": near},
        hint="" if near is None else f"The next place behind it is --after {near}.",
    )


def _find_near(edition: Edition, after: int, settings: PreflightSettings) -> int | None:
    """Return the next line that an include may stand behind, where it takes no time to tell."""
    data = edition.source.data
    if len(data) > _SMALL_BYTES:
        return None
    last = data.count(b"\n") + (not data.endswith(b"\n"))
    for line in range(after + 1, min(after + _NEAR, last) + 1):
        edited = insert_include(
            data, after=line, locator="./x.ad", call_site_id="x", digest=_NO_DIGEST
        )
        read = read_source(Source(path=edition.name, data=edited), level=settings.ad_level)
        if not _find_displacement(edition.read, read, line):
            return line
    return None


def _refuse(
    edition: Edition,
    findings: Sequence[Finding],
    amended: Edition | None = None,
    edges: Sequence[Edge] = (),
) -> Edit:
    data = edition.source.data
    repins = () if amended is None else amended.repins_below(edges)
    return Edit(
        path=edition.name,
        before=data,
        after=data,
        problems=ordered(findings),
        # The last of them would pin what is not written.
        repin_first=tuple(each for each in repins if each.path != edition.name),
    )
