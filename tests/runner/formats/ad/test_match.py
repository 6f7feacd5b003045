import pytest
from hypothesis import given, strategies as st

from runner.formats.ad.lexer import Level
from runner.formats.ad.match import holds_text, matches, text_of
from runner.formats.ad.selector import Alternative, TextTerm, collapse, parse_selector
from runner.model.screen import Node, Snapshot
from tests.runner.formats.ad.screens import node, screen

SCREEN = screen(
    node("android.widget.Button", "Sign in", identifier="com.shop:id/go", hittable=True),  # 1
    node("android.widget.TextView", "", value="  Total\n 5 ", rect=(0, 0, 0, 0)),  # 2
    node("android.widget.EditText", "", identifier="mail", enabled=False, focused=True),  # 3
    node("android.widget.EditText", "Mail", identifier="mail", selected=True, rect=None),  # 4
    node("android.view.View", " ", value="\u00a0", identifier="ghost", hittable=True, rect=None),
)


def found(text: str, shown: Snapshot = SCREEN, level: Level = "main") -> tuple[int, ...]:
    (alternative,) = parse_selector(text).alternatives
    return matches(alternative, shown, level=level)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ('label="SIGN  in"', (1,)),
        ("label=Sign", ()),
        ("id=com.shop:id/go", (1,)),
        ("id=go", ()),
        ("id=MAIL", (3, 4)),
        ("id=mail enabled", (4,)),
        ('value="total 5"', (2,)),
        ('text="Total 5"', (2,)),
        ("text=ghost", (5,)),
        ("text=mail", (3, 4)),
        ("role=button", (1,)),
        ("role=text-field", (3, 4)),
        ("role=android.widget.Button", ()),
        ("visible id=ghost", (5,)),
        ("hidden", (2, 4)),
        ("visible=false", (2, 4)),
        ("editable", (4,)),
        ("editable=false id=mail", (3,)),
        ("focused", (3,)),
        ("selected", (4,)),
        ("hittable", (1, 5)),
        ("enabled=false", (3,)),
        ("appname=shop", ()),
        ("windowtitle=shop", ()),
        ("label=Mail id=nothing", ()),
    ],
)
def test_all_terms_of_an_alternative_must_hold(selector: str, expected: tuple[int, ...]) -> None:
    assert expected == found(selector)


def test_neutral_kinds_exist_at_level_main_alone() -> None:
    assert found("role=text-field", level="0.21") == ()
    assert found("role=edittext", level="0.21") == (3, 4)


def test_the_shown_text_is_the_first_that_is_not_blank() -> None:
    assert text_of(Node(index=0, label=" ", value="v", identifier="i")) == "v"
    assert text_of(Node(index=0)) == ""


@given(st.text(max_size=8), st.text(max_size=8))
def test_matching_equals_folded_equality(label: str, wanted: str) -> None:
    shown = screen(node(label=label))
    folded = collapse(wanted).lower()
    probe = Alternative((TextTerm("label", wanted, folded),))

    expected = (1,) if collapse(label).lower() == folded else ()
    assert expected == tuple(at for at in matches(probe, shown) if at)


@given(st.text(max_size=12), st.text(max_size=4))
def test_a_text_is_shown_in_part_when_its_folding_holds_it(text: str, part: str) -> None:
    folded = collapse(part).lower()

    assert (folded in collapse(text).lower()) is holds_text(text, folded)
