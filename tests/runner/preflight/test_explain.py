from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from runner.compose.bound import STEP_LIMIT
from runner.formats.ad.program import PlannedStep, decode_program, linearize
from runner.model.address import SourceRef, render_token
from runner.preflight.explain import find_plan_tree
from runner.preflight.plan_tree import (
    IncludeEntry,
    PlanTree,
    PlanTreeJson,
    StepEntry,
    TreeEntry,
    plan_tree_json,
)
from tests.support.ad_tree import GUARD, UNKNOWN, AdTree, Call


@pytest.fixture
def tree(tmp_path: Path) -> AdTree:
    return AdTree(tmp_path)


def _explain(tree: AdTree, path: str, **changes: object) -> PlanTree:
    return find_plan_tree(path, settings=tree.settings(**changes))


def _steps(entries: Sequence[TreeEntry]) -> Iterator[StepEntry]:
    for entry in entries:
        if isinstance(entry, StepEntry):
            yield entry
        else:
            yield from _steps(entry.entries)


def _includes(entries: Sequence[TreeEntry]) -> Iterator[IncludeEntry]:
    for entry in entries:
        if isinstance(entry, IncludeEntry):
            yield entry
            yield from _includes(entry.entries)


def test_the_tree_has_the_steps_of_the_plan_with_their_addresses_in_their_order(
    tree: AdTree,
) -> None:
    tree.fragment("leaf.ad", "back")
    tree.fragment("mid.ad", Call("leaf.ad"), "back", Call("leaf.ad", site="again"))
    tree.flow("main.ad", Call("mid.ad"), "back", Call("leaf.ad"))
    explained = _explain(tree, "main.ad")
    (plan,) = tree.check("main.ad").plans
    planned = [
        item for item in linearize(decode_program(plan.program)) if isinstance(item, PlannedStep)
    ]
    steps = list(_steps(explained.entries))

    assert explained.composition_digest == plan.composition_digest
    assert [step.address for step in steps] == [item.address for item in planned]
    assert [step.token for step in steps] == [render_token(item.address) for item in planned]
    assert [SourceRef(step.path, step.line) for step in steps] == [
        item.provenance.step_source for item in planned
    ]
    assert explained.steps == len(planned) == plan.step_count
    assert (explained.problems, explained.is_cut) == ((), False)


def test_an_include_has_its_call_site_its_pin_and_what_it_runs(tree: AdTree) -> None:
    tree.fragment("lib/f.ad")
    tree.flow("main.ad", Call("lib/f.ad", site="f"))
    (include,) = _includes(_explain(tree, "main.ad").entries)

    assert (include.call_site_id, include.fragment, include.line) == ("f", "lib/f.ad", 5)
    assert include.pin == include.digest == tree.digest("lib/f.ad")
    assert (include.reason, len(include.entries)) == (None, 1)


@pytest.mark.parametrize(
    ("line", "wait_ms"),
    [
        ("wait label=a 250", 250),
        ("wait label=a", 10_000),
        ("wait 1500", 1_500),
        ("wait stable 100 7000", 7_000),
        ("wait stable", 10_000),
        ("wait ${LIMIT:-300}", 300),
        ("wait label=a ${SET}", 42),
        ("wait stable 100 ${FREE}", None),
        ("wait ${SET}", 42),
        ("wait ${FREE}", None),
        ("wait", None),
        ("wait 1e999", None),
        ("back", None),
    ],
)
def test_a_wait_tells_how_long_it_waits_at_most(
    tree: AdTree, line: str, wait_ms: int | None
) -> None:
    tree.write("a.ad", ["env SET=42", line])
    (step,) = _steps(_explain(tree, "a.ad").entries)

    assert (step.wait_ms, step.step_limit_ms) == (wait_ms, 90_000)


def test_evidence_is_summed_up(tree: AdTree) -> None:
    record = GUARD[0].partition(" {")[2]
    drag = f'# agent-device:targets-v1 {{"source":{{{record},"destination":{{{record}}}'
    tree.write("a.ad", [*GUARD, drag, "gesture drag label=a label=b"])
    first, second = _steps(_explain(tree, "a.ad").entries)
    (evidence,) = first.evidence

    assert (evidence.end, evidence.role, evidence.id) == ("target", "heading", "home")
    assert (evidence.label, evidence.verified) == ("Home", True)
    assert [each.end for each in second.evidence] == ["source", "destination"]


def test_typed_text_is_not_shown(tree: AdTree) -> None:
    tree.write("a.ad", ["fill label=a secret", 'press "label=b"'])
    steps = _steps(_explain(tree, "a.ad").entries)

    assert [step.text for step in steps] == ['fill "label=a" <text>', 'press "label=b"']


def test_variables_come_from_where_the_plan_takes_them(tree: AdTree) -> None:
    tree.fragment("f.ad", "type ${OPT}${SHELL} ${HEAD} ${AD_DEVICE}", "type ${NONE:-x} ${FREE}")
    tree.flow(
        "main.ad",
        "type ${OPT:-y} ${HEAD} ${FREE:-z}",
        Call("f.ad"),
        head=["context platform=android", "env HEAD=h", "env OPT=o", "env SHELL=s"],
    )
    explained = _explain(
        tree, "main.ad", variables={"OPT": "1"}, environ={"AD_VAR_SHELL": "2", "AD_VAR_OPT": "3"}
    )
    found = {each.name: (each.origin, each.line, each.use_count) for each in explained.variables}

    assert found == {
        "OPT": ("option", None, 2),
        "SHELL": ("environment", None, 1),
        "HEAD": ("header", 2, 2),
        "AD_DEVICE": ("built_in", None, 1),
        "NONE": ("default", None, 1),
        "FREE": ("unbound", None, 2),
    }
    assert explained.variables[1].uses == (SourceRef("main.ad", 7), SourceRef("f.ad", 6))
    assert [each.reason for each in explained.problems] == ["fragment_variable_unbound"]


