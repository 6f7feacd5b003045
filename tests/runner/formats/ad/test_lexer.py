"""Lines and tokens."""

import json

import pytest
from hypothesis import given, strategies as st

from runner.errors import InputError
from runner.formats.ad.lexer import Level, split_lines, tokenize, trim
from runner.formats.ad.numbers import SPACES

LEVELS: tuple[Level, ...] = ("main", "0.21")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("open A # note", ["open", "A", "#", "note"]),
        ("open A \\", ["open", "A", "\\"]),
        ('"a"b', ["a", "b"]),
        ('"a""b"', ["a", "b"]),
        ('ab"c d"', ['ab"c', 'd"']),
        ('id="x"', ['id="x"']),
        ('type "\\u00e9\\n"', ["type", "é\n"]),
        ('"\\"\\\\\\/\\b\\f\\r\\t"', ['"\\/\b\f\r\t']),
        ('"\\ud83d\\ude00"', ["😀"]),
        ('""', [""]),
        ("a\u00a0b\ufeffc\u2028d\re\x0bf", ["a", "b", "c", "d", "e", "f"]),
        ("a\x1cb\x85c", ["a\x1cb\x85c"]),
        ("", []),
    ],
)
def test_tokens_are_split_as_the_format_says(line: str, expected: list[str], level: Level) -> None:
    assert tokenize(line, level=level) == expected


@pytest.mark.parametrize(
    ("line", "main", "older"),
    [
        ("'a b'", ["a b"], ["'a", "b'"]),
        ("'it\\'s'", ["it's"], ["'it\\'s'"]),
        ("'a\\n'", ["a\\n"], ["'a\\n'"]),
        ("'id=\"x\"'b", ['id="x"', "b"], ["'id=\"x\"'b"]),
        ("a'b'", ["a'b'"], ["a'b'"]),
    ],
)
def test_single_quotes_depend_on_the_level(line: str, main: list[str], older: list[str]) -> None:
    assert tokenize(line, level="main") == main
    assert tokenize(line, level="0.21") == older


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ('a "b', 3),
        ('a "b\\"', 3),
        ("a 'b\\'", 3),
        ('"\\x"', 2),
        ('a "b\\\'"', 5),
        ('"a\tb"', 3),
        ('"\\u12"', 2),
        ('"\\', 1),
    ],
)
def test_a_bad_quote_is_reported_with_its_column(line: str, column: int) -> None:
    with pytest.raises(InputError) as caught:
        tokenize(line)

    assert caught.value.reason == "parse_error"
    assert abs(caught.value.details["column"] - column) <= 1
    assert caught.value.hint


@pytest.mark.slow
@given(st.lists(st.text(), min_size=1), st.sampled_from(LEVELS), st.sampled_from(SPACES))
def test_json_strings_survive_whatever_they_hold(
    words: list[str], level: Level, space: str
) -> None:
    line = space.join(json.dumps(word) for word in words)

    assert tokenize(line, level=level) == words


@given(st.text(), st.sampled_from(LEVELS))
def test_only_the_typed_error_comes_out(line: str, level: Level) -> None:
    tokens: list[str] = []
    column = 1
    try:
        tokens = tokenize(line, level=level)
    except InputError as error:
        column = error.details["column"]

    assert 1 <= column <= len(line) + 1
    assert all(isinstance(token, str) for token in tokens)


def test_unclosed_quotes_are_read_in_linear_time() -> None:
    with pytest.raises(InputError):
        tokenize('"' + "a\\\\" * 100_000)


def test_only_line_feeds_end_lines() -> None:
    assert split_lines("a\r\nb\nc\rd\u2028e\x0bf\x85g") == ["a", "b", "c\rd\u2028e\x0bf\x85g"]


def test_trimming_knows_the_byte_order_mark_and_not_the_information_separators() -> None:
    assert trim("\ufeff\u00a0 a\x1c\x85") == "a\x1c\x85"
