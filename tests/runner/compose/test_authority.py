from typing import Any

import pytest
from msgspec.structs import replace

from runner.compose.authority import (
    ResumeRequest,
    authorize_resume,
    refuse_capture,
    refuse_repair,
)
from runner.compose.fault import Fault, Place
from runner.compose.plan import (
    CompositionPlan,
    ExpandedStep,
    FragmentIdentity,
    Invocation,
    OwnerPlan,
    StepNode,
    expand,
)
from runner.errors import InputError
from runner.model.address import ControlSegment, InvocationSegment, RootOwner, StepAddress
from runner.model.digest import digest_of

ROOT, PART, OTHER = digest_of(b"root"), digest_of(b"part"), digest_of(b"other")
BODY = (StepNode(index=0, line=3), StepNode(index=1, line=4))
CALL = Invocation(
    call_site_id="in", locator="./p.ad", fragment=FragmentIdentity("ad", PART), line=2
)
PLAN = CompositionPlan(
    format="ad",
    composition_digest=ROOT,
    root=OwnerPlan(path="r.ad", nodes=(StepNode(index=0, line=1), CALL, StepNode(index=2, line=9))),
    fragments={PART: OwnerPlan(path="p.ad", nodes=BODY)},
)
FIRST, ENTRY, MIDDLE, LAST = (
    item.address for item in expand(PLAN) if isinstance(item, ExpandedStep)
)
STALE = Fault(place=Place.STALE, path="r.ad", line=2, message="it has changed")
UNBOUND = Fault(place=Place.VARIABLE, path="r.ad", line=2, message="nothing binds it")


def refusal(
    request: ResumeRequest, plan: CompositionPlan | None = PLAN, **facts: Any
) -> InputError:
    with pytest.raises(InputError) as caught:
        authorize_resume(request, plan, **facts)
    return caught.value


def at(address: StepAddress, **changes: Any) -> ResumeRequest:
    return ResumeRequest(address=replace(address, **changes), composition_digest=ROOT)


@pytest.mark.parametrize("address", [FIRST, ENTRY, LAST])
def test_a_step_of_the_root_and_the_entry_of_a_fragment_can_be_resumed(
    address: StepAddress,
) -> None:
    assert address == authorize_resume(at(address), PLAN)


@pytest.mark.parametrize(
    "request_",
    [
        ResumeRequest(number=3, composition_digest=ROOT),
        at(MIDDLE),
        at(ENTRY, invocation_path=(InvocationSegment("in", 1),)),
        at(FIRST, control_path=(ControlSegment("retry", 1),)),
        at(FIRST, control_path=(ControlSegment("retry"),)),
        at(ENTRY, invocation_path=(InvocationSegment("elsewhere"),)),
        at(FIRST, local_step=99),
    ],
)
def test_other_places_are_refused_with_both_identities(request_: ResumeRequest) -> None:
    error = refusal(request_)

    assert "fragment_resume_unsupported" == error.reason
    assert ROOT == error.details["expectedCompositionDigest"]
    assert ROOT == error.details["currentCompositionDigest"]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (ResumeRequest(address=ENTRY, composition_digest=OTHER), OTHER),
        (ResumeRequest(address=ENTRY), None),
        (at(FIRST, owner=RootOwner(format="ad", composition_digest=OTHER)), OTHER),
        (ResumeRequest(address=MIDDLE, composition_digest=OTHER), OTHER),
    ],
)
def test_another_composition_is_a_mismatch_before_anything_about_the_place(
    request_: ResumeRequest, expected: str | None
) -> None:
    error = refusal(request_)

    assert "fragment_resume_mismatch" == error.reason
    assert expected == error.details["expectedCompositionDigest"]
    assert ROOT == error.details["currentCompositionDigest"]


@pytest.mark.parametrize("plan", [None, PLAN])
def test_a_stale_child_wins_over_a_resume_mismatch(plan: CompositionPlan | None) -> None:
    wrong = ResumeRequest(address=ENTRY, composition_digest=OTHER)

    assert "fragment_stale" == refusal(wrong, plan, faults=(UNBOUND, STALE)).reason


def test_without_a_plan_there_is_nothing_to_resume() -> None:
    assert "program_invalid" == refusal(at(ENTRY), None).reason


def test_a_capture_refuses_what_does_not_go_with_it() -> None:
    error = refuse_capture("fragment_armed", "open")

    assert "fragment_capture_conflict" == error.reason
    assert {"sessionState": "fragment_armed", "conflictingOperation": "open"} == error.details


def test_a_composed_plan_is_not_repaired() -> None:
    error = refuse_repair("run --save-script", "ad")

    assert "fragment_repair_unsupported" == error.reason
    assert {"command": "run --save-script", "format": "ad"} == error.details
