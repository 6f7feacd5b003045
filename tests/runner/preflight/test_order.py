"""The reasons of composition and their order, planted in real files."""

from itertools import combinations
from pathlib import Path

import pytest

from runner.compose.bound import BYTE_LIMIT, DEPTH_LIMIT, SOURCE_LIMIT
from runner.model.finding import Finding
from runner.preflight.settings import Preflight
from tests.support.ad_tree import EVIDENCE, GUARD, UNKNOWN, AdTree, Call, reasons

# In the order of the founding record, without the bounds and cycles, which have tests of their
# own, and without controls, which this format does not have.
PLACES = {
    "missing": "fragment_missing",
    "unsupported": "fragment_unsupported",
    "call_site": "fragment_call_site_invalid",
    "stale": "fragment_stale",
    "lifecycle": "fragment_lifecycle",
    "entry_missing": "fragment_entry_guard",
    "entry_mismatch": "fragment_entry_guard",
    "context": "fragment_context_mismatch",
    "variable": "fragment_variable_unbound",
}


def _plant(root: Path, places: frozenset[str]) -> Finding:
    tree = AdTree(root)
    guard = list(GUARD)
    if "entry_mismatch" in places:
        guard[0] = guard[0].replace('"verified"', '"unverifiable"')
    if "entry_missing" in places:
        guard[1] = guard[1].replace(" 10000", "")
    parts = ["type ${FREE}" if "variable" in places else "back"]
    if "lifecycle" in places:
        parts.append("close")
    platform = "ios" if "context" in places else "android"
    head = "env A=1\nfragment-v1" if "unsupported" in places else "fragment-v1"
    context = f"context platform={platform} target=mobile"
    tree.fragment("f.ad", *parts, guard=guard, context=context, head=head)
    pin = UNKNOWN if "stale" in places else None
    if "call_site" in places:
        pin = "sha256:short"
    tree.flow("main.ad", Call("f.ad", pin=pin))
    if "missing" in places:
        (root / "f.ad").unlink()
    (problem,) = tree.check("main.ad").problems
    return problem


def _order(places: tuple[str, ...]) -> str:
    return next(place for place in PLACES if place in places)


