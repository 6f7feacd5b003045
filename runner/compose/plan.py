"""The composed plan of any format: owners, invocations and controls, expanded to addressed steps.

Pure. A format projects its program to a `CompositionPlan`; `expand` walks it in execution order and
gives every step its address and provenance. Two invocations of one fragment share its digest and
never an address; nothing here counts over the whole expansion.

`local_step` counts the executable steps of an owner in authored order, from 1 and through the
bodies of its controls. An include is a boundary, not an action: it takes no number, so inserting
one changes no local step.

May be imported by: runner.formats, runner.preflight, runner.cli. Imports: runner.model,
runner.compose.bound, runner.errors.
"""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from runner.compose.bound import DEPTH_LIMIT, SOURCE_LIMIT, STEP_LIMIT
from runner.errors import InputError
from runner.model.address import (
    ControlSegment,
    FragmentOwner,
    InvocationSegment,
    Owner,
    Provenance,
    RootOwner,
    SourceRef,
    StepAddress,
)
from runner.model.ids import Digest


class FragmentIdentity(Struct, frozen=True):
    """Which fragment: equal bytes of one format have equal identities, wherever they stand."""

    format: str
    digest: Digest


class StepNode(Struct, frozen=True, kw_only=True, tag="step"):
    """One executable step; `index` points into the format's own list of the owner's nodes."""

    index: int
    line: int


class Invocation(Struct, frozen=True, kw_only=True, tag="invocation"):
    """One authored include: it runs the whole fragment in place."""

    call_site_id: str
    locator: str
    fragment: FragmentIdentity
    line: int


class ControlNode(Struct, frozen=True, kw_only=True, tag="control"):
    """A repeat, retry or other control that the format owns; expanded as its iteration 0."""

    control_id: str
    body: "tuple[PlanNode, ...]" = ()
    line: int


PlanNode: TypeAlias = StepNode | Invocation | ControlNode


class OwnerPlan(Struct, frozen=True, kw_only=True):
    """The nodes that one source owns, in authored order."""

    path: str
    nodes: tuple[PlanNode, ...]


class CompositionPlan(Struct, frozen=True, kw_only=True):
    """A root, and every fragment that it reaches, by digest."""

    format: str
    composition_digest: Digest
    root: OwnerPlan
    fragments: dict[Digest, OwnerPlan] = {}


class ExpandedStep(Struct, frozen=True):
    """One step to run. `owner_digest` is `None` in the root, else the fragment's digest."""

    address: StepAddress
    provenance: Provenance
    owner_digest: Digest | None
    index: int


class Entered(Struct, frozen=True):
    """An invocation begins; the address is that of its local step 1."""

    invocation: Invocation
    address: StepAddress
    provenance: Provenance


class Left(Struct, frozen=True):
    """An invocation ended; address and provenance are those of its beginning."""

    invocation: Invocation
    address: StepAddress
    provenance: Provenance


ExpandedItem: TypeAlias = ExpandedStep | Entered | Left


class _Frame:
    """One owner or control body being walked; controls share the step counter of their owner."""

    __slots__ = ("calls", "controls", "counter", "digest", "left", "nodes", "owner", "path", "vias")

    def __init__(
        self,
        nodes: Iterator[PlanNode],
        *,
        owner: Owner,
        digest: Digest | None,
        path: str,
        calls: tuple[InvocationSegment, ...] = (),
        vias: tuple[SourceRef, ...] = (),
        controls: tuple[ControlSegment, ...] = (),
        counter: list[int] | None = None,
        left: Left | None = None,
    ) -> None:
        self.nodes = nodes
        self.owner = owner
        self.digest = digest
        self.path = path
        self.calls = calls
        self.vias = vias
        self.controls = controls
        self.counter = [0] if counter is None else counter
        self.left = left

    def step_at(self, line: int, local_step: int) -> tuple[StepAddress, Provenance]:
        address = StepAddress(
            owner=self.owner,
            invocation_path=self.calls,
            control_path=self.controls,
            local_step=local_step,
        )
        return address, Provenance(
            invocation_sources=self.vias, step_source=SourceRef(self.path, line)
        )


