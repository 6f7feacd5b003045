"""What fragment and composition digests cover, and what they leave out: a mutation for each item.

The items are those of the founding decision record on composed replay scripts.
"""

import shutil
from pathlib import Path

import pytest

from runner.model.ids import Digest
from tests.support.ad_tree import GUARD, UNKNOWN, AdTree, Call

EVIDENCE = (
    '# agent-device:target-v1 {"id":"go","role":"button","label":"Go","ancestry":[],"sibling":0,'
    '"viewportOrder":0,"verification":"verified"}'
)
STEPS = (EVIDENCE, "press id=go --count 2", 'fill id=who "${WHO}"')
CONTEXT = 'context platform=android target=mobile timeout=9000 retries=1 device="Pixel of Ann"'


@pytest.fixture
def tree(tmp_path: Path) -> AdTree:
    """A fragment that includes another, and a root that includes both."""
    tree = AdTree(tmp_path / "tree")
    tree.fragment("leaf.ad", 'type "${WHO}"')
    tree.fragment("part.ad", *STEPS, Call("leaf.ad", "in"), "back", context=CONTEXT)
    opening = "open com.example --metro-host h --metro-port 8081"
    calls = (Call("part.ad", "a"), Call("leaf.ad", "b"))
    tree.flow("root.ad", opening, *STEPS, *calls, head=[CONTEXT, "env WHO=ann"])
    return tree


def _composition(tree: AdTree, **changes: object) -> Digest:
    preflight = tree.check("root.ad", **changes)
    assert preflight.problems == ()
    return preflight.plans[0].composition_digest


def _edit(tree: AdTree, path: str, old: str, new: str) -> None:
    file = tree.root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


COVERED = [
    pytest.param("press id=go", "click id=go", id="command"),
    pytest.param("press id=go", "press id=stop", id="input"),
    pytest.param("--count 2", "--count 3", id="flag"),
    pytest.param('"${WHO}"', '"ann"', id="variable, by its name"),
    pytest.param('"label":"Go"', '"label":"Stop"', id="evidence"),
    pytest.param(
        '"label":"Go","ancestry":[]', '"label":"Go","ancestry":[{"role":"list"}]', id="up"
    ),
    pytest.param("target=mobile", "target=tv", id="context"),
]
FREE = [
    pytest.param("press id=go", "press   id=go  ", id="white space"),
    pytest.param("\nfill", "\n# recorded at 2026-01-02T03:04:05Z\nfill", id="time"),
    pytest.param("\nback", "\n\n\n# a comment\nback", id="comments and line numbers"),
    pytest.param("timeout=9000 retries=1", "timeout=1 retries=3", id="limits"),
    pytest.param("Pixel of Ann", "iPhone of Bob", id="device name"),
]


@pytest.mark.parametrize(("old", "new"), COVERED)
def test_what_runs_is_in_the_digest_of_a_fragment(tree: AdTree, old: str, new: str) -> None:
    before = tree.digest("part.ad")
    _edit(tree, "part.ad", old, new)

    assert before != tree.digest("part.ad") != UNKNOWN


@pytest.mark.parametrize(("old", "new"), [*COVERED[:-1], ("8081", "8082")])
def test_what_runs_is_in_the_digest_of_a_composition(tree: AdTree, old: str, new: str) -> None:
    before = _composition(tree)
    _edit(tree, "root.ad", old, new)

    assert before != _composition(tree)


@pytest.mark.parametrize(("old", "new"), FREE)
def test_what_does_not_run_is_in_no_digest(tree: AdTree, old: str, new: str) -> None:
    before = tree.digest("part.ad"), _composition(tree)
    _edit(tree, "part.ad", old, new)
    _edit(tree, "root.ad", old.replace("back", "close"), new.replace("back", "close"))

    assert before == (tree.digest("part.ad"), _composition(tree))


def test_the_entry_guard_is_in_the_digest_of_its_fragment(tree: AdTree) -> None:
    before = tree.digest("leaf.ad")
    tree.fragment("leaf.ad", 'type "${WHO}"', guard=[GUARD[0], GUARD[1].replace("10000", "9000")])

    assert before != tree.digest("leaf.ad") != UNKNOWN


def test_the_kind_that_a_guard_states_is_in_the_digest(tree: AdTree) -> None:
    tree.write("flat.ad", [CONTEXT, "open a"])
    tree.write("root.ad", [CONTEXT, "open a"])
    flat = _composition(tree)
    tree.write("root.ad", [CONTEXT, "composition-v1", "open a"])
    tree.write("part.ad", ["fragment-v1", CONTEXT, *GUARD])

    # A flat plan is digested as a composition that includes nothing; a fragment is not one.
    assert flat == _composition(tree)
    assert flat != tree.digest("part.ad") != UNKNOWN


@pytest.mark.parametrize(
    ("old", "new"),
    [('"callSiteId":"in"', '"callSiteId":"inner"'), ('"./leaf.ad"', '"././leaf.ad"')],
)
def test_the_reference_is_in_the_digest_of_its_parent(tree: AdTree, old: str, new: str) -> None:
    child, parent = tree.digest("leaf.ad"), tree.digest("part.ad")
    _edit(tree, "part.ad", old, new)

    assert parent != tree.digest("part.ad") != UNKNOWN
    assert child == tree.digest("leaf.ad")


@pytest.mark.parametrize(
    ("old", "new"),
    [('"callSiteId":"a"', '"callSiteId":"c"'), ('"./leaf.ad"', '"././leaf.ad"')],
)
def test_the_reference_is_in_the_composition_digest(tree: AdTree, old: str, new: str) -> None:
    before = _composition(tree)
    _edit(tree, "root.ad", old, new)

    assert before != _composition(tree)


def test_a_nested_pin_is_in_the_digest_of_its_parent_and_of_the_composition(tree: AdTree) -> None:
    child, parent, root = tree.digest("leaf.ad"), tree.digest("part.ad"), _composition(tree)
    tree.fragment("leaf.ad", 'type "${WHO}"', "back")
    for path in ("part.ad", "root.ad"):
        _edit(tree, path, child, tree.digest("leaf.ad"))
    _edit(tree, "root.ad", parent, tree.digest("part.ad"))

    assert parent != tree.digest("part.ad")
    assert root != _composition(tree)


def test_where_the_files_lie_is_in_no_digest(tree: AdTree, tmp_path: Path) -> None:
    moved = AdTree(tmp_path / "elsewhere" / "deep")
    shutil.copytree(tree.root, moved.root)

    assert (tree.digest("part.ad"), _composition(tree)) == (
        moved.digest("part.ad"),
        _composition(moved),
    )


def test_what_a_run_chooses_is_in_no_digest(tree: AdTree) -> None:
    before = _composition(tree)

    assert before == _composition(tree, variables={"WHO": "bob"})
    _edit(tree, "root.ad", "env WHO=ann", "env WHO=eve")
    assert before == _composition(tree)
