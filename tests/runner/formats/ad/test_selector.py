import pytest
from hypothesis import given, strategies as st

from runner.errors import InputError
from runner.formats.ad.numbers import SPACES
from runner.formats.ad.selector import (
    BOOL_KEYS,
    MAX_SELECTOR,
    TEXT_KEYS,
    Alternative,
    BoolTerm,
    Selector,
    TextTerm,
    check_selector,
    collapse,
    fold,
    looks_like_selector,
    parse_selector,
    render_selector,
    split_operand,
)
from runner.formats.ad.variables import mask_references


def outcome(text: str) -> Selector | InputError:
    try:
        return parse_selector(text)
    except InputError as error:
        return error


def terms(text: str) -> list[list[tuple[str, str | bool]]]:
    return [
        [
            (term.key, term.value) if isinstance(term, TextTerm) else (term.key, term.expected)
            for term in part.terms
        ]
        for part in parse_selector(text).alternatives
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id=a", [[("id", "a")]]),
        ("ID=a Label=b", [[("id", "a"), ("label", "b")]]),
        ("text=a=b", [[("text", "a=b")]]),
        ("visible", [[("visible", True)]]),
        ("visible=FALSE", [[("visible", False)]]),
        ('enabled="true"', [[("enabled", True)]]),
        ("id=a||label=b", [[("id", "a")], [("label", "b")]]),
        ("id=a || label=b || hidden", [[("id", "a")], [("label", "b")], [("hidden", True)]]),
        ('label="a || b"', [[("label", "a || b")]]),
        ("label=a|b", [[("label", "a|b")]]),
        ('label="x y" role=button', [[("label", "x y"), ("role", "button")]]),
        ("label='it is'", [[("label", "it is")]]),
        (r'label="Say \"hi\""', [[("label", 'Say "hi"')]]),
        (r'label="\'\\\/\b\f\n\r\t\u00e9"', [[("label", "'\\/\b\f\n\r\té")]]),
        (r'label="\q"', [[("label", r"\q")]]),
        ('label="\\ud83d\\ude00"', [[("label", "😀")]]),
        ('label=a"b c"d', [[("label", 'a"b c"d')]]),
        ('label="@handle"', [[("label", "@handle")]]),
        ('value=""', [[("value", "")]]),
        ("id=a\u00a0label=b", [[("id", "a"), ("label", "b")]]),
        ("\ufeff id=a \u3000", [[("id", "a")]]),
    ],
)
def test_a_selector_is_read_into_its_terms(
    text: str, expected: list[list[tuple[str, str | bool]]]
) -> None:
    assert expected == terms(text)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("  \t", 0),
        ("||", 0),
        ("|| id=a", 0),
        ("id=a ||", 5),
        ("id=a || || id=b", 8),
        ("text=Sign in", 10),
        ('label~="x"', 0),
        ("label*=x", 0),
        ("!visible", 0),
        ("id=", 3),
        ("id= a", 3),
        ("colour=red", 0),
        ('id=a label="b', 11),
        ("label=don't", 9),
        ("visible=maybe", 8),
        ("@e12", 0),
        ("=a", 0),
    ],
)
def test_a_malformed_selector_is_refused_at_its_mistake(text: str, offset: int) -> None:
    with pytest.raises(InputError) as caught:
        parse_selector(text)

    assert caught.value.reason == "selector_invalid"
    assert {"selector": text, "offset": offset} == caught.value.details


def test_half_a_character_is_no_text_to_look_for() -> None:
    with pytest.raises(InputError) as caught:
        parse_selector(r'label="\ud800"')

    assert "text_unencodable" == caught.value.reason


@given(st.text() | st.text(alphabet="id=label\"'|\\ \t@u0d8visible"))
def test_reading_raises_nothing_but_input_errors(text: str) -> None:
    result = outcome(text)

    if isinstance(result, Selector):
        assert result.alternatives
    else:
        assert result.reason == "selector_invalid"
        assert 0 <= result.details["offset"] <= len(text)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("id=${A} nope=${B}", 8),
        ("${A} Buy", 5),
        ("id=${A:-x y} || ", 13),
        ('id=${A} label="x', 14),
        ("enabled=${A} visible=maybe", 21),
        ("nope=${A}", 0),
    ],
)
def test_an_open_selector_is_refused_at_its_mistake_as_authored(text: str, offset: int) -> None:
    with pytest.raises(InputError) as caught:
        check_selector(text, mask_references(text))

    assert {"selector": text, "offset": offset} == caught.value.details
    assert repr(text) in caught.value.message


