from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from grid.lab.wda_actions import (
    Gesture,
    MultiTouch,
    Pause,
    Stroke,
    Touch,
    Typed,
    read_actions,
)
from grid.lab.wda_error import WdaError
from tests.grid.lab.ioskit import error_of


def center(element_id: str) -> tuple[float, float]:
    if element_id != "e1":
        raise WdaError("stale element reference", element_id)
    return 100.0, 200.0


def read(*actions: dict[str, Any], kind: str = "pointer") -> tuple[Gesture, ...]:
    return read_actions({"actions": [{"type": kind, "id": "f", "actions": list(actions)}]}, center)


def move(x: float, y: float, ms: float = 0, **more: object) -> dict[str, Any]:
    return {"type": "pointerMove", "x": x, "y": y, "duration": ms, **more}


DOWN = {"type": "pointerDown", "button": 0}
UP = {"type": "pointerUp", "button": 0}


def pause(ms: float) -> dict[str, Any]:
    return {"type": "pause", "duration": ms}


def test_down_and_up_at_a_place_is_a_touch() -> None:
    assert (Touch(10, 20, 80),) == read(move(10, 20), DOWN, pause(80), UP)


def test_two_touches_keep_the_pause_between_them() -> None:
    found = read(move(1, 2), DOWN, UP, pause(50), DOWN, UP)

    assert (Touch(1, 2, 0), Pause(50), Touch(1, 2, 0)) == found


def test_a_move_while_down_is_a_stroke_in_motion() -> None:
    expected = Stroke(x1=10, y1=500, x2=10, y2=100, ms=300, press_ms=0, rests=False)

    assert (expected,) == read(move(10, 500), DOWN, move(10, 300, 150), move(10, 100, 150), UP)


def test_a_stroke_that_stands_before_it_lifts_rests() -> None:
    found = read(move(10, 500), DOWN, pause(120), move(10, 100, 400), pause(100), UP)

    expected = Stroke(x1=10, y1=500, x2=10, y2=100, ms=400, press_ms=120, rests=True)
    assert (expected, Pause(100)) == found


def test_a_move_may_start_from_an_element_or_from_the_finger() -> None:
    found = read(move(5, 5, origin={"ELEMENT": "e1"}), DOWN, move(0, 50, 10, origin="pointer"), UP)

    expected = Stroke(x1=105, y1=205, x2=105, y2=255, ms=10, press_ms=0, rests=False)
    assert (expected,) == found


def test_keys_are_typed_in_order() -> None:
    keys = [{"type": kind, "value": char} for char in "ab" for kind in ("keyDown", "keyUp")]

    assert (Typed("ab"),) == read(*keys, kind="key")


def test_two_pointers_at_once_are_one_gesture() -> None:
    finger = {"type": "pointer", "id": "f", "actions": [move(1, 1), DOWN, pause(30), UP]}

    assert (MultiTouch(2, 30),) == read_actions({"actions": [finger, finger]}, center)


@pytest.mark.parametrize(
    "actions",
    [
        None,
        [],
        [1],
        [{"type": "pointer"}],
        [{"type": "wheel", "actions": []}],
        [{"type": "pointer", "actions": [DOWN]}],
        [{"type": "pointer", "actions": [UP]}],
        [{"type": "pointer", "actions": [DOWN, DOWN, UP]}],
        [{"type": "pointer", "actions": [{"type": "fly"}]}],
        [{"type": "pointer", "actions": [{"type": "pointerMove", "x": "1", "y": 2}]}],
        [{"type": "pointer", "actions": [pause(-1)]}],
        [{"type": "pointer", "actions": [DOWN, pause(600_000), UP]}],
        [{"type": "key", "actions": [{"type": "keyDown"}]}],
        [{"type": "pointer", "actions": [pause(1)] * 2000}],
    ],
)
def test_what_makes_no_sense_is_an_invalid_argument(actions: object) -> None:
    with pytest.raises(WdaError) as caught:
        read_actions({"actions": actions}, center)

    assert caught.value.error == "invalid argument"


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
_ACTION = st.one_of(
    st.sampled_from([DOWN, UP, pause(10), move(1, 2), move(50, 60, 20)]),
    st.dictionaries(st.sampled_from(["type", "x", "y", "duration", "origin", "value"]), _JSON),
)
_SOURCE = st.fixed_dictionaries(
    {"type": st.sampled_from(["pointer", "key", "none"]), "actions": st.lists(_ACTION, max_size=6)}
)


@given(st.one_of(_JSON, st.lists(st.one_of(_SOURCE, _JSON), max_size=3)))
@example([{"type": "key", "actions": [{"type": []}]}])
def test_nothing_but_typed_errors_comes_out(actions: object) -> None:
    error = error_of(lambda: read_actions({"actions": actions}, center))

    assert error in {"", "invalid argument", "stale element reference"}
