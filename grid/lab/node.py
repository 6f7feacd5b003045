"""What a virtual phone shows: one immutable tree in logical points, before any wire format.

Both faces serialise this tree and nothing else, so both platforms show the same screen. Siblings
stand in painting order: a later one covers an earlier one.

May be imported by: grid.lab, tests. Imports: runner.model.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from runner.model.screen import Rect

NodeKind: TypeAlias = Literal[
    "screen",
    "window",
    "group",
    "heading",
    "text",
    "button",
    "nav_back",
    "field",
    "secure_field",
    "switch",
    "image",
    "icon",
    "list",
    "row",
    "alert",
    "keyboard",
    "key",
]


class SimNode(Struct, frozen=True, kw_only=True):
    """One element of the screen.

    `text` is what is drawn. `label` is the accessible name: the authored label, else the text.
    `value` is a field's content (bullets when it is secure) or `1`/`0` of a switch. `id` is the
    authored id; an id with a colon is already a full Android resource name. `ref` names the
    element inside the phone for as long as it is shown: faces hand it back, clients never see it.
    `visible` is false for the rows that a list keeps just outside its edge.
    """

    kind: NodeKind
    id: str = ""
    text: str = ""
    label: str = ""
    value: str = ""
    placeholder: str = ""
    rect: Rect
    enabled: bool = True
    focused: bool = False
    checked: bool = False
    selected: bool = False
    scrollable: bool = False
    clickable: bool = False
    visible: bool = True
    bundle: str = ""
    ref: str = ""
    children: tuple["SimNode", ...] = ()

    def walk(self) -> Iterator["SimNode"]:
        """Yield this node and everything under it, in document order."""
        yield self
        for child in self.children:
            yield from child.walk()


class SimAlert(Struct, frozen=True, kw_only=True):
    """A dialog over everything: who shows it (`bundle`), what it says, and its buttons' labels.

    `dismiss` is the label of the button that leaves things as they are.
    """

    bundle: str
    title: str
    text: str
    buttons: tuple[str, ...]
    dismiss: str


def holds_point(rect: Rect, x: float, y: float) -> bool:
    """Tell whether the point lies in the rectangle; the far edges belong to the neighbour."""
    return rect.x <= x < rect.x + rect.width and rect.y <= y < rect.y + rect.height


def node_at(root: SimNode, x: float, y: float) -> tuple[SimNode, ...]:
    """Return the path from `root` to the topmost visible node at a point; empty when outside."""
    if not root.visible or not holds_point(root.rect, x, y):
        return ()
    for child in reversed(root.children):
        path = node_at(child, x, y)
        if path:
            return (root, *path)
    return (root,)
