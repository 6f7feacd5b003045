"""Resolution: the one node that a selector means, by the policy of its use.

Pure. Alternatives are tried from left to right.

    action   first alternative with a placed match decides; several matches only when they are
             one chain of ancestors that leads to one tappable node
    winner   on the screen, then deepest, then smallest; a tie falls to the next alternative
    unique   first alternative with exactly one match
    first    first match of the first alternative that has one

May be imported by: runner.formats, tests. Imports: runner.formats.ad, runner.model.
"""

from itertools import pairwise
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from runner.formats.ad.lexer import Level
from runner.formats.ad.match import matches
from runner.formats.ad.role import is_fillable
from runner.formats.ad.selector import Selector
from runner.formats.ad.tree import (
    ancestors_of,
    cover_of,
    is_inside,
    is_on_screen,
    tappable_of,
    visible_part,
)
from runner.model.screen import Snapshot

CANDIDATE_LIMIT: Final = 5
"""How many nodes a report names."""

Purpose: TypeAlias = Literal["tap", "fill"]


class Target(Struct, frozen=True, kw_only=True):
    """What an action touches: the matched node, the node that takes the touch, and the point.

    `chain` holds every match, outermost first, when several matches mean the same touch.
    """

    node: int
    actionable: int
    x: float
    y: float
    chain: tuple[int, ...]


class Miss(Struct, frozen=True, kw_only=True):
    """Why no node was chosen; `matched` counts the matches, `nodes` names at most five."""

    reason: Literal[
        "selector_not_found", "selector_ambiguous", "target_off_screen", "target_covered"
    ]
    matched: int = 0
    nodes: tuple[int, ...] = ()
    cover: int | None = None


class Winner(Struct, frozen=True, kw_only=True):
    """The matches of the alternative that decides, and the one of them that wins, if any."""

    node: int | None
    matched: tuple[int, ...]


def resolve_target(
    selector: Selector, snapshot: Snapshot, *, purpose: Purpose = "tap", level: Level = "main"
) -> Target | Miss:
    """Choose what an action touches."""
    unplaced = 0
    for alternative in selector.alternatives:
        found = matches(alternative, snapshot, level=level)
        placed = tuple(at for at in found if snapshot.nodes[at].rect is not None)
        if placed:
            return _choose(snapshot, placed, purpose)
        unplaced = unplaced or len(found)
    return Miss(reason="selector_not_found", matched=unplaced)


def pick_winner(selector: Selector, snapshot: Snapshot, *, level: Level = "main") -> Winner:
    """Choose by the tie-break rules; without a winner, the first alternative's matches stand."""
    tied: tuple[int, ...] = ()
    for alternative in selector.alternatives:
        found = matches(alternative, snapshot, level=level)
        if not found:
            continue
        ranked = sorted((_rank(snapshot, at), at) for at in found)
        if len(ranked) == 1 or ranked[0][0] < ranked[1][0]:
            return Winner(node=ranked[0][1], matched=found)
        tied = tied or found
    return Winner(node=None, matched=tied)


def resolve_winner(selector: Selector, snapshot: Snapshot, *, level: Level = "main") -> int | Miss:
    """Choose by the tie-break rules, for reading a text."""
    winner = pick_winner(selector, snapshot, level=level)
    return winner.node if winner.node is not None else _miss(winner.matched)


def resolve_unique(selector: Selector, snapshot: Snapshot, *, level: Level = "main") -> int | Miss:
    """Choose the match of the first alternative that has exactly one."""
    several: tuple[int, ...] = ()
    for alternative in selector.alternatives:
        found = matches(alternative, snapshot, level=level)
        if len(found) == 1:
            return found[0]
        several = several or found
    return _miss(several)


def find_matches(
    selector: Selector, snapshot: Snapshot, *, level: Level = "main"
) -> tuple[int, ...]:
    """Return the matches of the first alternative that has any."""
    for alternative in selector.alternatives:
        found = matches(alternative, snapshot, level=level)
        if found:
            return found
    return ()


def _choose(snapshot: Snapshot, placed: tuple[int, ...], purpose: Purpose) -> Target | Miss:
    options = [(at, _actionable_of(snapshot, at, purpose)) for at in placed]
    covers = [_cover_at(snapshot, actionable) for _, actionable in options]
    open_options = [option for option, cover in zip(options, covers, strict=True) if cover is None]
    if not open_options:
        return Miss(
            reason="target_covered",
            matched=len(placed),
            nodes=placed[:CANDIDATE_LIMIT],
            cover=covers[0],
        )
    chain = tuple(at for at, _ in open_options)
    actionable = open_options[-1][1]
    leads_to_one = all(option[1] == actionable for option in open_options)
    if not leads_to_one or not _is_chain(snapshot, chain):
        return _miss(chain)
    part = visible_part(snapshot, snapshot.nodes[actionable])
    if part is None:
        return Miss(reason="target_off_screen", matched=len(placed), nodes=placed[:CANDIDATE_LIMIT])
    x, y = part.center
    return Target(node=chain[-1], actionable=actionable, x=x, y=y, chain=chain)


def _actionable_of(snapshot: Snapshot, at: int, purpose: Purpose) -> int:
    if purpose == "tap":
        return tappable_of(snapshot, at)
    nodes = snapshot.nodes
    for candidate in (at, *(ancestors_of(snapshot, at) or ())):
        node = nodes[candidate]
        if node.type and node.rect is not None and is_fillable(node.type, snapshot.platform):
            return candidate
    return at


def _cover_at(snapshot: Snapshot, actionable: int) -> int | None:
    part = visible_part(snapshot, snapshot.nodes[actionable])
    return None if part is None else cover_of(snapshot, actionable, *part.center)


def _is_chain(snapshot: Snapshot, positions: tuple[int, ...]) -> bool:
    return all(is_inside(snapshot, inner, outer) for outer, inner in pairwise(positions))


def _rank(snapshot: Snapshot, at: int) -> tuple[bool, int, float]:
    node = snapshot.nodes[at]
    # The chain tells the depth; a capture that was cut may count depths from its own root.
    depth = len(ancestors_of(snapshot, at) or ())
    area = float("inf") if node.rect is None else node.rect.area
    return not is_on_screen(snapshot, node), -depth, area


def _miss(found: tuple[int, ...]) -> Miss:
    if not found:
        return Miss(reason="selector_not_found")
    return Miss(reason="selector_ambiguous", matched=len(found), nodes=found[:CANDIDATE_LIMIT])
