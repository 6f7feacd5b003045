"""What may be asked of a composed plan beyond running it whole: resuming, capturing, repairing.

Pure. The rules of the founding decision record for requests, which come after those for sources:
while a closure has a fault, a request is answered with that fault. Numbers never authorize
anything in a composed plan; provenance is never compared.

May be imported by: runner.formats, runner.preflight, runner.cli. Imports: runner.compose,
runner.model, runner.errors.
"""

from typing import Literal, NoReturn, TypeAlias

from msgspec import Struct

from runner.compose.closure import first_in_order
from runner.compose.fault import Fault
from runner.compose.plan import CompositionPlan, ExpandedStep, expand
from runner.errors import InputError
from runner.model.address import RootOwner, StepAddress, render_token
from runner.model.ids import Digest

SessionState: TypeAlias = Literal[
    "fragment_armed", "fragment_published", "publication_armed", "repair_armed"
]
"""What a live session is recording, or has recorded."""


class ResumeRequest(Struct, frozen=True, kw_only=True):
    """Where to begin: an address, or for plans that have none a number.

    `composition_digest` is the composition that the caller saw.
    """

    address: StepAddress | None = None
    number: int | None = None
    composition_digest: Digest | None = None


def authorize_resume(
    request: ResumeRequest, plan: CompositionPlan | None, *, faults: tuple[Fault, ...] = ()
) -> StepAddress:
    """Return the address at which a composed plan may begin.

    `plan` is absent where the closure has faults. Reasons: that of the first fault,
    `fragment_resume_mismatch`, `fragment_resume_unsupported`.
    """
    fault = first_in_order(faults)
    if fault is not None or plan is None:
        _raise_fault(fault)
    current = plan.composition_digest
    if request.address is None:
        why = "a composed plan begins at an address, never at a number"
        raise _unsupported(request, current, why)
    owner = request.address.owner
    named = {request.composition_digest}
    if isinstance(owner, RootOwner):
        named.add(owner.composition_digest)
    if named != {current}:
        expected = next((each for each in named if each != current), None)
        raise InputError(
            reason="fragment_resume_mismatch",
            message=f"the composition is {current}, the request is about {expected or 'none'}",
            details={"expectedCompositionDigest": expected, "currentCompositionDigest": current},
        )
    why = _why_unsupported(request.address, plan)
    if why:
        raise _unsupported(request, current, why)
    return request.address


def refuse_capture(state: SessionState, operation: str) -> InputError:
    """Return the refusal of what cannot go on beside, or after, a capture in the same session."""
    return InputError(
        reason="fragment_capture_conflict",
        message=f"the session is {state.replace('_', ' ')}, so `{operation}` is refused",
        details={"sessionState": state, "conflictingOperation": operation},
    )


def refuse_repair(command: str, file_format: str) -> InputError:
    """Return the refusal to write a repaired script of a composed plan."""
    return InputError(
        reason="fragment_repair_unsupported",
        message=f"`{command}` does not repair a composed {file_format} plan",
        details={"command": command, "format": file_format},
    )


def why_not_resumable(address: StepAddress) -> str:
    """Return why no plan may begin at an address of this shape; nothing if one may."""
    ordinals = [part.iteration for part in address.invocation_path]
    ordinals += [part.iteration for part in address.control_path]
    if any(ordinals):
        return "its path has a later iteration, which cannot be brought about again"
    if not isinstance(address.owner, RootOwner) and address.local_step != 1:
        return "inside a fragment only its entry, local step 1, has a condition to begin under"
    return ""


def _why_unsupported(address: StepAddress, plan: CompositionPlan) -> str:
    why = why_not_resumable(address)
    if why:
        return why
    steps = (item for item in expand(plan) if isinstance(item, ExpandedStep))
    if not any(step.address == address for step in steps):
        return "the plan has no such step"
    return ""


def _unsupported(request: ResumeRequest, current: Digest, why: str) -> InputError:
    shown = request.number if request.address is None else render_token(request.address)
    return InputError(
        reason="fragment_resume_unsupported",
        message=f"the plan cannot be resumed at {shown}: {why}",
        details={
            "expectedCompositionDigest": request.composition_digest,
            "currentCompositionDigest": current,
            "from": shown,
        },
    )


def _raise_fault(fault: Fault | None) -> NoReturn:
    if fault is None:
        raise InputError(reason="program_invalid", message="there is no plan to resume")
    raise InputError(reason=fault.reason, message=fault.message, details=fault.details)
