import pytest

from runner.formats.ad.resolve import (
    Miss,
    Target,
    Winner,
    find_matches,
    pick_winner,
    resolve_target,
    resolve_unique,
    resolve_winner,
)
from runner.formats.ad.selector import parse_selector
from runner.formats.ad.tree import ancestors_of, is_inside, sibling_index
from runner.model.screen import Snapshot
from tests.runner.formats.ad.screens import node, screen


def target(shown: Snapshot, text: str, *, fill: bool = False) -> Target | Miss:
    return resolve_target(parse_selector(text), shown, purpose="fill" if fill else "tap")


def test_a_single_match_is_touched_in_its_middle() -> None:
    shown = screen(node(label="Go", rect=(100, 200, 50, 20)))

    assert Target(node=1, actionable=1, x=125, y=210, chain=(1,)) == target(shown, "label=Go")


def test_the_middle_is_that_of_the_part_on_the_screen() -> None:
    shown = screen(node(label="Go", rect=(900, 1900, 200, 200)))

    found = target(shown, "label=Go")

    assert isinstance(found, Target)
    assert (found.x, found.y) == (950, 1950)


@pytest.mark.parametrize(
    "rect", [(0, 2000, 100, 100), (-100, 0, 100, 100), (1000, 0, 5, 5), (10, 10, 0, 0)]
)
def test_a_target_without_any_part_on_the_screen_is_refused(
    rect: tuple[float, float, float, float],
) -> None:
    found = target(screen(node(label="Go", rect=rect)), "label=Go")

    assert Miss(reason="target_off_screen", matched=1, nodes=(1,)) == found


def test_a_match_moves_to_its_tappable_ancestor() -> None:
    shown = screen(
        node("Row", rect=(0, 100, 1000, 100), hittable=True),
        node("Text", "Milk", parent=1, rect=(10, 110, 80, 30)),
    )

    found = target(shown, "label=Milk")

    assert isinstance(found, Target)
    assert (found.node, found.actionable, found.x, found.y) == (2, 1, 500, 150)


@pytest.mark.parametrize(
    "container",
    [
        node("Panel", rect=(0, 0, 1000, 1000), hittable=True, scrollable=True),
        node("android.widget.ScrollView", rect=(0, 0, 1000, 1000), hittable=True),
        node("Panel", rect=(0, 0, 1000, 2000), hittable=True),
    ],
)
def test_a_match_does_not_move_to_a_container_that_is_not_meant(
    container: dict[str, object],
) -> None:
    shown = screen(container, node("Text", "Milk", parent=1, rect=(10, 110, 80, 30)))

    found = target(shown, "label=Milk")

    assert isinstance(found, Target)
    assert found.actionable == 2


def test_the_first_alternative_with_a_placed_match_decides() -> None:
    shown = screen(node(label="A", rect=None), node(label="B"), node(label="C"))

    found = target(shown, "label=A || label=B || label=C")

    assert isinstance(found, Target)
    assert found.node == 2


def test_matches_without_a_place_are_not_found() -> None:
    found = target(screen(node(label="A", rect=None)), "label=A")

    assert Miss(reason="selector_not_found", matched=1) == found
    assert Miss(reason="selector_not_found") == target(screen(), "label=A")


def test_several_matches_are_accepted_when_they_are_one_chain_to_one_node() -> None:
    shown = screen(
        node("Button", "OK", hittable=True),
        node("Text", "OK", parent=1, rect=(120, 120, 20, 20)),
    )

    found = target(shown, "label=OK")

    assert isinstance(found, Target)
    assert (found.chain, found.node, found.actionable) == ((1, 2), 2, 1)


def test_a_chain_that_leads_to_different_nodes_is_ambiguous() -> None:
    shown = screen(
        node("Button", "OK", hittable=True),
        node("Button", "OK", parent=1, rect=(120, 120, 20, 20), hittable=True),
    )

    assert Miss(reason="selector_ambiguous", matched=2, nodes=(1, 2)) == target(shown, "label=OK")


def test_siblings_are_ambiguous_even_when_they_share_their_tappable_ancestor() -> None:
    shown = screen(
        node("Row", rect=(0, 100, 1000, 100), hittable=True),
        node("Text", "OK", parent=1),
        node("Text", "OK", parent=1),
    )

    assert Miss(reason="selector_ambiguous", matched=2, nodes=(2, 3)) == target(shown, "label=OK")


def test_an_ambiguity_names_five_candidates_at_most() -> None:
    shown = screen(*(node(label="OK", rect=(0, 100 * at, 10, 10)) for at in range(9)))

    assert Miss(reason="selector_ambiguous", matched=9, nodes=(1, 2, 3, 4, 5)) == target(
        shown, "label=OK"
    )


def test_a_decisive_alternative_that_is_ambiguous_does_not_fall_to_the_next() -> None:
    shown = screen(node(label="OK"), node(label="OK"), node(label="Other"))

    found = target(shown, "label=OK || label=Other")

    assert isinstance(found, Miss)
    assert found.reason == "selector_ambiguous"


