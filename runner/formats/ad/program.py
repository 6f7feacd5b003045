"""The composed `.ad` program: what preflight verified, what travels, and what a worker plays.

Self-contained: the root and every fragment stand in it as typed scripts, so a worker reads no
file. Fragments are keyed by their digest; `composition_digest_of` recomputes every digest from
the scripts themselves, so a program whose content is not what its plan promises is refused.

`linearize` gives the steps in execution order with their addresses. `local_step` counts an
owner's actions from 1; format guards and includes take no number.

May be imported by: runner.formats, runner.preflight, runner.cli. Imports: runner.compose,
runner.formats.ad, runner.model, runner.errors.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from runner.compose.plan import (
    CompositionPlan,
    Entered,
    ExpandedStep,
    FragmentIdentity,
    Invocation,
    Left,
    OwnerPlan,
    PlanNode,
    StepNode,
    expand,
    require_bounded,
)
from runner.errors import InputError
from runner.formats.ad import digest as ad_digest
from runner.formats.ad.script import Action, AdScript, Include
from runner.model.address import Provenance, StepAddress
from runner.model.ids import Digest, Platform

FORMAT = "ad"


class AdFragment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fragment of a program; `path` is for provenance only."""

    path: str
    script: AdScript


class AdProgram(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A root script and its closure, for one platform and target."""

    version: Literal[1] = 1
    path: str
    platform: Platform
    target: str = "mobile"
    root: AdScript
    fragments: dict[Digest, AdFragment] = {}


class PlannedStep(Struct, frozen=True, kw_only=True):
    """One action to run; `invocation` holds the call sites from the root to its owner."""

    address: StepAddress
    provenance: Provenance
    action: Action
    is_entry_guard: bool = False
    invocation: tuple[str, ...] = ()


class EnterFragment(Struct, frozen=True, kw_only=True):
    """An include is entered; the address is that of the fragment's local step 1."""

    call_site_id: str
    locator: str
    address: StepAddress
    provenance: Provenance


class LeaveFragment(Struct, frozen=True, kw_only=True):
    """Every step of an include has run; the address is that of the fragment's local step 1."""

    call_site_id: str
    locator: str
    address: StepAddress
    provenance: Provenance


class PackedFragment(Struct, frozen=True, kw_only=True):
    """An `AdFragment` whose script is bytes already."""

    path: str
    script: msgspec.Raw


class _PackedProgram(Struct, frozen=True, kw_only=True):
    """An `AdProgram` of packed scripts; the two have the same bytes."""

    version: Literal[1] = 1
    path: str
    platform: Platform
    target: str
    root: msgspec.Raw
    fragments: dict[Digest, PackedFragment]


ProgramItem: TypeAlias = PlannedStep | EnterFragment | LeaveFragment


def encode_program(program: AdProgram) -> bytes:
    """Return the bytes of `program`. Reasons: `program_invalid`."""
    try:
        return msgspec.msgpack.encode(program)
    except (UnicodeEncodeError, OverflowError, RecursionError) as error:
        raise _invalid(f"{program.path} holds a value that cannot travel: {error}") from error


def pack_program(
    root: msgspec.Raw,
    *,
    path: str,
    platform: Platform,
    target: str,
    fragments: dict[Digest, PackedFragment],
) -> bytes:
    """Return the bytes of the program of these packed scripts. Reasons: `program_invalid`."""
    packed = _PackedProgram(
        path=path, platform=platform, target=target, root=root, fragments=fragments
    )
    try:
        return msgspec.msgpack.encode(packed)
    except UnicodeEncodeError as error:
        raise _invalid(f"{path} holds a value that cannot travel: {error}") from error


def decode_program(data: bytes) -> AdProgram:
    """Read the bytes of a program that is closed and within bounds. Reasons: `program_invalid`."""
    try:
        program = msgspec.msgpack.decode(data, type=AdProgram)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _invalid(f"its bytes are not an `ad` program: {error}") from error
    for script in (program.root, *(each.script for each in program.fragments.values())):
        _require_json(script)
    require_bounded(_plan_of(program, Digest("")))
    return program


def open_program(data: bytes, expected: Digest) -> AdProgram:
    """Decode a program and hold it to its plan's digest.

    Reasons: `program_invalid`, `program_mismatch`.
    """
    program = decode_program(data)
    actual = composition_digest_of(program)
    if actual != expected:
        raise InputError(
            reason="program_mismatch",
            message=f"{program.path} has the composition digest {actual}, not {expected}",
            details={"path": program.path, "expectedDigest": expected, "actualDigest": actual},
        )
    return program


def composition_digest_of(program: AdProgram) -> Digest:
    """Recompute the composition digest from the scripts. Reasons: `program_invalid`.

    Every fragment must hash to the digest that it is kept under.
    """
    for kept, fragment in program.fragments.items():
        context = fragment.script.context
        actual = ad_digest.fragment_digest(
            fragment.script, platform=context.platform, target=context.target
        )
        if actual != kept:
            raise _invalid(f"{fragment.path} has the digest {actual}, not {kept}")
    return ad_digest.composition_digest(program.root, graph=graph_edges(program))


def graph_edges(program: AdProgram) -> tuple[tuple[str, str, str], ...]:
    """Return the distinct edges (parent digest or `root`, call site, child digest), sorted."""
    edges = {("root", *pin) for pin in _pins(program.root)}
    for parent, fragment in program.fragments.items():
        edges |= {(parent, *pin) for pin in _pins(fragment.script)}
    return tuple(sorted(edges))


def linearize(program: AdProgram) -> Iterator[ProgramItem]:
    """Yield the steps and fragment boundaries of `program` in execution order.

    Reasons: `program_invalid`.
    """
    plan = _plan_of(program, composition_digest_of(program))
    for item in expand(plan):
        match item:
            case ExpandedStep(address, provenance, owner, index):
                script = program.root if owner is None else program.fragments[owner].script
                action = script.nodes[index]
                if not isinstance(action, Action):  # `_owner` made the index.
                    raise _invalid(f"node {index} of {provenance.step_source.path} is no action")
                yield PlannedStep(
                    address=address,
                    provenance=provenance,
                    action=action,
                    is_entry_guard=owner is not None and address.local_step == 1,
                    invocation=tuple(part.call_site_id for part in address.invocation_path),
                )
            case Entered(node, address, provenance):
                yield EnterFragment(
                    call_site_id=node.call_site_id,
                    locator=node.locator,
                    address=address,
                    provenance=provenance,
                )
            case Left(node, address, provenance):
                yield LeaveFragment(
                    call_site_id=node.call_site_id,
                    locator=node.locator,
                    address=address,
                    provenance=provenance,
                )


def step_count(program: AdProgram) -> int:
    """Return how many steps `program` runs. Reasons: `program_invalid`."""
    return require_bounded(_plan_of(program, Digest("")))


def _require_json(script: AdScript) -> None:
    """Refuse what MessagePack can say and JSON cannot: no digest is defined over it."""
    for node in script.nodes:
        if isinstance(node, Include):
            continue
        pending: list[Any] = [node.flags, node.runtime, node.evidence, node.evidences]
        while pending:
            value = pending.pop()
            if isinstance(value, dict):
                pending += [*value.keys(), *value.values()]
                is_json = all(isinstance(key, str) for key in value)
            elif isinstance(value, list):
                pending += value
                is_json = True
            elif isinstance(value, float):
                is_json = isfinite(value)
            else:
                is_json = value is None or isinstance(value, str | int)
            if not is_json:
                raise _invalid(f"line {node.line} holds a value that is not JSON")


def _plan_of(program: AdProgram, composition_digest: Digest) -> CompositionPlan:
    return CompositionPlan(
        format=FORMAT,
        composition_digest=composition_digest,
        root=_owner(program.path, program.root),
        fragments={
            kept: _owner(fragment.path, fragment.script)
            for kept, fragment in program.fragments.items()
        },
    )


def _owner(path: str, script: AdScript) -> OwnerPlan:
    nodes: list[PlanNode] = []
    for index, node in enumerate(script.nodes):
        match node:
            case Action(line=line):
                nodes.append(StepNode(index=index, line=line))
            case Include(locator=locator, line=line):
                call_site_id, digest = _pin(node)
                nodes.append(
                    Invocation(
                        call_site_id=call_site_id,
                        locator=locator,
                        fragment=FragmentIdentity(FORMAT, digest),
                        line=line,
                    )
                )
    return OwnerPlan(path=path, nodes=tuple(nodes))


def _pins(script: AdScript) -> list[tuple[str, Digest]]:
    return [_pin(node) for node in script.nodes if isinstance(node, Include)]


def _pin(node: Include) -> tuple[str, Digest]:
    if not node.call_site_id or node.digest is None or node.problem:
        raise _invalid(f"line {node.line} includes {node.locator!r} without a valid reference")
    return node.call_site_id, node.digest


def _invalid(why: str) -> InputError:
    return InputError(reason="program_invalid", message=f"the program is refused: {why}")
