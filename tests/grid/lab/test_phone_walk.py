"""Random walks over the phone: whatever is done to it, it stays whole."""

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from grid.lab.layout import HEIGHT, WIDTH
from grid.lab.uidump import render_uidump
from runner.model.ids import PLATFORMS, Platform
from tests.grid.lab.labkit import SHOP_ID, Hands

POINT = st.tuples(st.floats(-10, WIDTH + 10), st.floats(-10, HEIGHT + 10))
STEP = st.one_of(
    st.tuples(st.just("tap"), POINT),
    st.tuples(st.just("node"), st.integers(0, 40)),
    st.tuples(st.just("swipe"), POINT, POINT, st.floats(1, 2_000), st.booleans()),
    st.tuples(st.just("down"), POINT),
    st.tuples(st.just("move"), POINT),
    st.tuples(st.just("up"), POINT),
    st.tuples(st.just("type"), st.text(max_size=8)),
    st.tuples(
        st.just("key"),
        st.sampled_from(
            ["back", "home", "enter", "delete", "forward_delete", "move_home", "power", "paste"]
        ),
    ),
    st.tuples(st.just("url"), st.sampled_from(["shop://cart", "shop://product/9", "shop://crash"])),
    st.tuples(st.just("launch"), st.booleans()),
    st.tuples(st.just("wait"), st.floats(0, 1)),
)


def _do(hands: Hands, step: tuple[object, ...]) -> None:
    phone = hands.phone
    match step:
        case ("tap", (float(x), float(y))):
            phone.tap(x, y)
        case ("node", int(index)):
            nodes = [node for node in phone.tree().walk() if node.clickable]
            if nodes:
                phone.tap(*nodes[index % len(nodes)].rect.center)
        case ("swipe", (float(x), float(y)), (float(x2), float(y2)), float(ms), bool(hold)):
            phone.swipe(x, y, x2, y2, ms, hold=hold)
        case ("down", (float(x), float(y))):
            phone.touch_down(x, y)
        case ("move", (float(x), float(y))):
            phone.touch_move(x, y)
        case ("up", (float(x), float(y))):
            phone.touch_up(x, y)
        case ("type", str(text)):
            phone.type_text(text)
        case ("key", str(name)):
            assert phone.key(name)
        case ("url", str(url)):
            phone.open_url(url)
        case ("launch", bool(relaunch)):
            phone.launch(SHOP_ID, relaunch=relaunch)
        case ("wait", float(seconds)):
            hands.wait(seconds)
        case _:
            raise AssertionError(step)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(STEP, max_size=40), st.sampled_from(PLATFORMS), st.sampled_from(["login", "home"]))
def test_no_input_breaks_the_phone(
    steps: list[tuple[object, ...]], platform: Platform, start: str
) -> None:
    hands = Hands(platform=platform)
    if start == "home":
        hands.enter_home()
    for step in steps:
        _do(hands, step)
        tree = hands.phone.tree()
        refs = [node.ref for node in tree.walk() if node.kind != "key"]
        assert len(refs) == len(set(refs))
        assert sum(node.focused for node in tree.walk()) <= 1
        assert msgspec.json.decode(msgspec.json.encode(hands.phone.truth()))["serial"] == "lab-1"
    assert render_uidump(hands.phone.tree(), scale=2.7).endswith("</hierarchy>")
