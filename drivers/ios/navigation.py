"""Where a finger leads back inside an app, and where it closes the keyboard.

Pure. A control that calls itself `back` is preferred; else the leftmost button of the topmost
navigation bar counts, when it lies in the bar's left half, as iOS puts it there.

May be imported by: drivers.ios, tests. Imports: runner.model, drivers.ios.source.
"""

import re
from typing import Final

from drivers.ios.source import PREFIX
from runner.model.action import Drag
from runner.model.screen import Node, Snapshot

_BACK: Final = re.compile(r"(?:\A|[^a-z])back(?:[^a-z]|\Z)|\Aback(?=[A-Z])|Back(?:[^a-z]|\Z)")
_CONTROLS: Final = frozenset({"Button", "Link"})
_DISMISSING: Final = frozenset({"done", "hide keyboard", "dismiss"})
_ABOVE: Final = 20.0
_DRAG_MS: Final = 300


def find_back(snapshot: Snapshot) -> Node | None:
    """Return the control that leads back, if one can be tapped."""
    controls = [node for node in snapshot.nodes if _is_control(node) and node.enabled is not False]
    in_bars = [(bar, node) for node in controls if (bar := _bar_of(node, snapshot)) is not None]
    named_in_bars = [node for _, node in in_bars if _is_called_back(node)]
    if named_in_bars:
        return named_in_bars[-1]  # Of two bars in a transition the later one is on top.
    named = [node for node in controls if _is_called_back(node)]
    if named:
        return named[-1]
    top = max((bar.index for bar, _ in in_bars), default=None)
    leading = [node for bar, node in in_bars if bar.index == top and _is_in_left_half(node, bar)]
    return min(leading, key=_left, default=None)


def find_keyboard_dismissal(snapshot: Snapshot) -> Node | None:
    """Return a control that closes the keyboard: `Done` on it or in the bar above it."""
    for node in snapshot.nodes:
        names = {node.identifier.strip().lower(), node.label.strip().lower()}
        if _is_control(node) and names & _DISMISSING and _is_near_keyboard(node, snapshot):
            return node
    return None


def find_keyboard_drag(snapshot: Snapshot) -> Drag | None:
    """Return the drag from just above the keyboard into it, which scroll views take as closing."""
    for node in snapshot.nodes:
        rect = node.rect
        if node.type == f"{PREFIX}Keyboard" and rect is not None and rect.y > _ABOVE:
            x = rect.center[0]
            bottom = rect.y + rect.height * 0.9
            return Drag(x1=x, y1=rect.y - _ABOVE, x2=x, y2=bottom, duration_ms=_DRAG_MS)
    return None


def _is_control(node: Node) -> bool:
    return bool(node.hittable) and node.type.removeprefix(PREFIX) in _CONTROLS


def _is_called_back(node: Node) -> bool:
    return bool(_BACK.search(node.identifier)) or node.label.strip().lower() == "back"


def _bar_of(node: Node, snapshot: Snapshot) -> Node | None:
    return _ancestor(node, snapshot, frozenset({"NavigationBar"}))


def _is_near_keyboard(node: Node, snapshot: Snapshot) -> bool:
    return _ancestor(node, snapshot, frozenset({"Keyboard", "Toolbar"})) is not None


def _ancestor(node: Node, snapshot: Snapshot, kinds: frozenset[str]) -> Node | None:
    parent = node.parent
    while parent is not None:
        above = snapshot.nodes[parent]
        if above.type.removeprefix(PREFIX) in kinds:
            return above
        parent = above.parent
    return None


def _is_in_left_half(node: Node, bar: Node) -> bool:
    return bar.rect is not None and _left(node) < bar.rect.center[0]


def _left(node: Node) -> float:
    return node.rect.x if node.rect is not None else 0.0
