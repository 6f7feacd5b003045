from pathlib import Path

import pytest

from runner.compose.bound import DEPTH_LIMIT
from runner.errors import InputError
from runner.preflight.edition import Edit
from runner.preflight.inclusion import include_fragment
from tests.support.ad_tree import GUARD, UNKNOWN, AdTree, Call


@pytest.fixture
def tree(tmp_path: Path) -> AdTree:
    return AdTree(tmp_path)


def _include(
    tree: AdTree, parent: str, child: str, after: int, *, site: str = "new", cwd: str = ""
) -> Edit:
    settings = tree.settings(cwd=str(tree.root / cwd))
    return include_fragment(parent, child, after=after, call_site_id=site, settings=settings)


def _found(edit: Edit) -> list[tuple[str, str]]:
    assert edit.after == edit.before
    return [(each.reason, f"{each.path}:{each.line}") for each in edit.problems]


def test_an_include_is_written_behind_the_line_with_the_digest_of_today(tree: AdTree) -> None:
    tree.fragment("lib/f.ad")
    tree.flow("flows/main.ad")
    edit = _include(tree, "flows/main.ad", "lib/f.ad", 3)
    (change,) = edit.changes
    digest = tree.digest("lib/f.ad")

    assert edit.after.decode().split("\n") == [
        "context platform=android",
        "composition-v1",
        "open com.example",
        f'# agent-device:fragment-ref-v1 {{"callSiteId":"new","digest":"{digest}"}}',
        'include "../lib/f.ad"',
        "close",
        "",
    ]
    assert (change.line, change.old, change.new) == (5, None, digest)
    (tree.root / "flows/main.ad").write_bytes(edit.after)
    assert tree.check().problems == ()


def test_the_child_may_be_named_from_here_from_the_root_or_by_its_whole_path(tree: AdTree) -> None:
    tree.fragment("lib/f.ad")
    tree.flow("flows/main.ad")
    for child in ("../lib/f.ad", "lib/f.ad", str(tree.root / "lib/f.ad")):
        assert _include(tree, "main.ad", child, 3, cwd="flows").changes[0].fragment == "lib/f.ad"


@pytest.mark.parametrize(
    ("after", "near"),
    [
        (0, 5),  # Before the header.
        (1, 5),  # Before the guard.
        (2, 5),  # In the header of a fragment.
        (3, 5),  # Before the entry guard.
        (4, 5),  # Between evidence and its action.
        (7, 8),  # Between a reference and its include.
        (8, None),
        (6, None),
        (9, None),
    ],
)
def test_a_place_that_changes_the_rest_of_a_fragment_is_refused(
    tree: AdTree, after: int, near: int | None
) -> None:
    tree.fragment("f.ad")
    tree.write(
        "parent.ad",
        [
            "# A comment.",
            "fragment-v1",
            "context platform=android target=mobile",
            *GUARD,
            "back",
            f'# agent-device:fragment-ref-v1 {{"callSiteId":"a","digest":"{tree.digest("f.ad")}"}}',
            'include "./f.ad"',
            "back",
        ],
    )
    edit = _include(tree, "parent.ad", "f.ad", after)

    if near is None and after >= 6:
        assert edit.problems == ()
        return
    assert _found(edit) == [("include_place_invalid", f"parent.ad:{max(after, 1)}")]
    assert edit.problems[0].details["near"] == near


@pytest.mark.parametrize(("after", "is_right"), [(1, False), (2, False), (3, False), (4, True)])
def test_a_place_in_the_header_of_a_root_is_refused(
    tree: AdTree, after: int, *, is_right: bool
) -> None:
    tree.fragment("f.ad")
    tree.write(
        "main.ad",
        ["env A=b", "composition-v1", "# x", "context platform=android", "open a", "close"],
    )
    edit = _include(tree, "main.ad", "f.ad", after)

    assert [each.reason for each in edit.problems] == (
        [] if is_right else ["include_place_invalid"]
    )


def test_a_broken_include_elsewhere_does_not_stand_in_the_way(tree: AdTree) -> None:
    tree.fragment("f.ad")
    reference = f'# agent-device:fragment-ref-v1 {{"callSiteId":"a","digest":"{UNKNOWN}"}}'
    tree.flow("main.ad", reference, "", "include ./f.ad", 'press "open')

    assert _include(tree, "main.ad", "f.ad", 3).problems == ()
    assert _include(tree, "main.ad", "f.ad", 6).problems == ()


