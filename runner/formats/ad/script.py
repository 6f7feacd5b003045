"""The typed form of one `.ad` source: what the reader produces and everything else consumes.

A script is the header (`context`, `env`), an optional format guard and the executable nodes in
order. Nothing here is expanded: `${VAR}` stands as written. `flags`, `runtime` and evidence hold
JSON values because the digest covers them as JSON.

May be imported by: runner.formats.ad, runner.preflight, runner.cli. Imports: runner.model.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from runner.model.ids import Digest

GuardKind: TypeAlias = Literal["fragment", "composition"]


class Context(Struct, frozen=True, kw_only=True):
    """The `context` header; `None` where not authored."""

    platform: str | None = None
    target: str | None = None
    timeout_ms: int | None = None
    retries: int | None = None


class EnvLine(Struct, frozen=True):
    """One `env KEY=VALUE` directive."""

    key: str
    value: str
    line: int


class Guard(Struct, frozen=True, kw_only=True):
    """A format guard line. `version` is 1 for the known form; others are unsupported."""

    kind: GuardKind
    version: int
    line: int


class Action(Struct, frozen=True, kw_only=True, tag="action"):
    """One executable line.

    `positionals`, `flags` and `runtime` are exactly the values of the flat plan digest;
    `evidence` and `evidences` the canonical `target-v1` / `targets-v1` records or `None`.
    `label` is the display label behind an `@ref` (never digested).
    """

    command: str
    positionals: tuple[str, ...] = ()
    flags: dict[str, Any] = {}
    runtime: dict[str, Any] | None = None
    evidence: dict[str, Any] | None = None
    evidences: dict[str, Any] | None = None
    label: str | None = None
    line: int
    column: int = 1


class Include(Struct, frozen=True, kw_only=True, tag="include"):
    """One `include`, with the reference comment before it; `None` where missing or malformed.

    `problem` says what is wrong with the reference or the line, `reference_version` is the
    version of the comment that was found (other than 1: unsupported).
    """

    locator: str
    call_site_id: str | None = None
    digest: Digest | None = None
    reference_version: int | None = None
    problem: str = ""
    line: int
    column: int = 1


AdNode: TypeAlias = Action | Include


class AdScript(Struct, frozen=True, kw_only=True):
    """One parsed source."""

    context: Context = Context()
    env: tuple[EnvLine, ...] = ()
    guards: tuple[Guard, ...] = ()
    guard_is_first: bool = True
    nodes: tuple[AdNode, ...] = ()
