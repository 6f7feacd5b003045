"""JavaScript's numbers."""

import math

import pytest
from hypothesis import given, strategies as st

from runner.formats.ad.numbers import floor_number, is_numeric, shrink_number, to_finite, to_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0x10", 16.0),
        ("0XfF", 255.0),
        ("0b11", 3.0),
        ("0o17", 15.0),
        ("1e2", 100.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+5", 5.0),
        ("-1", -1.0),
        (" \ufeff\u00a07\u2028", 7.0),
        ("", 0.0),
        (" ", 0.0),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        ("0x" + "f" * 400, math.inf),
    ],
)
def test_these_are_numbers(text: str, expected: float) -> None:
    assert to_number(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("1_0", "nan", "NaN", "inf", "infinity", "++Infinity", "5px", "0x", "0xg", "-0x10", "."),
        *("1e", "e1", "0b2", "0o8", "٣", "1 2", "\x1c5", "\u00855", "--1", "0x1_0", "+"),
    ],
)
def test_these_are_not(text: str) -> None:
    assert to_number(text) is None
    assert not is_numeric(text)


def test_an_empty_token_is_no_number_but_a_blank_one_is_zero() -> None:
    assert not is_numeric("")
    assert to_finite("") is None
    assert is_numeric(" ")
    assert to_finite(" ") == 0.0
    assert to_finite("Infinity") is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_that_is_printed_is_read_back(number: float) -> None:
    assert to_number(repr(number)) == number


@given(st.text(max_size=20))
def test_no_text_raises(text: str) -> None:
    number = to_number(text)

    assert number is None or isinstance(number, float)


@pytest.mark.parametrize(("number", "expected"), [(5.9, 5), (-0.0, 0), (1e300, 1e300)])
def test_floors_are_ints_where_a_double_is_exact(number: float, expected: float) -> None:
    floor = floor_number(number)

    assert floor == expected
    assert isinstance(floor, int) == (number < 2**53)


@given(st.floats(allow_nan=False))
def test_shrinking_keeps_the_value(number: float) -> None:
    assert shrink_number(number) == number
