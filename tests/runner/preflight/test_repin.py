import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from runner.formats.ad.edit import insert_include
from runner.model.ids import Digest
from runner.preflight.edition import Edit
from runner.preflight.repin import repin_file
from tests.support.ad_tree import UNKNOWN, AdTree, Call, reasons


@pytest.fixture
def tree(tmp_path: Path) -> AdTree:
    return AdTree(tmp_path)


def _pin(tree: AdTree, path: str, site: str | None = None) -> Edit:
    return repin_file(path, call_site_id=site, settings=tree.settings())


def _found(edit: Edit) -> list[tuple[str, str]]:
    return [(each.reason, f"{each.path}:{each.line}") for each in edit.problems]


def test_a_stale_pin_is_replaced_and_nothing_else(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a", pin=UNKNOWN), Call("f.ad", site="b", pin=UNKNOWN))
    edit = _pin(tree, "main.ad", "b")
    (change,) = edit.changes

    assert (change.old, change.new, change.line) == (UNKNOWN, tree.digest("f.ad"), 7)
    assert (change.call_site_id, change.fragment) == ("b", "f.ad")
    assert edit.before == (tree.root / "main.ad").read_bytes()
    head, _, tail = edit.before.rpartition(UNKNOWN.encode())
    assert edit.after == head + tree.digest("f.ad").encode() + tail
    assert edit.repin_next == (), "nobody pins a flow"


def test_all_means_every_include_of_the_one_file(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.fragment("g.ad", "back")
    tree.flow("main.ad", Call("f.ad", pin=UNKNOWN), Call("g.ad"), Call("g.ad", pin=UNKNOWN))
    edit = _pin(tree, "main.ad")
    (tree.root / "main.ad").write_bytes(edit.after)

    assert [each.old == each.new for each in edit.changes] == [False, True, False]
    assert tree.check().problems == ()


def test_a_pin_that_is_right_leaves_the_file_alone(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a"))
    edit = _pin(tree, "main.ad", "a")

    assert (edit.after, edit.problems) == (edit.before, ())
    assert edit.changes[0].old == edit.changes[0].new
    assert _pin(tree, tree.write("flat.ad", ["open a"])).changes == ()


def test_a_reference_without_a_digest_is_given_one(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", "back")
    data = insert_include(
        (tree.root / "main.ad").read_bytes(),
        after=3,
        locator="./f.ad",
        call_site_id="a",
        digest=Digest(""),
    )
    for spelling in (b',"digest":"todo"', b""):
        (tree.root / "main.ad").write_bytes(data.replace(b',"digest":""', spelling))
        edit = _pin(tree, "main.ad", "a")
        (tree.root / "main.ad").write_bytes(edit.after)
        assert edit.changes[0].old is None
        assert tree.check().problems == ()


def test_a_file_that_is_too_large_with_its_fragment_is_given_no_digest(tree: AdTree) -> None:
    tree.fragment("f.ad")
    lines = ['# agent-device:fragment-ref-v1 {"callSiteId":"a"}', "include ./f.ad"]
    tree.flow("main.ad", *lines)
    size = 2 * 1024 * 1024 - (tree.root / "main.ad").stat().st_size - 10
    tree.flow("main.ad", *lines, "#" * size)

    assert _found(_pin(tree, "main.ad", "a")) == [("fragment_bounds", "main.ad:5")]


def test_a_byte_order_mark_and_carriage_returns_stay(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a", pin=UNKNOWN))
    path = tree.root / "main.ad"
    before = b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n").rstrip()
    path.write_bytes(before)
    edit = _pin(tree, "main.ad", "a")

    assert edit.after == before.replace(UNKNOWN.encode(), tree.digest("f.ad").encode())


def test_a_fragment_that_holds_a_stale_pin_is_refused_with_the_order(tree: AdTree) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad", site="l"))
    tree.fragment("other.ad", "back")
    tree.flow("main.ad", Call("mid.ad", site="m"), Call("other.ad", site="o", pin=UNKNOWN))
    tree.fragment("leaf.ad", "back")
    edit = _pin(tree, "main.ad", "m")

    assert _found(edit) == [("fragment_stale", "mid.ad:6")]
    assert [each.command for each in edit.repin_first] == [
        "sweepgrid pin mid.ad --call-site l",
        "sweepgrid pin main.ad --call-site m",
    ]
    assert edit.after == edit.before
    whole = _pin(tree, "main.ad")
    assert _found(whole) == _found(edit), "one refusal leaves the whole file"
    assert [each.command for each in whole.repin_first] == [
        "sweepgrid pin mid.ad --call-site l",
        "sweepgrid pin main.ad --call-site m",
        "sweepgrid pin main.ad --call-site o",
    ], "all that was asked for, also what is stale for reasons of its own"
    assert _pin(tree, "main.ad", "o").problems == ()


def test_what_becomes_stale_by_a_new_pin_is_told_from_the_leaf_upward(tree: AdTree) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("lib/mid.ad", Call("leaf.ad", site="l"))
    tree.fragment("top.ad", Call("lib/mid.ad", site="m"))
    tree.flow("main.ad", Call("top.ad", site="t"), Call("lib/mid.ad", site="m"))
    tree.flow("apart.ad", Call("leaf.ad", site="l", pin=UNKNOWN))
    tree.fragment("leaf.ad", "back")
    edit = _pin(tree, "lib/mid.ad", "l")

    assert [each.command for each in edit.repin_next] == [
        "sweepgrid pin top.ad --call-site m",
        "sweepgrid pin main.ad --call-site m",
        "sweepgrid pin main.ad --call-site t",
    ]


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        (("f.ad", ["close"]), [("fragment_lifecycle", "main.ad:5")]),
        (("f.ad", ['press "a']), [("fragment_unsupported", "main.ad:5")]),
        (("gone.ad", []), [("fragment_missing", "main.ad:5")]),
        (("../f.ad", []), [("fragment_missing", "main.ad:5")]),
        (("flat.ad", []), [("fragment_unsupported", "main.ad:5")]),
        (("other.yaml", []), [("fragment_unsupported", "main.ad:5")]),
        (("bare.ad", []), [("fragment_entry_guard", "main.ad:5")]),
        (("deep.ad", []), [("fragment_missing", "deep.ad:6")]),
        (("loop.ad", []), [("fragment_cycle", "loop.ad:6")]),
        (("loose.ad", []), [("fragment_call_site_invalid", "main.ad:5")]),
    ],
)
def test_what_no_preflight_would_take_is_not_pinned(
    tree: AdTree, parts: tuple[str, list[str]], found: list[tuple[str, str]]
) -> None:
    target, lines = parts
    tree.fragment("f.ad", *lines)
    tree.write("flat.ad", ["open a"])
    tree.write("other.yaml", ["fragment-v1"])
    tree.fragment("bare.ad", guard=["back"])
    tree.fragment("deep.ad", Call("nowhere.ad", pin=UNKNOWN))
    tree.fragment("loop.ad", Call("loop.ad", pin=UNKNOWN))
    tree.fragment(
        "loose.ad", f'# agent-device:fragment-ref-v1 {{"callSiteId":"x","digest":"{UNKNOWN}"}}'
    )
    for pin in (UNKNOWN, tree.digest(target)):
        tree.flow("main.ad", Call(target, site="a", pin=pin))
        edit = _pin(tree, "main.ad", "a")
        assert _found(edit) == found
        assert edit.after == edit.before


def test_an_include_without_a_usable_reference_is_sent_to_the_tool_that_writes_one(
    tree: AdTree,
) -> None:
    tree.fragment("f.ad")
    bad = '# agent-device:fragment-ref-v1 {"callSiteId":"a","digest":"x","extra":1}'
    tree.flow("main.ad", bad, "include ./f.ad", "include ./f.ad")
    edit = _pin(tree, "main.ad")

    assert _found(edit) == [("fragment_call_site_invalid", "main.ad:6")]
    assert "sweepgrid include" in edit.problems[0].hint
    assert _found(_pin(tree, "main.ad", "a")) == [("fragment_call_site_invalid", "main.ad:5")]


def test_a_call_site_that_is_not_one_include_is_refused(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a"), Call("f.ad", site="a", pin=UNKNOWN))
    unknown = _pin(tree, "main.ad", "b")

    assert _found(unknown) == [("fragment_call_site_invalid", "main.ad:1")]
    assert "'a'" in unknown.problems[0].message
    for site in ("a", None):
        assert _found(_pin(tree, "main.ad", site)) == [("fragment_call_site_invalid", "main.ad:7")]


def test_a_flat_script_has_no_includes_to_pin(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a", pin=UNKNOWN), guard="back")

    assert _found(_pin(tree, "main.ad", "a")) == [("fragment_unsupported", "main.ad:5")]


def test_the_context_of_a_flow_changes_no_pin(tree: AdTree) -> None:
    tree.fragment("f.ad", "type ${FREE}")
    tree.flow("main.ad", Call("f.ad", site="a", pin=UNKNOWN), head=["context platform=ios"])

    assert _pin(tree, "main.ad", "a").problems == ()


def test_what_is_no_single_readable_file_is_a_problem(tree: AdTree) -> None:
    tree.write("sub/a.ad", ["open a"])
    tree.write("flow.yaml", ["appId: a", "---", "- launchApp"])
    tree.write("huge.ad", ["#" * (2 * 1024 * 1024)])
    (tree.root / "loose.ad").symlink_to("nowhere.ad")

    assert _found(_pin(tree, "gone.ad")) == [("path_missing", "gone.ad:1")]
    assert _found(_pin(tree, "sub")) == [("path_missing", "sub:1")]
    assert _found(_pin(tree, "flow.yaml")) == [("format_unsupported", "flow.yaml:1")]
    assert _found(_pin(tree, "loose.ad")) == [("source_unreadable", "nowhere.ad:1")]
    assert _found(_pin(tree, "huge.ad")) == [("fragment_bounds", "huge.ad:1")]


def test_a_path_counts_from_the_source_root_where_nothing_stands_beside_the_caller(
    tree: AdTree,
) -> None:
    tree.fragment("f.ad")
    tree.flow("flows/main.ad", Call("f.ad", site="a", pin=UNKNOWN))
    here = tree.settings(cwd=str(tree.root / "flows"))
    for path in ("main.ad", "flows/main.ad"):
        edit = repin_file(path, call_site_id="a", settings=here)
        assert (edit.path, edit.problems) == ("flows/main.ad", ())


def test_a_printed_call_means_the_same_file_wherever_it_is_given(tree: AdTree) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad", site="l", pin=UNKNOWN))
    tree.flow("flows/main.ad", Call("mid.ad", site="m"))
    tree.write("flows/mid.ad", ["open decoy"])
    root = str(tree.root)
    calls = {}
    for here, level in (("flows", "main"), ("", "0.21"), ("..", "main")):
        cwd = str((tree.root / here).resolve())
        settings = tree.settings(cwd=cwd, ad_level=level)
        edit = repin_file(f"{root}/flows/main.ad", call_site_id="m", settings=settings)
        calls[here] = edit.repin_first[0].command

    assert calls == {
        "flows": "sweepgrid pin ../mid.ad --call-site l --root ..",
        "": "sweepgrid pin mid.ad --call-site l --ad-level 0.21",
        "..": f"sweepgrid pin {tree.root.name}/mid.ad --call-site l --root {tree.root.name}",
    }


_PIN = re.compile(rb"sha256:[0-9a-f]{64}")


@st.composite
def _plans(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Return, for each source, the earlier ones that it includes, and which are edited then."""
    count = draw(st.integers(2, 7))
    calls = [
        draw(st.lists(st.integers(0, number - 1), max_size=3)) if number else []
        for number in range(count)
    ]
    return calls, draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))


@hypothesis_settings(max_examples=30, deadline=None)
@given(plan=_plans())
def test_the_printed_order_ends_with_no_stale_pin_and_no_other_byte_changed(
    plan: tuple[list[list[int]], list[int]],
) -> None:
    calls, edited = plan
    with TemporaryDirectory() as folder:
        tree = AdTree(Path(folder))
        for number, below in enumerate(calls):
            tree.fragment(f"{number}.ad", *(Call(f"{each}.ad") for each in below))
        tree.flow("main.ad", *(Call(f"{number}.ad") for number in range(len(calls))))
        for number in edited:
            with (tree.root / f"{number}.ad").open("a") as file:
                file.write("back\n")
        files = sorted(tree.root.glob("*.ad"))
        before = [_PIN.sub(b"", file.read_bytes()) for file in files]
        stale = tree.check().problems
        assert {reason for reason, _ in reasons(tree.check())} == {"fragment_stale"}

        for problem in stale:
            for repin in problem.details["chain"]:
                words = shlex.split(repin["command"])
                assert words[:2] == ["sweepgrid", "pin"]
                edit = repin_file(words[2], call_site_id=words[4], settings=tree.settings())
                assert edit.problems == (), "each call of a chain is possible in its turn"
                (tree.root / edit.path).write_bytes(edit.after)

        assert tree.check().problems == ()
        assert [_PIN.sub(b"", file.read_bytes()) for file in files] == before
