"""Dump XML as snapshots."""

import pytest
from hypothesis import given, strategies as st

from drivers.android.hierarchy import (
    MAX_DEPTH,
    MAX_NODES,
    Display,
    clean_document,
    parse_bounds,
    read_hierarchy,
)
from runner.errors import DeviceError, RunnerError
from runner.model.screen import Node, Rect, Snapshot

DISPLAY = Display(width=1080, height=2322, foreground="com.example.app", keyboard_shown=False)


def document(body: str, *, rotation: int = 0) -> bytes:
    head = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    return f'{head}<hierarchy rotation="{rotation}">{body}</hierarchy>'.encode()


def read(body: str) -> Snapshot:
    return read_hierarchy(document(body), DISPLAY)


def test_every_field_is_mapped() -> None:
    snapshot = read(
        '<node index="0" class="android.widget.FrameLayout" package="com.example.app" '
        'bounds="[0,0][1080,2322]" enabled="true">'
        '<node index="0" text="ann" resource-id="com.example.app:id/name" '
        'class="android.widget.EditText" package="com.example.app" content-desc="Name" '
        'hint="User name" checkable="true" checked="true" clickable="true" enabled="true" '
        'focusable="true" focused="true" scrollable="false" password="false" selected="true" '
        'bounds="[10,20][110,70]" />'
        "</node>"
    )

    assert snapshot.nodes[1] == Node(
        index=1,
        parent=0,
        depth=1,
        type="android.widget.EditText",
        identifier="com.example.app:id/name",
        label="ann",
        value="ann",
        placeholder="User name",
        bundle="com.example.app",
        rect=Rect(10, 20, 100, 50),
        enabled=True,
        selected=True,
        focused=True,
        checked=True,
        hittable=True,
        scrollable=False,
    )
    assert snapshot.foreground == "com.example.app"
    assert snapshot.keyboard_shown is False
    assert snapshot.quality == "readable"
    assert not snapshot.truncated


def test_a_description_is_the_label_where_there_is_no_text() -> None:
    (node,) = read('<node text="" content-desc="Search" package="a" />').nodes

    assert (node.label, node.value) == ("Search", "")


def test_what_the_document_does_not_tell_is_unknown() -> None:
    (node,) = read("<node />").nodes

    assert node.enabled is None
    assert node.hittable is None
    assert node.checked is None
    assert node.rect is None


def test_a_focusable_node_is_hittable_and_a_plain_one_is_not() -> None:
    first, second = read(
        '<node clickable="false" focusable="true" focused="false" />'
        '<node clickable="false" focusable="false" focused="false" />'
    ).nodes

    assert first.hittable is True
    assert second.hittable is False


def test_a_password_field_is_secure() -> None:
    (node,) = read('<node password="true" text="•••" />').nodes

    assert node.secure


@pytest.mark.parametrize(
    ("text", "rect"),
    [
        ("[0,0][10,20]", Rect(0, 0, 10, 20)),
        ("[-5,-7][10,20]", Rect(-5, -7, 15, 27)),
        ("[10,10][5,5]", Rect(10, 10, 0, 0)),
        ("[3,4][3,4]", Rect(3, 4, 0, 0)),
        ("", None),
        ("[0,0]", None),
        ("[99999999999,0][1,1]", None),
    ],
)
def test_bounds_keep_their_place_and_never_turn_inside_out(text: str, rect: Rect | None) -> None:
    assert parse_bounds(text) == rect


def test_an_odd_rotation_swaps_the_sides() -> None:
    snapshot = read_hierarchy(document("<node />", rotation=1), DISPLAY)

    assert (snapshot.width, snapshot.height, snapshot.rotation) == (2322, 1080, 1)


def test_parents_are_indexes_in_document_order() -> None:
    snapshot = read("<node><node/><node><node/></node></node><node/>")

    assert [node.parent for node in snapshot.nodes] == [None, 0, 0, 2, None]
    assert [node.depth for node in snapshot.nodes] == [0, 1, 1, 2, 0]


def test_control_characters_and_forbidden_references_are_dropped() -> None:
    (node,) = read('<node text="a\x01b&#0;c&#x1f;d&amp;e" />').nodes

    assert node.label == "abcd&e"


def test_two_references_to_halves_make_one_character() -> None:
    (node,) = read('<node text="&#10;&#55357;&#56832;!&#55357;" />').nodes

    assert node.label == "\n😀!�"


def test_a_document_that_stops_in_the_middle_is_read_and_marked() -> None:
    whole = document('<node text="one" package="a"/><node text="two" package="a"/>')
    snapshot = read_hierarchy(whole[: whole.index(b'text="two')], DISPLAY)

    assert snapshot.nodes[0].label == "one"
    assert snapshot.truncated


def test_the_tree_is_cut_at_the_node_limit() -> None:
    snapshot = read("<node/>" * (MAX_NODES + 3))

    assert len(snapshot.nodes) == MAX_NODES
    assert snapshot.truncated


def test_the_tree_is_cut_at_the_depth_limit_and_goes_on_beside_it() -> None:
    deep = MAX_DEPTH + 100
    snapshot = read("<node>" * deep + "</node>" * deep + '<node text="after"/>')

    assert len(snapshot.nodes) == MAX_DEPTH + 1
    assert snapshot.nodes[-1].label == "after"
    assert snapshot.nodes[-1].depth == 0
    assert snapshot.truncated


def test_a_system_window_alone_is_sparse() -> None:
    system = read('<node package="com.android.systemui" text="12:00" clickable="true" />')
    empty = read("")
    bare = read('<node package="com.example.app" class="android.widget.FrameLayout" />')

    assert [system.quality, empty.quality, bare.quality] == ["sparse"] * 3


def test_a_document_type_is_refused() -> None:
    bomb = b'<!DOCTYPE h [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><hierarchy/>'

    with pytest.raises(DeviceError) as caught:
        read_hierarchy(bomb, DISPLAY)

    assert caught.value.reason == "screen_unreadable"


def test_an_unknown_entity_and_a_comment_are_no_nodes() -> None:
    snapshot = read("<node><!-- note -->&unknown;<node/></node>")

    assert [node.parent for node in snapshot.nodes] == [None, 0]


@pytest.mark.parametrize("raw", [b"", b"ERROR: something", b"<html></html>", b"\xff\xfe\x00"])
def test_what_is_no_hierarchy_is_unreadable_and_kept(raw: bytes) -> None:
    with pytest.raises(DeviceError) as caught:
        read_hierarchy(raw, DISPLAY)

    assert caught.value.kind == "device_busy"
    assert caught.value.details["sizeBytes"] == len(raw)


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_but_our_errors(raw: bytes) -> None:
    for candidate in (raw, document("<node>") + raw, document(raw.decode("latin-1"))):
        try:
            snapshot = read_hierarchy(candidate, DISPLAY)
        except RunnerError:
            continue
        assert all(node.rect is None or node.rect.area >= 0 for node in snapshot.nodes)


@given(st.text(max_size=80))
def test_a_cleaned_document_holds_only_what_xml_allows(text: str) -> None:
    cleaned = clean_document(text.encode("utf-8", "surrogatepass"))

    assert all(
        char in "\t\n\r" or "\x20" <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char > "￿"
        for char in cleaned
    )
