import re

from runner.model.digest import digest_of
from runner.preflight.drawing import render_dot, render_lines, render_mermaid
from runner.preflight.include_graph import (
    FragmentUser,
    FragmentUses,
    GraphLink,
    GraphNode,
    IncludeGraph,
    LinkState,
)

HOSTILE = 'a"]; evil -> b; [x="\\N \\" & <b> | `md` #quot; %%\x1b\n.ad'


def _link(
    path: str, fragment: str, state: LinkState = "current", *, site: str | None = "s"
) -> GraphLink:
    return GraphLink(
        path=path,
        line=4,
        call_site_id=site,
        locator=fragment,
        fragment=fragment,
        pin=digest_of(b"a"),
        digest=digest_of(b"b"),
        state=state,
        reason={"faulty": "fragment_lifecycle", "stale": "fragment_stale"}.get(state),
    )


GRAPH = IncludeGraph(
    nodes=(
        GraphNode(path="f.ad", kind="fragment"),
        GraphNode(path="gone.ad", kind="missing"),
        GraphNode(path="main.ad", kind="composition"),
    ),
    links=(
        _link("main.ad", "f.ad", "stale", site="log in"),
        _link("main.ad", "f.ad", site=None),
        _link("main.ad", "f.ad", "faulty"),
        _link("main.ad", "gone.ad", "missing"),
    ),
)


def test_dot_marks_what_is_not_current() -> None:
    assert render_dot(GRAPH) == (
        "digraph includes {\n"
        "  rankdir=LR;\n"
        '  n0 [label="f.ad", shape=ellipse];\n'
        '  n1 [label="gone.ad (missing)", shape=ellipse, style=dashed, color=red, fontcolor=red];\n'
        '  n2 [label="main.ad", shape=box, style=bold];\n'
        '  n2 -> n0 [label="log in (stale)", style=dashed, color=orange, fontcolor=orange];\n'
        '  n2 -> n0 [label="line 4"];\n'
        '  n2 -> n0 [label="s (fragment_lifecycle)", style=dotted, color=red, fontcolor=red];\n'
        '  n2 -> n1 [label="s (missing)", style=dotted, color=red, fontcolor=red];\n'
        "}\n"
    )


def test_mermaid_dots_what_is_not_current() -> None:
    assert render_mermaid(GRAPH) == (
        "flowchart LR\n"
        '  n0(["f.ad"])\n'
        '  n1(["gone.ad #40;missing#41;"])\n'
        '  n2[["main.ad"]]\n'
        '  n2 -.->|"log in #40;stale#41;"| n0\n'
        '  n2 -->|"line 4"| n0\n'
        '  n2 -.->|"s #40;fragment#95;lifecycle#41;"| n0\n'
        '  n2 -.->|"s #40;missing#41;"| n1\n'
        "  classDef missing stroke:red,color:red\n"
        "  class n1 missing\n"
    )


def test_no_name_is_markup() -> None:
    graph = IncludeGraph(
        nodes=(GraphNode(path=HOSTILE, kind="flat"),),
        links=(_link(HOSTILE, HOSTILE, site=HOSTILE),),
    )
    dot, mermaid = render_dot(graph), render_mermaid(graph)
    quoted = re.compile(r'"(?:[^"\\\n]|\\.)*"')
    bare = re.compile(r'"[^"\n]*"')

    assert quoted.sub("Q", dot) == (
        "digraph includes {\n  rankdir=LR;\n  n0 [label=Q, shape=box];\n  n0 -> n0 [label=Q];\n}\n"
    )
    assert "\\\\N" in dot
    assert "&amp; &lt;b&gt;" in dot
    assert "\\\\x1b\\\\x0a" in dot
    assert bare.sub("Q", mermaid) == "flowchart LR\n  n0[Q]\n  n0 -->|Q| n0\n"
    label = bare.findall(mermaid)[0]
    assert not set(re.sub(r"#\d+;", "", label[1:-1])) & set('"#;<>&|`%[](){}\n\x1b')


def test_no_name_is_a_list_or_emphasis_in_mermaid() -> None:
    names = ("1. log in.ad", "- x.ad", "_a_ *b*.ad", "a-b/é.1.ad", "..ad")
    nodes = tuple(GraphNode(path=name, kind="flat") for name in names)
    shown = [
        line.partition("[")[2] for line in render_mermaid(IncludeGraph(nodes=nodes)).split("\n")
    ]

    assert shown[1:-1] == [
        '"1#46; log in.ad"]',
        '"#45; x.ad"]',
        '"#95;a#95; #42;b#42;#46;ad"]',
        '"a-b/é.1.ad"]',
        '"#46;#46;ad"]',
    ]


def test_people_see_each_source_with_its_includes() -> None:
    assert render_lines(GRAPH).splitlines() == [
        "fragment    f.ad",
        "missing     gone.ad",
        "composition main.ad",
        "    4: log in > f.ad: stale [fragment_stale]",
        "    4: (no call site) > f.ad: current",
        "    4: s > f.ad: faulty [fragment_lifecycle]",
        "    4: s > gone.ad: missing",
    ]


def test_people_see_who_reaches_a_fragment_and_how() -> None:
    users = (
        FragmentUser(path="m.ad", kind="fragment", is_direct=True, via=("m.ad", "f.ad")),
        FragmentUser(
            path="a.ad", kind="composition", is_direct=False, via=("a.ad", "m.ad", "f.ad")
        ),
    )

    assert render_lines(IncludeGraph(uses=FragmentUses(fragment="f.ad", users=users))) == (
        "fragment    m.ad > f.ad\ncomposition a.ad > m.ad > f.ad (indirect)"
    )
