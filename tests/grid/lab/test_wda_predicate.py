import pytest
from hypothesis import given, strategies as st

from grid.lab.wda_error import WdaError
from grid.lab.wda_predicate import Scalar, matches, parse_predicate
from tests.grid.lab.ioskit import error_of

ELEMENT: dict[str, Scalar] = {
    "name": "login_button",
    "label": "Log in",
    "value": None,
    "type": "XCUIElementTypeButton",
    "enabled": True,
    "visible": False,
    "rect.y": 232.0,
}


def read(name: str) -> Scalar:
    if name not in ELEMENT:
        raise WdaError("invalid selector", f"no attribute {name}")
    return ELEMENT[name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name == 'login_button'", True),
        ('name = "login_button"', True),
        ("name != 'login_button'", False),
        ("name <> 'other'", True),
        ("label CONTAINS 'og i'", True),
        ("label contains 'OG I'", False),
        ("label CONTAINS[c] 'OG I'", True),
        ("label BEGINSWITH 'Log' AND label ENDSWITH 'in'", True),
        ("label LIKE 'L?g*'", True),
        ("label MATCHES '^L.*n$'", True),
        (r"name MATCHES '.*\\w_button'", True),
        ("name == 'x' OR (enabled == true AND visible == 0)", True),
        ("NOT enabled == 1", False),
        ("!(visible == YES) && enabled == YES", True),
        ("value == nil", True),
        ("value != NULL", False),
        ("rect.y >= 232 AND rect.y < 233", True),
        ("rect.y BETWEEN {200, 240}", True),
        ("name IN {'a', 'login_button'}", True),
        ("'og' IN label", True),
        ("type == 'XCUIElementTypeButton'", True),
        ("enabled == false", False),
        ("false", False),
        ("TRUEPREDICATE", True),
        ("label ==[cd] 'LOG ÎN'", True),
        ("value > 'a'", False),
        ("rect.y > 'a'", False),
    ],
)
def test_a_predicate_selects_what_it_says(text: str, *, expected: bool) -> None:
    assert expected == matches(parse_predicate(text), read)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        "name ==",
        "name == 'x' AND",
        "name == 'x",
        "(name == 'x'",
        "name == 'x') ",
        "name == 'x' name",
        "colour == 'red'",
        "SUBQUERY(name, $x, $x == 1)",
        "name MATCHES '('",
        "rect.y BETWEEN {1}",
        "name IN {name}",
        "(" * 100 + "name == 'x'" + ")" * 100,
        "!" * 100 + "true",
        "x" * 20_000,
    ],
)
def test_what_is_no_predicate_is_an_invalid_selector(text: str) -> None:
    with pytest.raises(WdaError) as caught:
        matches(parse_predicate(text), read)

    assert (400, "invalid selector") == (caught.value.status, caught.value.error)
    assert caught.value.reason == "lab_request_refused"


def test_a_long_chain_of_conditions_is_not_a_deep_one() -> None:
    text = " OR ".join(["name == 'x'"] * 600)

    assert not matches(parse_predicate(text), read)


_WORDS = st.sampled_from(
    (
        *("name", "label", "==", "!=", "<", "CONTAINS", "IN", "BETWEEN", "AND", "OR", "NOT", "!"),
        *("(", ")", "{", "}", ",", "'a'", '"b"', "1", "-2.5", "true", "nil", "[c]", "`", "$"),
    )
)


@given(st.one_of(st.text(max_size=60), st.lists(_WORDS, max_size=25).map(" ".join)))
def test_nothing_but_the_typed_error_comes_out(text: str) -> None:
    assert error_of(lambda: matches(parse_predicate(text), read)) in {"", "invalid selector"}
