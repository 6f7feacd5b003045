import pytest
from hypothesis import given, strategies as st

from grid.lab.expression import (
    Value,
    ValueType,
    check_expression,
    evaluate,
    parse_expression,
    parse_template,
    render_template,
    type_of,
)

NAMES: dict[str, Value] = {"user": "Ann", "n": 3, "on": True, "cart": (5, 7)}
TYPES: dict[str, ValueType] = {name: type_of(value) for name, value in NAMES.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4", 3),
        ("(1 + 2) * 3", 9),
        ("user == 'Ann' and not (n > 3)", True),
        ("user != 'Ann' or n >= 3 and on", True),
        ("not not on", True),
        ("n < 3 or n <= 2", False),
        ("len(cart) + sum(cart)", 14),
        ("item(cart, 2)", 7),
        ("item(cart, 9)", 0),
        ("append(cart, n * 2)", (5, 7, 6)),
        ("append([], 1)", (1,)),
        ("user + '!'", "Ann!"),
        ("len(user)", 3),
        ("cart == []", False),
    ],
)
def test_expressions_have_their_value(text: str, expected: Value) -> None:
    expression = parse_expression(text)

    assert check_expression(expression, TYPES) == type_of(expected)
    assert evaluate(expression, NAMES) == expected


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "(1", "user ==", "f(1)", "len()", "item(cart)", "'open", "1 1", "n ! 2", "[1]"],
)
def test_what_is_not_in_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_expression(text)


@pytest.mark.parametrize(
    "text", ["nobody", "user + 1", "not n", "on and n", "user < 'B'", "n == user", "sum(n)"]
)
def test_unknown_names_and_wrong_types_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        check_expression(parse_expression(text), TYPES)


def test_a_template_fills_its_holes() -> None:
    template = parse_template("Product {n}: {user}, {n * 2}.00")

    assert render_template(template, NAMES) == "Product 3: Ann, 6.00"


@pytest.mark.parametrize("text", ["{", "a } b", "{n", "{n +}"])
def test_a_broken_template_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_template(text)


def test_a_product_of_large_numbers_stays_small() -> None:
    text = "*".join(["999999999"] * 50)

    value = evaluate(parse_expression(text), {})

    assert value == 10**12


@given(st.text(alphabet="()[]'andornot+-*<>=!,12 xlen{}", max_size=60))
def test_any_text_is_an_expression_or_a_value_error(text: str) -> None:
    for parse in (parse_expression, parse_template):
        try:
            parse(text)
        except ValueError:
            continue


@given(st.integers(0, 60), st.sampled_from(["(", "not ", "len("]))
def test_deep_nesting_never_overflows_the_stack(depth: int, opening: str) -> None:
    closing = ")" if opening.endswith("(") else ""
    try:
        parse_expression(opening * depth * 30 + "1" + closing * depth * 30)
    except ValueError:
        return


@given(
    st.recursive(
        st.sampled_from(["n", "1", "sum(cart)"]),
        lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        max_leaves=12,
    )
)
def test_what_checks_as_a_number_evaluates_to_one(text: str) -> None:
    expression = parse_expression(text)

    assert check_expression(expression, TYPES) == "number"
    assert type_of(evaluate(expression, NAMES)) == "number"
