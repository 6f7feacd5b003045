"""How an app's screen becomes nodes: conditions, texts, layout and the rows in view.

Pure: the variables, the time since the screen opened and the scroll offsets are passed in.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from msgspec import Struct
from msgspec.structs import replace

from grid.lab.appfile import ROW_VARIABLE, NodeSpec, ScreenSpec
from grid.lab.expression import Value, evaluate, is_true, render_template
from grid.lab.layout import SCREEN, clip, place_in_row, stack_nodes
from grid.lab.node import SimNode
from runner.model.screen import Rect

FIELD_KINDS: Final = ("field", "secure_field")


class Shown(Struct, frozen=True, kw_only=True):
    """What one drawn node stands for. `names` are the variables, and `n` inside a row."""

    spec: NodeSpec
    names: Mapping[str, Value]
    rect: Rect
    is_enabled: bool

    @property
    def scroll_limit(self) -> float:
        """How far a list can be scrolled."""
        return _row_count(self.spec, self.names) * self.spec.row_height - self.rect.height


@final
class ScreenDrawing:
    """One drawn screen: its nodes, and what each node's ref stands for."""

    def __init__(
        self,
        screen: ScreenSpec,
        *,
        bundle: str,
        names: Mapping[str, Value],
        focus: str,
        elapsed_ms: float,
        offset_of: Callable[[str, float], float],
    ) -> None:
        self.shown: dict[str, Shown] = {}
        self._bundle = bundle
        self._focus = focus
        # Rounded: a clock that stands exactly at the due time must count as there.
        self._elapsed_ms = round(elapsed_ms, 3)
        self._offset_of = offset_of
        self.nodes = self._draw_all(screen.node, SCREEN, screen.id, names)

    def _draw_all(
        self,
        specs: Sequence[NodeSpec],
        area: Rect,
        ref: str,
        names: Mapping[str, Value],
        *,
        in_row: bool = False,
    ) -> tuple[SimNode, ...]:
        """Draw the nodes that are there, stacked in an area or placed in a row."""
        there = [(i, spec) for i, spec in enumerate(specs) if self._is_there(spec, names)]
        if in_row:
            rects = tuple(place_in_row(spec, area) for _, spec in there)
        else:
            rects = stack_nodes([spec for _, spec in there], area)
        return tuple(
            self._draw(spec, rect, f"{ref}/{index}", names)
            for (index, spec), rect in zip(there, rects, strict=True)
        )

    def _is_there(self, spec: NodeSpec, names: Mapping[str, Value]) -> bool:
        return self._elapsed_ms >= spec.after_ms and (
            spec.when is None or is_true(spec.when, names)
        )

    def _draw(self, spec: NodeSpec, rect: Rect, ref: str, names: Mapping[str, Value]) -> SimNode:
        is_enabled = spec.enabled is None or is_true(spec.enabled, names)
        shown = Shown(spec=spec, names=names, rect=rect, is_enabled=is_enabled)
        self.shown[ref] = shown
        if spec.kind == "list":
            children = self._draw_rows(shown, ref)
        else:
            children = self._draw_all(spec.node, rect, ref, names, in_row=spec.kind == "row")
        text = render_template(spec.text, names)
        return SimNode(
            kind=spec.kind,
            id=render_template(spec.id, names),
            text=text,
            label=render_template(spec.label, names) or text,
            value=_shown_value(spec, names),
            placeholder=spec.placeholder,
            rect=rect,
            enabled=is_enabled,
            focused=ref == self._focus,
            checked=spec.kind == "switch" and bool(names.get(spec.bind)),
            scrollable=spec.kind == "list",
            clickable=is_tappable(spec),
            bundle=self._bundle,
            ref=ref,
            children=children,
        )

    def _draw_rows(self, shown: Shown, ref: str) -> tuple[SimNode, ...]:
        """Draw the rows in view and one more at each end, which are there but not visible."""
        spec, rect = shown.spec, shown.rect
        if spec.row is None:
            return ()
        count = _row_count(spec, shown.names)
        offset = self._offset_of(ref, shown.scroll_limit)
        first = int(offset // spec.row_height)
        last = int((offset + rect.height - 0.001) // spec.row_height)
        rows: list[SimNode] = []
        for index in range(max(0, first - 1), min(count - 1, last + 1) + 1):
            top = rect.y + index * spec.row_height - offset
            place = Rect(rect.x, top, rect.width, spec.row_height)
            names = {**shown.names, ROW_VARIABLE: index + 1}
            rows.append(_clip_node(self._draw(spec.row, place, f"{ref}/{index + 1}", names), rect))
        return tuple(rows)


def is_tappable(spec: NodeSpec) -> bool:
    """Tell whether a kind of node takes taps."""
    return bool(spec.tap or spec.long_press) or spec.kind in (*FIELD_KINDS, "switch", "button")


def _shown_value(spec: NodeSpec, names: Mapping[str, Value]) -> str:
    bound = names.get(spec.bind, "")
    if spec.kind == "secure_field":
        return "•" * len(str(bound))
    if spec.kind == "field":
        return str(bound)
    return ("1" if bound else "0") if spec.kind == "switch" else ""


def _row_count(spec: NodeSpec, names: Mapping[str, Value]) -> int:
    count = evaluate(spec.rows, names) if spec.rows is not None else 0
    return max(0, count) if isinstance(count, int) else 0


def _clip_node(node: SimNode, to: Rect) -> SimNode:
    """Return a row as its list shows it: cut at the list's edge, invisible outside of it."""
    rect = clip(node.rect, to)
    is_visible = rect.area > 0
    if is_visible and rect == node.rect:
        return node
    return replace(
        node,
        rect=rect if is_visible else node.rect,
        visible=is_visible,
        children=tuple(_clip_node(child, to) for child in node.children),
    )
