"""The phone's screen as `uiautomator dump` writes it.

Pure. As on a phone, only the window that has the focus is dumped (a dialog hides the app, the
keyboard is never there), invisible nodes are left out, bounds are pixels, and an empty field shows
its hint as its text.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model.
"""

from collections.abc import Mapping
from typing import Final
from xml.sax.saxutils import quoteattr

from grid.lab.node import NodeKind, SimNode
from runner.model.screen import Rect

ANDROID_CLASSES: Final[Mapping[NodeKind, str]] = {
    "window": "android.widget.FrameLayout",
    "alert": "android.widget.FrameLayout",
    "group": "android.view.ViewGroup",
    "heading": "android.widget.TextView",
    "text": "android.widget.TextView",
    "button": "android.widget.Button",
    "nav_back": "android.widget.ImageButton",
    "field": "android.widget.EditText",
    "secure_field": "android.widget.EditText",
    "switch": "android.widget.Switch",
    "image": "android.widget.ImageView",
    "icon": "android.widget.TextView",
    "list": "androidx.recyclerview.widget.RecyclerView",
    "row": "android.view.ViewGroup",
}
_FIELDS: Final = ("field", "secure_field")


def render_uidump(tree: SimNode, *, scale: float, rotation: int = 0) -> str:
    """Return the XML of the focused window."""
    windows = [window for window in tree.children if window.kind != "keyboard"]
    parts = [
        "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>",
        f'<hierarchy rotation="{rotation}">',
    ]
    if windows:
        _render_node(windows[-1], 0, scale, parts)
    parts.append("</hierarchy>")
    return "".join(parts)


def resource_id(node: SimNode) -> str:
    """Return the full resource name of a node."""
    if not node.id or ":" in node.id:
        return node.id
    return f"{node.bundle}:id/{node.id}"


def _render_node(node: SimNode, index: int, scale: float, parts: list[str]) -> None:
    attributes = {
        "index": str(index),
        "text": _text(node),
        "resource-id": resource_id(node),
        "class": ANDROID_CLASSES.get(node.kind, "android.view.View"),
        "package": node.bundle,
        "content-desc": _description(node),
        "checkable": _flag(node.kind == "switch"),
        "checked": _flag(node.checked),
        "clickable": _flag(node.clickable),
        "enabled": _flag(node.enabled),
        "focusable": _flag(node.clickable or node.scrollable),
        "focused": _flag(node.focused),
        "scrollable": _flag(node.scrollable),
        "long-clickable": _flag(node.kind in _FIELDS),
        "password": _flag(node.kind == "secure_field"),
        "selected": _flag(node.selected),
        "bounds": _bounds(node.rect, scale),
    }
    if node.kind in _FIELDS:
        attributes["hint"] = node.placeholder
    written = " ".join(f"{name}={_quote(value)}" for name, value in attributes.items())
    children = [child for child in node.children if child.visible]
    if not children:
        parts.append(f"<node {written} />")
        return
    parts.append(f"<node {written}>")
    for position, child in enumerate(children):
        _render_node(child, position, scale, parts)
    parts.append("</node>")


def _text(node: SimNode) -> str:
    if node.kind in _FIELDS:
        return node.value or node.placeholder
    return "" if node.kind == "nav_back" else node.text


def _description(node: SimNode) -> str:
    """Return what stands in content-desc: the label of what has no text of its own."""
    if node.kind in ("window", "alert"):
        return ""
    return node.label if node.label != _text(node) else ""


def _bounds(rect: Rect, scale: float) -> str:
    left, top = round(rect.x * scale), round(rect.y * scale)
    right, bottom = round((rect.x + rect.width) * scale), round((rect.y + rect.height) * scale)
    return f"[{left},{top}][{right},{bottom}]"


def _flag(value: bool) -> str:  # noqa: FBT001 -- it renders one.
    return "true" if value else "false"


def _quote(value: str) -> str:
    # Control characters are not XML; UiAutomator replaces them.
    clean = "".join(char if char >= " " or char in "\t\n\r" else "." for char in value)
    quoted = quoteattr(clean, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
    if quoted.startswith("'"):
        return '"' + quoted[1:-1].replace('"', "&quot;") + '"'
    return quoted
