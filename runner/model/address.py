"""Step addresses: the join key of everything that is said about a step.

Pure. Two addresses are equal exactly when version, owner, invocation path, control path
and local step are equal; provenance is a separate value and never compared. The JSON form
is the founding decision record's wire shape; the text token is its reversible spelling:

    <format>:<r|f>:<hex>(/<callSiteId>.<iteration>)*(~<controlId>.<iteration>)*#<localStep>

May be imported by: everyone. Imports: runner.errors, runner.model.ids.
"""

import re
from typing import Literal, TypeAlias
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from runner.errors import InputError
from runner.model.ids import Digest


class FragmentOwner(
    Struct, frozen=True, gc=False, kw_only=True, rename="camel", tag_field="kind", tag="fragment"
):
    """The fragment that owns a step."""

    format: str
    fragment_digest: Digest


class RootOwner(
    Struct, frozen=True, gc=False, kw_only=True, rename="camel", tag_field="kind", tag="root"
):
    """The root plan that owns a step."""

    format: str
    composition_digest: Digest


Owner: TypeAlias = FragmentOwner | RootOwner


class InvocationSegment(Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """One include that was entered: its authored call site and runtime ordinal from 0."""

    call_site_id: str
    iteration: int = 0


class ControlSegment(Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """One format-owned control (repeat, retry): its identity and iteration from 0."""

    control_id: str
    iteration: int = 0


class StepAddress(
    Struct, frozen=True, gc=False, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Where a step stands; `local_step` counts from 1 within its owner."""

    version: Literal[1] = 1
    owner: Owner
    invocation_path: tuple[InvocationSegment, ...] = ()
    control_path: tuple[ControlSegment, ...] = ()
    local_step: int


class SourceRef(Struct, frozen=True, gc=False, rename="camel"):
    """A line of a source file: `path` relative to the source root, `line` from 1."""

    path: str
    line: int


class Provenance(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Where a step was written; display only, outside equality and authorization."""

    invocation_sources: tuple[SourceRef, ...] = ()
    step_source: SourceRef


_HEX = re.compile(r"[0-9a-f]{64}\Z")
_SEGMENT = re.compile(r"(?P<id>[^/~#.]+)\.(?P<iteration>0|[1-9][0-9]*)\Z")
_TOKEN = re.compile(
    r"(?P<format>[a-z][a-z0-9-]*):(?P<kind>[rf]):(?P<hex>[0-9a-f]{64})"
    r"(?P<calls>(?:/[^/~#]+)*)(?P<controls>(?:~[^/~#]+)*)#(?P<step>[1-9][0-9]*)\Z"
)


def render_token(address: StepAddress) -> str:
    """Return the text token of `address`."""
    owner = address.owner
    if isinstance(owner, FragmentOwner):
        head = f"{owner.format}:f:{owner.fragment_digest.removeprefix('sha256:')}"
    else:
        head = f"{owner.format}:r:{owner.composition_digest.removeprefix('sha256:')}"
    calls = "".join(
        f"/{_escape(part.call_site_id)}.{part.iteration}" for part in address.invocation_path
    )
    controls = "".join(
        f"~{_escape(part.control_id)}.{part.iteration}" for part in address.control_path
    )
    return f"{head}{calls}{controls}#{address.local_step}"


def parse_token(text: str) -> StepAddress:
    """Read a text token. Reasons: `address_invalid`."""
    found = _TOKEN.match(text)
    if found is None:
        raise _invalid(text, "it is not <format>:<r|f>:<64 hex>[/id.n]*[~id.n]*#<step>")
    digest = Digest(f"sha256:{found['hex']}")
    owner: Owner
    if found["kind"] == "f":
        owner = FragmentOwner(format=found["format"], fragment_digest=digest)
    else:
        owner = RootOwner(format=found["format"], composition_digest=digest)
    return StepAddress(
        owner=owner,
        invocation_path=tuple(
            InvocationSegment(name, n) for name, n in _segments(text, found["calls"], "/")
        ),
        control_path=tuple(
            ControlSegment(name, n) for name, n in _segments(text, found["controls"], "~")
        ),
        local_step=int(found["step"]),
    )


def parse_address(text: str) -> StepAddress:
    """Read an address in either form, JSON or text token. Reasons: `address_invalid`."""
    if not text.lstrip().startswith("{"):
        return parse_token(text.strip())
    try:
        address = msgspec.json.decode(text, type=StepAddress)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _invalid(text, str(error)) from error
    _require_valid(text, address)
    return address


def _require_valid(text: str, address: StepAddress) -> None:
    match address.owner:
        case FragmentOwner(fragment_digest=digest) | RootOwner(composition_digest=digest):
            if not (digest.startswith("sha256:") and _HEX.match(digest[7:])):
                raise _invalid(text, "the owner's digest is not sha256: and 64 lower-case hex")
    ordinals = [part.iteration for part in address.invocation_path]
    ordinals += [part.iteration for part in address.control_path]
    names = [part.call_site_id for part in address.invocation_path]
    names += [part.control_id for part in address.control_path]
    if address.local_step < 1 or any(n < 0 for n in ordinals) or not all(names):
        raise _invalid(text, "steps count from 1, iterations from 0, and ids are not empty")


def _escape(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E").replace("~", "%7E")


def _segments(text: str, part: str, separator: str) -> list[tuple[str, int]]:
    segments = []
    for piece in part.split(separator)[1:]:
        found = _SEGMENT.match(piece)
        if found is None:
            raise _invalid(text, f"{piece!r} is not id.iteration")
        try:
            name = unquote(found["id"], errors="strict")
        except UnicodeDecodeError as error:
            raise _invalid(text, f"{piece!r} is not percent-encoded UTF-8") from error
        segments.append((name, int(found["iteration"])))
    return segments


def _invalid(text: str, why: str) -> InputError:
    return InputError(
        reason="address_invalid",
        message=f"{text[:200]!r} is not a step address: {why}",
        details={"address": text[:2000]},
        hint="copy the address from a report, `sweepgrid events` or `sweepgrid check --json`",
    )
