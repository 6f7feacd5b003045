"""Text as the input tool takes it."""

import shlex

import pytest
from hypothesis import given, strategies as st

from drivers.android.keystroke import (
    CHUNK_CHARS,
    KEY_ENTER,
    KEY_TAB,
    Key,
    Paste,
    Write,
    keys_command,
    plan_typing,
    shows,
    write_command,
)
from runner.errors import DeviceError


def typed(argument: str) -> str:
    """Return what `input text` types for an argument, as the tool's source does it."""
    out: list[str] = []
    escaped = False
    for char in argument:
        if escaped and char == "s":
            out[-1] = " "
            escaped = False
            continue
        out.append(char)
        escaped = char == "%"
    return "".join(out)


def test_lines_and_tabs_are_keys_between_pieces() -> None:
    assert plan_typing("a\tb\r\nc") == (
        Write("a"),
        Key(KEY_TAB),
        Write("b"),
        Key(KEY_ENTER),
        Write("c"),
    )


def test_nothing_is_typed_for_an_empty_text() -> None:
    assert plan_typing("") == ()


def test_a_literal_percent_s_is_typed_in_two_pieces() -> None:
    assert plan_typing("100%sure") == (Write("100%"), Write("sure"))


def test_a_line_beyond_ascii_is_pasted_whole() -> None:
    assert plan_typing("ok\nGrüße 100%") == (Write("ok"), Key(KEY_ENTER), Paste("Grüße 100%"))


def test_one_by_one_makes_every_character_a_step() -> None:
    assert plan_typing("a%s", one_by_one=True) == (Write("a"), Write("%"), Write("s"))


def test_long_lines_are_typed_in_pieces() -> None:
    sizes = [len(step.text) for step in plan_typing("x" * 450) if isinstance(step, Write)]

    assert sizes == [CHUNK_CHARS, CHUNK_CHARS, 50]


@pytest.mark.parametrize("text", ["\x00", "a\x1bb", "\x7f", "é\x85"])
def test_control_characters_cannot_be_typed(text: str) -> None:
    with pytest.raises(DeviceError) as caught:
        plan_typing(text)

    assert (caught.value.kind, caught.value.reason) == ("misuse", "text_not_typeable")
    assert text not in caught.value.message


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=500))
def test_every_ascii_line_arrives_as_it_is_through_shell_and_tool(text: str) -> None:
    words = [
        shlex.split(write_command(step)) for step in plan_typing(text) if isinstance(step, Write)
    ]

    assert all(word[:2] == ["input", "text"] and len(word) == 3 for word in words)
    assert "".join(typed(word[2]) for word in words) == text


def test_keys_share_one_command() -> None:
    assert keys_command(123, 67, 67) == "input keyevent 123 67 67"


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        ("ann", "ann", True),
        ("ann\n", "ann", True),
        ("4111 1111", "41111111", True),
        ("(555) 1234", "5551234", True),
        ("an", "ann", False),
        ("annn", "ann", False),
        ("xann", "ann", False),
        ("annexample.com", "ann@example.com", False),
        ("User name", "", False),
        ("", "", True),
        ("-", "+", False),
    ],
)
def test_a_field_may_add_signs_but_loses_and_invents_nothing(
    value: str, text: str, *, expected: bool
) -> None:
    assert shows(value, text) is expected
