"""The faults of an include site that are the same for every flow.

Pure. Of the places of the order these are the missing source, the unsupported format, a source
over the byte bound by itself, the cycle, call site and control identities, the stale pin, and
the admission rules of a fragment. What depends on the flow stands in `runner.compose.closure`.

May be imported by: runner.compose, runner.preflight. Imports: runner.compose.
"""

from collections.abc import Iterable, Iterator

from runner.compose.bound import BYTE_LIMIT
from runner.compose.fact import ControlSite, LocalFault, SourceFacts
from runner.compose.fault import Fault, Place, fault_at
from runner.compose.graph import Edge, EdgeKey, SourceGraph

_LISTED = 20
"""How many lines of a fragment a fault quotes."""
_SPOKEN = 3
"""How many of its unsafe actions a message names."""


def find_site_faults(graph: SourceGraph) -> dict[EdgeKey, Fault]:
    """Return the first applicable fault of every include site that has one."""
    faults = {}
    for edges in graph.edges.values():
        first_lines: dict[str, int] = {}
        for edge in edges:
            call_site_id = edge.site.call_site_id
            first_line = first_lines.get(call_site_id) if call_site_id is not None else None
            if call_site_id is not None and first_line is None:
                first_lines[call_site_id] = edge.site.line
            fault = _find(graph, edge, first_line)
            if fault is not None:
                faults[edge.path, edge.ordinal] = fault
    return faults


def find_loose_references(path: str, facts: SourceFacts) -> Iterator[Fault]:
    """Yield the faults of references in the root `path` itself that belong to no include."""
    for loose in facts.loose_references:
        yield Fault(
            place=Place.CALL_SITE,
            path=path,
            line=loose.line,
            column=loose.column,
            message=loose.message,
            details={"source": path, "locator": None, **loose.details},
        )


def find_control_fault(path: str, facts: SourceFacts) -> Fault | None:
    """Return what is wrong with the control identities of the root `path` itself."""
    control = _bad_control(facts.controls)
    if control is None:
        return None
    return Fault(
        place=Place.CONTROL,
        path=path,
        line=control.line,
        column=control.column,
        message=_control_message(control),
        details={"source": path, "controlId": control.control_id},
    )


def _find(graph: SourceGraph, edge: Edge, first_line: int | None) -> Fault | None:
    if edge.absent is not None or edge.child is None:
        return _missing(edge)
    facts = graph.facts[edge.child]
    return (
        _unsupported(edge, edge.child, facts)
        or _oversized(graph, edge, edge.child)
        or _cycle(graph, edge, edge.child)
        or _call_site(edge, edge.child, facts, first_line)
        or _loose_reference(edge, edge.child, facts)
        or _control(edge, edge.child, facts)
        or _stale(graph, edge, edge.child, facts)
        or _admission(edge, edge.child, facts)
    )


def _missing(edge: Edge) -> Fault:
    absent = edge.absent
    why = absent.message if absent is not None else "nothing stands there"
    kind = absent.kind if absent is not None else "missing"
    return fault_at(
        Place.MISSING,
        path=edge.path,
        site=edge.site,
        message=f"the included fragment {edge.site.locator!r} is missing: {why}",
        details={"kind": kind},
    )


def _unsupported(edge: Edge, child: str, facts: SourceFacts) -> Fault | None:
    fault = edge.site.unsupported or facts.unsupported
    if fault is None:
        return None
    return fault_at(
        Place.UNSUPPORTED,
        path=edge.path,
        site=edge.site,
        message=f"{child} cannot be included here: {fault.message}",
        child=child,
        actual=facts.digest,
        details={**fault.details, "feature": fault.feature, "featureLine": fault.line},
    )


def _oversized(graph: SourceGraph, edge: Edge, child: str) -> Fault | None:
    if not graph.sources[child].is_oversized:
        return None
    return fault_at(
        Place.SIZE,
        path=edge.path,
        site=edge.site,
        message=f"{child} alone has over {BYTE_LIMIT} bytes, the bound of a whole closure",
        child=child,
        details={"bound": "bytes", "limit": BYTE_LIMIT},
    )


