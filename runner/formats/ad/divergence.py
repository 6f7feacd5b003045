"""The divergence report: where and how a replay left its recording, bounded and redacted.

Pure. The three kinds that concern the target bring what was recorded and observed and no
suggestions; `action-failure` brings suggestions. Every text is masked, then cut to 256 bytes. A
report over the ceiling of its level loses its screen first, then what else has many parts; the
whole is an artifact then, which the report names.

May be imported by: runner.formats.ad, tests. Imports: runner.formats.ad, runner.model.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from runner.compose.authority import why_not_resumable
from runner.formats.ad.aim import describe_node
from runner.formats.ad.mask import TEXT_BYTES, Mask, mask_value
from runner.formats.ad.role import normalize_type
from runner.formats.ad.selector import Selector
from runner.formats.ad.stage import DivergenceKind, Unavailable
from runner.formats.ad.suggestion import suggest
from runner.formats.ad.target import Binding, Evidence, canonical_text, is_container_present
from runner.formats.ad.tree import is_on_screen
from runner.model.address import Provenance, StepAddress
from runner.model.failure import Failure
from runner.model.ids import Digest
from runner.model.screen import Node, Snapshot

ARTIFACT_NAME: Final = "divergence.json"

ResponseLevel: TypeAlias = Literal["digest", "default", "full"]
"""How much a reader wants to be told."""


class Ceiling(Struct, frozen=True, kw_only=True):
    """What a report of one level may hold."""

    report_bytes: int
    refs: int
    suggestions: int


CEILINGS: Final[Mapping[ResponseLevel, Ceiling]] = {
    "digest": Ceiling(report_bytes=8_192, refs=8, suggestions=0),
    "default": Ceiling(report_bytes=24_576, refs=20, suggestions=5),
    "full": Ceiling(report_bytes=65_536, refs=20, suggestions=5),
}
_DROPPED: Final = ("candidates", "observed", "recorded", "mismatches")
"""Parts of a target binding that a report over its ceiling loses, in this order."""
_WAY: Final = "invocationSources"

RepairHint: TypeAlias = Literal["caution", "manual", "record-and-heal", "state-repair"]


class Divergence(Struct, frozen=True, kw_only=True):
    """Everything that a report is made from. `ordinal` counts the steps of this run from 1.

    `screen` is absent for the reason `unseen`. A flat plan has no `composition_digest` here, and
    `step_count` steps.
    """

    kind: DivergenceKind
    action: str
    failure: Failure
    ordinal: int
    address: StepAddress
    provenance: Provenance
    screen: Snapshot | None = None
    unseen: Unavailable = "observation-missing"
    selector: Selector | None = None
    evidence: Evidence | None = None
    recorded: dict[str, Any] | None = None
    binding: Binding | None = None
    plan_digest: str = ""
    composition_digest: Digest | None = None
    step_count: int = 0


class Report(Struct, frozen=True, kw_only=True):
    """The report as JSON-ready values, and the bytes of the whole one where it was too large."""

    shown: dict[str, Any]
    overflow: bytes | None = None


def build_report(
    divergence: Divergence,
    mask: Mask,
    *,
    level: ResponseLevel = "default",
    artifact_path: str = "",
) -> Report:
    """Return the report. `artifact_path` is where the whole one can be kept, empty for nowhere."""
    ceiling = CEILINGS[level]
    hint = repair_hint(divergence)
    suggestions = _suggestions(divergence)[: ceiling.suggestions]
    shown: dict[str, Any] = {
        "action": divergence.action,
        "cause": _cause(divergence.failure),
        "screen": _screen(divergence.screen, divergence.unseen, ceiling.refs),
        "suggestions": suggestions,
    }
    if divergence.binding is not None and divergence.recorded is not None:
        shown["targetBinding"] = _binding(divergence, divergence.binding)
    report: dict[str, Any] = {
        "version": 1,
        "kind": divergence.kind,
        "step": _step(divergence),
        # Digests, addresses and paths are the report's own and stay whole.
        **mask_value(shown, mask, limit=TEXT_BYTES),
        "suggestionCount": len(suggestions),
        "resume": _resume(divergence, hint),
        "repairHint": hint,
    }
    return _fit(report, ceiling.report_bytes, artifact_path)


def _fit(report: dict[str, Any], limit: int, artifact_path: str) -> Report:
    """Leave out what a report over its ceiling can spare, and say where the whole one is."""
    whole = msgspec.json.encode(report)
    if len(whole) <= limit:
        return Report(shown=report)
    where = {"artifactPath": artifact_path} if artifact_path else {"artifactUnavailable": True}
    small = dict(report)
    small["screen"] = {
        "state": "unavailable",
        "reason": "omitted-for-size",
        "hint": "see the artifacts of the attempt",
    }
    binding = dict(small.get("targetBinding", {}))
    for part in ("", *_DROPPED, _WAY):
        binding.pop(part, None)
        if binding:
            small["targetBinding"] = binding
        if part == _WAY:
            # The address names every include of the way already.
            provenance = {**small["step"]["provenance"], _WAY: []}
            small["step"] = {**small["step"], "provenance": provenance}
        small.pop("overflow", None)
        small["overflow"] = {"omittedBytes": len(whole) - len(msgspec.json.encode(small)), **where}
        if len(msgspec.json.encode(small)) <= limit:
            break
    return Report(shown=small, overflow=whole)


def repair_hint(divergence: Divergence) -> RepairHint:
    """Return what a repairer should do, by kind and by whether the target's place is there."""
    match divergence.kind:
        case "identity-mismatch":
            return "caution"
        case "identity-unverifiable":
            return "manual"
        case "selector-miss" | "action-failure":
            if divergence.evidence is None or divergence.screen is None:
                return "manual"
            present = is_container_present(divergence.screen, divergence.evidence)
            if present:
                return "record-and-heal"
            if present is None or divergence.kind == "action-failure":
                return "manual"
            return "state-repair"


