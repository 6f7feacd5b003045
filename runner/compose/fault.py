"""Composition faults: which reason applies first, and where a fault belongs.

The fourteen places are the total order of the founding decision record. A fault belongs to the
include site that brings it in; a site has at most one fault for one flow, the first in the order.

May be imported by: runner.compose, runner.preflight. Imports: runner.compose, runner.model.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from msgspec import Struct

from runner.compose.fact import IncludeSite
from runner.model.ids import Digest


class Place(IntEnum):
    """A place in the order; the lower one is reported."""

    MISSING = 1
    UNSUPPORTED = 2
    SOURCES = 3
    DEPTH = 4
    SIZE = 5
    CYCLE = 6
    CALL_SITE = 7
    CONTROL = 8
    STALE = 9
    LIFECYCLE = 10
    ENTRY_MISSING = 11
    ENTRY_MISMATCH = 12
    CONTEXT = 13
    VARIABLE = 14


REASONS: Final[Mapping[Place, str]] = {
    Place.MISSING: "fragment_missing",
    Place.UNSUPPORTED: "fragment_unsupported",
    Place.SOURCES: "fragment_bounds",
    Place.DEPTH: "fragment_bounds",
    Place.SIZE: "fragment_bounds",
    Place.CYCLE: "fragment_cycle",
    Place.CALL_SITE: "fragment_call_site_invalid",
    Place.CONTROL: "fragment_control_identity_invalid",
    Place.STALE: "fragment_stale",
    Place.LIFECYCLE: "fragment_lifecycle",
    Place.ENTRY_MISSING: "fragment_entry_guard",
    Place.ENTRY_MISMATCH: "fragment_entry_guard",
    Place.CONTEXT: "fragment_context_mismatch",
    Place.VARIABLE: "fragment_variable_unbound",
}


class Fault(Struct, frozen=True, kw_only=True):
    """One fault of one include site (or, where a root itself is at fault, of a line of it)."""

    place: Place
    path: str
    line: int
    column: int = 1
    message: str
    details: dict[str, Any] = {}

    @property
    def reason(self) -> str:
        """The machine-readable reason of the place."""
        return REASONS[self.place]


def fault_at(
    place: Place,
    *,
    path: str,
    site: IncludeSite,
    message: str,
    child: str | None = None,
    actual: Digest | None = None,
    details: Mapping[str, Any] | None = None,
) -> Fault:
    """Return a fault of the include `site` in `path`, with the details that every fault has."""
    facts: dict[str, Any] = {
        "source": path,
        "locator": site.locator,
        "callSiteId": site.call_site_id,
        "expectedDigest": site.pin,
    }
    if child is not None:
        facts["fragment"] = child
    if actual is not None:
        facts["actualDigest"] = actual
    facts.update(details or {})
    return Fault(
        place=place,
        path=path,
        line=site.line,
        column=site.column,
        message=message,
        details=facts,
    )
