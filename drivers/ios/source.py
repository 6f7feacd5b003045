"""The tree that WDA sends as JSON, as a `Snapshot`.

Pure. `identifier` is the accessibility identifier alone: WDA's `name` falls back to the label, and
a selector by id must not match a label. `hittable` is computed, because WDA's own visibility is
wrong both ways and makes a capture many times slower: an interactive type whose centre is on the
screen, inside every scrolling ancestor, not under the keyboard, and inside the alert when one is
shown. A placeholder that stands in for the value of an empty field is no value. `focused` is not in
the tree (WDA's flag of that name is the focus engine of tvOS); `mark_focused` adds it.

May be imported by: drivers.ios, tests. Imports: runner.model.
"""

import math
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from runner.model.screen import Node, Rect, Snapshot, SnapshotQuality

MAX_NODES: Final = 5_000
MAX_DEPTH: Final = 200
MAX_TEXT: Final = 64 * 1024
PREFIX: Final = "XCUIElementType"

Scalar: TypeAlias = str | bool | int | float | None


class SourceRect(Struct, frozen=True):
    """A rectangle in points."""

    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0


class SourceNode(Struct, frozen=True, rename="camel"):
    """One element as WDA sends it. Fields of newer versions are optional."""

    type: str = ""
    raw_identifier: Scalar = None
    name: Scalar = None
    value: Any = None
    label: Scalar = None
    placeholder_value: Scalar = None
    rect: SourceRect | None = None
    is_enabled: Scalar = None
    traits: Scalar = None
    children: "list[SourceNode] | None" = None


class Frame(Struct, frozen=True, kw_only=True):
    """What the tree does not tell: the screen's size in points, its scale, the app's bundle."""

    width: float
    height: float
    scale: float = 1.0
    foreground: str = ""
    max_depth: int = 50


_INTERACTIVE: Final = frozenset(
    {
        "Button",
        "Cell",
        "TextField",
        "SecureTextField",
        "SearchField",
        "TextView",
        "Switch",
        "Toggle",
        "Slider",
        "Stepper",
        "Link",
        "CheckBox",
        "RadioButton",
        "MenuItem",
        "MenuButton",
        "PopUpButton",
        "ComboBox",
        "Key",
        "Tab",
        "PickerWheel",
        "SegmentedControl",
        "DatePicker",
        "Icon",
        "Incrementor",
        "DecrementArrow",
        "IncrementArrow",
        "DisclosureTriangle",
        "ColorWell",
        "PageIndicator",
    }
)
_SCROLLING: Final = frozenset({"ScrollView", "Table", "CollectionView", "WebView"})
_TEXT_FIELDS: Final = frozenset({"TextField", "SecureTextField", "SearchField", "TextView"})
_SWITCHES: Final = frozenset({"Switch", "Toggle", "CheckBox"})
_MODAL: Final = frozenset({"Alert", "Sheet"})
_SCENERY: Final = frozenset({"Application", "Window", "Other", ""})


class _Placed(Struct, frozen=True):
    """One node of the walk, before it is known what covers it."""

    source: SourceNode
    kind: str
    parent: int | None
    depth: int
    rect: Rect | None
    is_clipped: bool
    in_keyboard: bool
    modal: int | None


def read_source(root: SourceNode, frame: Frame) -> Snapshot:
    """Return the snapshot of the tree under `root`, at most `MAX_NODES` and `MAX_DEPTH`."""
    placed, is_cut = _walk(root)
    width, height = _screen_size(placed, frame)
    keyboard = _last_rect(placed, "Keyboard")
    modals = [index for index, each in enumerate(placed) if each.modal == index]
    modal = modals[-1] if modals else None
    nodes = tuple(
        _node(index, each, frame, is_hittable=_is_hittable(each, width, height, keyboard, modal))
        for index, each in enumerate(placed)
    )
    deepest = max((each.depth for each in placed), default=0)
    return Snapshot(
        platform="ios",
        nodes=nodes,
        width=width,
        height=height,
        scale=frame.scale,
        rotation=1 if width > height else 0,
        foreground=frame.foreground,
        keyboard_shown=keyboard is not None,
        quality=_quality(nodes),
        truncated=is_cut or deepest >= frame.max_depth - 1,
    )


def mark_focused(snapshot: Snapshot, focused: Rect | None) -> Snapshot:
    """Return `snapshot` with the focus told: on the text field at `focused`, or on none."""
    nodes = tuple(
        replace(node, focused=focused is not None and _is_same(node.rect, focused))
        if node.type.removeprefix(PREFIX) in _TEXT_FIELDS
        else node
        for node in snapshot.nodes
    )
    return replace(snapshot, nodes=nodes)


def find_root_name(root: SourceNode) -> tuple[str, str]:
    """Return what names the app at the root of a tree: identifier and label."""
    return text_of(root.raw_identifier), text_of(root.label) or text_of(root.name)


