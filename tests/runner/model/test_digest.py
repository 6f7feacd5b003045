"""Canonical JSON and digests."""

import json
import math
from typing import Any

import pytest
import rfc8785
from hypothesis import given, strategies as st

from runner.model.digest import canonical_json, digest_of, sha256_hex

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(VALUES)
def test_canonical_json_is_rfc_8785(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (2**60, "1152921504606847000"),
        ("\u2028\x7f/é", '"\u2028\x7f/é"'),
        ("\x00\x1f\n", '"\\u0000\\u001f\\n"'),
        (("a", ("b",)), '["a",["b"]]'),
        ({"b": 1, "a": None}, '{"a":null,"b":1}'),
        (True, "true"),
    ],
)
def test_values_are_spelled_as_javascript_spells_them(value: object, expected: str) -> None:
    assert canonical_json(value) == expected.encode()


def test_keys_are_sorted_by_utf16_code_unit() -> None:
    assert canonical_json({"\ue000": 1, "\U00010000": 2}) == '{"\U00010000":2,"\ue000":1}'.encode()


@pytest.mark.slow
@given(st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010)))
def test_lone_surrogates_are_lower_case_escapes_and_nothing_else_is(text: str) -> None:
    written = canonical_json([text]).decode()
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    assert json.loads(written) == [joined]
    for char in joined:
        escape = f"\\u{ord(char):04x}"
        assert (escape in written) == (0xD800 <= ord(char) <= 0xDFFF)


@pytest.mark.parametrize("value", [object(), {1: "a"}, b"bytes", math.inf, math.nan])
def test_a_value_without_a_json_form_is_a_bug_of_the_caller(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        canonical_json(value)


def test_digests_are_spelled_with_their_algorithm_and_hex_without() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    assert sha256_hex(b"") == empty
    assert digest_of(b"") == f"sha256:{empty}"