def test_nothing_planted_is_nothing_found(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad", "back")
    tree.flow("main.ad", Call("f.ad"))

    assert tree.check("main.ad").problems == ()


@pytest.mark.parametrize("place", PLACES)
def test_each_reason_comes_alone_with_place_and_details(tmp_path: Path, place: str) -> None:
    problem = _plant(tmp_path, frozenset({place}))

    assert (problem.reason, problem.path, problem.line) == (PLACES[place], "main.ad", 5)
    assert problem.flows == ("main.ad",)
    assert problem.details["source"] == "main.ad"
    assert problem.details["locator"] == "./f.ad"
    assert {"callSiteId", "expectedDigest"} <= problem.details.keys()
    is_known = place not in {"missing", "unsupported", "entry_mismatch"}
    if is_known:
        assert problem.details["actualDigest"] == AdTree(tmp_path).digest("f.ad") != UNKNOWN
    assert problem.hint


@pytest.mark.parametrize("pair", list(combinations(PLACES, 2)), ids="-".join)
def test_of_two_planted_reasons_the_first_in_the_order_is_reported(
    tmp_path: Path, pair: tuple[str, str]
) -> None:
    first, both = _plant(tmp_path / "one", frozenset(pair[:1])), _plant(tmp_path, frozenset(pair))

    assert both.reason == PLACES[_order(pair)]
    if "entry_missing" in pair:
        assert ("has no timeout" in both.message) == ("has no timeout" in first.message)


def test_a_missing_source_comes_before_an_include_that_is_not_supported(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad"), Call("gone.ad"), guard="# no guard")

    assert reasons(tree.check("main.ad")) == [
        ("fragment_unsupported", "main.ad:5"),
        ("fragment_missing", "main.ad:7"),
    ]


def test_nothing_is_read_into_a_fragment_of_a_later_version(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("later.ad", Call("gone.ad", pin=UNKNOWN), head="fragment-v2")
    tree.flow("main.ad", Call("later.ad"))
    (problem,) = tree.check("main.ad").problems

    assert (problem.reason, problem.path) == ("fragment_unsupported", "main.ad")
    assert problem.details["feature"] == "guard_version"


def _chain(tree: AdTree, length: int, *last: str) -> None:
    tree.fragment(f"f{length}.ad", *last)
    for number in range(length - 1, 0, -1):
        tree.fragment(f"f{number}.ad", Call(f"f{number + 1}.ad"))


def _only(preflight: Preflight) -> tuple[str, str, str]:
    (problem,) = preflight.problems
    # A file over the bound alone is not read to its end, so nobody knows its digest.
    assert "actualDigest" in problem.details or "huge" in str(problem.details.get("locator"))
    return problem.reason, f"{problem.path}:{problem.line}", problem.details["bound"]


@pytest.mark.slow
def test_bounds_come_in_their_order(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    _chain(tree, DEPTH_LIMIT + 1)
    tree.flow("main.ad", Call("f1.ad"))
    assert _only(tree.check("main.ad")) == ("fragment_bounds", "f16.ad:6", "depth")

    tree.fragment("f17.ad", "#" * (BYTE_LIMIT - 4000))
    tree.flow("pad.ad", Call("f17.ad"))
    assert tree.check("pad.ad").problems == ()
    _chain(tree, DEPTH_LIMIT + 1, "#" * (BYTE_LIMIT - 4000))
    tree.flow("main.ad", Call("f1.ad"))
    assert _only(tree.check("main.ad")) == ("fragment_bounds", "f16.ad:6", "depth")

    _chain(tree, DEPTH_LIMIT + 1)
    wide = [tree.fragment(f"w{n}.ad") for n in range(SOURCE_LIMIT - 1 - DEPTH_LIMIT)]
    pin = tree.digest(wide[0])
    tree.flow("main.ad", *[Call(path, pin=pin) for path in wide], Call("f1.ad"))
    assert _only(tree.check("main.ad")) == ("fragment_bounds", "f16.ad:6", "sources")


def test_closure_bytes_and_expanded_steps_are_size_bounds(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("big.ad", "#" * (BYTE_LIMIT // 2))
    tree.fragment("big2.ad", "#" * (BYTE_LIMIT // 2))
    tree.flow("main.ad", Call("big.ad"), Call("big2.ad"))
    assert _only(tree.check("main.ad")) == ("fragment_bounds", "main.ad:7", "bytes")

    tree.fragment("ten.ad", *["back"] * 9)
    for name, below in (("x.ad", "ten.ad"), ("y.ad", "x.ad"), ("z.ad", "y.ad")):
        pin = tree.digest(below)
        tree.fragment(name, *[Call(below, site=f"s{n}", pin=pin) for n in range(25)])
    tree.flow("main.ad", Call("z.ad"))
    reason, place, bound = _only(tree.check("main.ad"))
    assert (reason, bound) == ("fragment_bounds", "steps")
    assert place.startswith("x.ad:")


def test_a_file_over_the_bound_alone_is_refused_as_flow_and_as_fragment(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.write("flow.ad", ["open a", "#" * BYTE_LIMIT])
    tree.fragment("huge.ad", "#" * BYTE_LIMIT)
    tree.flow("main.ad", Call("huge.ad", pin=UNKNOWN))

    assert [(each.reason, each.path, each.details["bound"]) for each in tree.check().problems] == [
        ("fragment_bounds", "flow.ad", "bytes"),
        ("fragment_bounds", "main.ad", "bytes"),
    ]
    assert reasons(tree.check("huge.ad")) == [("fragment_composition_required", "huge.ad:1")]


def test_a_file_over_the_bound_alone_is_judged_in_the_order_too(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    pad = "#" * BYTE_LIMIT
    tree.write("flat.ad", ["open a", pad])
    tree.write("silent.ad", [pad, "fragment-v1"])
    tree.write("root.ad", ["composition-v1", pad])
    tree.write("other.yaml", [pad])
    tree.fragment("later.ad", pad, head="fragment-v2")
    names = ("flat.ad", "silent.ad", "root.ad", "other.yaml", "later.ad")
    tree.flow("main.ad", *[Call(name, pin=UNKNOWN) for name in names])

    assert [(each.reason, each.details["feature"]) for each in tree.check("main.ad").problems] == [
        ("fragment_unsupported", "flat_script"),
        ("fragment_unsupported", "flat_script"),
        ("fragment_unsupported", "composition_root"),
        ("fragment_unsupported", "cross_format"),
        ("fragment_unsupported", "guard_version"),
    ]


@pytest.mark.slow
def test_more_sources_or_levels_come_before_a_file_over_the_bound_alone(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("huge.ad", "#" * BYTE_LIMIT)
    tree.fragment("f16.ad", Call("huge.ad", pin=UNKNOWN))
    for number in range(DEPTH_LIMIT - 1, 0, -1):
        tree.fragment(f"f{number}.ad", Call(f"f{number + 1}.ad"))
    tree.flow("main.ad", Call("f1.ad"))
    assert _only(tree.check("main.ad")) == ("fragment_bounds", "f16.ad:6", "depth")

    wide = [tree.fragment(f"w{n}.ad") for n in range(SOURCE_LIMIT - 1)]
    pin = tree.digest(wide[0])
    calls = [Call(path, pin=pin) for path in wide]
    tree.flow("main.ad", *calls, Call("huge.ad", pin=UNKNOWN))
    (problem,) = tree.check("main.ad").problems
    assert problem.details["bound"] == "sources"
    tree.flow("main.ad", Call("huge.ad", pin=UNKNOWN), *calls)
    assert [each.details["bound"] for each in tree.check("main.ad").problems] == [
        "bytes",
        "sources",
    ]


def test_a_reference_without_an_include_is_a_fault_of_its_root_or_of_the_site(
    tmp_path: Path,
) -> None:
    tree = AdTree(tmp_path)
    loose = f'# agent-device:fragment-ref-v1 {{"callSiteId":"a","digest":"{UNKNOWN}"}}'
    later = loose.replace("ref-v1", "ref-v2")
    tree.fragment("ok.ad", "back")
    tree.flow("twice.ad", loose, Call("ok.ad"))
    tree.flow("action.ad", loose, "back", Call("ok.ad"), loose)
    tree.fragment("f.ad", "back", loose)
    tree.flow("main.ad", Call("f.ad"))
    tree.write("flat.ad", [loose, "open a"])
    tree.flow("future.ad", later, Call("ok.ad"))

    found = tree.check().problems
    assert [(each.reason, f"{each.path}:{each.line}") for each in found] == [
        ("fragment_call_site_invalid", "action.ad:4"),
        ("fragment_call_site_invalid", "action.ad:8"),
        ("fragment_call_site_invalid", "main.ad:5"),
        ("fragment_call_site_invalid", "twice.ad:4"),
    ]
    assert found[2].details["fragmentLine"] == 6
    assert found[3].details["callSiteId"] == "a"


def test_a_cycle_is_one_problem_with_its_chain_and_before_a_bad_reference(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("b.ad", Call("a.ad", pin="sha256:short"))
    tree.fragment("a.ad", Call("b.ad", pin=UNKNOWN))
    tree.flow("main.ad", Call("a.ad"))
    tree.flow("other.ad", Call("a.ad"))
    (problem,) = tree.check().problems

    assert (problem.reason, problem.path, problem.line) == ("fragment_cycle", "b.ad", 6)
    assert problem.details["cycle"] == ["a.ad", "b.ad", "a.ad"]
    assert problem.flows == ("main.ad", "other.ad")


def test_a_flow_is_blocked_for_its_first_reason_in_the_order(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("unbound.ad", "type ${FREE}")
    tree.fragment("unsafe.ad", "close")
    tree.fragment("loop.ad", Call("loop.ad", pin=UNKNOWN))
    tree.flow("main.ad", Call("unbound.ad"), Call("unsafe.ad"), Call("loop.ad"), Call("gone.ad"))
    preflight = tree.check("main.ad")
    (blocked,) = preflight.blocked

    assert blocked.reason == "fragment_missing"
    assert blocked.problems == tuple(range(len(preflight.problems)))
    assert {each.reason for each in preflight.problems} == {
        "fragment_variable_unbound",
        "fragment_lifecycle",
        "fragment_cycle",
        "fragment_missing",
    }


def test_a_call_site_stands_once_in_its_source(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", "same"), Call("f.ad", "same"), Call("f.ad", "own"))

    assert reasons(tree.check("main.ad")) == [("fragment_call_site_invalid", "main.ad:7")]


def test_evidence_of_another_element_is_named_with_both_sides(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    guard = (f"# agent-device:target-v1 {EVIDENCE}", "wait id=other 100")
    tree.fragment("f.ad", guard=guard)
    tree.flow("main.ad", Call("f.ad"))
    (problem,) = tree.check("main.ad").problems

    assert problem.reason == "fragment_entry_guard"
    assert problem.details["selector"] == "id=other"
    assert problem.details["evidence"]["id"] == "home"
    assert problem.details["fragmentLine"] == 4
