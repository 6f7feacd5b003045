"""The phone's screen as XCTest sees it: elements of XCUI types, and their XML, JSON and text forms.

A pure function of the screen tree. Names, values and visibility follow WebDriverAgent: `name` is
the identifier or else the label, an empty field's `value` is its placeholder, a secure field shows
bullets. The system's alerts belong to SpringBoard, so an app's source hides them unless the session
asks for system alerts.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model, lxml.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lxml import etree
from msgspec import Struct

from grid.lab.node import NodeKind, SimNode, holds_point
from grid.lab.wda_error import WdaError
from grid.lab.wda_predicate import Scalar
from runner.model.screen import Rect

TYPE_PREFIX: Final = "XCUIElementType"

_TYPES: Final[Mapping[NodeKind, str]] = {
    "screen": "Other",
    "window": "Window",
    "group": "Other",
    "heading": "StaticText",
    "text": "StaticText",
    "button": "Button",
    "nav_back": "Button",
    "field": "TextField",
    "secure_field": "SecureTextField",
    "switch": "Switch",
    "image": "Image",
    "icon": "Icon",
    "list": "CollectionView",
    "row": "Cell",
    "alert": "Alert",
    "keyboard": "Keyboard",
    "key": "Key",
}
_FIELDS: Final = frozenset({"TextField", "SecureTextField"})
_ACCESSIBLE: Final = frozenset(
    {"StaticText", "Button", "TextField", "SecureTextField", "Switch", "Image", "Icon", "Key"}
)
_TRAITS: Final[Mapping[str, str]] = {
    "Button": "Button",
    "StaticText": "StaticText",
    "Image": "Image",
    "Key": "KeyboardKey",
    "Switch": "Button, ToggleButton",
}
_KEYBOARD_BUTTONS: Final[Mapping[str, str]] = {"return": "Return"}
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class XcuiElement(Struct, frozen=True, kw_only=True):
    """One element of the accessibility tree. `ref` names it for as long as it is shown."""

    kind: str
    identifier: str = ""
    label: str = ""
    content: str = ""
    placeholder: str = ""
    rect: Rect
    enabled: bool = True
    visible: bool = True
    selected: bool = False
    has_keyboard_focus: bool = False
    bundle: str = ""
    ref: str = ""
    children: tuple["XcuiElement", ...] = ()

    @property
    def type(self) -> str:
        """The full XCUI type."""
        return TYPE_PREFIX + self.kind

    @property
    def name(self) -> str | None:
        """The identifier, else the label."""
        return self.identifier or self.label or None

    @property
    def value(self) -> str | None:
        """What WebDriverAgent calls the value."""
        if self.kind == "StaticText":
            return self.content or self.label or None
        if self.kind in _FIELDS:
            return self.content or self.placeholder or None
        if self.kind == "Switch":
            return self.content or "0"
        if self.kind == "Button" and self.selected:
            return "1"
        return self.content or None

    @property
    def accessible(self) -> bool:
        """Whether VoiceOver stops here."""
        return self.kind in _ACCESSIBLE

    def walk(self) -> Iterator["XcuiElement"]:
        """Yield this element and everything under it, in document order."""
        yield self
        for child in self.children:
            yield from child.walk()


def application_of(
    screen: SimNode, *, names: Mapping[str, str], system_alerts: bool
) -> XcuiElement:
    """Return the Application element of what is in the foreground on `screen`.

    `names` gives apps' display names by bundle. With `system_alerts`, an alert that the system
    shows takes the place of the app.
    """
    front = screen.children[0]
    system = [n for n in screen.children if n.kind == "alert" and n.bundle != front.bundle]
    shown: tuple[SimNode, ...] = tuple(node for node in screen.children if node not in system)
    bundle = front.bundle
    if system and system_alerts:
        shown, bundle = (system[-1],), system[-1].bundle
    keyboards = [node.rect for node in shown if node.kind == "keyboard"]
    return XcuiElement(
        kind="Application",
        label=names.get(bundle, " "),
        rect=screen.rect,
        bundle=bundle,
        ref=f"{bundle}/application",
        children=tuple(_window(node, screen.rect, keyboards) for node in shown),
    )


def attribute_of(element: XcuiElement, name: str) -> Scalar:
    """Return an attribute by WebDriverAgent's name of it. Raises *invalid selector*."""
    short = name[2:3].lower() + name[3:] if name.startswith("wd") else name
    if short == "traits":
        return _traits(element)
    read = _ATTRIBUTES.get(short)
    if read is None:
        known = ", ".join(sorted(_ATTRIBUTES))
        raise WdaError("invalid selector", f"no attribute {name!r}; there are: {known}")
    found: Scalar = read(element)
    return found


