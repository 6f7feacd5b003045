import pytest
from hypothesis import given, strategies as st

from grid.lab.shell_grammar import SyntaxProblem, parse_script
from grid.lab.shell_tree import Script


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
        ("if true", "syntax error: unexpected 'end of command'"),
        ("a >", "syntax error: unexpected 'end of command'"),
        ("echo ${", "bad substitution"),
        ("echo ${x", "bad substitution"),
        ("echo `a", "no closing quote"),
        ("fi", "syntax error: unexpected 'fi'"),
        ("while true; done", "syntax error: unexpected 'done'"),
        ("if true; then fi", "syntax error: unexpected 'fi'"),
        ("for 1 in a; do b; done", "syntax error: unexpected '1'"),
        ("echo $((1", "syntax error: unmatched '))'"),
        ("{ " * 50, "syntax error: nested too deeply"),
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


@given(st.text(alphabet="abifdone $?{}()'\"\\;&|<>!#\n=`2*", max_size=60))
def test_any_text_is_a_script_or_a_problem(text: str) -> None:
    assert isinstance(parse_script(text), Script | SyntaxProblem)
