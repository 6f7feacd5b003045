import pytest
from hypothesis import given, strategies as st

from grid.lab.shell_grammar import Script, SyntaxProblem, parse_script


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo 'x", "no closing quote"),
        ('echo "x', "no closing quote"),
        ("a &&", "syntax error: unexpected 'end of command'"),
        ("a & b", "syntax error: unexpected '&'"),
        ("; ;|", "syntax error: unexpected '|'"),
        ("(a", "syntax error: unmatched ')'"),
        ("a )", "syntax error: unexpected ')'"),
        ("a | ", "syntax error: unexpected 'end of command'"),
        ("if true", "syntax error: unexpected 'if'"),
        ("a >", "syntax error: unexpected 'end of command'"),
        ("echo ${", "bad substitution"),
        ("echo ${x", "bad substitution"),
        ("echo `a`", "syntax error: unexpected '`'"),
        ("(" * 50, "syntax error: nested too deeply"),
    ],
)
def test_what_is_no_script_says_why(text: str, message: str) -> None:
    assert parse_script(text) == SyntaxProblem(message)


@pytest.mark.parametrize(
    "text", ["", "  ", ";", "# only words", "\n\n", "a;", "a # b ' c", "a\\\n b"]
)
def test_blanks_comments_and_line_ends_are_fine(text: str) -> None:
    assert isinstance(parse_script(text), Script)


@given(st.text(alphabet="ab $?{}()'\"\\;&|<>!#\n=`2*", max_size=60))
def test_any_text_is_a_script_or_a_problem(text: str) -> None:
    assert isinstance(parse_script(text), Script | SyntaxProblem)
