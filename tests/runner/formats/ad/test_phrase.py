"""What the operands of `wait` and `is` mean."""

from math import inf

import pytest
from hypothesis import given, strategies as st

from runner.formats.ad.phrase import Question, Wait, read_question, read_wait


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), None),
        (("500",), Wait(kind="sleep", ms=500)),
        (("0x10", "id=a"), Wait(kind="sleep", ms=16)),
        (("text", "Hello", "you"), Wait(kind="text", subject="Hello you")),
        (("text", "Hello", "500"), Wait(kind="text", subject="Hello", ms=500)),
        (("text", "500"), Wait(kind="text", ms=500)),
        (("stable",), Wait(kind="stable")),
        (("stable", "300", "5000"), Wait(kind="stable", quiet_ms=300, ms=5000)),
        (("absent", "id=a", "9"), Wait(kind="absent", subject="id=a", ms=9)),
        (("@e1", "500"), Wait(kind="ref", subject="@e1", ms=500)),
        (("id=a", "label=b", "5"), Wait(kind="selector", subject="id=a label=b", ms=5)),
        (("id=a",), Wait(kind="selector", subject="id=a")),
        (("visible",), Wait(kind="selector", subject="visible")),
        (("Welcome", "back"), Wait(kind="text", subject="Welcome back")),
        (("label~=x",), Wait(kind="selector", subject="label~=x")),
        (("foo=bar",), Wait(kind="selector", subject="foo=bar")),
        (("test-id=a", "b", "5"), Wait(kind="selector", subject="test-id=a b", ms=5)),
        (("Total = 5",), Wait(kind="text", subject="Total = 5")),
        (("2+2=4",), Wait(kind="text", subject="2+2=4")),
        (("Infinity",), Wait(kind="sleep", ms=inf)),
        (("1e999",), Wait(kind="sleep", ms=inf)),
        ((" ",), Wait(kind="sleep", ms=0)),
        (("id=a", "-Infinity"), Wait(kind="selector", subject="id=a", ms=-inf)),
        (("\u0085",), Wait(kind="text", subject="\u0085")),
    ],
)
def test_the_forms_of_wait(words: tuple[str, ...], expected: Wait | None) -> None:
    assert read_wait(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), None),
        (("nonsense", "id=a"), None),
        (("visible", "id=a"), Question(predicate="visible", selector="id=a")),
        (("VISIBLE", "id=a"), Question(predicate="visible", selector="id=a")),
        (("id=a", "label=b", "exists"), Question(predicate="exists", selector="id=a label=b")),
        (("exists", "id=a", "||", "id=b"), Question(predicate="exists", selector="id=a || id=b")),
        (
            ("text", "id=a", "Hi", "you"),
            Question(predicate="text", selector="id=a", value="Hi you"),
        ),
        (("text", "id=a", "visible"), Question(predicate="text", selector="id=a", value="visible")),
        (("text", "id=a"), Question(predicate="text", selector="id=a")),
        (("visible", "id=a", "x"), Question(predicate="visible", selector="id=a", value="x")),
        (("visible",), Question(predicate="visible", selector="")),
    ],
)
def test_the_forms_of_is(words: tuple[str, ...], expected: Question | None) -> None:
    assert read_question(words) == expected


@pytest.mark.slow
@given(st.lists(st.sampled_from(["text", "absent", "5", "", "@", "id=a", "||", " "]) | st.text()))
def test_no_words_raise(words: list[str]) -> None:
    read_wait(words)
    read_question(words)
