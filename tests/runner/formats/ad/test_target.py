import unicodedata
from typing import Any

import pytest
from hypothesis import given, strategies as st

from runner.errors import InputError
from runner.formats.ad.selector import parse_selector
from runner.formats.ad.target import (
    Binding,
    Evidence,
    canonical_text,
    classify,
    denotes,
    explain,
    is_container_present,
    read_evidence,
)
from runner.model.screen import Snapshot
from tests.runner.formats.ad.screens import node, screen

LABEL_BUY = parse_selector("label=Buy")


def evidence(**fields: Any) -> Evidence:
    return read_evidence({"role": "button", "verification": "verified", **fields})


def verdict(shown: Snapshot, selector: str = "label=Buy", **fields: Any) -> Binding:
    return classify(evidence(**fields), parse_selector(selector), shown)


def test_row_1_what_was_recorded_as_unverifiable_stays_so_without_a_count() -> None:
    binding = verdict(screen(node(label="Buy")), label="Buy", verification="unverifiable")

    assert Binding(classification="identity-unverifiable") == binding


def test_row_2_a_selector_that_matches_nothing_is_a_miss() -> None:
    assert Binding(classification="selector-miss", match_count=0) == verdict(
        screen(node(label="Sell")), label="Buy"
    )


def test_row_3_matches_without_the_identity_are_a_mismatch() -> None:
    binding = verdict(screen(node(label="BUY")), label="Buy")

    assert binding == Binding(
        classification="identity-mismatch",
        match_count=1,
        node=1,
        mismatches=("label was 'Buy', is 'BUY'",),
        candidates=(1,),
    )


def test_row_4_the_only_identity_that_wins_is_verified() -> None:
    shown = screen(node("Box", "Buy"), node("android.widget.Button", "Buy", rect=(0, 0, 1, 1)))

    assert verdict(shown, label="Buy") == Binding(classification="verified", match_count=2, node=2)


def test_row_5_an_identity_that_does_not_win_is_a_mismatch() -> None:
    shown = screen(node("Button", "Buy"), node("Box", "Buy", rect=(0, 0, 1, 1)))

    binding = verdict(shown, label="Buy")

    assert (binding.classification, binding.node) == ("identity-mismatch", 2)


def test_row_5_an_identity_in_a_tie_cannot_be_verified() -> None:
    shown = screen(node("Button", "Buy"), node("Box", "Buy"))

    assert verdict(shown, label="Buy") == Binding(
        classification="identity-unverifiable", match_count=2, candidates=(1,)
    )


TWINS = (
    node("Row", rect=(0, 0, 1000, 100)),  # 1
    node("Button", "Buy", parent=1, rect=(0, 0, 50, 50)),  # 2: sibling 0, wins by its size
    node("Box", parent=1),  # 3
    node("Button", "Buy", parent=1, rect=(0, 50, 90, 90)),  # 4: sibling 2
)


def test_row_6_a_sibling_that_isolates_the_winner_is_verified() -> None:
    assert verdict(screen(*TWINS), label="Buy", sibling=0).classification == "verified"


def test_row_6_a_sibling_that_isolates_another_is_a_mismatch() -> None:
    binding = verdict(screen(*TWINS), label="Buy", sibling=2)

    assert (binding.classification, binding.node) == ("identity-mismatch", 2)
    assert binding.mismatches == ("sibling was '2', is '0'",)
    assert binding.candidates == (2, 4)


@pytest.mark.parametrize(
    ("order", "classification"),
    [(0, "verified"), (1, "identity-mismatch"), (2, "identity-unverifiable")],
)
def test_row_6_else_the_order_in_the_same_region_decides(order: int, classification: str) -> None:
    binding = verdict(screen(*TWINS), label="Buy", sibling=7, viewportOrder=order)

    assert classification == binding.classification


def test_row_6_twins_of_other_regions_do_not_take_part_in_the_order() -> None:
    shown = screen(
        node("android.widget.ScrollView", identifier="list", rect=(0, 0, 1000, 1000)),
        node("Button", "Buy", parent=1, rect=(0, 500, 50, 50)),  # 2
        node("Button", "Buy", parent=0, rect=(0, 0, 60, 60)),  # 3: shallower
    )
    region = {"role": "scrollview", "id": "list"}
    facts: dict[str, Any] = {"label": "Buy", "sibling": 9, "viewportOrder": 0}

    assert verdict(shown, **facts, scrollRegion=region).classification == "verified"
    assert verdict(shown, **facts).classification == "identity-mismatch"
    other = {"role": "scrollview", "id": "other"}
    assert verdict(shown, **facts, scrollRegion=other).classification == "identity-unverifiable"


def test_the_order_goes_by_centre_then_column_then_document_and_unplaced_last() -> None:
    shown = screen(
        node("Button", "Buy", rect=None, parent=0),  # 1: last
        node("Button", "Buy", rect=(500, 0, 20, 20), parent=0),  # 2: same centre y, further right
        node("Button", "Buy", rect=(0, 5, 10, 10), parent=0),  # 3: same centre y, smallest: wins
        node("Button", "Buy", rect=(0, 100, 50, 50), parent=0),  # 4
    )
    results = [
        verdict(shown, label="Buy", sibling=9, viewportOrder=order).classification
        for order in range(5)
    ]

    assert results == ["verified", *["identity-mismatch"] * 3, "identity-unverifiable"]


