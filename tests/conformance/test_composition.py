"""The fixtures of the composition model on real files, and the gates over it seen failing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.errors import InputError
from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.program import (
    AdProgram,
    PlannedStep,
    composition_digest_of,
    encode_program,
    linearize,
    open_program,
)
from runner.formats.ad.script import Include
from runner.model.address import (
    ControlSegment,
    FragmentOwner,
    RootOwner,
    SourceRef,
    StepAddress,
    render_token,
)
from runner.model.ids import Digest
from runner.model.plan import CheckedPlan
from runner.preflight.repin import repin_file
from tests.support.ad_tree import AdTree, Call, reasons
from tests.support.composition_gate import Row, address_faults, edge_faults

SAFE = frozenset(
    {
        *("click", "press", "longpress", "fill", "type", "focus", "scroll", "swipe", "gesture"),
        *("back", "keyboard", "alert", "clipboard", "wait", "get", "is", "screenshot"),
        *("orientation", "find"),
    }
)


@pytest.fixture
def tree(tmp_path: Path) -> AdTree:
    """Two callers of a shared journey of three levels, and one that has nothing to do with it."""
    tree = AdTree(tmp_path)
    tree.fragment("parts/leaf.ad", "press id=a", "press id=b")
    tree.fragment("parts/mid.ad", "press id=c", Call("parts/leaf.ad", "leaf"), "press id=d")
    tree.fragment("parts/top.ad", Call("parts/mid.ad", "mid"), "press id=e")
    tree.fragment("parts/apart.ad", "press id=x")
    tree.flow("deep.ad", Call("parts/top.ad", "first"), "back", Call("parts/top.ad", "second"))
    tree.flow("direct.ad", "back", Call("parts/leaf.ad", "leaf"))
    tree.flow("apart.ad", Call("parts/apart.ad", "only"))
    return tree


def _plans(tree: AdTree) -> dict[str, CheckedPlan]:
    preflight = tree.check()
    assert preflight.problems == ()
    return {plan.path: plan for plan in preflight.plans}


def _program(plan: CheckedPlan) -> AdProgram:
    return open_program(plan.program, plan.composition_digest)


def _rows(program: AdProgram) -> list[Row]:
    return [
        Row(item.address, item.provenance)
        for item in linearize(program)
        if isinstance(item, PlannedStep)
    ]


def _tokens(tree: AdTree, path: str) -> list[str]:
    """Return the addresses of the steps of a flow that fragments own."""
    rows = _rows(_program(_plans(tree)[path]))
    return [
        render_token(row.address) for row in rows if isinstance(row.address.owner, FragmentOwner)
    ]


def _repin(tree: AdTree, path: str) -> None:
    """Pin all includes of one file, as the tool does."""
    edit = repin_file(path, call_site_id=None, settings=tree.settings())
    assert edit.problems == ()
    (tree.root / path).write_bytes(edit.after)


def _edit(tree: AdTree, path: str, old: str, new: str) -> None:
    file = tree.root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_plans_say_what_their_files_have(tree: AdTree) -> None:
    for path, plan in _plans(tree).items():
        program = _program(plan)
        assert [] == address_faults(tree.root, path, _rows(program))
        assert [] == edge_faults(tree.root, path, program)


def test_two_invocations_share_a_digest_and_no_address(tree: AdTree) -> None:
    rows = _rows(_program(_plans(tree)["deep.ad"]))
    leaf = Digest(tree.digest("parts/leaf.ad"))
    own = [
        row.address
        for row in rows
        if row.address.owner == FragmentOwner(format="ad", fragment_digest=leaf)
    ]

    assert 6 == len(own) == len(set(own))
    assert [1, 2, 3, 1, 2, 3] == [address.local_step for address in own]


def test_a_sibling_include_changes_no_address_of_another_fragment(tree: AdTree) -> None:
    before = _tokens(tree, "direct.ad")
    pin = tree.digest("parts/apart.ad")
    _edit(
        tree,
        "direct.ad",
        "back\n",
        f'# agent-device:fragment-ref-v1 {{"callSiteId":"new","digest":"{pin}"}}\n'
        'include "./parts/apart.ad"\nback\n',
    )
    after = _tokens(tree, "direct.ad")

    assert before == [token for token in after if "/new." not in token]
    assert len(after) > len(before)


def test_an_edited_leaf_changes_all_its_transitive_callers_and_only_them(tree: AdTree) -> None:
    before = {path: plan.composition_digest for path, plan in _plans(tree).items()}
    _edit(tree, "parts/leaf.ad", "press id=b", "press id=b2")
    seen = []
    for path in ("parts/mid.ad", "parts/top.ad", "deep.ad"):
        stale = [place for reason, place in reasons(tree.check()) if reason == "fragment_stale"]
        seen.append(sorted(place.split(":")[0] for place in stale))
        _repin(tree, path)
    _repin(tree, "direct.ad")
    after = {path: plan.composition_digest for path, plan in _plans(tree).items()}

    # Each level is told when the one below it is right again; direct.ad calls the leaf itself.
    assert [
        ["direct.ad", "parts/mid.ad"],
        ["direct.ad", "parts/top.ad"],
        ["deep.ad", "deep.ad", "direct.ad"],
    ] == seen
    assert {"deep.ad", "direct.ad"} == {path for path in before if before[path] != after[path]}


def test_a_moved_child_needs_a_locator_and_a_repin_and_keeps_its_digest(tree: AdTree) -> None:
    kept = tree.digest("parts/leaf.ad")
    mid = tree.digest("parts/mid.ad")
    (tree.root / "parts" / "leaf.ad").rename(tree.root / "moved.ad")
    assert {"fragment_missing"} == {reason for reason, _ in reasons(tree.check())}

    _edit(tree, "parts/mid.ad", '"./../parts/leaf.ad"', '"../moved.ad"')
    _edit(tree, "direct.ad", '"./parts/leaf.ad"', '"./moved.ad"')

    # The pin of the child is right as it stands; those of the callers above are not.
    assert kept == tree.digest("moved.ad")
    assert mid != tree.digest("parts/mid.ad")
    assert [("fragment_stale", "parts/top.ad")] == [
        (reason, place.split(":")[0]) for reason, place in reasons(tree.check())
    ]
    for path in ("parts/top.ad", "deep.ad"):
        _repin(tree, path)
    assert {"apart.ad", "deep.ad", "direct.ad"} == set(_plans(tree))


def test_a_renamed_call_site_changes_the_digest_of_the_parent(tree: AdTree) -> None:
    before = tree.digest("parts/mid.ad"), tree.digest("parts/leaf.ad")
    _edit(tree, "parts/mid.ad", '"callSiteId":"leaf"', '"callSiteId":"renamed"')
    after = tree.digest("parts/mid.ad"), tree.digest("parts/leaf.ad")

    assert before[0] != after[0]
    assert before[1] == after[1]
    assert [("fragment_stale", "parts/top.ad")] == [
        (reason, place.split(":")[0]) for reason, place in reasons(tree.check())
    ]


def _without_last_call(row: Row) -> Row:
    return Row(
        replace(row.address, invocation_path=row.address.invocation_path[:-1]), row.provenance
    )


def _flattened(row: Row) -> Row:
    """Report as an adapter that inlines would: all steps are those of the root."""
    owner = RootOwner(format="ad", composition_digest=Digest("sha256:0"))
    return Row(replace(row.address, owner=owner, invocation_path=()), row.provenance)


def _at_first_place(row: Row) -> Row:
    return Row(row.address, replace(row.provenance, step_source=SourceRef("deep.ad", 1)))


@pytest.mark.parametrize(
    ("plant", "named"),
    [
        (_without_last_call, "its invocation path is"),
        (_flattened, "its owner is root"),
        (_at_first_place, "its source is deep.ad:1"),
    ],
)
def test_the_gate_names_a_planted_fault_of_a_report(
    tree: AdTree, plant: Callable[[Row], Row], named: str
) -> None:
    rows = _rows(_program(_plans(tree)["deep.ad"]))
    faults = address_faults(tree.root, "deep.ad", list(map(plant, rows)))

    assert any(named in fault for fault in faults)
    assert any(fault.startswith("parts/leaf.ad:") for fault in faults)


def test_the_gate_names_a_report_by_position_in_the_whole(tree: AdTree) -> None:
    rows = _rows(_program(_plans(tree)["deep.ad"]))
    planted = [
        Row(replace(row.address, local_step=number), row.provenance)
        for number, row in enumerate(rows, 1)
    ]

    assert (
        "parts/top.ad:4: its local step is 2, not 1"
        == (address_faults(tree.root, "deep.ad", planted)[0])
    )


def test_the_gate_and_the_worker_name_a_missing_edge(tree: AdTree) -> None:
    plan = _plans(tree)["deep.ad"]
    program = _program(plan)
    (second,) = (
        node
        for node in program.root.nodes
        if isinstance(node, Include) and node.call_site_id == "second"
    )
    nodes = tuple(node for node in program.root.nodes if node != second)
    planted = replace(program, root=replace(program.root, nodes=nodes))

    assert [f"deep.ad:{second.line}: no edge second from root"] == (
        edge_faults(tree.root, "deep.ad", planted)
    )
    with pytest.raises(InputError) as caught:
        open_program(encode_program(planted), plan.composition_digest)
    assert "program_mismatch" == caught.value.reason


def test_the_gate_and_the_worker_name_a_missing_digest(tree: AdTree) -> None:
    plan = _plans(tree)["deep.ad"]
    program = _program(plan)
    leaf = tree.digest("parts/leaf.ad")
    rest = {digest: each for digest, each in program.fragments.items() if digest != leaf}
    planted = replace(program, fragments=rest)

    assert [f"parts/mid.ad:7: no fragment {leaf}"] * 2 == (
        edge_faults(tree.root, "deep.ad", planted)
    )
    with pytest.raises(InputError, match=r"parts/mid\.ad:7 includes a fragment that is not in it"):
        open_program(encode_program(planted), plan.composition_digest)


def test_a_fragment_of_other_content_is_not_taken_under_its_digest(tree: AdTree) -> None:
    plan = _plans(tree)["deep.ad"]
    program = _program(plan)
    leaf, apart = (Digest(tree.digest(f"parts/{name}.ad")) for name in ("leaf", "apart"))
    other = _program(_plans(tree)["apart.ad"]).fragments[apart]
    planted = replace(program, fragments={**program.fragments, leaf: other})

    with pytest.raises(InputError) as caught:
        composition_digest_of(planted)
    assert "program_invalid" == caught.value.reason
    assert leaf in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (',"digest":"sha256:', ',"digestt":"sha256:', "fragment_call_site_invalid"),
        ('"callSiteId":"second",', "", "fragment_call_site_invalid"),
        ('"callSiteId":"second"', '"callSiteId":"first"', "fragment_call_site_invalid"),
    ],
)
def test_a_planted_reference_fault_is_refused(
    tree: AdTree, old: str, new: str, reason: str
) -> None:
    _edit(tree, "deep.ad", old, new)

    assert [reason] == [each for each, _ in reasons(tree.check("deep.ad"))]


def test_an_open_in_a_fragment_is_refused(tree: AdTree) -> None:
    tree.fragment("parts/opens.ad", "open com.example")
    tree.flow("opens.ad", Call("parts/opens.ad", "only"))

    assert [("fragment_lifecycle", "opens.ad:5")] == reasons(tree.check("opens.ad"))


def _admission_faults(safe: frozenset[str]) -> list[str]:
    """Name the commands that fragments admit otherwise than the composition model says."""
    return [f"{word} is admitted" for word in sorted(safe - SAFE)] + [
        f"{word} is refused" for word in sorted(SAFE - safe)
    ]


def test_fragments_admit_what_the_model_says_and_the_gate_names_an_admitted_open() -> None:
    safe = frozenset(each.word for each in COMMANDS.values() if each.fragment_safe)

    assert [] == _admission_faults(safe)
    assert ["open is admitted"] == _admission_faults(safe | {"open"})


def test_repeated_steps_have_distinct_control_paths() -> None:
    step = StepAddress(
        owner=RootOwner(format="maestro", composition_digest=Digest("sha256:0")),
        local_step=3,
    )
    turns = [replace(step, control_path=(ControlSegment("again", turn),)) for turn in range(3)]

    assert 3 == len(set(turns)) == len(set(map(render_token, turns)))