def _walk(root: SourceNode) -> tuple[list[_Placed], bool]:
    """Return the nodes in document order, and whether the bounds cut any."""
    placed: list[_Placed] = []
    is_cut = False
    pending: list[tuple[SourceNode, int | None, tuple[Rect, ...]]] = [(root, None, ())]
    while pending:
        source, parent, clips = pending.pop()
        above = None if parent is None else placed[parent]
        depth = 0 if above is None else above.depth + 1
        if len(placed) >= MAX_NODES or depth > MAX_DEPTH:
            is_cut = True
            continue
        kind = source.type.strip().removeprefix(PREFIX)[:200]
        rect = usable_rect(source.rect)
        index = len(placed)
        modal = index if kind in _MODAL else None if above is None else above.modal
        placed.append(
            _Placed(
                source,
                kind,
                parent,
                depth,
                rect,
                rect is None or not all(_holds(clip, rect) for clip in clips),
                kind == "Keyboard" or (above is not None and above.in_keyboard),
                modal,
            )
        )
        inner = (*clips, rect) if kind in _SCROLLING and rect is not None else clips
        pending.extend((child, index, inner) for child in reversed(source.children or ()))
    return placed, is_cut


def _node(index: int, placed: _Placed, frame: Frame, *, is_hittable: bool) -> Node:
    source = placed.source
    value = text_of(source.value)
    placeholder = text_of(source.placeholder_value)
    if placed.kind in _TEXT_FIELDS and placeholder and value == placeholder:
        value = ""
    checked = None
    if placed.kind in _SWITCHES:
        checked = _flag(source.value)
        value = value if checked is None else str(int(checked))
    return Node(
        index=index,
        parent=placed.parent,
        depth=placed.depth,
        type=PREFIX + placed.kind if placed.kind else "",
        identifier=_identifier(source),
        label=text_of(source.label),
        value=value,
        placeholder=placeholder,
        bundle=frame.foreground,
        rect=placed.rect,
        enabled=_flag(source.is_enabled),
        selected=_selected(placed),
        checked=checked,
        hittable=is_hittable,
        scrollable=placed.kind in _SCROLLING,
        secure=placed.kind == "SecureTextField",
    )


def _is_hittable(
    placed: _Placed, width: float, height: float, keyboard: Rect | None, modal: int | None
) -> bool:
    if placed.kind not in _INTERACTIVE or placed.rect is None or placed.rect.area <= 0:
        return False
    x, y = placed.rect.center
    if placed.is_clipped or not (0 <= x < width and 0 <= y < height):
        return False
    if modal is not None and placed.modal != modal:
        return placed.in_keyboard  # The keyboard of a field in the alert lies outside it.
    return placed.in_keyboard or keyboard is None or not _holds(keyboard, placed.rect)


def _holds(outer: Rect, inner: Rect) -> bool:
    x, y = inner.center
    return outer.x <= x < outer.x + outer.width and outer.y <= y < outer.y + outer.height


def _screen_size(placed: list[_Placed], frame: Frame) -> tuple[float, float]:
    """Return the size after rotation, which the application's own rectangle tells."""
    rect = placed[0].rect if placed and placed[0].kind == "Application" else None
    if rect is not None and rect.area > 0:
        return rect.width, rect.height
    return frame.width, frame.height


def _last_rect(placed: list[_Placed], kind: str) -> Rect | None:
    for each in reversed(placed):
        if each.kind == kind and each.rect is not None and each.rect.area > 0:
            return each.rect
    return None


def _quality(nodes: tuple[Node, ...]) -> SnapshotQuality:
    has_content = any(
        node.type.removeprefix(PREFIX) not in _SCENERY
        or (node.depth > 0 and (node.identifier or node.label or node.value))
        for node in nodes
    )
    return "readable" if has_content else "sparse"


def _identifier(source: SourceNode) -> str:
    identifier = text_of(source.raw_identifier)
    if identifier:
        return identifier
    # A WDA before `rawIdentifier` shows an identifier only as a name that is not the label.
    name = text_of(source.name)
    return "" if name == text_of(source.label) else name


def _selected(placed: _Placed) -> bool | None:
    """Return whether the traits say so; the value of a button is whether it is selected."""
    is_button = placed.kind == "Button"
    if is_button and _flag(placed.source.value):
        return True
    if placed.source.traits is None:
        return False if is_button else None
    return "selected" in text_of(placed.source.traits).lower().replace(",", " ").split()


def _is_same(rect: Rect | None, other: Rect) -> bool:
    """Tell whether two rectangles are one, give or take WDA's rounding to whole points."""
    return rect is not None and all(
        abs(mine - its) <= 1
        for mine, its in (
            (rect.x, other.x),
            (rect.y, other.y),
            (rect.width, other.width),
            (rect.height, other.height),
        )
    )


def text_of(value: Any) -> str:
    """Return a text as the screen shows it; what is neither text nor number is none."""
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, bool):
        return str(int(value))
    return str(value) if isinstance(value, (int, float)) else ""


def usable_rect(source: SourceRect | None) -> Rect | None:
    """Return a rectangle of finite numbers with no negative size, or none."""
    if source is None:
        return None
    sides = (source.x, source.y, source.width, source.height)
    if not all(math.isfinite(side) and abs(side) < 1e9 for side in sides):
        return None
    return Rect(source.x, source.y, max(0.0, source.width), max(0.0, source.height))


def _flag(value: Any) -> bool | None:
    """Return a truth value in any of its spellings: true, 1, "1", "true"."""
    if isinstance(value, str):
        return {"1": True, "true": True, "0": False, "false": False}.get(value.strip().lower())
    return bool(value) if isinstance(value, (bool, int, float)) else None
