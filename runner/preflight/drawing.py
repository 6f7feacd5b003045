"""An include graph as text: Graphviz DOT, Mermaid, and lines for people.

Pure. Names are those of files and are written by strangers: nothing in them is markup in the text
that comes out. Stale, missing and faulty includes differ in line and colour, and by a word.

May be imported by: runner.cli. Imports: runner.preflight.
"""

import re
from collections.abc import Mapping
from typing import Final

from runner.preflight.include_graph import GraphLink, GraphNode, IncludeGraph, LinkState, NodeKind

_DOT_NODES: Final[Mapping[NodeKind, str]] = {
    "flat": "shape=box",
    "composition": "shape=box, style=bold",
    "fragment": "shape=ellipse",
    "foreign": "shape=ellipse, style=dashed",
    "missing": "shape=ellipse, style=dashed, color=red, fontcolor=red",
}
_DOT_LINKS: Final[Mapping[LinkState, str]] = {
    "current": "",
    "stale": ", style=dashed, color=orange, fontcolor=orange",
    "missing": ", style=dotted, color=red, fontcolor=red",
    "faulty": ", style=dotted, color=red, fontcolor=red",
}
_MERMAID_NODES: Final[Mapping[NodeKind, tuple[str, str]]] = {
    "flat": ("[", "]"),
    "composition": ("[[", "]]"),
    "fragment": ("([", "])"),
    "foreign": ("([", "])"),
    "missing": ("([", "])"),
}
_DOT_MARKUP: Final = re.compile(r'[\\"&<>]|[\x00-\x1f\x7f-\x9f]')
_DOT_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "&": "&amp;", "<": "&lt;", ">": "&gt;"}
# Labels are Markdown: a dot or dash is plain only inside a word, or it may begin a list.
_MERMAID_MARKUP: Final = re.compile(r"(?<![^\W_])[.-]|[.-](?![^\W_])|[^\w ./-]|_")


def render_dot(graph: IncludeGraph) -> str:
    """Return the graph in the language of Graphviz."""
    ids = _ids(graph)
    lines = ["digraph includes {", "  rankdir=LR;"]
    lines += [
        f'  {ids[node.path]} [label="{_dot(_label(node))}", {_DOT_NODES[node.kind]}];'
        for node in graph.nodes
    ]
    lines += [
        f'  {ids[link.path]} -> {ids[link.fragment]} [label="{_dot(_said(link))}"'
        f"{_DOT_LINKS[link.state]}];"
        for link in graph.links
    ]
    return "\n".join([*lines, "}", ""])


def render_mermaid(graph: IncludeGraph) -> str:
    """Return the graph in the language of Mermaid."""
    ids = _ids(graph)
    lines = ["flowchart LR"]
    for node in graph.nodes:
        opened, closed = _MERMAID_NODES[node.kind]
        lines.append(f'  {ids[node.path]}{opened}"{_mermaid(_label(node))}"{closed}')
    for link in graph.links:
        arrow = "-->" if link.state == "current" else "-.->"
        said = _mermaid(_said(link))
        lines.append(f'  {ids[link.path]} {arrow}|"{said}"| {ids[link.fragment]}')
    missing = ",".join(ids[node.path] for node in graph.nodes if node.kind == "missing")
    if missing:
        lines += ["  classDef missing stroke:red,color:red", f"  class {missing} missing"]
    return "\n".join([*lines, ""])


def render_lines(graph: IncludeGraph) -> str:
    """Return the graph for people: each source and its includes, or each user of a fragment."""
    if graph.uses is not None:
        return "\n".join(
            f"{user.kind:<11} {' > '.join(user.via)}{'' if user.is_direct else ' (indirect)'}"
            for user in graph.uses.users
        )
    below: dict[str, list[GraphLink]] = {}
    for link in graph.links:
        below.setdefault(link.path, []).append(link)
    lines = []
    for node in graph.nodes:
        lines.append(f"{node.kind:<11} {node.path}")
        for link in below.get(node.path, ()):
            state = link.state if link.reason is None else f"{link.state} [{link.reason}]"
            name = link.call_site_id or "(no call site)"
            lines.append(f"    {link.line}: {name} > {link.fragment}: {state}")
    return "\n".join(lines)


def _ids(graph: IncludeGraph) -> dict[str, str]:
    return {node.path: f"n{number}" for number, node in enumerate(graph.nodes)}


def _label(node: GraphNode) -> str:
    return f"{node.path} (missing)" if node.kind == "missing" else node.path


def _said(link: GraphLink) -> str:
    """Return what stands at an arrow."""
    name = link.call_site_id or f"line {link.line}"
    if link.state == "current":
        return name
    return f"{name} ({link.state if link.state != 'faulty' else link.reason or link.state})"


def _dot(text: str) -> str:
    # A backslash begins an escape in a label, an ampersand an entity, and controls are not shown.
    return _DOT_MARKUP.sub(
        lambda found: _DOT_ESCAPES.get(found[0]) or f"\\\\x{ord(found[0]):02x}", text
    )


def _mermaid(text: str) -> str:
    """Return a text whose every character that may be markup is a numbered entity."""
    return _MERMAID_MARKUP.sub(lambda found: f"#{ord(found[0])};", text)