@pytest.mark.parametrize(
    "text",
    ["${A}", "${A}${B}", "${KEY}=a", "enabled=${A}", "enabled=t${A}", 'id="${A} b" || x${B}'],
)
def test_what_a_variable_may_make_right_is_not_refused(text: str) -> None:
    check_selector(text, mask_references(text))


def test_a_selector_has_a_longest_length() -> None:
    parse_selector("id=" + "a" * (MAX_SELECTOR - 3))

    with pytest.raises(InputError, match="more than"):
        parse_selector("id=" + "a" * (MAX_SELECTOR - 2))


PIECES = ["id=", "label=", "a", '"', "'", "\\", "|", "||", " ", "\u00a0", "visible", "true"]


def count_words(text: str) -> int | None:
    """Count the words one character after the other; None where a quote stays open."""
    count, position, run = 0, 0, 0
    in_word, quote = False, ""
    while position < len(text):
        char = text[position]
        is_escaped, run = run % 2 == 1, run + 1 if char == "\\" else 0
        if not quote and (char in SPACES or text.startswith("||", position)):
            in_word = False
            position += 2 if char == "|" else 1
            continue
        count += not in_word
        in_word = True
        if char in "\"'" and not is_escaped and quote in {"", char}:
            quote = "" if quote else char
        position += 1
    return None if quote else count


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_the_scanner_agrees_with_a_reading_by_characters(text: str) -> None:
    result = outcome(text)
    count = count_words(text)

    if isinstance(result, Selector):
        assert count == sum(len(part.terms) for part in result.alternatives)
    elif "is not closed" in result.message:
        assert count is None


values = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
text_terms = st.builds(
    lambda key, value: TextTerm(key, value, fold(value)), st.sampled_from(sorted(TEXT_KEYS)), values
)
bool_terms = st.builds(BoolTerm, st.sampled_from(sorted(BOOL_KEYS)), st.booleans())
alternatives = st.lists(text_terms | bool_terms, min_size=1, max_size=4).map(
    lambda parts: Alternative(tuple(parts))
)


@pytest.mark.slow
@given(st.lists(alternatives, min_size=1, max_size=4))
def test_a_rendered_selector_reads_as_itself(parts: list[Alternative]) -> None:
    selector = Selector(tuple(parts), "")

    assert selector.alternatives == parse_selector(render_selector(selector)).alternatives


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id=a", True),
        ("Label=Sign in", True),
        ('label~="x"', True),
        ("id=a || b", True),
        ("visible", True),
        ("visible role=button", True),
        ("Welcome back", False),
        ("Selected items", False),
        ("Total = 5", False),
        ("a=b", False),
        ("", False),
    ],
)
def test_a_bare_operand_of_wait_is_told_from_a_text(text: str, *, expected: bool) -> None:
    assert expected is looks_like_selector(text)


@pytest.mark.parametrize(
    ("tokens", "selector", "rest"),
    [
        (("id=a", "Hello"), "id=a", ("Hello",)),
        (("id=a", "role=b", "Hello", "you"), "id=a role=b", ("Hello", "you")),
        (("id=a", "||", "label=b", "x"), "id=a || label=b", ("x",)),
        (('label="a', 'b"', "x"), 'label="a b"', ("x",)),
        (("id=a",), "id=a", ()),
    ],
)
def test_a_selector_is_split_from_what_follows(
    tokens: tuple[str, ...], selector: str, rest: tuple[str, ...]
) -> None:
    assert (selector, rest) == split_operand(tokens)


@given(st.text(alphabet="a \t\n\u00a0\ufeff\u3000\x85\x1f"))
def test_collapsing_knows_the_white_space_of_the_format(text: str) -> None:
    kept = "".join(char if char in "a\x85\x1f" else " " for char in text)

    assert " ".join(part for part in kept.split(" ") if part) == collapse(text)
