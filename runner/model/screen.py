"""What a device shows: an immutable tree of nodes and the facts of its capture.

Nodes stand in document order; `parent` is an index into the same tuple. Rectangles are in the
platform's native unit of its driver calls: pixels on Android, points on iOS.

May be imported by: everyone. Imports: runner.model.ids.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from runner.model.ids import Platform


class Rect(Struct, frozen=True, gc=False):
    """A rectangle; width and height are never negative."""

    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        """The middle point."""
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def area(self) -> float:
        """Width times height."""
        return self.width * self.height


class Node(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One element. Mapping of fields: Android / iOS.

    `type` full class name / XCUI element type; `identifier` full resource-id / accessibility
    identifier; `label` text, else content-desc / label; `value` text / value; `bundle` package /
    app bundle; `hittable` clickable or focusable or focused / XCUI hittable; `rect` bounds in
    pixels / frame in points. An empty string stands for an absent text. `None` for a boolean
    means that the platform does not tell.
    """

    index: int
    parent: int | None = None
    depth: int = 0
    type: str = ""
    identifier: str = ""
    label: str = ""
    value: str = ""
    placeholder: str = ""
    bundle: str = ""
    rect: Rect | None = None
    enabled: bool | None = None
    selected: bool | None = None
    focused: bool | None = None
    checked: bool | None = None
    hittable: bool | None = None
    scrollable: bool | None = None
    secure: bool = False


SnapshotQuality: TypeAlias = Literal["readable", "sparse"]
"""`sparse`: the capture worked but shows no content of an app (system window or empty tree)."""


class Snapshot(Struct, frozen=True, gc=False, kw_only=True):
    """One capture of the screen. `width` and `height` are in the unit of the rectangles.

    `scale` is screenshot pixels per unit. `rotation` counts quarter turns. `truncated` says that
    the platform cut the tree (depth or size), so absence proves nothing.
    """

    platform: Platform
    nodes: tuple[Node, ...]
    width: float
    height: float
    scale: float = 1.0
    rotation: int = 0
    foreground: str = ""
    keyboard_shown: bool | None = None
    quality: SnapshotQuality = "readable"
    truncated: bool = False