def test_line_ends_and_a_missing_last_one_are_kept(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad")
    path = tree.root / "main.ad"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n")[:-2])
    edit = _include(tree, "main.ad", "f.ad", 4)

    assert edit.after.endswith(b'\r\ninclude "./f.ad"')
    assert edit.after.count(b"\n") == edit.after.count(b"\r\n") == 5


def test_a_line_behind_the_end_is_a_bad_request(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad")
    with pytest.raises(InputError) as caught:
        _include(tree, "main.ad", "f.ad", 5)

    assert caught.value.reason == "option_invalid"


def test_a_flat_script_is_told_to_add_its_guard_and_left_as_it_is(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.write("flat.ad", ["open a"])
    edit = _include(tree, "flat.ad", "f.ad", 1)

    assert _found(edit) == [("fragment_unsupported", "flat.ad:1")]
    assert edit.problems[0].details["feature"] == "include_without_guard"
    assert "composition-v1" in edit.problems[0].hint
    tree.flow("later.ad", guard="composition-v2")
    assert _found(_include(tree, "later.ad", "f.ad", 3)) == [("fragment_unsupported", "later.ad:2")]


@pytest.mark.parametrize("site", ["", "a\tb", "x" * 300, "\udcff", "old"])
def test_a_call_site_has_to_be_a_new_and_valid_name(tree: AdTree, site: str) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="old"))
    (found,) = _found(_include(tree, "main.ad", "f.ad", 3, site=site))

    assert found[0] == "fragment_call_site_invalid"


@pytest.mark.parametrize(
    ("child", "found"),
    [
        ("gone.ad", ("fragment_missing", "main.ad:1")),
        ("../out.ad", ("fragment_missing", "main.ad:1")),
        ("lib", ("fragment_missing", "main.ad:1")),
        ("flat.ad", ("fragment_unsupported", "main.ad:5")),
        ("main.ad", ("fragment_unsupported", "main.ad:5")),
        ("flow.yaml", ("fragment_unsupported", "main.ad:5")),
        ("lib/closing.ad", ("fragment_lifecycle", "main.ad:5")),
        ("lib/bare.ad", ("fragment_entry_guard", "main.ad:5")),
        ("lib/ios.ad", ("fragment_context_mismatch", "main.ad:5")),
        ("lib/tv.ad", ("fragment_context_mismatch", "main.ad:5")),
        ("lib/unpinned.ad", ("fragment_call_site_invalid", "lib/unpinned.ad:5")),
        ("lib/huge.ad", ("fragment_bounds", "main.ad:5")),
    ],
)
def test_what_no_preflight_would_take_is_not_included(
    tree: AdTree, child: str, found: tuple[str, str]
) -> None:
    (tree.root.parent / "out.ad").write_text("fragment-v1\n")
    tree.write("flat.ad", ["open a"])
    tree.write("flow.yaml", ["appId: a"])
    tree.fragment("lib/f.ad")
    tree.fragment("lib/closing.ad", "close")
    tree.fragment("lib/bare.ad", guard=["back"])
    tree.fragment("lib/ios.ad", context="context platform=ios target=mobile")
    tree.fragment("lib/tv.ad", context="context platform=android target=tv")
    tree.fragment("lib/unpinned.ad", "include ./f.ad")
    tree.fragment("lib/huge.ad", "#" * (2 * 1024 * 1024))
    tree.flow("main.ad")

    assert _found(_include(tree, "main.ad", child, 3)) == [found]


def test_an_include_that_closes_a_cycle_is_refused(tree: AdTree) -> None:
    tree.fragment("a.ad")
    tree.fragment("b.ad", Call("a.ad"))

    assert _found(_include(tree, "a.ad", "b.ad", 4)) == [("fragment_cycle", "b.ad:6")]
    assert _found(_include(tree, "a.ad", "a.ad", 4)) == [("fragment_cycle", "a.ad:6")]


def test_an_include_over_a_bound_is_refused(tree: AdTree) -> None:
    tree.fragment("0.ad")
    for number in range(1, DEPTH_LIMIT + 1):
        tree.fragment(f"{number}.ad", Call(f"{number - 1}.ad"))
    tree.flow("main.ad")
    tree.fragment("big.ad", "#" * (2 * 1024 * 1024 - 1_000))
    tree.write("wide.ad", ["context platform=android", "composition-v1", "back", "#" * 900])

    assert _found(_include(tree, "main.ad", f"{DEPTH_LIMIT}.ad", 3)) == [
        ("fragment_bounds", "1.ad:6")
    ]
    assert _include(tree, "main.ad", f"{DEPTH_LIMIT - 1}.ad", 3).problems == ()
    assert _found(_include(tree, "wide.ad", "big.ad", 3)) == [("fragment_bounds", "wide.ad:5")]


def test_a_fragment_with_a_stale_pin_is_refused_with_what_to_pin_first(tree: AdTree) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad", site="l", pin=UNKNOWN))
    tree.flow("main.ad")
    edit = _include(tree, "main.ad", "mid.ad", 3)

    assert _found(edit) == [("fragment_stale", "mid.ad:6")]
    assert [each.command for each in edit.repin_first] == ["sweepgrid pin mid.ad --call-site l"]


def test_an_include_in_a_fragment_tells_who_is_stale_then(tree: AdTree) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad")
    tree.flow("main.ad", Call("mid.ad", site="m"))
    edit = _include(tree, "mid.ad", "leaf.ad", 4)

    assert [each.command for each in edit.repin_next] == ["sweepgrid pin main.ad --call-site m"]


def test_a_parent_that_cannot_be_read_is_told(tree: AdTree) -> None:
    tree.fragment("f.ad")

    assert _found(_include(tree, "gone.ad", "f.ad", 1)) == [("path_missing", "gone.ad:1")]
