"""The order of reasons, the bounds and the walk, on facts that a test writes itself."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from runner.compose.bound import BYTE_LIMIT, DEPTH_LIMIT, SOURCE_LIMIT, STEP_LIMIT
from runner.compose.closure import Scope, first_in_order
from runner.compose.fact import ControlSite, IncludeSite, LocalFault, SourceFacts, VariableUse
from runner.compose.fault import Fault, Place
from runner.compose.graph import CYCLE_LIMIT, SourceGraph
from runner.model.digest import digest_of
from runner.model.ids import Digest
from tests.support.fact_tree import (
    FREE,
    FactReader,
    closure_of,
    graph_of,
    identity,
    include,
    write_facts,
)

WRONG = digest_of(b"another")
LOCAL = LocalFault(message="planted", line=3)
SCOPE = Scope(platform="android", target="mobile", names=frozenset({"BOUND"}))
CLEAN = SourceFacts(is_fragment=True, steps=2, platform="android", target="mobile")


def _with(place: Place, facts: SourceFacts) -> SourceFacts:
    """Plant in a fragment the fault of one place."""
    match place:
        case Place.UNSUPPORTED:
            return replace(facts, unsupported=replace(LOCAL, feature="planted"))
        case Place.CONTROL:
            return replace(facts, controls=(ControlSite(control_id=None, line=4),))
        case Place.LIFECYCLE:
            return replace(facts, unsafe=(LOCAL,))
        case Place.ENTRY_MISSING:
            return replace(facts, entry_missing=LOCAL)
        case Place.ENTRY_MISMATCH:
            return replace(facts, entry_mismatch=LOCAL)
        case Place.CONTEXT:
            return replace(facts, platform="ios")
        case Place.VARIABLE:
            return replace(facts, variables=(VariableUse("FREE", 9), VariableUse("BOUND", 9)))
        case _:
            return facts


def _site(place: Place, site: IncludeSite) -> IncludeSite:
    """Plant at an include the fault of one place."""
    if place is Place.CALL_SITE:
        return replace(site, reference_problem="planted")
    if place is Place.STALE:
        return replace(site, pin=WRONG)
    if place is Place.UNSUPPORTED:
        return replace(site, unsupported=replace(LOCAL, feature="planted"))
    return site


SITE_PLACES = [
    Place.MISSING,
    Place.UNSUPPORTED,
    Place.CALL_SITE,
    Place.CONTROL,
    Place.STALE,
    Place.LIFECYCLE,
    Place.ENTRY_MISSING,
    Place.ENTRY_MISMATCH,
    Place.CONTEXT,
    Place.VARIABLE,
]


def _plant(root: Path, *places: Place) -> tuple[Fault, ...]:
    facts = CLEAN
    for place in places:
        facts = _with(place, facts)
    name = "absent.ad" if Place.MISSING in places else "f.ad"
    site = include(name, write_facts(root, "f.ad", facts), line=7)
    for place in places:
        site = _site(place, site)
    write_facts(root, "root.ad", SourceFacts(steps=1, includes=(site,)))
    return closure_of(root, "root.ad", SCOPE).faults


def test_a_clean_include_has_no_fault(tmp_path: Path) -> None:
    assert _plant(tmp_path) == ()


@pytest.mark.parametrize("place", SITE_PLACES)
def test_each_planted_fault_is_found_at_its_include(tmp_path: Path, place: Place) -> None:
    (fault,) = _plant(tmp_path, place)

    assert (fault.place, fault.path, fault.line) == (place, "root.ad", 7)
    assert {"source", "locator", "callSiteId", "expectedDigest"} <= fault.details.keys()


@pytest.mark.parametrize(
    ("first", "second"),
    [(a, b) for n, a in enumerate(SITE_PLACES) for b in SITE_PLACES[n + 1 :]],
)
def test_of_two_faults_at_one_include_the_first_in_the_order_is_reported(
    tmp_path: Path, first: Place, second: Place
) -> None:
    (fault,) = _plant(tmp_path, second, first)

    assert fault.place == first


def _chain(root: Path, length: int, *, last: SourceFacts = CLEAN) -> Digest:
    """Write f1 > f2 > ... > f<length>, each pinned; return the digest of f1."""
    pin = write_facts(root, f"f{length}.ad", last)
    for number in range(length - 1, 0, -1):
        site = include(f"f{number + 1}.ad", pin, line=number)
        pin = write_facts(root, f"f{number}.ad", replace(CLEAN, includes=(site,)))
    return pin


def test_sixteen_levels_are_allowed_and_the_seventeenth_is_over_the_bound(tmp_path: Path) -> None:
    def faults(length: int) -> tuple[Fault, ...]:
        pin = _chain(tmp_path, length)
        write_facts(tmp_path, "root.ad", SourceFacts(includes=(include("f1.ad", pin),)))
        return closure_of(tmp_path, "root.ad").faults

    assert faults(DEPTH_LIMIT) == ()
    (fault,) = faults(DEPTH_LIMIT + 1)
    assert (fault.place, fault.path) == (Place.DEPTH, "f16.ad")
    assert fault.details["bound"] == "depth"
    (fault,) = faults(DEPTH_LIMIT + 9)
    assert (fault.place, fault.path) == (Place.DEPTH, "f16.ad")


def test_the_longest_way_to_a_fragment_decides_its_depth(tmp_path: Path) -> None:
    pin = _chain(tmp_path, DEPTH_LIMIT)
    deep = include("f16.ad", identity(CLEAN), site="short")
    hub = replace(CLEAN, includes=(include("f1.ad", pin), deep))
    sites = (deep, include("hub.ad", write_facts(tmp_path, "hub.ad", hub)))
    write_facts(tmp_path, "root.ad", SourceFacts(includes=sites))
    (fault,) = closure_of(tmp_path, "root.ad").faults

    assert (fault.place, fault.path) == (Place.DEPTH, "f15.ad")


@pytest.mark.slow
def test_the_source_over_the_count_is_named_and_comes_before_its_depth(tmp_path: Path) -> None:
    def faults(others: int) -> tuple[Fault, ...]:
        sites = [
            include(f"g{n}.ad", write_facts(tmp_path, f"g{n}.ad", replace(CLEAN, steps=n)))
            for n in range(others)
        ]
        sites.append(include("f1.ad", _chain(tmp_path, DEPTH_LIMIT + 1)))
        write_facts(tmp_path, "root.ad", SourceFacts(includes=tuple(sites)))
        return closure_of(tmp_path, "root.ad").faults

    (fault,) = faults(SOURCE_LIMIT - DEPTH_LIMIT - 2)
    assert fault.place == Place.DEPTH
    (fault,) = faults(SOURCE_LIMIT - DEPTH_LIMIT - 1)
    assert (fault.place, fault.path) == (Place.SOURCES, "f16.ad")
    assert fault.details["bound"] == "sources"


def _padded(size: int) -> SourceFacts:
    """Return clean facts of about `size` bytes."""
    return replace(CLEAN, unsafe=(), target="mobile", variables=(VariableUse("V" * size, 1),))


def test_bytes_count_over_the_whole_closure_and_depth_comes_first(tmp_path: Path) -> None:
    half = _padded(BYTE_LIMIT // 2)
    pin = write_facts(tmp_path, "big1.ad", half)
    other = write_facts(tmp_path, "big2.ad", half)
    sites = (include("big1.ad", pin), include("big2.ad", other, line=2))
    write_facts(tmp_path, "root.ad", SourceFacts(includes=sites))
    (fault,) = closure_of(tmp_path, "root.ad").faults
    assert (fault.place, fault.line, fault.details["bound"]) == (Place.SIZE, 2, "bytes")

    deep = _chain(tmp_path, DEPTH_LIMIT + 1, last=half)
    sites = (include("big1.ad", pin), include("f1.ad", deep))
    write_facts(tmp_path, "root.ad", SourceFacts(includes=sites))
    (fault,) = closure_of(tmp_path, "root.ad").faults
    assert (fault.place, fault.path) == (Place.DEPTH, "f16.ad")


def test_one_file_over_the_bound_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "huge.ad").write_bytes(b"{" * (BYTE_LIMIT + 1))
    write_facts(tmp_path, "root.ad", SourceFacts(includes=(include("huge.ad", WRONG),)))
    (fault,) = closure_of(tmp_path, "root.ad").faults
    (own,) = closure_of(tmp_path, "huge.ad").faults

    assert (fault.place, fault.path) == (Place.SIZE, "root.ad")
    assert (own.place, own.path, own.details["bound"]) == (Place.SIZE, "huge.ad", "bytes")


def test_the_include_that_crosses_the_step_bound_is_named_at_its_own_level(tmp_path: Path) -> None:
    leaf = write_facts(tmp_path, "leaf.ad", replace(CLEAN, steps=1000))
    calls = tuple(include("leaf.ad", leaf, site=str(n), line=n) for n in range(1, 102))
    mid = write_facts(tmp_path, "mid.ad", SourceFacts(is_fragment=True, includes=calls))

    def faults(own_steps: int) -> tuple[Fault, ...]:
        site = include("mid.ad", mid)
        write_facts(tmp_path, "root.ad", SourceFacts(steps=own_steps, includes=(site,)))
        return closure_of(tmp_path, "root.ad").faults

    (fault,) = faults(0)
    assert (fault.place, fault.path, fault.line) == (Place.SIZE, "mid.ad", 101)
    assert fault.details["bound"] == "steps"
    (fault,) = faults(5000)
    assert (fault.path, fault.line) == ("mid.ad", 96)


def test_a_root_that_is_over_the_step_bound_alone_is_its_own_fault(tmp_path: Path) -> None:
    write_facts(tmp_path, "root.ad", SourceFacts(steps=STEP_LIMIT + 1))
    (fault,) = closure_of(tmp_path, "root.ad").faults

    assert (fault.place, fault.details["bound"]) == (Place.SIZE, "steps")


def test_a_cycle_is_one_fault_at_the_include_that_closes_it(tmp_path: Path) -> None:
    write_facts(tmp_path, "b.ad", replace(CLEAN, includes=(include("a.ad", WRONG, line=5),)))
    b = replace(CLEAN, includes=(include("a.ad", WRONG, line=5),))
    a = replace(CLEAN, includes=(include("b.ad", identity(b)),))
    pin = write_facts(tmp_path, "a.ad", a)
    write_facts(tmp_path, "root.ad", SourceFacts(includes=(include("a.ad", pin),)))
    (fault,) = closure_of(tmp_path, "root.ad").faults

    assert (fault.place, fault.path, fault.line) == (Place.CYCLE, "b.ad", 5)
    assert fault.details["cycle"] == ["a.ad", "b.ad", "a.ad"]


def test_no_pin_on_a_longer_cycle_is_called_stale(tmp_path: Path) -> None:
    for name, target in (("c", "a"), ("b", "c")):
        write_facts(
            tmp_path, f"{name}.ad", replace(CLEAN, includes=(include(f"{target}.ad", WRONG),))
        )
    pin = write_facts(tmp_path, "a.ad", replace(CLEAN, includes=(include("b.ad", WRONG),)))
    write_facts(tmp_path, "root.ad", SourceFacts(includes=(include("a.ad", pin),)))
    (fault,) = closure_of(tmp_path, "root.ad").faults

    assert (fault.place, fault.path) == (Place.CYCLE, "c.ad")


def test_a_fragment_that_includes_itself_is_a_cycle_before_a_bad_reference(tmp_path: Path) -> None:
    loop = replace(include("a.ad", WRONG, line=2), reference_problem="planted")
    pin = write_facts(tmp_path, "a.ad", replace(CLEAN, includes=(loop,)))
    write_facts(tmp_path, "root.ad", SourceFacts(includes=(include("a.ad", pin),)))
    (fault,) = closure_of(tmp_path, "root.ad").faults

    assert (fault.place, fault.path) == (Place.CYCLE, "a.ad")


@pytest.mark.slow
def test_a_long_cycle_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    last = replace(CLEAN, includes=(include("f1.ad", WRONG),))
    pin = _chain(tmp_path, 150, last=last)
    write_facts(tmp_path, "root.ad", SourceFacts(includes=(include("f1.ad", pin),)))
    (cycle,) = graph_of(tmp_path, "root.ad")[0].closing.values()

    assert cycle[:2] == ("f1.ad", "f2.ad")
    assert cycle[-3:] == ("f149.ad", "f150.ad", "f1.ad")
    assert len(cycle) == CYCLE_LIMIT + 1


def test_the_second_use_of_a_call_site_is_the_faulty_one(tmp_path: Path) -> None:
    pin = write_facts(tmp_path, "f.ad", CLEAN)
    sites = (include("f.ad", pin, site="x", line=3), include("f.ad", pin, site="x", line=5))
    write_facts(tmp_path, "root.ad", SourceFacts(includes=sites))
    (fault,) = closure_of(tmp_path, "root.ad").faults

    assert (fault.place, fault.line, fault.details["firstLine"]) == (Place.CALL_SITE, 5, 3)


def test_a_control_needs_an_id_of_its_own_also_in_the_root(tmp_path: Path) -> None:
    controls = (ControlSite(control_id="a", line=2), ControlSite(control_id="a", line=6))
    write_facts(tmp_path, "root.ad", SourceFacts(controls=controls))
    (fault,) = closure_of(tmp_path, "root.ad").faults

    assert (fault.place, fault.path, fault.line) == (Place.CONTROL, "root.ad", 6)
    assert fault.reason == "fragment_control_identity_invalid"


def test_faults_below_a_faulty_include_are_found_too(tmp_path: Path) -> None:
    inner = replace(CLEAN, includes=(include("absent.ad", WRONG, line=8),), unsafe=(LOCAL,))
    pin = write_facts(tmp_path, "f.ad", inner)
    write_facts(tmp_path, "root.ad", SourceFacts(includes=(include("f.ad", pin, line=2),)))
    faults = closure_of(tmp_path, "root.ad").faults

    assert [(fault.place, fault.path) for fault in faults] == [
        (Place.LIFECYCLE, "root.ad"),
        (Place.MISSING, "f.ad"),
    ]
    first = first_in_order(faults)
    assert first is not None
    assert first.place == Place.MISSING


def test_each_source_is_read_once_however_often_it_is_included(tmp_path: Path) -> None:
    pin = write_facts(tmp_path, "f.ad", CLEAN)
    for name in ("one.ad", "two.ad"):
        sites = tuple(include("f.ad", pin, site=str(n)) for n in range(5))
        write_facts(tmp_path, name, SourceFacts(includes=sites))
    reader = FactReader()
    graph, _ = graph_of(tmp_path, "one.ad", "two.ad", reader=reader)

    assert sorted(reader.read_paths) == ["f.ad", "one.ad", "two.ad"]
    assert set(graph.facts) == {"f.ad", "one.ad", "two.ad"}


@pytest.mark.slow
def test_a_chain_of_thousands_is_walked_without_recursion(tmp_path: Path) -> None:
    pin = _chain(tmp_path, 3000)
    write_facts(tmp_path, "root.ad", SourceFacts(includes=(include("f1.ad", pin),)))
    (deep, *others) = closure_of(tmp_path, "root.ad").faults

    assert {fault.place for fault in (deep, *others)} == {Place.DEPTH, Place.SOURCES}


_GRAPHS = st.lists(
    st.lists(st.tuples(st.integers(0, 7), st.booleans()), max_size=4), min_size=1, max_size=7
)


@pytest.mark.slow
@given(_GRAPHS)
@settings(deadline=None, max_examples=60)
def test_any_graph_ends_in_faults_and_is_acyclic_without_its_closing_includes(
    shape: list[list[tuple[int, bool]]],
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for number, targets in enumerate(shape):
            sites = tuple(
                include(f"n{target}.ad", WRONG if is_pinned else None, site=f"s{place}")
                for place, (target, is_pinned) in enumerate(targets)
            )
            write_facts(root, f"n{number}.ad", replace(CLEAN, includes=sites))
        graph, faults = graph_of(root, "n0.ad")
        closure = closure_of(root, "n0.ad", FREE)

    assert closure.sources[0] == "n0.ad"
    places = [(fault.path, fault.details["callSiteId"]) for fault in closure.faults]
    assert len(set(places)) == len(places)
    assert {edge for edge, fault in faults.items() if fault.place is Place.CYCLE} == set(
        graph.closing
    )
    _assert_children_come_first(graph)


def _assert_children_come_first(graph: SourceGraph) -> None:
    done: set[str] = set()
    for path in graph.postorder:
        assert {child for _, child in graph.descents(path)} <= done
        done.add(path)