_ATTRIBUTES: Final[Mapping[str, Any]] = {
    "type": lambda element: element.type,
    "name": lambda element: element.name,
    "rawIdentifier": lambda element: element.identifier or None,
    "identifier": lambda element: element.identifier or None,
    "label": lambda element: element.label or None,
    "value": lambda element: element.value,
    "placeholderValue": lambda element: element.placeholder or None,
    "enabled": lambda element: element.enabled,
    "isEnabled": lambda element: element.enabled,
    "visible": lambda element: element.visible,
    "isVisible": lambda element: element.visible,
    "hittable": lambda element: element.visible and element.enabled,
    "accessible": lambda element: element.accessible,
    "isAccessible": lambda element: element.accessible,
    "accessibilityContainer": lambda element: bool(element.children) and not element.accessible,
    "selected": lambda element: element.selected,
    "focused": lambda _: False,  # The focus engine of tvOS; the keyboard's focus is the next one.
    "hasKeyboardFocus": lambda element: element.has_keyboard_focus,
    "UID": lambda element: element.ref,
    "rect.x": lambda element: element.rect.x,
    "rect.y": lambda element: element.rect.y,
    "rect.width": lambda element: element.rect.width,
    "rect.height": lambda element: element.rect.height,
}


def rect_of(element: XcuiElement) -> dict[str, int]:
    """Return the rectangle as the wire has it: whole points."""
    rect = element.rect
    right, bottom = rect.x + rect.width, rect.y + rect.height
    x, y = round(rect.x), round(rect.y)
    return {"x": x, "y": y, "width": round(right) - x, "height": round(bottom) - y}


def json_source(element: XcuiElement, excluded: frozenset[str]) -> dict[str, Any]:
    """Return the element and its children as the JSON source has them."""
    rect = element.rect
    optional = {
        "frame": ("frame", f"{{{{{rect.x:g}, {rect.y:g}}}, {{{rect.width:g}, {rect.height:g}}}}}"),
        "enabled": ("isEnabled", _flag(element.enabled)),
        "visible": ("isVisible", _flag(element.visible)),
        "accessible": ("isAccessible", _flag(element.accessible)),
        "focused": ("isFocused", "0"),
        "traits": ("traits", _traits(element)),
    }
    if element.kind in _FIELDS:
        optional["placeholderValue"] = ("placeholderValue", element.placeholder)
    found: dict[str, Any] = {
        "type": element.kind,
        "rawIdentifier": element.identifier or None,
        "name": element.name,
        "value": element.value,
        "label": element.label or None,
        "rect": rect_of(element),
    }
    found.update(pair for name, pair in optional.items() if name not in excluded)
    if element.children:
        found["children"] = [json_source(child, excluded) for child in element.children]
    return found


def xml_tree(element: XcuiElement, excluded: frozenset[str] = frozenset()) -> etree._Element:
    """Return the XML source as a tree whose document order is that of `element.walk()`."""
    root = _xml_node(element, 0, excluded)
    stack = [(element, root)]
    while stack:
        parent, node = stack.pop()
        for index, child in enumerate(parent.children):
            below = _xml_node(child, index, excluded)
            node.append(below)
            stack.append((child, below))
    return root


def xml_source(element: XcuiElement, excluded: frozenset[str]) -> str:
    """Return the XML source as text."""
    body = etree.tostring(xml_tree(element, excluded), encoding="unicode", pretty_print=True)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'


def text_source(element: XcuiElement) -> str:
    """Return the source in the manner of XCTest's debug description."""
    lines: list[str] = []
    stack = [(element, 0)]
    while stack:
        node, depth = stack.pop()
        rect = node.rect
        facts = [
            node.kind,
            f"{{{{{rect.x:.1f}, {rect.y:.1f}}}, {{{rect.width:.1f}, {rect.height:.1f}}}}}",
        ]
        facts += [
            f"{key}: '{text}'"
            for key, text in (("identifier", node.identifier), ("label", node.label))
            if text
        ]
        lines.append("  " * depth + ", ".join(facts))
        stack.extend((child, depth + 1) for child in reversed(node.children))
    return "\n".join(lines) + "\n"


