"""The shape of a screen: ancestors, visible parts, and what lies over a point.

Pure. A parent stands before its children in document order; a chain that breaks this rule is
broken, and its node has no known place.

May be imported by: runner.formats, tests. Imports: runner.formats.ad.role, runner.model.
"""

from typing import Final

from runner.formats.ad.role import normalize_type
from runner.model.screen import Node, Rect, Snapshot

REGION_ROLES: Final = frozenset({"collectionview", "table", "scrollview", "scrollarea"})
"""The types that recordings count as scroll regions. Android's list classes are not among them."""

_SCREEN_FILL: Final = 0.9


def ancestors_of(snapshot: Snapshot, at: int) -> tuple[int, ...] | None:
    """Return the positions of the ancestors, nearest first, or None when the chain is broken."""
    nodes = snapshot.nodes
    chain = []
    parent = nodes[at].parent
    while parent is not None:
        if not 0 <= parent < at:
            return None
        chain.append(parent)
        at = parent
        parent = nodes[at].parent
    return tuple(chain)


def is_inside(snapshot: Snapshot, at: int, outer: int) -> bool:
    """Tell whether `at` is `outer` or one of its descendants."""
    while at > outer:
        parent = snapshot.nodes[at].parent
        if parent is None or not 0 <= parent < at:
            return False
        at = parent
    return at == outer


def sibling_index(snapshot: Snapshot, at: int) -> int:
    """Return the rank of a node among the children of its parent."""
    parent = snapshot.nodes[at].parent
    return sum(1 for node in snapshot.nodes[:at] if node.parent == parent)


def visible_part(snapshot: Snapshot, node: Node) -> Rect | None:
    """Return the part of the node's rectangle that is on the screen, or None when none is."""
    rect = node.rect
    if rect is None:
        return None
    left, top = max(rect.x, 0.0), max(rect.y, 0.0)
    right = min(rect.x + rect.width, snapshot.width)
    bottom = min(rect.y + rect.height, snapshot.height)
    if right <= left or bottom <= top:
        return None
    return Rect(left, top, right - left, bottom - top)


def is_on_screen(snapshot: Snapshot, node: Node) -> bool:
    """Tell whether any part of the node is on the screen."""
    return visible_part(snapshot, node) is not None


def tappable_of(snapshot: Snapshot, at: int) -> int:
    """Return the node that takes a touch meant for `at`: itself or its nearest hittable ancestor.

    Scroll containers and ancestors that fill the screen report themselves as hittable without
    being what a touch is meant for, so the search ends below them.
    """
    nodes = snapshot.nodes
    if nodes[at].hittable is True:
        return at
    for ancestor in ancestors_of(snapshot, at) or ():
        node = nodes[ancestor]
        if _is_container(snapshot, node):
            break
        if node.hittable is True and is_on_screen(snapshot, node):
            return ancestor
    return at


def cover_of(snapshot: Snapshot, at: int, x: float, y: float) -> int | None:
    """Return the topmost node that would take a touch at the point instead of `at`, if any.

    Only hittable nodes that are drawn later and outside of `at` count, so transparent layers
    do not. On iOS a hittable node was hit-tested by the system and is never covered.
    """
    nodes = snapshot.nodes
    if snapshot.platform == "ios" and nodes[at].hittable is True:
        return None
    for later in range(len(nodes) - 1, at, -1):
        node = nodes[later]
        rect = node.rect
        if (
            node.hittable is True
            and rect is not None
            and rect.x <= x < rect.x + rect.width
            and rect.y <= y < rect.y + rect.height
            and not is_inside(snapshot, later, at)
            and not is_inside(snapshot, at, later)
        ):
            return later
    return None


def region_of(snapshot: Snapshot, at: int) -> int | None:
    """Return the nearest ancestor that recordings count as a scroll region."""
    return next(
        (
            ancestor
            for ancestor in ancestors_of(snapshot, at) or ()
            if normalize_type(snapshot.nodes[ancestor].type) in REGION_ROLES
        ),
        None,
    )


def _is_container(snapshot: Snapshot, node: Node) -> bool:
    if node.scrollable is True or normalize_type(node.type) in REGION_ROLES:
        return True
    part = visible_part(snapshot, node)
    return part is not None and part.area >= _SCREEN_FILL * snapshot.width * snapshot.height