def _cycle(graph: SourceGraph, edge: Edge, child: str) -> Fault | None:
    cycle = graph.closing.get((edge.path, edge.ordinal))
    if cycle is None:
        return None
    return fault_at(
        Place.CYCLE,
        path=edge.path,
        site=edge.site,
        message=f"this include closes a cycle: {' > '.join(_shorten(cycle))}",
        child=child,
        actual=graph.facts[child].digest,
        details={"cycle": list(cycle)},
    )


def _call_site(edge: Edge, child: str, facts: SourceFacts, first_line: int | None) -> Fault | None:
    site = edge.site
    problem = site.reference_problem
    if not problem and first_line is not None:
        problem = f"the call site {site.call_site_id!r} stands at line {first_line} already"
    if not problem:
        return None
    return fault_at(
        Place.CALL_SITE,
        path=edge.path,
        site=site,
        message=f"the reference of this include is not valid: {problem}",
        child=child,
        actual=facts.digest,
        details={} if first_line is None else {"firstLine": first_line},
    )


def _loose_reference(edge: Edge, child: str, facts: SourceFacts) -> Fault | None:
    if not facts.loose_references:
        return None
    first = facts.loose_references[0]
    lines = [loose.line for loose in facts.loose_references[:_LISTED]]
    return fault_at(
        Place.CALL_SITE,
        path=edge.path,
        site=edge.site,
        message=f"{child}:{first.line}: {first.message}",
        child=child,
        actual=facts.digest,
        details={"fragmentLine": first.line, "fragmentLines": lines},
    )


def _control(edge: Edge, child: str, facts: SourceFacts) -> Fault | None:
    control = _bad_control(facts.controls)
    if control is None:
        return None
    return fault_at(
        Place.CONTROL,
        path=edge.path,
        site=edge.site,
        message=f"{child}:{control.line}: {_control_message(control)}",
        child=child,
        actual=facts.digest,
        details={"controlId": control.control_id, "fragmentLine": control.line},
    )


def _bad_control(controls: Iterable[ControlSite]) -> ControlSite | None:
    known: set[str] = set()
    for control in controls:
        if not control.control_id or control.control_id in known:
            return control
        known.add(control.control_id)
    return None


def _control_message(control: ControlSite) -> str:
    if not control.control_id:
        return "this control has no id; give it one that is unique in its source"
    return f"the control id {control.control_id!r} is used twice; make it unique in its source"


def _stale(graph: SourceGraph, edge: Edge, child: str, facts: SourceFacts) -> Fault | None:
    pin, actual = edge.site.pin, facts.digest
    if pin is None or actual is None or pin == actual or graph.is_within_cycle(edge):
        return None
    return fault_at(
        Place.STALE,
        path=edge.path,
        site=edge.site,
        message=f"{child} has changed: the pin is {pin}, the fragment is {actual}",
        child=child,
        actual=actual,
    )


def _admission(edge: Edge, child: str, facts: SourceFacts) -> Fault | None:
    place, local = _first_admission(facts)
    if local is None:
        return None
    details = {**local.details, "fragmentLine": local.line}
    more = ""
    if place is Place.LIFECYCLE:
        details["fragmentLines"] = [fault.line for fault in facts.unsafe[:_LISTED]]
        more = "".join(f"; line {each.line}: {each.message}" for each in facts.unsafe[1:_SPOKEN])
        if len(facts.unsafe) > _SPOKEN:
            more += f"; and {len(facts.unsafe) - _SPOKEN} more"
    return fault_at(
        place,
        path=edge.path,
        site=edge.site,
        message=f"{child}:{local.line}: {local.message}{more}",
        child=child,
        actual=facts.digest,
        details=details,
    )


def _first_admission(facts: SourceFacts) -> tuple[Place, LocalFault | None]:
    if facts.unsafe:
        return Place.LIFECYCLE, facts.unsafe[0]
    if facts.entry_missing is not None:
        return Place.ENTRY_MISSING, facts.entry_missing
    return Place.ENTRY_MISMATCH, facts.entry_mismatch


def _shorten(cycle: tuple[str, ...]) -> tuple[str, ...]:
    if len(cycle) <= _LISTED:
        return cycle
    half = _LISTED // 2
    return (*cycle[:half], f"({len(cycle) - 2 * half} more)", *cycle[-half:])
