from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from runner.errors import InputError
from runner.formats.ad.request import (
    DURATION_LIMIT_MS,
    ForAbsence,
    ForSelector,
    ForStillness,
    ForText,
    Point,
    Sleep,
    read_fill,
    read_long_press,
    read_number,
    read_option,
    read_place,
    read_question,
    read_wait,
)
from runner.formats.ad.selector import parse_selector

A = parse_selector("id=a")


def outcome(read: Callable[[], object]) -> object:
    """Return what was read, or the reason of the refusal."""
    try:
        return read()
    except InputError as error:
        return error.reason


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("500",), Sleep(500)),
        (("0x10",), Sleep(16)),
        (("text", "Hi", "you", "700"), ForText("Hi you", 700)),
        (("Hi",), ForText("Hi", 10_000)),
        (("stable",), ForStillness(500, 10_000)),
        (("stable", "100"), ForStillness(100, 10_000)),
        (("stable", "100", "900"), ForStillness(100, 900)),
        (("absent", "id=a"), ForAbsence(A, 10_000)),
        (("id=a", "0"), ForSelector(A, 0)),
        (("id=a",), ForSelector(A, 10_000)),
    ],
)
def test_the_forms_of_wait_are_read(words: tuple[str, ...], expected: object) -> None:
    assert expected == read_wait(words)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "arguments_invalid"),
        (("text", ""), "arguments_invalid"),
        (("-1",), "arguments_invalid"),
        (("id=a", str(DURATION_LIMIT_MS + 1)), "arguments_invalid"),
        (("id=a b",), "selector_invalid"),
        (("absent",), "selector_invalid"),
        (("absent", "@e1"), "ref_without_session"),
        (("@e1", "5"), "ref_without_session"),
    ],
)
def test_a_wait_that_cannot_work_is_refused(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read_wait(words)

    assert reason == caught.value.reason


def test_two_numbers_are_a_point_and_anything_else_a_selector() -> None:
    assert read_place("press", ("1", "0x10")) == Point(1, 16)
    assert read_place("press", ("id=a",)) == A
    assert read_long_press(("1", "2", "3")) == (Point(1, 2), 3)
    assert read_long_press(("id=a", "9")) == (A, 9)
    assert read_fill(("1", "2", "x")) == (Point(1, 2), "x")
    assert read_fill(("id=a", "")) == (A, "")


@pytest.mark.parametrize("words", [("1e9", "1"), ("Infinity", "1"), (), ("",)])
def test_a_point_beyond_any_screen_and_no_target_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        read_place("press", words)

    assert caught.value.reason == "arguments_invalid"


@pytest.mark.parametrize("value", [True, "5", None, -1, 11, [1]])
def test_an_option_that_is_no_number_within_its_bounds_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        read_option("press", {"count": value}, "count", high=10)


def test_an_option_that_is_absent_has_its_default() -> None:
    assert read_option("press", {}, "count", high=10, default=1) == 1
    assert read_option("press", {"count": 3.0}, "count", high=10) == 3


@given(st.text())
def test_a_number_is_within_its_bounds_or_refused(text: str) -> None:
    result = outcome(lambda: read_number("wait", text, "ms", low=0, high=9))

    assert result == "arguments_invalid" or (isinstance(result, float) and 0 <= result <= 9)


words = st.lists(
    st.sampled_from(
        ["1", "-5", "1e400", "@e1", "id=a", "||", '"', "visible", "text", "stable", "absent", ""]
    )
    | st.text(max_size=6),
    max_size=5,
)


@pytest.mark.slow
@given(st.sampled_from([read_wait, read_question, read_long_press, read_fill]), words)
def test_reading_raises_nothing_but_input_errors(
    read: Callable[[Sequence[str]], object], given_words: list[str]
) -> None:
    result = outcome(lambda: read(tuple(given_words)))

    known = {"arguments_invalid", "selector_invalid", "ref_without_session"}
    assert not isinstance(result, str) or result in known
