"""The virtual phone's screen as a picture: what a screenshot of it shows.

Boxes, texts, field contents, bullets and the keyboard are drawn from the tree, so a screenshot and
a snapshot of the same moment agree. The last picture is kept, because coding a PNG is the dearest
thing that a phone does.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model.
"""

import io
from collections.abc import Mapping
from typing import Final, final

from PIL import Image, ImageDraw, ImageFont

from grid.lab.node import NodeKind, SimNode
from runner.model.screen import Rect

Color = tuple[int, int, int]

_PAPER: Final[Color] = (250, 250, 252)
_INK: Final[Color] = (24, 28, 36)
_FAINT: Final[Color] = (140, 146, 158)
_LINE: Final[Color] = (214, 218, 226)
_ACCENT: Final[Color] = (28, 96, 200)
_DISABLED: Final[Color] = (176, 190, 212)
_WHITE: Final[Color] = (255, 255, 255)
_SHADE: Final[Color] = (222, 225, 231)
_HOME: Final[Color] = (36, 44, 66)

_TEXT_SIZE: Final[Mapping[NodeKind, float]] = {"heading": 26, "key": 20, "icon": 14}
_PNG_LEVEL: Final = 1


@final
class Renderer:
    """Draws trees and keeps the last picture."""

    def __init__(self) -> None:
        self._tree: SimNode | None = None
        self._scale = 0.0
        self._png = b""

    def render(self, tree: SimNode, scale: float) -> bytes:
        """Return the screen as a PNG of `scale` pixels per point."""
        if tree != self._tree or scale != self._scale:
            self._png = render_png(tree, scale)
            self._tree, self._scale = tree, scale
        return self._png


def render_png(tree: SimNode, scale: float) -> bytes:
    """Draw a tree and return it as a PNG."""
    size = (round(tree.rect.width * scale), round(tree.rect.height * scale))
    image = Image.new("RGB", size, _PAPER)
    painter = _Painter(image, scale)
    for window in tree.children:
        painter.paint(window)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=_PNG_LEVEL)
    return buffer.getvalue()


class _Painter:
    """Paints nodes on one image."""

    def __init__(self, image: Image.Image, scale: float) -> None:
        self._draw = ImageDraw.Draw(image)
        self._scale = scale
        self._fonts: dict[float, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}

    def paint(self, node: SimNode) -> None:
        """Paint a node and what is in it."""
        if not node.visible or node.rect.area == 0:
            return
        match node.kind:
            case "window":
                if any(child.kind == "icon" for child in node.children):
                    self._box(node.rect, fill=_HOME)
            case "button" | "nav_back":
                self._paint_button(node)
            case "field" | "secure_field":
                self._paint_field(node)
            case "switch":
                self._paint_switch(node)
            case "row":
                self._box(node.rect, fill=_WHITE, outline=_LINE)
                self._text(node.text or node.label, node.rect, color=_INK, inset=16)
            case "alert":
                self._box(node.rect, fill=_WHITE, outline=_FAINT, radius=14)
            case "keyboard":
                self._box(node.rect, fill=_SHADE)
            case "key":
                self._box(_inset(node.rect, 3), fill=_WHITE, radius=5)
                self._text(node.text, node.rect, color=_INK, size=_TEXT_SIZE["key"], centred=True)
            case "icon":
                self._paint_icon(node)
            case "image":
                self._box(node.rect, fill=_SHADE)
                self._text(node.label, node.rect, color=_FAINT, centred=True)
            case _:
                size = _TEXT_SIZE.get(node.kind, 16)
                self._text(node.text, node.rect, color=_INK, size=size)
        for child in node.children:
            self.paint(child)

    def _paint_button(self, node: SimNode) -> None:
        if node.kind == "nav_back":
            self._text(f"< {node.text}", node.rect, color=_ACCENT)
            return
        self._box(node.rect, fill=_ACCENT if node.enabled else _DISABLED, radius=10)
        self._text(node.text, node.rect, color=_WHITE, centred=True)

    def _paint_field(self, node: SimNode) -> None:
        outline = _ACCENT if node.focused else _LINE
        self._box(node.rect, fill=_WHITE, outline=outline, radius=8)
        if node.value and node.kind == "secure_field":
            self._bullets(len(node.value), node.rect)
        elif node.value:
            self._text(node.value, node.rect, color=_INK, inset=12)
        else:
            self._text(node.placeholder, node.rect, color=_FAINT, inset=12)

    def _paint_switch(self, node: SimNode) -> None:
        self._text(node.label, node.rect, color=_INK)
        track = Rect(node.rect.x + node.rect.width - 52, node.rect.y + 6, 48, 28)
        self._box(track, fill=_ACCENT if node.checked else _DISABLED, radius=14)
        knob_x = track.x + (22 if node.checked else 2)
        self._box(Rect(knob_x, track.y + 2, 24, 24), fill=_WHITE, radius=12)

    def _paint_icon(self, node: SimNode) -> None:
        rect = node.rect
        self._box(Rect(rect.x + 13, rect.y, 60, 60), fill=_ACCENT, radius=14)
        below = Rect(rect.x, rect.y + 64, rect.width, 24)
        self._text(node.text, below, color=_WHITE, size=_TEXT_SIZE["icon"], centred=True)

    def _bullets(self, count: int, rect: Rect) -> None:
        # The bundled font has no bullet.
        middle = rect.y + rect.height / 2
        for index in range(min(count, int((rect.width - 24) // 12))):
            dot = Rect(rect.x + 12 + index * 12, middle - 4, 8, 8)
            self._box(dot, fill=_INK, radius=4)

    def _box(
        self, rect: Rect, *, fill: Color, outline: Color | None = None, radius: float = 0
    ) -> None:
        s = self._scale
        # Pillow's far edge is part of the box.
        right = max(rect.x * s, (rect.x + rect.width) * s - 1)
        bottom = max(rect.y * s, (rect.y + rect.height) * s - 1)
        self._draw.rounded_rectangle(
            (rect.x * s, rect.y * s, right, bottom),
            radius=radius * s,
            fill=fill,
            outline=outline,
            width=max(1, round(s)) if outline else 0,
        )

    def _text(
        self,
        text: str,
        rect: Rect,
        *,
        color: Color,
        size: float = 16,
        inset: float = 0,
        centred: bool = False,
    ) -> None:
        if not text:
            return
        s = self._scale
        x = rect.x + rect.width / 2 if centred else rect.x + inset
        self._draw.text(
            (x * s, (rect.y + rect.height / 2) * s),
            text.replace("\n", " ").replace("’", "'"),
            fill=color,
            font=self._font(size),
            anchor="mm" if centred else "lm",
        )

    def _font(self, size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        if size not in self._fonts:
            self._fonts[size] = ImageFont.load_default(round(size * self._scale))
        return self._fonts[size]


def _inset(rect: Rect, by: float) -> Rect:
    return Rect(rect.x + by, rect.y + by, max(0, rect.width - 2 * by), max(0, rect.height - 2 * by))
