"""Where things stand on the virtual phone: one screen of 400 x 860 points, stacked top down.

Pure. A node with a `rect` stands there; the others are stacked in order; lists share the height
that is left. The keyboard covers the lower part, a dialog stands in the middle.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from grid.lab.appfile import NodeSpec
from grid.lab.node import NodeKind, SimNode
from runner.model.screen import Rect

WIDTH: Final = 400.0
HEIGHT: Final = 860.0
SCREEN: Final = Rect(0, 0, WIDTH, HEIGHT)
KEYBOARD: Final = Rect(0, 560, WIDTH, 300)

_MARGIN: Final = 16.0
_GAP: Final = 12.0
_TOP: Final = 60.0
_NAV_BACK: Final = Rect(12, 36, 84, 36)
_BELOW_NAV: Final = 84.0
_BOTTOM: Final = 24.0
_HEIGHTS: Final[Mapping[NodeKind, float]] = {
    "heading": 40,
    "text": 24,
    "button": 48,
    "field": 48,
    "secure_field": 48,
    "switch": 40,
    "image": 120,
    "group": 120,
    "row": 64,
}
_MIN_LIST: Final = 64.0
_ROW_COLUMN: Final = 120.0
_KEY_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def stack_nodes(nodes: Sequence[NodeSpec], area: Rect) -> tuple[Rect, ...]:
    """Return the rectangle of each node of a screen or group, in the order given."""
    is_screen = area == SCREEN
    has_nav = any(node.kind == "nav_back" for node in nodes)
    top = (_BELOW_NAV if has_nav else _TOP) if is_screen else area.y
    bottom = area.y + area.height - (_BOTTOM if is_screen else 0)
    flowing = [node for node in nodes if node.rect is None and node.kind != "nav_back"]
    lists = sum(node.kind == "list" and not node.height for node in flowing)
    fixed = sum(_height_of(node) for node in flowing) + _GAP * max(0, len(flowing) - 1)
    list_height = max(_MIN_LIST, (bottom - top - fixed) / lists) if lists else 0.0
    rects: list[Rect] = []
    for node in nodes:
        if node.rect is not None:
            x, y, width, height = node.rect
            rects.append(Rect(area.x + x, area.y + y, max(0, width), max(0, height)))
        elif node.kind == "nav_back":
            rects.append(_NAV_BACK)
        else:
            height = _height_of(node) or list_height
            margin = 0 if node.kind == "list" else _MARGIN
            rects.append(Rect(area.x + margin, top, area.width - 2 * margin, height))
            top += height + _GAP
    return tuple(rects)


def place_in_row(node: NodeSpec, row: Rect) -> Rect:
    """Return the rectangle of a row's child: where it says, else the right-hand column."""
    if node.rect is not None:
        x, y, width, height = node.rect
        return Rect(row.x + x, row.y + y, max(0, width), max(0, height))
    return Rect(row.x + row.width - _ROW_COLUMN, row.y + 8, _ROW_COLUMN - 8, row.height - 16)


def clip(rect: Rect, to: Rect) -> Rect:
    """Return the part of `rect` inside `to`; an empty rectangle at the near edge when none is."""
    left = min(max(rect.x, to.x), to.x + to.width)
    top = min(max(rect.y, to.y), to.y + to.height)
    right = max(left, min(rect.x + rect.width, to.x + to.width))
    bottom = max(top, min(rect.y + rect.height, to.y + to.height))
    return Rect(left, top, right - left, bottom - top)


def keyboard_node(bundle: str) -> SimNode:
    """Return the keyboard: letters, space, delete and return. A key's ref is what it types."""
    keys: list[SimNode] = []
    key_height = KEYBOARD.height / 4
    for line, letters in enumerate(_KEY_ROWS):
        width = WIDTH / 10
        left = (WIDTH - width * len(letters)) / 2
        y = KEYBOARD.y + line * key_height
        keys += [
            _key(letter, f"type:{letter}", Rect(left + index * width, y, width, key_height), bundle)
            for index, letter in enumerate(letters)
        ]
    y = KEYBOARD.y + 2 * key_height
    keys.append(_key("delete", "key:delete", Rect(WIDTH - 56, y, 56, key_height), bundle))
    y += key_height
    keys.append(_key("space", "type: ", Rect(80, y, 220, key_height), bundle))
    keys.append(_key("return", "key:enter", Rect(300, y, 100, key_height), bundle))
    return SimNode(kind="keyboard", rect=KEYBOARD, bundle=bundle, children=tuple(keys))


def alert_rects(buttons: int, *, titled: bool) -> tuple[Rect, Rect, Rect, tuple[Rect, ...]]:
    """Return a dialog's own rectangle, its title's, its message's and its buttons'."""
    title_height = 40.0 if titled else 0.0
    height = title_height + 96 + 52 * buttons
    top = (HEIGHT - height) / 2
    box = Rect(40, top, WIDTH - 80, height)
    title = Rect(56, top + 8, WIDTH - 112, title_height)
    message = Rect(56, top + title_height + 16, WIDTH - 112, 64)
    first = top + title_height + 92
    return (
        box,
        title,
        message,
        tuple(Rect(56, first + 52 * index, WIDTH - 112, 44) for index in range(buttons)),
    )


def icon_rects(count: int) -> tuple[Rect, ...]:
    """Return the launcher's grid of app icons, four in a line."""
    return tuple(
        Rect(16 + (index % 4) * 94, 80 + (index // 4) * 110, 86, 96) for index in range(count)
    )


def _key(label: str, ref: str, rect: Rect, bundle: str) -> SimNode:
    return SimNode(
        kind="key",
        id=label,
        text=label,
        label=label,
        rect=rect,
        bundle=bundle,
        ref=ref,
        clickable=True,
    )


def _height_of(node: NodeSpec) -> float:
    return node.height or _HEIGHTS.get(node.kind, 0.0)
