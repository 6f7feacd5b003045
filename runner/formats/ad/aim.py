"""Aiming: find the element of a step on the screen, hold it to its evidence, choose the point.

One capture serves all three, so what was verified is what is touched. At level `main`, touches
wait up to two seconds until the target exists; they do not wait for one that is covered, off the
screen or ambiguous.

May be imported by: runner.formats.ad, tests. Imports: runner.machine, runner.formats.ad,
runner.model.
"""

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from runner.formats.ad.request import Place, Point
from runner.formats.ad.resolve import Miss, Purpose, Target, resolve_target
from runner.formats.ad.selector import Selector
from runner.formats.ad.stage import (
    Stage,
    StepError,
    Steps,
    readable_screen,
    step_error,
    unreadable_error,
)
from runner.formats.ad.target import Binding, Evidence, classify, explain
from runner.machine.polling import Deadline
from runner.model.screen import Node, Snapshot

READY_MS: Final = 2_000
READY_POLL_MS: Final = 200


class Aim(Struct, frozen=True, kw_only=True):
    """A point to touch; `node` is the element there, when a selector named it."""

    x: float
    y: float
    node: Node | None = None


def aim(
    stage: Stage,
    place: Place,
    evidence: Evidence | None,
    *,
    purpose: Purpose = "tap",
    is_patient: bool = True,
) -> Steps[Aim]:
    """Choose the point that an action touches."""
    if isinstance(place, Point):
        return Aim(x=place.x, y=place.y)
    ready_ms = READY_MS if is_patient and stage.level == "main" else 0
    found = yield from _await_placed(stage, place, evidence, ready_ms, purpose)
    snapshot, target, readiness = found.snapshot, found.target, found.readiness
    binding = None
    if evidence is not None:
        binding = require_verified(stage, place, evidence, snapshot, readiness)
    if isinstance(target, Miss):
        raise miss_error(place, snapshot, target, readiness)
    if binding is not None and evidence is not None and binding.node not in target.chain:
        raise _guard_error(place, snapshot, target, evidence)
    return Aim(x=target.x, y=target.y, node=snapshot.nodes[target.actionable])


def require_verified(
    stage: Stage,
    selector: Selector,
    evidence: Evidence,
    snapshot: Snapshot,
    readiness: dict[str, Any] | None = None,
) -> Binding:
    """Hold the selector's winner to the evidence, or end the step."""
    binding = classify(evidence, selector, snapshot, level=stage.level)
    shown = selector.source[:120]
    details: dict[str, Any] = {"selector": selector.source}
    if readiness is not None:
        details["readiness"] = readiness
    match binding.classification:
        case "verified":
            return binding
        case "selector-miss":
            raise step_error(
                "selector_not_found",
                f"nothing on the screen matches {shown}",
                details=details,
                divergence="selector-miss",
                binding=binding,
            )
        case "identity-mismatch":
            raise step_error(
                "identity_mismatch",
                f"{shown} matches another element than was recorded: "
                f"{'; '.join(binding.mismatches)}",
                details=details,
                divergence="identity-mismatch",
                binding=binding,
            )
        case "identity-unverifiable":
            why = (
                "the recording says that it could not be verified"
                if evidence.verification == "unverifiable"
                else f"{binding.match_count} elements match and nothing tells them apart"
            )
            raise step_error(
                "identity_unverifiable",
                f"the element of {shown} cannot be verified: {why}",
                details=details,
                divergence="identity-unverifiable",
                binding=binding,
            )


def miss_error(
    selector: Selector,
    snapshot: Snapshot,
    miss: Miss,
    readiness: dict[str, Any] | None = None,
) -> StepError:
    """Return the error for a selector that chose nothing."""
    shown = selector.source[:120]
    details: dict[str, Any] = {"selector": selector.source, "matchCount": miss.matched}
    if readiness is not None:
        details["readiness"] = readiness
    if miss.nodes:
        details["candidates"] = [describe_node(snapshot, at) for at in miss.nodes]
    message = f"nothing on the screen matches {shown}"
    match miss.reason:
        case "selector_not_found":
            if miss.matched:
                message = f"what matches {shown} has no place on the screen"
        case "selector_ambiguous":
            message = f"{miss.matched} elements match {shown}"
        case "target_off_screen":
            message = f"the element of {shown} is outside the screen"
        case "target_covered":
            message = f"another element lies over the element of {shown}"
            if miss.cover is not None:
                details["cover"] = describe_node(snapshot, miss.cover)
    return step_error(miss.reason, message, details=details)


def describe_node(snapshot: Snapshot, at: int) -> dict[str, Any]:
    """Return what a report says about one node."""
    node = snapshot.nodes[at]
    facts: dict[str, Any] = {"ref": f"e{at + 1}", "role": node.type}
    if node.identifier:
        facts["id"] = node.identifier
    if node.label:
        facts["label"] = node.label
    if node.rect is not None:
        rect = node.rect
        facts["rect"] = {"x": rect.x, "y": rect.y, "width": rect.width, "height": rect.height}
    return facts


class _Found(Struct, frozen=True):
    """The screen that decides, what the selector chose on it, and how a wait for it ended."""

    snapshot: Snapshot
    target: Target | Miss
    readiness: dict[str, Any] | None = None

    @property
    def is_placed(self) -> bool:
        """Whether some match has a rectangle: covered, off-screen and ambiguous ones have."""
        return isinstance(self.target, Target) or self.target.reason != "selector_not_found"


def _await_placed(
    stage: Stage, selector: Selector, evidence: Evidence | None, ready_ms: int, purpose: Purpose
) -> Steps[_Found]:
    """Look until a match is placed, or the patience is over."""

    def resolve(snapshot: Snapshot) -> _Found:
        target = resolve_target(selector, snapshot, purpose=purpose, level=stage.level)
        return _Found(snapshot, target)

    polls = 0
    if evidence is not None or not ready_ms:
        found = resolve((yield from stage.read_screen()))
        polls = 1
        if not ready_ms or found.is_placed:
            return found
    deadline = Deadline(stage.now_ms, ready_ms)
    while True:
        if polls:
            yield from stage.pause(deadline.pause_ms(stage.now_ms, READY_POLL_MS))
        seen = yield from stage.look()
        polls += 1
        readable = readable_screen(seen)
        latest = None if readable is None else resolve(readable)
        if latest is not None and latest.is_placed:
            return latest
        if deadline.is_over(stage.now_ms):
            waited_ms = deadline.waited_ms(stage.now_ms)
            if latest is None:
                sparse = _readiness(waited_ms, polls, "sparse")
                raise unreadable_error(seen, waited_ms=waited_ms, readiness=sparse)
            return replace(latest, readiness=_readiness(waited_ms, polls, "expired"))


def _readiness(waited_ms: int, polls: int, end: str) -> dict[str, Any]:
    return {"waitedMs": waited_ms, "polls": polls, "end": end}


def _guard_error(
    selector: Selector, snapshot: Snapshot, target: Target, evidence: Evidence
) -> StepError:
    mismatches = explain(snapshot, target.node, evidence)
    return step_error(
        "identity_mismatch",
        f"the touch for {selector.source[:120]} would go to another element than was verified: "
        f"{'; '.join(mismatches)}",
        details={"selector": selector.source, "guard": "replay_target_guard_mismatch"},
        divergence="identity-mismatch",
        binding=Binding(
            classification="identity-mismatch",
            match_count=len(target.chain),
            node=target.node,
            mismatches=mismatches,
            candidates=target.chain,
        ),
    )
