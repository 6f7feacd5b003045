import pytest
from hypothesis import given, strategies as st

from runner.formats.ad.mask import CUT, build_mask, clip, make_encodable, mask_value


def test_the_longest_value_is_hidden_first() -> None:
    mask = build_mask({"A": "abc", "B": "abcdef"})

    assert mask("abcdef abc") == "<var:B> <var:A>"


def test_an_empty_value_hides_nothing() -> None:
    assert build_mask({"A": ""})("text") == "text"


def test_a_mask_does_not_look_into_what_it_wrote() -> None:
    assert build_mask({"A": "var", "B": "A"})("var A") == "<var:A> <var:B>"


def test_equal_values_are_named_by_the_first_name() -> None:
    assert build_mask({"B": "x", "A": "x"})("x") == "<var:A>"


def test_a_secret_across_the_cut_is_hidden_before_it() -> None:
    mask = build_mask({"PIN": "secret-value"})

    shown = mask_value({"a": ["x" * 240 + "secret-value" + "y" * 50]}, mask, limit=256)["a"][0]

    assert "secret" not in shown
    assert shown.endswith(CUT)


def test_values_that_are_no_texts_stay_as_they_are() -> None:
    mask = build_mask({"A": "1"})

    assert mask_value({"1": (1, None, True, "1")}, mask) == {"1": [1, None, True, "<var:A>"]}


@given(st.text(), st.integers(14, 300))
def test_a_clipped_text_is_within_its_bytes_and_marked(text: str, limit: int) -> None:
    text = make_encodable(text)

    clipped = clip(text, limit)

    assert len(clipped.encode()) <= limit
    assert clipped == text or (clipped.endswith(CUT) and text.startswith(clipped[: -len(CUT)]))


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("ABC"), st.text(alphabet="xyz", max_size=4)), st.text("xyz"))
def test_no_value_is_left(values: dict[str, str], text: str) -> None:
    masked = build_mask(values)(text)

    for name in values:
        masked = masked.replace(f"<var:{name}>", "\0")
    assert not any(value and value in masked for value in values.values())
