from msgspec.structs import replace

from drivers.ios.gesture import edge_swipe, render_drag
from drivers.ios.navigation import find_back, find_keyboard_dismissal
from runner.model.action import Drag
from runner.model.screen import Node, Rect, Snapshot


def node(
    kind: str,
    identifier: str = "",
    label: str = "",
    *,
    parent: int | None = 0,
    x: float = 10,
    hittable: bool = True,
    enabled: bool = True,
) -> Node:
    return Node(
        index=0,
        parent=parent,
        type=f"XCUIElementType{kind}",
        identifier=identifier,
        label=label,
        rect=Rect(x, 50, 40, 40) if kind != "NavigationBar" else Rect(0, 50, 400, 44),
        hittable=hittable,
        enabled=enabled,
    )


def screen(*nodes: Node) -> Snapshot:
    root = Node(index=0, type="XCUIElementTypeApplication")
    placed = [replace(each, index=index) for index, each in enumerate(nodes, start=1)]
    return Snapshot(platform="ios", nodes=(root, *placed), width=400, height=860)


def found(*nodes: Node) -> str | None:
    control = find_back(screen(*nodes))
    return None if control is None else control.identifier or control.label


def test_a_control_that_is_called_back_is_the_way_back() -> None:
    assert found(node("Button", "open_cart"), node("Button", "nav_back")) == "nav_back"
    assert found(node("Button", "backButton")) == "backButton"
    assert found(node("Button", "btnBack")) == "btnBack"
    assert found(node("Button", "", "Back")) == "Back"


def test_a_word_that_only_contains_back_is_not_meant() -> None:
    assert found(node("Button", "feedback"), node("Button", "backup", "Backup")) is None


def test_a_named_control_in_a_bar_comes_before_one_elsewhere() -> None:
    bar = node("NavigationBar")

    assert found(bar, node("Button", "nav_back", parent=1), node("Button", "back_to_top")) == (
        "nav_back"
    )


def test_else_it_is_the_leftmost_button_of_the_topmost_bar_if_it_is_on_the_left() -> None:
    bar = node("NavigationBar")

    assert found(bar, node("Button", "", "Home", parent=1)) == "Home"
    assert found(bar, node("Button", "", "Edit", parent=1, x=340)) is None
    assert (
        found(
            bar,
            node("Button", "", "Below", parent=1),
            node("NavigationBar"),
            node("Button", "", "Second", parent=3, x=80),
            node("Button", "", "First", parent=3, x=5),
        )
        == "First"
    )


def test_what_cannot_be_tapped_is_no_way_back() -> None:
    assert found(node("Button", "nav_back", hittable=False)) is None
    assert found(node("Button", "nav_back", enabled=False)) is None
    assert found(node("StaticText", "nav_back")) is None


def test_done_on_the_keyboard_closes_it_and_done_elsewhere_does_not() -> None:
    keyboard = screen(node("Keyboard"), node("Button", "", "Done", parent=1))
    form = screen(node("Other"), node("Button", "", "Done", parent=1))

    assert find_keyboard_dismissal(keyboard) == keyboard.nodes[2]
    assert find_keyboard_dismissal(form) is None


def test_a_pan_rests_before_it_lifts_and_a_fling_does_not() -> None:
    pan = Drag(x1=1, y1=2, x2=3, y2=4, duration_ms=300)
    fling = Drag(x1=1, y1=2, x2=3, y2=4, duration_ms=100, profile="fling")

    def steps(drag: Drag) -> list[str]:
        return [step["type"] for step in render_drag(drag)["actions"][0]["actions"]]

    assert steps(pan) == ["pointerMove", "pointerDown", "pointerMove", "pause", "pointerUp"]
    assert steps(fling) == ["pointerMove", "pointerDown", "pointerMove", "pointerUp"]
    assert render_drag(pan)["actions"][0]["actions"][2] == {
        "type": "pointerMove",
        "duration": 300,
        "x": 3,
        "y": 4,
        "origin": "viewport",
    }


def test_the_edge_swipe_starts_at_the_left_edge() -> None:
    swipe = edge_swipe(400, 860)

    assert (swipe.x1, swipe.y1, swipe.x2, swipe.y2) == (1, 430, 280, 430)
