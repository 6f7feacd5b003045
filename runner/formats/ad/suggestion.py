"""Suggestions: selectors that may be meant when a step's selector failed.

Pure. What the step looked for (its evidence, else the terms of its selector) is compared loosely
with the elements on the screen: by id, by role and label, by label, by any text.

May be imported by: runner.formats.ad, tests. Imports: runner.formats.ad, runner.model.
"""

import json
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from runner.formats.ad.match import text_of
from runner.formats.ad.role import kind_of, normalize_type
from runner.formats.ad.selector import Selector, TextTerm, fold
from runner.formats.ad.target import Evidence
from runner.formats.ad.tree import is_on_screen
from runner.model.screen import Node, Snapshot

Basis: TypeAlias = Literal["id", "role-label", "label", "other"]
BASES: Final[tuple[Basis, ...]] = ("id", "role-label", "label", "other")
SUGGESTION_LIMIT: Final = 5
_SHORTEST_PART: Final = 3


class Wanted(Struct, frozen=True, kw_only=True):
    """The folded texts that a step looked for."""

    ids: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()


def suggest(
    snapshot: Snapshot, selector: Selector | None, evidence: Evidence | None
) -> list[dict[str, Any]]:
    """Return at most five suggestions, the strongest basis first, then in document order."""
    wanted = _wanted(selector, evidence)
    found: list[tuple[int, int]] = []
    for at, node in enumerate(snapshot.nodes):
        basis = _basis(snapshot, node, wanted)
        if basis is not None and is_on_screen(snapshot, node):
            found.append((BASES.index(basis), at))
    return [_suggestion(snapshot, at, BASES[rank]) for rank, at in sorted(found)[:SUGGESTION_LIMIT]]


def selector_for(snapshot: Snapshot, at: int) -> str:
    """Return the strongest selector that a recorder would write for a node."""
    node = snapshot.nodes[at]
    if node.identifier:
        twins = sum(1 for other in snapshot.nodes if other.identifier == node.identifier)
        if twins == 1:
            return _term("id", node.identifier)
    role = normalize_type(node.type)
    if node.label:
        label = _term("label", node.label)
        return f"{_term('role', role)} {label}" if role else label
    if node.value:
        return _term("value", node.value)
    return _term("role", role) if role else "visible=true"


def _wanted(selector: Selector | None, evidence: Evidence | None) -> Wanted:
    ids, roles, labels = set(), set(), set()
    if evidence is not None:
        ids.add(fold(evidence.id or ""))
        roles.add(evidence.role)
        labels.add(fold(evidence.label or ""))
    for alternative in selector.alternatives if selector is not None else ():
        for term in alternative.terms:
            if not isinstance(term, TextTerm):
                continue
            if term.key == "id":
                ids.add(term.folded)
            elif term.key == "role":
                roles.add(term.folded)
            else:
                labels.add(term.folded)
    nothing = {""}
    return Wanted(
        ids=frozenset(ids - nothing),
        roles=frozenset(roles - nothing),
        labels=frozenset(labels - nothing),
    )


def _basis(snapshot: Snapshot, node: Node, wanted: Wanted) -> Basis | None:
    identifier = fold(node.identifier)
    # Android's full id ends in what people call the id.
    if identifier and {identifier, identifier.rpartition("/")[2]} & wanted.ids:
        return "id"
    label = fold(node.label)
    has_role = bool(
        {normalize_type(node.type), kind_of(node.type, snapshot.platform)} & wanted.roles
    )
    if label in wanted.labels:
        return "role-label" if has_role else "label"
    if any(_is_part(label, other) for other in wanted.labels):
        return "label"
    text = fold(text_of(node))
    if any(_is_part(text, other) for other in wanted.labels | wanted.ids):
        return "other"
    return None


def _is_part(text: str, other: str) -> bool:
    shorter, longer = sorted((text, other), key=len)
    return len(shorter) >= _SHORTEST_PART and shorter in longer


def _suggestion(snapshot: Snapshot, at: int, basis: Basis) -> dict[str, Any]:
    node = snapshot.nodes[at]
    facts: dict[str, Any] = {
        "selector": selector_for(snapshot, at),
        "basis": basis,
        "ref": f"e{at + 1}",
        "role": normalize_type(node.type),
    }
    if node.label:
        facts["label"] = node.label
    return facts


def _term(key: str, value: str) -> str:
    return f"{key}={json.dumps(value, ensure_ascii=False)}"
