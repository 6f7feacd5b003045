"""The XML of `uiautomator dump` as a snapshot.

Pure. Apps put what they like into texts, so the document may hold characters that XML forbids,
references to halves of surrogate pairs, or stop in the middle; what can be read is read. A
document type is refused: no dump has one, and its entities could expand without limit. Nothing is
dropped for its bounds, since invisible parents have visible children. Over the limits the tree is
cut in document order and says so.

May be imported by: drivers.android, tests. Imports: lxml, runner.model.screen, runner.errors.
"""

import re
from typing import Final

from lxml import etree
from msgspec import Struct

from runner.errors import DeviceError
from runner.model.screen import Node, Rect, Snapshot, SnapshotQuality

MAX_NODES: Final = 5_000
MAX_DEPTH: Final = 200

# Parts of the system that show over or instead of an app; their content is no app's.
_SYSTEM_BUNDLES: Final = frozenset({"", "com.android.systemui"})

_BOUNDS: Final = re.compile(r"\[(-?\d{1,7}),(-?\d{1,7})\]\[(-?\d{1,7}),(-?\d{1,7})\]")
_REFERENCE: Final = re.compile(r"&#(\d{1,9}|x[0-9a-fA-F]{1,8});")
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Display(Struct, frozen=True, kw_only=True):
    """What is known of the screen beside its tree. `width` and `height` are at rotation 0."""

    width: int
    height: int
    foreground: str = ""
    keyboard_shown: bool | None = None


def read_hierarchy(raw: bytes, display: Display) -> Snapshot:
    """Return the snapshot of one dump, `raw` being the document alone.

    Reasons: `screen_unreadable`.
    """
    root = _parse(raw)
    rotation = _read_rotation(root)
    nodes, truncated = _read_nodes(root)
    # Bounds follow the rotation that the document states, the display's size does not.
    across = rotation % 2 == 1
    return Snapshot(
        platform="android",
        nodes=nodes,
        width=display.height if across else display.width,
        height=display.width if across else display.height,
        rotation=rotation,
        foreground=display.foreground,
        keyboard_shown=display.keyboard_shown,
        quality=_judge(nodes),
        truncated=truncated or not raw.rstrip().endswith(b"</hierarchy>"),
    )


def clean_document(raw: bytes) -> str:
    """Return the document with every character and reference that XML forbids removed."""
    text = _REFERENCE.sub(_read_reference, raw.decode("utf-8", "replace"))
    # Joins the halves that older serialisers write as two references; a lone one is replaced.
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _FORBIDDEN.sub("", text)


def _parse(raw: bytes) -> etree._Element:
    text = clean_document(raw)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise _unreadable("the document declares a type", raw)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, recover=True, huge_tree=True, encoding="utf-8"
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise _unreadable(str(error), raw) from error
    # An unrecoverable document has no root; the type stubs do not say so.
    if root is None or root.tag != "hierarchy":
        raise _unreadable("it holds no hierarchy", raw)
    return root


def _read_rotation(root: etree._Element) -> int:
    text = root.get("rotation", "0")
    return int(text) if text in {"0", "1", "2", "3"} else 0


def _read_nodes(root: etree._Element) -> tuple[tuple[Node, ...], bool]:
    nodes: list[Node] = []
    path: list[int | None] = []
    truncated = False
    for event, element in etree.iterwalk(root, events=("start", "end")):
        # An unresolved entity is walked too, and has no name.
        if element is root or not isinstance(element.tag, str):
            continue
        if event == "end":
            path.pop()
        elif len(nodes) >= MAX_NODES or len(path) >= MAX_DEPTH:
            # Its children are as deep or come later, so they are cut too and need no parent.
            truncated = True
            path.append(None)
        else:
            parent = path[-1] if path else None
            nodes.append(_read_node(element, index=len(nodes), parent=parent, depth=len(path)))
            path.append(len(nodes) - 1)
    return tuple(nodes), truncated


def _read_node(element: etree._Element, *, index: int, parent: int | None, depth: int) -> Node:
    text = element.get("text", "")
    focused = _read_flag(element, "focused")
    reach = (_read_flag(element, "clickable"), _read_flag(element, "focusable"), focused)
    checkable = _read_flag(element, "checkable")
    return Node(
        index=index,
        parent=parent,
        depth=depth,
        type=element.get("class", ""),
        identifier=element.get("resource-id", ""),
        label=text or element.get("content-desc", ""),
        value=text,
        placeholder=element.get("hint", ""),
        bundle=element.get("package", ""),
        rect=parse_bounds(element.get("bounds", "")),
        enabled=_read_flag(element, "enabled"),
        selected=_read_flag(element, "selected"),
        focused=focused,
        checked=_read_flag(element, "checked") if checkable else None,
        hittable=any(reach) if any(flag is not None for flag in reach) else None,
        scrollable=_read_flag(element, "scrollable"),
        secure=_read_flag(element, "password") is True,
    )


def parse_bounds(text: str) -> Rect | None:
    """Return `[x1,y1][x2,y2]` as a rectangle; it may lie off the screen but is never inside out."""
    found = _BOUNDS.fullmatch(text)
    if found is None:
        return None
    x1, y1, x2, y2 = (int(part) for part in found.groups())
    return Rect(x=x1, y=y1, width=max(0, x2 - x1), height=max(0, y2 - y1))


def _read_flag(element: etree._Element, name: str) -> bool | None:
    return {"true": True, "false": False}.get(element.get(name, ""))


def _judge(nodes: tuple[Node, ...]) -> SnapshotQuality:
    for node in nodes:
        content = node.label or node.identifier or node.placeholder
        if node.bundle not in _SYSTEM_BUNDLES and (content or node.hittable):
            return "readable"
    return "sparse"


def _read_reference(found: re.Match[str]) -> str:
    reference = found[1]
    number = int(reference[1:], 16) if reference.startswith("x") else int(reference)
    if 0xD800 <= number < 0xE000:
        return chr(number)
    allowed = number <= 0x10FFFF and not _FORBIDDEN.match(chr(number))
    return found[0] if allowed else ""


def _unreadable(why: str, raw: bytes) -> DeviceError:
    return DeviceError(
        kind="device_busy",
        reason="screen_unreadable",
        message=f"the tree of the screen cannot be read: {why}",
        details={"raw": raw[:2000].decode("utf-8", "replace"), "sizeBytes": len(raw)},
    )
