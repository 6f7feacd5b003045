import contextlib

import pytest
from hypothesis import given, strategies as st

from runner.cli.durations import parse_duration_ms
from runner.errors import InputError


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("500ms", 500),
        ("30s", 30_000),
        ("2m", 120_000),
        ("1h", 3_600_000),
        ("250", 250),
        ("1.5s", 1500),
    ],
)
def test_a_duration_has_a_unit_and_a_bare_number_is_milliseconds(text: str, ms: int) -> None:
    assert ms == parse_duration_ms(text)


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "5 s", "1d", "999h", "1e3", "٣s", "nan"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_duration_ms(text)

    assert "duration_invalid" == caught.value.reason


@given(st.text())
def test_no_text_raises_anything_but_our_error(text: str) -> None:
    with contextlib.suppress(InputError):
        assert 1 <= parse_duration_ms(text)