def test_a_fragment_is_shown_by_itself_with_its_free_variables(tree: AdTree) -> None:
    tree.fragment("leaf.ad", "type ${B:-b}")
    tree.fragment("f.ad", "type ${A}", Call("leaf.ad", site="l"))
    explained = _explain(tree, "f.ad")
    steps = list(_steps(explained.entries))

    assert (explained.kind, explained.composition_digest) == ("fragment", None)
    assert explained.fragment_digest == tree.digest("f.ad")
    assert [(each.name, each.origin) for each in explained.variables] == [
        ("A", "unbound"),
        ("B", "default"),
    ]
    assert steps[0].token == f"ad:f:{tree.digest('f.ad')[7:]}#1"
    assert steps[2].token == f"ad:f:{tree.digest('leaf.ad')[7:]}/l.0#1"
    assert explained.problems == (), "who includes it binds its variables"


def test_a_flat_flow_has_both_digests_and_the_platform_of_the_caller(tree: AdTree) -> None:
    tree.write("a.ad", ["context timeout=30000", "open a"])
    explained = _explain(tree, "a.ad", platform="ios")
    (plan,) = tree.check("a.ad", platform="ios").plans

    assert (explained.plan_digest, explained.platform) == (plan.plan_digest, "ios")
    assert (explained.composition_digest, explained.timeout_ms) == (plan.composition_digest, 30_000)


def test_what_is_wrong_is_told_beside_what_can_be_shown(tree: AdTree) -> None:
    tree.fragment("f.ad", "close")
    tree.fragment("old.ad")
    tree.flow(
        "main.ad",
        Call("f.ad"),
        Call("gone.ad"),
        Call("old.ad", pin=UNKNOWN),
        'press "open',
        "include ./old.ad",
    )
    explained = _explain(tree, "main.ad")

    assert [(each.reason, each.line) for each in explained.problems] == [
        ("fragment_lifecycle", 5),
        ("fragment_missing", 7),
        ("fragment_stale", 9),
        ("parse_error", 10),
        ("fragment_call_site_invalid", 11),
    ]
    assert explained.composition_digest is None
    assert [(each.fragment, each.reason) for each in _includes(explained.entries)] == [
        ("f.ad", "fragment_lifecycle"),
        (None, "fragment_missing"),
        ("old.ad", "fragment_stale"),
        ("old.ad", "fragment_call_site_invalid"),
    ]
    tokens = [step.token for step in _steps(explained.entries)]
    assert tokens == [
        None,
        f"ad:f:{tree.digest('f.ad')[7:]}/call-2.0#1",
        f"ad:f:{tree.digest('f.ad')[7:]}/call-2.0#2",
        f"ad:f:{tree.digest('old.ad')[7:]}/call-4.0#1",
        None,
        None,
    ]


def test_a_faulty_fragment_says_what_is_wrong_with_it_as_an_include(tree: AdTree) -> None:
    tree.fragment("f.ad", "close", "back sideways", guard=["back"])

    assert [each.reason for each in _explain(tree, "f.ad").problems][:2] == [
        "fragment_entry_guard",
        "fragment_lifecycle",
    ]


def test_a_cycle_ends_where_it_closes(tree: AdTree) -> None:
    tree.fragment("a.ad", Call("b.ad", pin=UNKNOWN))
    tree.fragment("b.ad", Call("a.ad", pin=UNKNOWN))
    tree.flow("main.ad", Call("a.ad", pin=UNKNOWN))
    explained = _explain(tree, "main.ad")
    includes = list(_includes(explained.entries))

    assert [each.fragment for each in includes] == ["a.ad", "b.ad", "a.ad"]
    assert (includes[2].reason, includes[2].entries) == ("fragment_cycle", ())


@pytest.mark.slow
def test_a_tree_that_no_composition_may_have_is_cut(tree: AdTree) -> None:
    tree.fragment("0.ad")
    for number in range(1, 6):
        below = f"{number - 1}.ad"
        tree.fragment(f"{number}.ad", *(Call(below, pin=UNKNOWN) for _ in range(12)))
    explained = _explain(tree, "5.ad")

    assert explained.is_cut
    assert explained.steps < STEP_LIMIT


def test_a_file_that_is_none_is_a_problem(tree: AdTree) -> None:
    explained = _explain(tree, "gone.ad")

    assert [each.reason for each in explained.problems] == ["path_missing"]
    assert (explained.kind, explained.entries) == (None, ())


def test_the_json_form_is_read_back_as_it_was(tree: AdTree) -> None:
    tree.fragment("f.ad", "type ${A:-a}")
    tree.flow("main.ad", Call("f.ad"))
    value = plan_tree_json(_explain(tree, "main.ad"))

    assert msgspec.json.decode(msgspec.json.encode(value), type=PlanTreeJson) == value


def test_a_locator_with_half_a_character_is_one_problem_of_its_include(tree: AdTree) -> None:
    tree.write("main.ad", ["context platform=ios", "composition-v1", 'include "\\ud800"'])
    explained = _explain(tree, "main.ad")

    assert ["fragment_missing"] == [each.reason for each in explained.problems]
