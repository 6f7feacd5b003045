import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from drivers.ios.answer import read_value
from drivers.ios.http import Reply
from drivers.ios.source import (
    MAX_DEPTH,
    MAX_NODES,
    Frame,
    SourceNode,
    find_root_name,
    mark_focused,
    read_source,
)
from runner.errors import DeviceError
from runner.model.screen import Node, Rect, Snapshot

FRAME = Frame(width=400, height=860, scale=3, foreground="com.sweepgrid.shop")
DECODER = msgspec.json.Decoder(SourceNode)


def element(kind: str, *children: dict[str, Any], **fields: Any) -> dict[str, Any]:
    x, y, width, height = fields.pop("at", (0, 0, 400, 860))
    rect = {"x": x, "y": y, "width": width, "height": height}
    return {"type": kind, "rect": rect, "isEnabled": "1", "children": [*children], **fields}


def read(root: dict[str, Any], frame: Frame = FRAME) -> Snapshot:
    return read_source(DECODER.decode(json.dumps(root)), frame)


def app(*children: dict[str, Any]) -> dict[str, Any]:
    return element("Application", element("Window", *children), label="Shop", name="Shop")


def only(snapshot: Snapshot, kind: str) -> Node:
    (found,) = (node for node in snapshot.nodes if node.type == f"XCUIElementType{kind}")
    return found


def test_fields_are_mapped_as_documented() -> None:
    button = element(
        "Button",
        rawIdentifier="login_button",
        name="login_button",
        label="Log in",
        at=(20, 300, 360, 44),
    )

    snapshot = read(app(button))

    assert snapshot.nodes[2] == Node(
        index=2,
        parent=1,
        depth=2,
        type="XCUIElementTypeButton",
        identifier="login_button",
        label="Log in",
        bundle="com.sweepgrid.shop",
        rect=Rect(20, 300, 360, 44),
        enabled=True,
        selected=False,
        hittable=True,
        scrollable=False,
    )
    assert (snapshot.platform, snapshot.width, snapshot.height, snapshot.scale) == (
        "ios",
        400,
        860,
        3,
    )
    assert snapshot.foreground == "com.sweepgrid.shop"
    assert (snapshot.quality, snapshot.truncated, snapshot.keyboard_shown) == (
        "readable",
        False,
        False,
    )


def test_a_name_that_only_repeats_the_label_is_no_identifier() -> None:
    plain = only(read(app(element("Button", name="Log in", label="Log in"))), "Button")
    modern = only(read(app(element("Button", rawIdentifier="b", name="b", label="L"))), "Button")
    old = only(read(app(element("Button", name="b", label="L"))), "Button")

    assert (plain.identifier, modern.identifier, old.identifier) == ("", "b", "b")


def test_a_full_type_is_not_prefixed_twice() -> None:
    assert read(app(element("XCUIElementTypeCell"))).nodes[2].type == "XCUIElementTypeCell"


def test_a_placeholder_in_place_of_a_value_is_no_value() -> None:
    empty = only(
        read(app(element("TextField", value="User name", placeholderValue="User name"))),
        "TextField",
    )
    filled = only(
        read(app(element("TextField", value="ann", placeholderValue="User name"))), "TextField"
    )

    assert (empty.value, empty.placeholder) == ("", "User name")
    assert (filled.value, filled.placeholder) == ("ann", "User name")


def test_a_secure_field_is_marked() -> None:
    assert only(read(app(element("SecureTextField", value="•••"))), "SecureTextField").secure


@pytest.mark.parametrize(
    ("value", "checked", "text"),
    [("1", True, "1"), ("0", False, "0"), (1, True, "1"), (True, True, "1"), (None, None, "")],
)
def test_a_switch_tells_whether_it_is_on(value: object, checked: object, text: str) -> None:
    switch = only(read(app(element("Switch", value=value))), "Switch")

    assert (switch.checked, switch.value) == (checked, text)


def test_selection_is_read_from_the_traits_and_from_a_buttons_value() -> None:
    def selected(kind: str, **fields: Any) -> bool | None:
        return only(read(app(element(kind, **fields))), kind).selected

    assert selected("Button", value="1") is True
    assert selected("Button", traits="Button, Selected") is True
    assert selected("Button", traits="Button") is False
    assert selected("Cell", traits="Selected") is True
    assert selected("Cell") is None


def hittable(root: dict[str, Any], identifier: str = "b") -> bool | None:
    (node,) = (node for node in read(root).nodes if node.identifier == identifier)
    return node.hittable


def button(x: float, y: float, width: float = 100, height: float = 40) -> dict[str, Any]:
    return element("Button", rawIdentifier="b", at=(x, y, width, height))


def test_a_control_is_hittable_when_its_centre_is_on_the_screen() -> None:
    assert hittable(app(button(10, 10))) is True
    assert hittable(app(button(10, 850))) is False
    assert hittable(app(button(10, -30))) is False
    assert hittable(app(button(10, 10, 0, 0))) is False
    assert hittable(app(element("StaticText", rawIdentifier="b"))) is False


def test_a_control_scrolled_out_of_its_list_is_not_hittable() -> None:
    def listed(y: float) -> dict[str, Any]:
        return app(element("CollectionView", button(10, y), at=(0, 100, 400, 300)))

    assert hittable(listed(200)) is True
    assert hittable(listed(390)) is False


