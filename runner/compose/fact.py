"""What a format says about one source, so that the composition model need not know the format.

Values only. Each fact is about the source's own bytes; nothing here looks at another file.

May be imported by: runner.compose, runner.formats, runner.preflight. Imports: runner.model.
"""

from typing import Any, Protocol

from msgspec import Struct

from runner.compose.source import Source
from runner.model.ids import Digest


class LocalFault(Struct, frozen=True, kw_only=True):
    """Something wrong at a line of the source; `feature` names what is not supported."""

    message: str
    line: int = 1
    column: int = 1
    feature: str = ""
    details: dict[str, Any] = {}


class IncludeSite(Struct, frozen=True, kw_only=True):
    """One authored include.

    `unsupported` says why this include cannot be supported whatever stands at the locator;
    `reference_problem` what is wrong with its reference, call site or pin. An unpinned site of a
    format that needs no pins has neither pin nor problem.
    """

    locator: str
    call_site_id: str | None = None
    pin: Digest | None = None
    unsupported: LocalFault | None = None
    reference_problem: str = ""
    line: int
    column: int = 1


class ControlSite(Struct, frozen=True, kw_only=True):
    """One addressable repeat, retry or other control."""

    control_id: str | None
    line: int
    column: int = 1


class VariableUse(Struct, frozen=True):
    """A variable without default, and the line that uses it."""

    name: str
    line: int


class SourceFacts(Struct, frozen=True, kw_only=True):
    """The facts of one source.

    `unsupported` says why it cannot be included. `is_fragment` tells that its grammar is
    understood as a fragment's, so that its own includes are worth a look even when it has faults.
    `digest` is its identity as a fragment, `None` where it has none. `steps` counts its own
    steps. `loose_references` belong to no include. `unsafe`, `entry_missing` and `entry_mismatch`
    are the admission rules of its format.
    """

    is_fragment: bool = False
    unsupported: LocalFault | None = None
    includes: tuple[IncludeSite, ...] = ()
    loose_references: tuple[LocalFault, ...] = ()
    controls: tuple[ControlSite, ...] = ()
    digest: Digest | None = None
    steps: int = 0
    platform: str | None = None
    target: str | None = None
    unsafe: tuple[LocalFault, ...] = ()
    entry_missing: LocalFault | None = None
    entry_mismatch: LocalFault | None = None
    variables: tuple[VariableUse, ...] = ()


class Reader(Protocol):
    """What a format contributes to the walk over a closure."""

    def facts(self, source: Source) -> SourceFacts:
        """Return the facts of `source`; never fails, a fault is a fact.

        Of an oversized source only its beginning is there: the facts are those that show in it.
        """
        ...

    def repinned(self, path: str, pins: dict[int, Digest]) -> Digest | None:
        """Return the digest of a source that was read, with the pins at these includes replaced."""
        ...
