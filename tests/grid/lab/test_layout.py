import pytest

from grid.lab.appfile import NodeSpec
from grid.lab.expression import Expression, parse_expression
from grid.lab.layout import (
    HEIGHT,
    KEYBOARD,
    SCREEN,
    alert_rects,
    clip,
    icon_rects,
    keyboard_node,
    place_in_row,
    stack_nodes,
)
from runner.model.screen import Rect

ROWS: Expression = parse_expression("3")
LIST = NodeSpec(kind="list", rows=ROWS, row=NodeSpec(kind="row"))
BUTTON = NodeSpec(kind="button")


def test_nodes_are_stacked_top_down_without_overlap() -> None:
    rects = stack_nodes([NodeSpec(kind="heading"), BUTTON, NodeSpec(kind="text")], SCREEN)

    assert rects == (Rect(16, 60, 368, 40), Rect(16, 112, 368, 48), Rect(16, 172, 368, 24))


def test_lists_share_the_height_that_is_left() -> None:
    nav, first, second, button = stack_nodes(
        [NodeSpec(kind="nav_back"), LIST, LIST, BUTTON], SCREEN
    )

    assert first.y > nav.y + nav.height
    assert first.height == second.height
    assert button.y + button.height == HEIGHT - 24


def test_a_node_with_a_place_of_its_own_stands_there() -> None:
    placed = NodeSpec(kind="image", rect=(10, 20, 30, 40))

    assert stack_nodes([placed], Rect(100, 100, 200, 200)) == (Rect(110, 120, 30, 40),)
    assert place_in_row(placed, Rect(0, 50, 400, 64)) == Rect(10, 70, 30, 40)


def test_the_login_button_is_above_the_keyboard() -> None:
    field = NodeSpec(kind="field")
    *_, button = stack_nodes([NodeSpec(kind="heading"), field, field, BUTTON], SCREEN)

    assert button.y + button.height < KEYBOARD.y


def test_the_keys_fill_the_keyboard_and_never_overlap() -> None:
    keys = keyboard_node("ime").children

    assert {key.label for key in keys} >= {"q", "m", "space", "delete", "return"}
    for key in keys:
        assert clip(key.rect, KEYBOARD) == key.rect
        assert not any(clip(key.rect, other.rect).area for other in keys if other is not key)


@pytest.mark.parametrize("titled", [True, False])
def test_a_dialog_holds_its_parts(*, titled: bool) -> None:
    box, title, message, buttons = alert_rects(3, titled=titled)

    parts = [message, *buttons, *([title] if titled else [])]
    for part in parts:
        assert clip(part, box) == part
        assert not any(clip(part, other).area for other in parts if other is not part)


def test_icons_stand_apart() -> None:
    icons = icon_rects(9)

    assert not any(clip(a, b).area for a in icons for b in icons if a is not b)


def test_what_lies_outside_is_cut_to_nothing() -> None:
    assert clip(Rect(0, 0, 10, 10), Rect(5, 5, 10, 10)) == Rect(5, 5, 5, 5)
    assert clip(Rect(0, 0, 10, 10), Rect(20, 20, 5, 5)).area == 0