def _plain(value: Struct) -> Any:
    # The wire shape, with JSON's lists instead of tuples.
    return msgspec.json.decode(msgspec.json.encode(value))


def _step(divergence: Divergence) -> dict[str, Any]:
    source = divergence.provenance.step_source
    step: dict[str, Any] = {"source": {"path": source.path, "line": source.line}}
    if divergence.composition_digest is None:
        step["index"] = divergence.address.local_step
    else:
        step["displayOrdinal"] = divergence.ordinal
    step["address"] = _plain(divergence.address)
    step["provenance"] = _plain(divergence.provenance)
    return step


def _cause(failure: Failure) -> dict[str, Any]:
    cause: dict[str, Any] = {
        "code": failure.code,
        "reason": failure.reason,
        "message": failure.message,
        "hint": failure.hint,
    }
    if "readiness" in failure.details:
        cause["readiness"] = failure.details["readiness"]
    return cause


def _screen(screen: Snapshot | None, unseen: Unavailable, refs: int) -> dict[str, Any]:
    if screen is None:
        return {
            "state": "unavailable",
            "reason": unseen,
            "hint": "see the screenshot and the device log of the attempt",
        }
    telling = [at for at, node in enumerate(screen.nodes) if _is_telling(screen, node)]
    return {
        "state": "available",
        "refs": [_ref(screen, at) for at in telling[:refs]],
        "truncated": len(telling) > refs,
    }


def _is_telling(screen: Snapshot, node: Node) -> bool:
    return bool(node.label or node.identifier or node.value) and is_on_screen(screen, node)


def _ref(screen: Snapshot, at: int) -> dict[str, Any]:
    node = screen.nodes[at]
    ref = {"ref": f"e{at + 1}", "role": normalize_type(node.type)}
    if node.identifier:
        ref["id"] = node.identifier
    if node.label or node.value:
        ref["label"] = node.label or node.value
    return ref


def _suggestions(divergence: Divergence) -> list[dict[str, Any]]:
    if divergence.kind != "action-failure" or divergence.screen is None:
        return []
    return suggest(divergence.screen, divergence.selector, divergence.evidence)


def _binding(divergence: Divergence, binding: Binding) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "classification": binding.classification,
        "recorded": divergence.recorded,
        "mismatches": list(binding.mismatches),
        "candidates": [],
    }
    if binding.match_count is not None:
        facts["matchCount"] = binding.match_count
    screen = binding.screen if binding.screen is not None else divergence.screen
    if screen is not None:
        facts["candidates"] = [describe_node(screen, at) for at in binding.candidates]
        if binding.node is not None:
            facts["observed"] = _observed(screen.nodes[binding.node])
    return facts


def _observed(node: Node) -> dict[str, Any]:
    facts = {"role": normalize_type(node.type)}
    if node.identifier:
        facts["id"] = canonical_text(node.identifier)
    if node.label:
        facts["label"] = canonical_text(node.label)
    return facts


def _resume(divergence: Divergence, hint: RepairHint) -> dict[str, Any]:
    """Say where a resume may begin: by number in a flat plan, by address in a composed one."""
    address = divergence.address
    if divergence.composition_digest is None:
        step = address.local_step
        resume = {
            "allowed": True,
            "from": step + 1 if hint == "record-and-heal" else step,
            "planDigest": divergence.plan_digest,
        }
        if hint in {"caution", "manual"} and step < divergence.step_count:
            resume["alternateFrom"] = step + 1
        return resume
    facts = {
        "address": _plain(address),
        "compositionDigest": divergence.composition_digest,
    }
    if why_not_resumable(address):
        return {"allowed": False, "reason": "fragment_resume_unsupported", **facts}
    return {"allowed": True, **facts}
