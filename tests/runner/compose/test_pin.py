from pathlib import Path

from msgspec.structs import replace

from runner.compose.fact import SourceFacts
from runner.compose.fault import Place
from runner.model.digest import digest_of
from runner.model.ids import Digest
from tests.support.fact_tree import closure_of, graph_of, identity, include, write_facts

LEAF = SourceFacts(is_fragment=True, steps=1)
OLD = digest_of(b"old")


def _caller(locator: str, pin: Digest | None, line: int = 1) -> SourceFacts:
    return SourceFacts(is_fragment=True, steps=1, includes=(include(locator, pin, line=line),))


def _root(locator: str, pin: Digest | None) -> SourceFacts:
    return replace(_caller(locator, pin, line=9), is_fragment=False)


def test_an_edited_leaf_makes_exactly_its_direct_callers_stale(tmp_path: Path) -> None:
    leaf = write_facts(tmp_path, "leaf.ad", LEAF)
    other = write_facts(tmp_path, "other.ad", replace(LEAF, steps=5))
    mid = write_facts(tmp_path, "mid.ad", _caller("leaf.ad", leaf))
    write_facts(tmp_path, "above.ad", _root("mid.ad", mid))
    write_facts(tmp_path, "direct.ad", _root("leaf.ad", leaf))
    write_facts(tmp_path, "apart.ad", _root("other.ad", other))
    roots = ("above.ad", "apart.ad", "direct.ad")
    assert graph_of(tmp_path, *roots)[1] == {}

    write_facts(tmp_path, "leaf.ad", replace(LEAF, steps=2))
    _, faults = graph_of(tmp_path, *roots)

    assert {key: fault.place for key, fault in faults.items()} == {
        ("mid.ad", 0): Place.STALE,
        ("direct.ad", 0): Place.STALE,
    }


def test_the_chain_goes_upward_and_following_it_makes_everything_right(tmp_path: Path) -> None:
    mid = write_facts(tmp_path, "mid.ad", _caller("leaf.ad", OLD, line=4))
    top = write_facts(tmp_path, "top.ad", _caller("mid.ad", mid, line=6))
    write_facts(tmp_path, "root.ad", _root("top.ad", top))
    write_facts(tmp_path, "leaf.ad", LEAF)
    (fault,) = closure_of(tmp_path, "root.ad").faults
    chain = fault.details["chain"]

    assert (fault.details["expectedDigest"], fault.details["actualDigest"]) == (OLD, identity(LEAF))
    assert [(each["path"], each["line"]) for each in chain] == [
        ("mid.ad", 4),
        ("top.ad", 6),
        ("root.ad", 9),
    ]
    for each in chain:
        facts = _caller(each["locator"], each["digest"], each["line"])
        is_root = each["path"] == "root.ad"
        write_facts(tmp_path, each["path"], replace(facts, is_fragment=not is_root))
    assert closure_of(tmp_path, "root.ad").faults == ()


def test_two_stale_levels_are_repinned_in_one_pass(tmp_path: Path) -> None:
    write_facts(tmp_path, "leaf.ad", LEAF)
    write_facts(tmp_path, "mid.ad", _caller("leaf.ad", OLD))
    write_facts(tmp_path, "root.ad", _root("mid.ad", OLD))
    stale = {fault.path: fault for fault in closure_of(tmp_path, "root.ad").faults}
    wanted = identity(_caller("leaf.ad", identity(LEAF)))
    chain = stale["root.ad"].details["chain"]

    assert chain == stale["mid.ad"].details["chain"], "the leaf has to be first either way"
    assert [each["digest"] for each in chain] == [identity(LEAF), wanted]
    assert stale["root.ad"].details["actualDigest"] != wanted


def test_a_chain_holds_what_else_is_stale_below_the_callers_and_nothing_beside_them(
    tmp_path: Path,
) -> None:
    for name in ("one.ad", "two.ad", "three.ad"):
        write_facts(tmp_path, name, LEAF)
    write_facts(
        tmp_path,
        "mid.ad",
        replace(_caller("one.ad", OLD), includes=(include("one.ad", OLD), include("two.ad", OLD))),
    )
    root = replace(
        _root("mid.ad", OLD), includes=(include("mid.ad", OLD), include("three.ad", OLD))
    )
    write_facts(tmp_path, "root.ad", root)
    faults = {
        fault.details["callSiteId"]: fault for fault in closure_of(tmp_path, "root.ad").faults
    }

    def commands(site: str) -> list[str]:
        return [each["command"] for each in faults[site].details["chain"]]

    assert commands("one.ad") == [
        "sweepgrid pin mid.ad --call-site one.ad",
        "sweepgrid pin mid.ad --call-site two.ad",
        "sweepgrid pin root.ad --call-site mid.ad",
    ]
    assert commands("three.ad") == ["sweepgrid pin root.ad --call-site three.ad"]


def test_the_calls_are_what_a_shell_takes_and_the_message_says_them_all(tmp_path: Path) -> None:
    write_facts(tmp_path, "leaf.ad", LEAF)
    write_facts(
        tmp_path,
        "-my flow.ad",
        replace(LEAF, includes=(include("leaf.ad", OLD, site="it's $HOME"),)),
    )
    (fault,) = closure_of(tmp_path, "-my flow.ad").faults
    call = """sweepgrid pin './-my flow.ad' --call-site 'it'"'"'s $HOME'"""

    assert fault.details["chain"][0]["command"] == call
    assert fault.message.endswith(f"; after a review: {call}")


def test_pins_on_a_cycle_are_not_called_stale_and_have_no_digest_above(tmp_path: Path) -> None:
    write_facts(tmp_path, "b.ad", _caller("a.ad", OLD))
    write_facts(tmp_path, "a.ad", _caller("b.ad", OLD))
    write_facts(tmp_path, "root.ad", _root("a.ad", OLD))
    faults = {fault.path: fault for fault in closure_of(tmp_path, "root.ad").faults}

    assert {path: fault.place for path, fault in faults.items()} == {
        "root.ad": Place.STALE,
        "b.ad": Place.CYCLE,
    }
    assert faults["root.ad"].details["chain"][0]["digest"] is None