def test_a_later_hittable_node_over_the_point_covers_the_target() -> None:
    shown = screen(
        node(label="Go", hittable=True), node("Scrim", rect=(0, 0, 1000, 2000), hittable=True)
    )

    assert Miss(reason="target_covered", matched=1, nodes=(1,), cover=2) == target(
        shown, "label=Go"
    )


@pytest.mark.parametrize(
    "over",
    [
        node("Layer", rect=(0, 0, 1000, 2000), hittable=False),
        node("Layer", rect=(0, 0, 1000, 2000)),
        node("Layer", rect=(0, 0, 150, 2000), hittable=True),
        node("Icon", parent=1, hittable=True),
        node("Icon", rect=None, hittable=True),
    ],
)
def test_what_is_transparent_beside_or_inside_does_not_cover(over: dict[str, object]) -> None:
    assert isinstance(target(screen(node(label="Go", hittable=True), over), "label=Go"), Target)


def test_an_earlier_node_does_not_cover() -> None:
    shown = screen(node("Scrim", rect=(0, 0, 999, 999), hittable=True), node(label="Go"))

    assert isinstance(target(shown, "label=Go"), Target)


def test_a_node_that_ios_hit_tested_is_not_covered() -> None:
    over = node("Other", rect=(0, 0, 1000, 2000), hittable=True)

    assert isinstance(
        target(screen(node(label="Go", hittable=True), over, platform="ios"), "label=Go"), Target
    )
    assert isinstance(target(screen(node(label="Go"), over, platform="ios"), "label=Go"), Miss)


def test_a_covered_twin_does_not_make_the_open_one_ambiguous() -> None:
    shown = screen(
        node(label="OK", hittable=True),
        node("Scrim", rect=(0, 0, 1000, 2000), hittable=True),
        node(label="OK", parent=2, rect=(400, 900, 100, 100), hittable=True),
    )

    found = target(shown, "label=OK")

    assert isinstance(found, Target)
    assert found.node == 3


def test_filling_goes_to_the_field_and_not_to_a_hittable_row() -> None:
    shown = screen(
        node("Row", rect=(0, 100, 1000, 100), hittable=True),
        node("android.widget.EditText", "Mail", parent=1, rect=(10, 110, 80, 30)),
        node("Text", "hint", parent=2, rect=(12, 112, 20, 10)),
    )

    by_field, by_hint = (
        target(shown, "label=Mail", fill=True),
        target(shown, "label=hint", fill=True),
    )

    assert isinstance(by_field, Target)
    assert isinstance(by_hint, Target)
    assert (by_field.actionable, by_hint.actionable) == (2, 2)


def test_the_winner_is_on_the_screen_then_deepest_then_smallest() -> None:
    shown = screen(
        node("Box", "A", parent=0, rect=(0, 0, 10, 10)),  # 1
        node("Box", "A", parent=1, rect=(0, 0, 20, 20)),  # 2
        node("Box", "A", parent=1, rect=(0, 0, 5, 5)),  # 3: as deep, smaller
        node("Box", "A", parent=3, rect=(0, 3000, 1, 1)),  # 4: deepest, but off the screen
    )

    winner = pick_winner(parse_selector("label=A"), shown)

    assert Winner(node=3, matched=(1, 2, 3, 4)) == winner


def test_an_exact_tie_falls_to_the_next_alternative() -> None:
    shown = screen(node(label="A"), node(label="A"), node(label="B"))

    assert Winner(node=3, matched=(3,)) == pick_winner(parse_selector("label=A || label=B"), shown)
    assert Winner(node=None, matched=(1, 2)) == pick_winner(parse_selector("label=A"), shown)
    assert resolve_winner(parse_selector("label=A"), shown) == Miss(
        reason="selector_ambiguous", matched=2, nodes=(1, 2)
    )
    assert resolve_winner(parse_selector("label=A || label=B"), shown) == 3


def test_a_unique_use_takes_the_first_alternative_with_one_match() -> None:
    shown = screen(node(label="A"), node(label="A"), node(label="B"))

    assert resolve_unique(parse_selector("label=A || label=B"), shown) == 3
    assert resolve_unique(parse_selector("label=A"), shown) == Miss(
        reason="selector_ambiguous", matched=2, nodes=(1, 2)
    )
    assert resolve_unique(parse_selector("label=C"), shown) == Miss(reason="selector_not_found")


def test_a_reading_use_takes_the_first_alternative_that_matches() -> None:
    shown = screen(node(label="A"), node(label="A"), node(label="B"))

    assert find_matches(parse_selector("label=C || label=A || label=B"), shown) == (1, 2)
    assert find_matches(parse_selector("label=C"), shown) == ()


def test_a_broken_parent_chain_has_no_ancestors() -> None:
    shown = screen(node(parent=2), node(parent=99), node(parent=0))

    assert ancestors_of(shown, 1) is None
    assert ancestors_of(shown, 2) is None
    assert ancestors_of(shown, 3) == (0,)
    assert not is_inside(shown, 1, 0)
    assert is_inside(shown, 3, 0)


def test_siblings_are_counted_below_one_parent() -> None:
    shown = screen(node(), node(parent=1), node(), node())

    assert [0, 0, 1, 2] == [sibling_index(shown, at) for at in (1, 2, 3, 4)]
