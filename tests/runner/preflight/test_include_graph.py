from pathlib import Path

import pytest

from runner.preflight.include_graph import IncludeGraph, find_include_graph, graph_json
from tests.support.ad_tree import UNKNOWN, AdTree, Call


@pytest.fixture
def tree(tmp_path: Path) -> AdTree:
    return AdTree(tmp_path)


def _graph(tree: AdTree, *paths: str, uses: str | None = None) -> IncludeGraph:
    return find_include_graph(paths or (".",), uses=uses, settings=tree.settings())


def _links(graph: IncludeGraph) -> list[tuple[str, str, str, str | None]]:
    return [(each.path, each.fragment, each.state, each.reason) for each in graph.links]


def test_every_source_and_every_include_is_in_it_with_its_state(tree: AdTree) -> None:
    tree.write("flat.ad", ["open a"])
    tree.write("x.yaml", ["# no flow"])
    tree.fragment("idle.ad")
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad", pin=UNKNOWN))
    tree.flow("main.ad", Call("mid.ad"), Call("gone.ad"), Call("x.yaml"), Call("flat.ad"))
    graph = _graph(tree)

    assert [(node.path, node.kind) for node in graph.nodes] == [
        ("flat.ad", "flat"),
        ("gone.ad", "missing"),
        ("idle.ad", "fragment"),
        ("leaf.ad", "fragment"),
        ("main.ad", "composition"),
        ("mid.ad", "fragment"),
        ("x.yaml", "foreign"),
    ]
    assert graph.nodes[3].digest == tree.digest("leaf.ad")
    assert _links(graph) == [
        ("main.ad", "mid.ad", "current", None),
        ("main.ad", "gone.ad", "missing", "fragment_missing"),
        ("main.ad", "x.yaml", "faulty", "fragment_unsupported"),
        ("main.ad", "flat.ad", "faulty", "fragment_unsupported"),
        ("mid.ad", "leaf.ad", "stale", "fragment_stale"),
    ]
    assert (graph.links[4].pin, graph.links[4].digest) == (UNKNOWN, tree.digest("leaf.ad"))
    assert graph.problems == (), "what is wrong with an include is in the graph"
    assert len(graph_json(graph).edges) == 5


def test_a_named_fragment_is_the_root_of_its_own_graph(tree: AdTree) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad"))
    tree.flow("main.ad", Call("mid.ad"))

    assert [node.path for node in _graph(tree, "mid.ad").nodes] == ["leaf.ad", "mid.ad"]


def test_who_uses_a_fragment_is_told_with_the_way(tree: AdTree) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad"))
    tree.flow("both.ad", Call("mid.ad"), Call("leaf.ad"))
    tree.flow("far.ad", Call("mid.ad"))
    tree.flow("apart.ad")
    graph = _graph(tree, uses="leaf.ad")
    assert graph.uses is not None

    assert [(each.path, each.kind, each.is_direct, each.via) for each in graph.uses.users] == [
        ("both.ad", "composition", True, ("both.ad", "leaf.ad")),
        ("far.ad", "composition", False, ("far.ad", "mid.ad", "leaf.ad")),
        ("mid.ad", "fragment", True, ("mid.ad", "leaf.ad")),
    ]
    assert [node.path for node in graph.nodes] == ["both.ad", "far.ad", "leaf.ad", "mid.ad"]
    assert len(graph.links) == 4


def test_a_fragment_that_is_missing_has_users_and_one_that_nobody_uses_has_none(
    tree: AdTree,
) -> None:
    tree.fragment("idle.ad")
    tree.flow("main.ad", Call("lib/gone.ad"))
    gone, idle = (_graph(tree, uses=path).uses for path in ("lib/gone.ad", "idle.ad"))
    assert gone is not None
    assert idle is not None

    assert [each.path for each in gone.users] == ["main.ad"]
    assert idle.users == ()
    assert [each.reason for each in _graph(tree, uses="no.ad").problems] == ["path_missing"]


def test_a_cycle_is_drawn_once_and_asked_about_without_end(tree: AdTree) -> None:
    tree.fragment("a.ad", Call("b.ad", pin=UNKNOWN))
    tree.fragment("b.ad", Call("a.ad", pin=UNKNOWN))
    graph = _graph(tree, uses="a.ad")
    assert graph.uses is not None

    assert [each.path for each in graph.uses.users] == ["b.ad"]
    assert "fragment_cycle" in [each.reason for each in _graph(tree).links]


def test_a_long_way_shows_its_beginning_and_its_end(tree: AdTree) -> None:
    tree.fragment("100.ad")
    for number in range(101, 140):
        tree.fragment(f"{number}.ad", Call(f"{number - 1}.ad", pin=UNKNOWN))
    graph = _graph(tree, uses="100.ad")
    assert graph.uses is not None

    assert graph.uses.users[-1].via[:2] == ("139.ad", "138.ad")
    assert graph.uses.users[-1].via[-1] == "100.ad"
    assert len(graph.uses.users[-1].via) == 17


def test_a_place_out_of_the_root_is_missing_and_taken_for_nothing_else(tree: AdTree) -> None:
    tree.fragment("f.ad")
    (tree.root / "sub").mkdir()
    (tree.root / "sub/f.ad").symlink_to("/nowhere/f.ad")
    tree.flow(
        "sub/main.ad", f'# agent-device:fragment-ref-v1 {{"digest":"{UNKNOWN}"}}', "include f.ad"
    )
    graph = _graph(tree)

    assert _links(graph) == [("sub/main.ad", "f.ad (outside_root)", "missing", "fragment_missing")]


def test_what_cannot_be_drawn_is_a_problem(tree: AdTree) -> None:
    (tree.root / "loose.ad").symlink_to("nowhere.ad")
    graph = _graph(tree, "loose.ad", "gone.ad")

    assert [each.reason for each in graph.problems] == ["path_missing", "source_unreadable"]
