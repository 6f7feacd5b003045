import pytest
from hypothesis import given, settings, strategies as st

from runner.compose.bound import DEPTH_LIMIT, SOURCE_LIMIT, STEP_LIMIT
from runner.compose.plan import (
    CompositionPlan,
    ControlNode,
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
from runner.model.address import ControlSegment, InvocationSegment, SourceRef, render_token
from runner.model.digest import digest_of
from runner.model.ids import Digest

ROOT = digest_of(b"root")


def _digest(name: str) -> Digest:
    return digest_of(name.encode())


def _step(index: int, line: int = 0) -> StepNode:
    return StepNode(index=index, line=line or index + 1)


def _call(name: str, site: str, line: int = 90) -> Invocation:
    return Invocation(
        call_site_id=site,
        locator=f"./{name}.ad",
        fragment=FragmentIdentity("ad", _digest(name)),
        line=line,
    )


def _plan(*nodes: PlanNode, **fragments: tuple[PlanNode, ...]) -> CompositionPlan:
    return CompositionPlan(
        format="ad",
        composition_digest=ROOT,
        root=OwnerPlan(path="root.ad", nodes=nodes),
        fragments={
            _digest(name): OwnerPlan(path=f"{name}.ad", nodes=body)
            for name, body in fragments.items()
        },
    )


def _steps(plan: CompositionPlan) -> list[ExpandedStep]:
    return [item for item in expand(plan) if isinstance(item, ExpandedStep)]


def test_two_invocations_share_a_digest_and_no_address() -> None:
    plan = _plan(_call("login", "one"), _call("login", "two"), login=(_step(0), _step(1)))
    addresses = [step.address for step in _steps(plan)]

    assert len({render_token(address) for address in addresses}) == 4
    assert {address.owner for address in addresses} == {addresses[0].owner}
    assert [address.local_step for address in addresses] == [1, 2, 1, 2]
    assert addresses[2].invocation_path == (InvocationSegment("two", 0),)


def test_inserting_a_sibling_include_changes_no_other_local_address() -> None:
    before = _plan(_step(0), _call("b", "b"), _step(2), b=(_step(0),))
    after = _plan(
        _step(0), _call("a", "a"), _call("b", "b"), _step(3), a=(_step(0),), b=(_step(0),)
    )
    kept = {step.address for step in _steps(before)}

    assert kept < {step.address for step in _steps(after)}


def test_a_nested_step_names_every_include_that_leads_to_it() -> None:
    plan = _plan(
        _step(0),
        _call("mid", "outer", line=12),
        mid=(_step(0), _call("leaf", "inner", line=7)),
        leaf=(_step(0, line=10),),
    )
    step = _steps(plan)[-1]

    assert step.address.invocation_path == (
        InvocationSegment("outer", 0),
        InvocationSegment("inner", 0),
    )
    assert step.provenance.invocation_sources == (
        SourceRef("root.ad", 12),
        SourceRef("mid.ad", 7),
    )
    assert step.provenance.step_source == SourceRef("leaf.ad", 10)
    assert step.owner_digest == _digest("leaf")


def test_boundaries_enclose_the_steps_and_carry_the_address_of_local_step_one() -> None:
    plan = _plan(_step(0), _call("a", "a"), _step(2), a=(_step(0), _step(1)))
    items = list(expand(plan))
    kinds = [type(item) for item in items]
    entered, left = items[1], items[4]

    assert kinds == [ExpandedStep, Entered, ExpandedStep, ExpandedStep, Left, ExpandedStep]
    assert entered.address == left.address == items[2].address


def test_steps_in_controls_are_numbered_through_and_carry_the_control_path() -> None:
    retry = ControlNode(control_id="retry", body=(_step(1), _step(2)), line=2)
    plan = _plan(_step(0), ControlNode(control_id="repeat", body=(retry,), line=1), _step(3))
    addresses = [step.address for step in _steps(plan)]

    assert [address.local_step for address in addresses] == [1, 2, 3, 4]
    assert addresses[1].control_path == (ControlSegment("repeat", 0), ControlSegment("retry", 0))
    assert addresses[3].control_path == ()


def test_a_plan_that_is_not_closed_or_includes_itself_is_refused() -> None:
    with pytest.raises(InputError, match="not in it"):
        require_bounded(_plan(_call("gone", "a")))
    with pytest.raises(InputError, match="includes itself"):
        require_bounded(_plan(_call("a", "a"), a=(_call("b", "b"),), b=(_call("a", "a"),)))


def test_bounds_hold_to_the_step() -> None:
    body = tuple(_step(index) for index in range(100))
    calls = tuple(_call("a", str(number)) for number in range(STEP_LIMIT // 100))

    assert require_bounded(_plan(*calls, a=body)) == STEP_LIMIT
    with pytest.raises(InputError) as caught:
        require_bounded(_plan(*calls, _step(0), a=body))
    assert caught.value.reason == "program_invalid"


def test_bounds_hold_to_the_level_and_to_the_source() -> None:
    def chain(length: int) -> CompositionPlan:
        bodies: dict[str, tuple[PlanNode, ...]] = {
            f"f{n}": (_call(f"f{n + 1}", "x"),) for n in range(1, length)
        }
        return _plan(_call("f1", "x"), **bodies, **{f"f{length}": (_step(0),)})

    def fan(width: int) -> CompositionPlan:
        calls = [_call(f"f{n}", str(n)) for n in range(width)]
        return _plan(*calls, **{f"f{n}": (_step(0),) for n in range(width)})

    assert require_bounded(chain(DEPTH_LIMIT)) == 1
    with pytest.raises(InputError, match="deep"):
        require_bounded(chain(DEPTH_LIMIT + 1))
    assert require_bounded(fan(SOURCE_LIMIT - 1)) == SOURCE_LIMIT - 1
    with pytest.raises(InputError, match="sources"):
        require_bounded(fan(SOURCE_LIMIT))


def test_an_expansion_that_doubles_at_every_level_is_counted_without_being_walked() -> None:
    bodies: dict[str, tuple[PlanNode, ...]] = {
        f"f{n}": tuple(_call(f"f{n + 1}", str(k)) for k in range(100)) for n in range(1, 16)
    }
    with pytest.raises(InputError, match="steps"):
        require_bounded(_plan(_call("f1", "x"), **bodies, f16=(_step(0),)))


@st.composite
def _plans(draw: st.DrawFn) -> CompositionPlan:
    """Draw an acyclic plan: fragment n includes only later ones."""
    count = draw(st.integers(0, 5))

    def body(first: int) -> tuple[PlanNode, ...]:
        nodes: list[PlanNode] = []
        for index in range(draw(st.integers(0, 4))):
            if first < count and draw(st.booleans()):
                nodes.append(_call(f"f{draw(st.integers(first, count - 1))}", f"s{index}"))
            else:
                nodes.append(_step(index))
        return tuple(nodes)

    return _plan(*body(0), **{f"f{n}": body(n + 1) for n in range(count)})


def _inline(plan: CompositionPlan, owner: OwnerPlan) -> list[tuple[str, int]]:
    steps: list[tuple[str, int]] = []
    for node in owner.nodes:
        if isinstance(node, StepNode):
            steps.append((owner.path, node.index))
        elif isinstance(node, Invocation):
            steps += _inline(plan, plan.fragments[node.fragment.digest])
    return steps


@pytest.mark.slow
@given(_plans())
@settings(deadline=None)
def test_expansion_equals_inlining_by_hand_and_never_repeats_an_address(
    plan: CompositionPlan,
) -> None:
    steps = _steps(plan)
    expected = _inline(plan, plan.root)

    assert [(step.provenance.step_source.path, step.index) for step in steps] == expected
    assert len({step.address for step in steps}) == len(steps)
    assert require_bounded(plan) == len(steps)