def test_an_id_is_the_whole_identity() -> None:
    shown = screen(node("Other", "anything", identifier="go"))

    assert verdict(shown, "id=go", id="go", label="Go").classification == "verified"
    assert verdict(shown, "id=GO", id="GO").classification == "identity-mismatch"


def test_an_absent_label_equals_an_absent_label() -> None:
    assert verdict(screen(node()), "role=button").classification == "verified"
    assert verdict(screen(node(label="x")), "role=button").classification == "identity-mismatch"


def test_labels_are_compared_in_their_canonical_form() -> None:
    decomposed = unicodedata.normalize("NFD", "Café  au\nlait")

    shown = screen(node(label=f" {decomposed} "))
    assert verdict(shown, "role=button", label="Café au lait").classification == "verified"


def test_a_long_label_is_cut_as_the_recorder_cut_it() -> None:
    shown = screen(node(label="é" * 200))

    assert verdict(shown, "role=button", label="é" * 128).classification == "verified"


@pytest.mark.slow
@given(st.text())
def test_canonical_texts_are_short_and_stable(text: str) -> None:
    once = canonical_text(text)

    assert len(once.encode("utf-8", "replace")) <= 256
    assert collapse_free(once) == collapse_free(canonical_text(once))


def collapse_free(text: str) -> str:
    # A cut can end in a space, which the next pass trims.
    return text.rstrip(" ")


DEEP = (
    node("Panel", "Shop", rect=(0, 0, 900, 900)),  # 1
    node("Row", "", parent=1),  # 2
    node("Button", "Buy", parent=2),  # 3
)


@pytest.mark.parametrize(
    ("ancestry", "expected"),
    [
        ([], True),
        ([{"role": "row"}], True),
        ([{"role": "row"}, {"role": "panel"}], True),
        ([{"role": "row"}, {"role": "panel", "label": "Shop"}, {"role": "window"}], True),
        ([{"role": "row", "label": "x"}], False),
        ([{"role": "row"}, {"role": "panel", "label": "shop"}], False),
        ([{"role": "cell"}], False),
        ([{"role": "row"}, {"role": "panel"}, {"role": "window"}, {"role": "app"}], False),
    ],
)
def test_ancestry_is_compared_over_its_recorded_length(
    ancestry: list[dict[str, str]], *, expected: bool
) -> None:
    recorded = evidence(label="Buy", ancestry=ancestry)

    assert expected is denotes(screen(*DEEP), 3, recorded)
    assert expected is (classify(recorded, LABEL_BUY, screen(*DEEP)).classification == "verified")


def test_a_node_with_a_broken_chain_is_nobody() -> None:
    shown = screen(node("Button", "Buy", parent=7))

    assert verdict(shown, label="Buy").classification == "identity-mismatch"
    assert explain(shown, 1, evidence(label="Buy")) == ("its place in the tree is broken",)


def test_differences_are_explained_in_five_texts_at_most() -> None:
    ancestry = [{"role": "a", "label": "x"}] * 3

    texts = explain(screen(*DEEP), 3, evidence(role="cell", label="Sell", ancestry=ancestry))

    assert len(texts) == 5
    assert texts[0] == "role was 'cell', is 'button'"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"ancestry": [{"role": "row"}, {"role": "panel"}]}, True),
        ({"ancestry": [{"role": "cell"}]}, False),
        ({"ancestry": [{"role": "row"}], "scrollRegion": {"role": "panel"}}, True),
        ({"ancestry": [{"role": "row"}], "scrollRegion": {"role": "panel", "label": "Shop"}}, True),
        ({"ancestry": [{"role": "row"}], "scrollRegion": {"role": "panel", "label": "Bar"}}, False),
        ({"ancestry": [{"role": "row"}], "scrollRegion": {"role": "panel", "id": "p"}}, False),
    ],
)
def test_the_container_is_present_with_its_ancestry_and_named_region(
    fields: dict[str, Any], *, expected: bool | None
) -> None:
    assert expected is is_container_present(screen(*DEEP), evidence(**fields))


def test_a_record_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read_evidence({"role": 5})

    assert caught.value.reason == "arguments_invalid"


nodes = st.builds(
    node,
    st.sampled_from(["Button", "Row", "android.widget.ScrollView", ""]),
    st.sampled_from(["Buy", "buy", "", "x"]),
    parent=st.none() | st.integers(-1, 9),
    rect=st.none() | st.tuples(*(st.integers(-50, 2100).map(float),) * 2, *(st.just(9.0),) * 2),
    identifier=st.sampled_from(["", "a"]),
)


@pytest.mark.slow
@given(
    st.lists(nodes, max_size=8),
    st.sampled_from(["label=Buy", "role=button || id=a"]),
    st.fixed_dictionaries(
        {"label": st.sampled_from(["Buy", "x"]), "sibling": st.integers(0, 3)},
        optional={"id": st.just("a"), "ancestry": st.just([{"role": "row"}])},
    ),
)
def test_verified_means_that_the_winner_denotes_the_record(
    parts: list[dict[str, Any]], selector: str, fields: dict[str, Any]
) -> None:
    shown = screen(*parts)
    recorded = evidence(**fields)

    binding = classify(recorded, parse_selector(selector), shown)

    if binding.classification == "verified":
        assert binding.node is not None
        assert denotes(shown, binding.node, recorded)
    if binding.classification == "identity-mismatch":
        assert binding.mismatches
