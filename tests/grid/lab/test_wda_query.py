import pytest
from hypothesis import given, strategies as st

from grid.lab.wda_error import WdaError
from grid.lab.wda_query import find_elements
from grid.lab.wda_source import XcuiElement, xml_tree
from runner.model.screen import Rect
from tests.grid.lab.ioskit import error_of


def make(kind: str, *kids: XcuiElement, identifier: str = "", label: str = "") -> XcuiElement:
    return XcuiElement(
        kind=kind,
        identifier=identifier,
        label=label,
        rect=Rect(0, 0, 10, 10),
        ref=f"{kind}:{identifier}:{label}",
        children=kids,
    )


ROOT = make(
    "Application",
    make(
        "Window",
        make("StaticText", identifier="title", label="Home"),
        make(
            "CollectionView",
            make("Cell", make("StaticText", label="1.00 EUR"), identifier="row_1", label="One"),
            make("Cell", make("StaticText", label="2.00 EUR"), identifier="row_2", label="Two"),
            identifier="list",
        ),
        make("Button", label="it's `odd`"),
    ),
    label="Shop",
)


def names(using: str, value: str) -> list[str | None]:
    return [element.name for element in find_elements(ROOT, using, value)]


@pytest.mark.parametrize(
    ("using", "value", "expected"),
    [
        ("id", "row_2", ["row_2"]),
        ("accessibility id", "title", ["title"]),
        ("name", "Two", ["row_2"]),
        ("id", "nobody", []),
        ("class name", "XCUIElementTypeCell", ["row_1", "row_2"]),
        ("predicate string", "label == 'Two' OR name == 'list'", ["list", "row_2"]),
        ("class chain", "XCUIElementTypeWindow/XCUIElementTypeButton", ["it's `odd`"]),
        ("class chain", "**/XCUIElementTypeCell[2]", ["row_2"]),
        ("class chain", "**/XCUIElementTypeCell[-1]", ["row_2"]),
        ("class chain", "**/XCUIElementTypeCell[3]", []),
        ("class chain", "**/XCUIElementTypeCell[-3]", []),
        ("class chain", "**/XCUIElementTypeCell[`label == 'One'`]/*", ["1.00 EUR"]),
        ("class chain", "**/XCUIElementTypeCell[$label BEGINSWITH '2'$]", ["row_2"]),
        ("class chain", "**/XCUIElementTypeAny[`label CONTAINS '``'`][1]", ["it's `odd`"]),
        ("class chain", "**/XCUIElementTypeAny[`name == 'it\\'s ``odd``'`]", ["it's `odd`"]),
        ("class chain", "**/XCUIElementTypeWindow/**/XCUIElementTypeStaticText[2]", ["1.00 EUR"]),
        ("xpath", "//XCUIElementTypeCell[@name='row_1']", ["row_1"]),
        ("xpath", "(//XCUIElementTypeStaticText)[last()]", ["2.00 EUR"]),
        ("xpath", "//*[contains(@label, 'EUR')]/..", ["row_1", "row_2"]),
        ("link text", "label=Two", ["row_2"]),
        ("partial link text", "label=EUR", ["1.00 EUR", "2.00 EUR"]),
    ],
)
def test_a_selector_finds_in_document_order(using: str, value: str, expected: list[str]) -> None:
    assert expected == names(using, value)


@pytest.mark.parametrize(
    ("using", "value"),
    [
        ("css selector", "button"),
        ("class name", "Button"),
        ("class chain", ""),
        ("class chain", "**/XCUIElementTypeCell[0]"),
        ("class chain", "**/XCUIElementTypeCell[`name`]"),
        ("class chain", "XCUIElementTypeWindow XCUIElementTypeCell"),
        ("class chain", "**/Foo"),
        ("xpath", "//["),
        ("xpath", "//@name"),
        ("xpath", "count(//*)"),
        ("xpath", "\x00"),
        ("link text", "Two"),
        ("link text", "colour=red"),
    ],
)
def test_what_is_no_selector_is_an_invalid_selector(using: str, value: str) -> None:
    with pytest.raises(WdaError) as caught:
        names(using, value)

    assert caught.value.error == "invalid selector"


def test_the_search_of_an_element_stays_inside_it() -> None:
    cell = find_elements(ROOT, "id", "row_1")[0]

    found = [
        [element.name for element in find_elements(cell, using, value)]
        for using, value in (
            ("class name", "XCUIElementTypeStaticText"),
            ("xpath", "//XCUIElementTypeStaticText"),
            ("class chain", "*"),
        )
    ]

    assert [["1.00 EUR"]] * 3 == found


def test_the_xml_keeps_characters_that_xml_has_and_drops_the_others() -> None:
    node = xml_tree(make("Button", label='a\x00b"<é'))

    assert node.get("label") == 'a?b"<é'


_PIECES = st.sampled_from(
    [
        "**/",
        "/",
        "*",
        "XCUIElementTypeCell",
        "XCUIElementTypeAny",
        "[1]",
        "[-1]",
        "[`name == 'row_1'`]",
        "[$label == 'x'$]",
        "[",
        "`",
        "$",
        "//",
        "@name",
        "..",
    ]
)


@given(
    st.sampled_from(["class chain", "xpath", "predicate string", "link text", "id"]),
    st.one_of(st.text(max_size=40), st.lists(_PIECES, max_size=8).map("".join)),
)
def test_nothing_but_the_typed_error_comes_out(using: str, value: str) -> None:
    assert error_of(lambda: find_elements(ROOT, using, value)) in {"", "invalid selector"}
