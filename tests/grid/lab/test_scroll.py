from hypothesis import given, strategies as st

from grid.lab.scroll import MAX_FLING, Scroll, drag_scroll, fling_scroll

LIMITS = st.floats(0, 20_000)
SPEEDS = st.floats(-20_000, 20_000)


def test_a_flick_coasts_as_far_as_its_speed_says() -> None:
    scroll = fling_scroll(Scroll(), 3_000, now=10, limit=100_000)

    assert scroll.offset_at(10, 100_000) == 0
    assert scroll.offset_at(10.5, 100_000) == 3_000 * 0.5 - 3_000 * 0.125
    assert scroll.offset_at(11, 100_000) == scroll.offset_at(99, 100_000) == 1_500


def test_a_lift_at_rest_does_not_coast() -> None:
    assert fling_scroll(Scroll(offset=5), 10, now=1, limit=50) == Scroll(offset=5, at=1)


@given(st.floats(0, 20_000), SPEEDS, LIMITS, st.floats(0, 10))
def test_a_list_never_leaves_its_ends(
    offset: float, speed: float, limit: float, later: float
) -> None:
    scroll = fling_scroll(Scroll(offset=offset), speed, now=0, limit=limit)

    assert 0 <= scroll.offset_at(later, limit) <= limit
    assert scroll.lasts_s <= MAX_FLING / 3_000


@given(st.floats(0, 100), st.floats(-500, 500), SPEEDS)
def test_a_touch_stops_a_coasting_list_where_it_is(now: float, delta: float, speed: float) -> None:
    coasting = fling_scroll(Scroll(offset=5_000), speed, now=0, limit=10_000)
    before = coasting.offset_at(now, 10_000)

    held = drag_scroll(coasting, delta, now=now, limit=10_000)

    assert held.speed == 0
    assert held.offset == min(10_000, max(0, before + delta))