def test_the_keyboard_covers_what_is_under_it_but_not_its_keys() -> None:
    key = element("Key", rawIdentifier="k", at=(10, 650, 30, 40))
    keyboard = element("Keyboard", key, at=(0, 600, 400, 260))

    assert hittable(app(button(10, 300), keyboard)) is True
    assert hittable(app(button(10, 650), keyboard)) is False
    assert hittable(app(button(10, 650), keyboard), "k") is True
    assert read(app(keyboard)).keyboard_shown is True


def test_an_alert_covers_everything_outside_it() -> None:
    inside = element("Button", rawIdentifier="ok", at=(100, 400, 200, 44))
    alert = element("Alert", inside, at=(50, 300, 300, 200))

    assert hittable(app(button(10, 10), alert)) is False
    assert hittable(app(button(10, 10), alert), "ok") is True


def test_the_size_and_rotation_come_from_the_application() -> None:
    snapshot = read(element("Application", element("Button", label="x"), at=(0, 0, 860, 400)))

    assert (snapshot.width, snapshot.height, snapshot.rotation) == (860, 400, 1)


def test_the_focus_is_marked_on_the_field_at_the_rectangle() -> None:
    snapshot = read(
        app(
            element("TextField", at=(20, 100, 360, 40)),
            element("SecureTextField", at=(20, 160, 360, 40)),
        )
    )

    marked = mark_focused(snapshot, Rect(20.4, 160, 360, 40))

    assert only(marked, "TextField").focused is False
    assert only(marked, "SecureTextField").focused is True
    assert only(marked, "Window").focused is None
    assert only(mark_focused(snapshot, None), "SecureTextField").focused is False


def test_an_application_without_content_is_sparse() -> None:
    assert read(app()).quality == "sparse"
    assert read(app(element("Other"))).quality == "sparse"
    assert read(app(element("Other", label="x"))).quality == "readable"


def nested(levels: int) -> dict[str, Any]:
    root: dict[str, Any] = {"type": "Other"}
    for _ in range(levels):
        root = {"type": "Other", "children": [root]}
    return root


def test_a_tree_that_reaches_the_depth_it_was_read_with_counts_as_cut() -> None:
    assert read(nested(48)).truncated is False
    assert read(nested(49)).truncated is True
    assert read(nested(19), Frame(width=1, height=1, max_depth=20)).truncated is True


def test_what_is_over_our_bounds_is_cut_and_said_so() -> None:
    wide = read(element("Application", *[element("Cell")] * (MAX_NODES + 10)))
    deep = read(nested(MAX_DEPTH + 20), Frame(width=1, height=1, max_depth=1000))

    assert (len(wide.nodes), wide.truncated) == (MAX_NODES, True)
    assert (len(deep.nodes), deep.truncated) == (MAX_DEPTH + 1, True)


def test_nodes_stand_in_document_order_below_their_parents() -> None:
    snapshot = read(element("Application", element("A", element("B")), element("C", element("D"))))

    assert [(node.type[15:], node.parent) for node in snapshot.nodes] == [
        ("Application", None),
        ("A", 0),
        ("B", 1),
        ("C", 0),
        ("D", 3),
    ]


def test_the_root_names_the_app() -> None:
    assert find_root_name(SourceNode(label="Shop", raw_identifier=None)) == ("", "Shop")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NODES = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(["Button", "Alert", "Keyboard", "Table"])}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["Application", "TextField", "Switch"]) | JSON,
            "rect": JSON
            | st.fixed_dictionaries(
                {side: st.floats() | st.integers() for side in ("x", "y", "width", "height")}
            ),
            "value": JSON,
            "label": JSON,
            "rawIdentifier": JSON,
            "isEnabled": JSON,
            "traits": JSON,
            "children": st.lists(inner, max_size=4) | JSON,
        },
    ),
    max_leaves=20,
)


@pytest.mark.slow
@given(root=NODES)
@settings(max_examples=300, deadline=None)
def test_whatever_tree_comes_it_is_a_sound_snapshot_or_our_error(root: dict[str, Any]) -> None:
    reply = Reply(200, json.dumps({"value": root, "sessionId": None}).encode())
    try:
        source = read_value(reply, DECODER, call="GET /source")
    except DeviceError as caught:
        reason = caught.reason
    else:
        reason = "wda_answer_invalid"
        for index, node in enumerate(read_source(source, FRAME).nodes):
            assert node.index == index
            assert node.parent is None if index == 0 else node.parent in range(index)
            assert node.rect is None or (node.rect.width >= 0 and node.rect.height >= 0)

    assert reason in {"wda_answer_invalid", "wda_refused"}


def test_a_number_of_thousands_of_digits_is_no_crash() -> None:
    reply = Reply(200, b'{"value":{"type":"Button","value":' + b"9" * 5000 + b"}}")
    try:
        snapshot = read_source(read_value(reply, DECODER, call="c"), FRAME)
    except DeviceError as caught:
        outcome = caught.reason
    else:
        outcome = snapshot.nodes[0].value[:1]

    assert outcome in {"wda_answer_invalid", "9", "i"}