def _traits(element: XcuiElement) -> str:
    own = _TRAITS.get(element.kind, "")
    return ", ".join(part for part in (own, "Selected" if element.selected else "") if part)


def _flag(value: bool) -> str:  # noqa: FBT001 - the value that is rendered, not an option.
    return "1" if value else "0"


def _xml_node(element: XcuiElement, index: int, excluded: frozenset[str]) -> etree._Element:
    node = etree.Element(element.type)
    facts: dict[str, object] = {
        "type": element.type,
        "value": element.value,
        "name": element.name,
        "label": element.label or None,
        "enabled": element.enabled,
        "visible": element.visible,
        "accessible": element.accessible,
        "placeholderValue": element.placeholder or None,
        **rect_of(element),
        "index": index,
        "traits": _traits(element) or None,
    }
    if element.kind == "Application":
        facts["bundleId"] = element.bundle
    for key, value in facts.items():
        if value is None or key in excluded:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        node.set(key, _NOT_XML.sub("?", text))
    return node


def _window(node: SimNode, screen: Rect, keyboards: list[Rect]) -> XcuiElement:
    """Return a top-level node as a window; keyboard and alert get one of their own."""
    element = _convert(node, screen, keyboards, in_alert=False)
    if element.kind == "Window":
        return element
    return XcuiElement(
        kind="Window",
        rect=screen,
        bundle=node.bundle,
        ref=f"{node.ref}/window",
        children=(element,),
    )


def _convert(node: SimNode, screen: Rect, keyboards: list[Rect], *, in_alert: bool) -> XcuiElement:
    in_alert = in_alert or node.kind == "alert"
    kids = tuple(_convert(child, screen, keyboards, in_alert=in_alert) for child in node.children)
    if any(child.kind == "nav_back" for child in node.children):
        kids = _with_navigation_bar(node, kids)
    kind = _TYPES[node.kind]
    # UIKit gives an alert's parts no identifiers.
    identifier = "" if in_alert else node.id
    if node.kind == "key" and node.label in _KEYBOARD_BUTTONS:
        kind, identifier = "Button", _KEYBOARD_BUTTONS[node.label]
    x, y = node.rect.center
    covered = node.kind not in {"keyboard", "key"} and any(
        holds_point(rect, x, y) for rect in keyboards
    )
    return XcuiElement(
        kind=kind,
        identifier=identifier,
        label=_label(node),
        content=node.value,
        placeholder=node.placeholder,
        rect=node.rect,
        enabled=node.enabled,
        visible=node.visible and not covered and holds_point(screen, x, y),
        selected=node.selected,
        has_keyboard_focus=node.focused and kind in _FIELDS,
        bundle=node.bundle,
        ref=node.ref,
        children=kids,
    )


def _label(node: SimNode) -> str:
    if node.kind == "window":
        return ""
    # A field's label is not its content, which stands in the value.
    if node.kind in {"field", "secure_field"}:
        return node.label if node.label not in {node.text, node.value, node.placeholder} else ""
    return node.label or node.text


def _with_navigation_bar(node: SimNode, kids: tuple[XcuiElement, ...]) -> tuple[XcuiElement, ...]:
    """Move the back control and the heading beside it into a navigation bar, as UIKit does."""
    inside = {child.ref for child in node.children if child.kind in {"nav_back", "heading"}}
    members = tuple(kid for kid in kids if kid.ref in inside)
    top = min(kid.rect.y for kid in members)
    bottom = max(kid.rect.y + kid.rect.height for kid in members)
    title = next((kid.label for kid in members if kid.kind == "StaticText"), "")
    bar = XcuiElement(
        kind="NavigationBar",
        identifier=title,
        rect=Rect(node.rect.x, top, node.rect.width, bottom - top),
        bundle=node.bundle,
        ref=f"{node.ref}/navigation-bar",
        children=members,
    )
    return (bar, *(kid for kid in kids if kid.ref not in inside))
