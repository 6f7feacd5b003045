from runner.formats.ad.resolve import resolve_unique
from runner.formats.ad.selector import parse_selector
from runner.formats.ad.suggestion import selector_for, suggest
from runner.formats.ad.target import read_evidence
from tests.runner.formats.ad.screens import node, screen

SHOP = screen(
    node("Text", "Order", identifier="com.shop:id/buy_hint"),  # 1
    node("Button", "Buy now!", identifier="com.shop:id/go"),  # 2
    node("Button", "Buy", rect=(0, 9000, 1, 1)),  # 3: not on the screen
    node("Text", "Buy", rect=(0, 0, 9, 9)),  # 4
    node("Button", "buy", rect=(0, 0, 9, 9)),  # 5
    node("Text", "", value="please buy it"),  # 6
    node("Button", "Cancel", identifier="com.shop:id/cancel"),  # 7
)


def test_the_strongest_basis_comes_first_then_document_order() -> None:
    found = suggest(SHOP, parse_selector("id=go role=button label=Buy"), None)

    assert [(part["ref"], part["basis"]) for part in found] == [
        ("e3", "id"),
        ("e6", "role-label"),
        ("e5", "label"),
        ("e7", "other"),
    ]
    assert found[0] == {
        "selector": 'id="com.shop:id/go"',
        "basis": "id",
        "ref": "e3",
        "role": "button",
        "label": "Buy now!",
    }


def test_evidence_is_looked_for_too() -> None:
    record = read_evidence({"role": "button", "label": "Cancel", "verification": "verified"})

    (only,) = suggest(SHOP, None, record)

    assert (only["ref"], only["basis"]) == ("e8", "role-label")


def test_nothing_is_suggested_without_a_resemblance_and_five_at_most() -> None:
    crowd = screen(*(node("Button", f"Buy {at}") for at in range(9)))

    assert suggest(SHOP, parse_selector("label=Zebra"), None) == []
    assert suggest(SHOP, None, None) == []
    assert len(suggest(crowd, parse_selector("label=Buy"), None)) == 5


def test_a_written_selector_finds_its_node() -> None:
    unique = screen(
        node("Button", 'Say "hi"'),
        node("Text", "a", identifier="one"),
        node("Text", "", value="v"),
        node("Switch"),
    )

    for at in range(1, 5):
        assert at == resolve_unique(parse_selector(selector_for(unique, at)), unique)


def test_an_id_that_several_nodes_have_is_not_written() -> None:
    twins = screen(node("A", "x", identifier="same"), node("B", "y", identifier="same"))

    assert selector_for(twins, 1) == 'role="a" label="x"'