def expand(plan: CompositionPlan) -> Iterator[ExpandedItem]:
    """Yield the steps and boundaries of `plan` in execution order.

    The plan must be closed and acyclic (`require_bounded` tells).
    """
    root = RootOwner(format=plan.format, composition_digest=plan.composition_digest)
    stack = [_Frame(iter(plan.root.nodes), owner=root, digest=None, path=plan.root.path)]
    while stack:
        frame = stack[-1]
        node = next(frame.nodes, None)
        match node:
            case None:
                stack.pop()
                if frame.left is not None:
                    yield frame.left
            case StepNode():
                frame.counter[0] += 1
                address, provenance = frame.step_at(node.line, frame.counter[0])
                yield ExpandedStep(address, provenance, frame.digest, node.index)
            case ControlNode():
                stack.append(_control_frame(frame, node))
            case Invocation():
                entered, child = _invoke(plan, frame, node)
                yield entered
                stack.append(child)


def _control_frame(frame: _Frame, node: ControlNode) -> _Frame:
    return _Frame(
        iter(node.body),
        owner=frame.owner,
        digest=frame.digest,
        path=frame.path,
        calls=frame.calls,
        vias=frame.vias,
        controls=(*frame.controls, ControlSegment(node.control_id)),
        counter=frame.counter,
    )


def _invoke(plan: CompositionPlan, frame: _Frame, node: Invocation) -> tuple[Entered, _Frame]:
    digest = node.fragment.digest
    body = plan.fragments[digest]
    child = _Frame(
        iter(body.nodes),
        owner=FragmentOwner(format=node.fragment.format, fragment_digest=digest),
        digest=digest,
        path=body.path,
        calls=(*frame.calls, InvocationSegment(node.call_site_id)),
        vias=(*frame.vias, SourceRef(frame.path, node.line)),
    )
    first_line = body.nodes[0].line if body.nodes else 1
    address, provenance = child.step_at(first_line, 1)
    child.left = Left(node, address, provenance)
    return Entered(node, address, provenance), child


def require_bounded(plan: CompositionPlan) -> int:
    """Return the number of expanded steps. Reasons: `program_invalid`.

    Refuses a plan that is not closed, not acyclic or over a bound, so that `expand` ends.
    """
    if len(plan.fragments) >= SOURCE_LIMIT:
        raise _invalid(f"it holds {len(plan.fragments) + 1} sources, over {SOURCE_LIMIT}")
    totals: dict[Digest, int] = {}
    heights: dict[Digest, int] = {}
    open_digests: set[Digest] = set()
    pending: list[tuple[Digest, bool]] = [(digest, False) for digest in plan.fragments]
    while pending:
        digest, is_done = pending.pop()
        if is_done:
            open_digests.discard(digest)
            totals[digest], heights[digest] = _measure(plan.fragments[digest], totals, heights)
        elif digest not in totals:
            if digest in open_digests:
                raise _invalid(f"fragment {digest} includes itself")
            open_digests.add(digest)
            pending.append((digest, True))
            pending += [(child, False) for child in _children(plan, plan.fragments[digest])]
    _children(plan, plan.root)
    steps, height = _measure(plan.root, totals, heights)
    if steps > STEP_LIMIT:
        raise _invalid(f"it expands to {steps} steps, over {STEP_LIMIT}")
    if height > DEPTH_LIMIT:
        raise _invalid(f"its includes are {height} deep, over {DEPTH_LIMIT}")
    return steps


def walk_nodes(nodes: tuple[PlanNode, ...]) -> Iterator[PlanNode]:
    """Yield the nodes of one owner in authored order, controls before their bodies."""
    stack = [iter(nodes)]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            continue
        yield node
        if isinstance(node, ControlNode):
            stack.append(iter(node.body))


def _children(plan: CompositionPlan, owner: OwnerPlan) -> list[Digest]:
    children = []
    for node in walk_nodes(owner.nodes):
        if isinstance(node, Invocation):
            if node.fragment.digest not in plan.fragments:
                raise _invalid(f"{owner.path}:{node.line} includes a fragment that is not in it")
            children.append(node.fragment.digest)
    return children


def _measure(
    owner: OwnerPlan, totals: dict[Digest, int], heights: dict[Digest, int]
) -> tuple[int, int]:
    steps = height = 0
    for node in walk_nodes(owner.nodes):
        match node:
            case StepNode():
                steps += 1
            case Invocation(fragment=fragment):
                steps += totals[fragment.digest]
                height = max(height, heights[fragment.digest] + 1)
            case ControlNode():
                pass
    return steps, height


def _invalid(why: str) -> InputError:
    return InputError(reason="program_invalid", message=f"the composed plan is refused: {why}")
