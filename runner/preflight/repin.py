"""New pins for the includes of one file: `sweepgrid pin`.

A pin is only given to what a preflight would admit: the include itself is judged with its new pin,
and so is everything below it, so a fragment that holds a stale pin is refused with what has to be
pinned first. Variables and the effective context change no digest and are not judged. Either every
include that was asked for is right in the end, or the file stays as it is.

May be imported by: runner.cli. Imports: runner.compose, runner.formats.ad, runner.preflight,
runner.model.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from runner.compose.fault import Fault, Place
from runner.compose.graph import Edge
from runner.formats.ad.edit import rewrite_pin
from runner.model.finding import Finding
from runner.preflight.edition import Edit, Edition, PinChange, findings_of, open_edition, ordered
from runner.preflight.settings import PreflightSettings

_LISTED = 20


def repin_file(path: str, *, call_site_id: str | None, settings: PreflightSettings) -> Edit:
    """Return the file with the pin at one call site, or at all of them, as it has to be."""
    edition = open_edition(path, settings=settings)
    if not isinstance(edition, Edition):
        return Edit(path=path, problems=ordered(edition))
    edges = _choose(edition, call_site_id)
    if isinstance(edges, Finding):
        return _refuse(edition, (), [edges])
    faults = [fault for edge in edges for fault in _hurdles(edition, edge)]
    if faults:
        return _refuse(edition, edges, _findings(faults, edition))
    changes = tuple(_changes(edition, edges))
    data = edition.source.data
    for change in changes:
        if change.old != change.new:
            data = rewrite_pin(data, line=change.line, digest=change.new)
    is_same = data == edition.source.data
    amended = edition if is_same else edition.amended(data)
    wanted = {edge.ordinal for edge in edges}
    faults = [
        fault
        for edge in amended.edges
        if edge.ordinal in wanted
        for fault in amended.faults_at(edge)
    ]
    if faults:
        return _refuse(edition, edges, _findings(faults, edition))
    return Edit(
        path=edition.name,
        before=edition.source.data,
        after=data,
        changes=changes,
        repin_next=() if is_same else amended.repins_above(),
    )


def _choose(edition: Edition, call_site_id: str | None) -> Sequence[Edge] | Finding:
    if call_site_id is None:
        return edition.edges
    edges = [edge for edge in edition.edges if edge.site.call_site_id == call_site_id]
    if len(edges) == 1:
        return edges
    known = [edge.site.call_site_id for edge in edition.edges if edge.site.call_site_id]
    line = 1
    message = f"no include has the call site {call_site_id!r}"
    if edges:
        line = edges[1].site.line
        message = f"the call site {call_site_id!r} stands at line {edges[0].site.line} already"
    elif known:
        shown = ", ".join(map(repr, known[:_LISTED]))
        more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
        message = f"{message}; the file has {shown}{more}"
    return Finding(
        reason="fragment_call_site_invalid",
        path=edition.name,
        line=line,
        message=message,
        details={"source": edition.name, "callSiteId": call_site_id, "known": known},
        hint="" if edges else "Name a call site of the file, or use --all.",
    )


def _hurdles(edition: Edition, edge: Edge) -> Iterator[Fault]:
    """Yield what stands in the way of a new pin; whether one is enough shows afterwards."""
    for fault in edition.faults_at(edge):
        is_own = (fault.path, fault.line) == (edition.name, edge.site.line)
        is_named = edge.site.call_site_id is not None
        if not is_own or not (
            fault.place is Place.STALE or (fault.place is Place.CALL_SITE and is_named)
        ):
            yield fault


def _changes(edition: Edition, edges: Sequence[Edge]) -> Iterator[PinChange]:
    for edge in edges:
        if edge.child is None or edge.site.call_site_id is None:
            continue  # A fault was found for it already.
        digest = edition.graph.facts[edge.child].digest
        if digest is not None:
            yield PinChange(
                line=edge.site.line,
                call_site_id=edge.site.call_site_id,
                locator=edge.site.locator,
                fragment=edge.child,
                old=edge.site.pin,
                new=digest,
            )


def _findings(faults: Sequence[Fault], edition: Edition) -> Iterator[Finding]:
    for finding in findings_of(faults):
        is_own = finding.path == edition.name
        if is_own and finding.reason == "fragment_call_site_invalid":
            yield replace(
                finding,
                hint="Pins go into a reference comment that is right but for its digest. "
                "Delete the include and its comment, and write both anew: sweepgrid include.",
            )
        else:
            yield finding


def _refuse(
    edition: Edition, edges: Sequence[Edge], findings: Iterator[Finding] | Sequence[Finding]
) -> Edit:
    data = edition.source.data
    return Edit(
        path=edition.name,
        before=data,
        after=data,
        problems=ordered(findings),
        repin_first=edition.repins_below(edges),
    )
