"""Matching: which nodes of a screen one alternative of a selector denotes.

Pure. Texts are equal after trimming, collapsing and lower-casing; nothing matches in part.
Nodes are named by their position in document order.

May be imported by: runner.formats, tests. Imports: runner.formats.ad, runner.model.
"""

from collections.abc import Iterable
from typing import assert_never

from runner.formats.ad.lexer import Level
from runner.formats.ad.numbers import SPACES
from runner.formats.ad.role import is_fillable, kind_of, normalize_type
from runner.formats.ad.selector import Alternative, BoolKey, BoolTerm, TextTerm, fold
from runner.model.ids import Platform
from runner.model.screen import Node, Snapshot


def matches(
    alternative: Alternative, snapshot: Snapshot, *, level: Level = "main"
) -> tuple[int, ...]:
    """Return the positions of the nodes on which every term holds, in document order."""
    nodes = snapshot.nodes
    found: Iterable[int] = range(len(nodes))
    # Texts rule out most nodes, so they go first.
    for term in alternative.terms:
        if isinstance(term, TextTerm):
            found = _match_text(term, nodes, found, snapshot.platform, level)
    for term in alternative.terms:
        if isinstance(term, BoolTerm):
            found = [
                at
                for at in found
                if has_state(nodes[at], term.key, snapshot.platform) is term.expected
            ]
    return tuple(found)


def text_of(node: Node) -> str:
    """Return the text that a node shows: the first of label, value and identifier."""
    for text in (node.label, node.value, node.identifier):
        if text and text.strip(SPACES):
            return text
    return ""


def has_state(node: Node, key: BoolKey, platform: Platform) -> bool:
    """Tell whether the state that a boolean key names holds for `node`.

    `visible` is the geometry of the tree; whether the node is on the screen is another question.
    """
    match key:
        case "visible":
            return _is_visible(node)
        case "hidden":
            return not _is_visible(node)
        case "editable":
            return node.enabled is not False and is_fillable(node.type, platform)
        case "enabled":
            return node.enabled is not False
        case "selected":
            return node.selected is True
        case "focused":
            return node.focused is True
        case "hittable":
            return node.hittable is True
        case _:
            assert_never(key)


def _is_visible(node: Node) -> bool:
    rect = node.rect
    return node.hittable is True or (rect is not None and rect.width > 0 and rect.height > 0)


def holds_text(text: str, folded: str) -> bool:
    """Tell whether `text` shows the folded text, whole or in part."""
    # What lacks the first word needs no folding, and most texts lack it.
    return folded.partition(" ")[0] in text.lower() and folded in fold(text)


def _match_text(
    term: TextTerm,
    nodes: tuple[Node, ...],
    found: Iterable[int],
    platform: Platform,
    level: Level,
) -> list[int]:
    match term.key:
        case "id":
            return _equal_texts(((at, nodes[at].identifier) for at in found), term.folded)
        case "label":
            return _equal_texts(((at, nodes[at].label) for at in found), term.folded)
        case "value":
            return _equal_texts(((at, nodes[at].value) for at in found), term.folded)
        case "text":
            return _equal_texts(((at, text_of(nodes[at])) for at in found), term.folded)
        case "role":
            # A screen has few types, so each is judged once.
            typed = [(at, nodes[at].type) for at in found]
            fitting = {
                name
                for name in {name for _, name in typed}
                if _has_role(name, term.folded, platform, level)
            }
            return [at for at, name in typed if name in fitting]
        case "appname" | "windowtitle":
            # Desktop trees have these; a phone's screen tells neither.
            return []
        case _:
            assert_never(term.key)


def _has_role(name: str, wanted: str, platform: Platform, level: Level) -> bool:
    if normalize_type(name) == wanted:
        return True
    return level == "main" and kind_of(name, platform) == wanted != ""


def _equal_texts(texts: Iterable[tuple[int, str]], wanted: str) -> list[int]:
    # A text that lacks the first word of what is wanted needs no folding, and most lack it.
    head = wanted.partition(" ")[0]
    return [
        at
        for at, text in texts
        if (lowered := text.lower()) == wanted or (head in lowered and fold(text) == wanted)
    ]
