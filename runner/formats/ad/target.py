"""Target evidence: whether the element on the screen is the one that was recorded.

Pure. Comparison is case-sensitive over canonical texts (NFC, trimmed, collapsed, cut to 256
bytes), unlike selector matching. The classification, in order:

    recorded as unverifiable                    identity-unverifiable
    the selector matches nothing                selector-miss
    no match has the identity and ancestry      identity-mismatch
    one has, and it wins the selector           verified
    one has, and another wins                   identity-mismatch
    several have: `sibling`, else the order in the region, tells one that must win,
    and when neither does                       identity-unverifiable

A selector whose matches tie has no winner; then nothing tells which node would be touched, and
the result is identity-unverifiable.

May be imported by: runner.formats, tests. Imports: runner.formats.ad, runner.model, runner.errors.
"""

import unicodedata
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from runner.errors import InputError
from runner.formats.ad.lexer import Level
from runner.formats.ad.resolve import CANDIDATE_LIMIT, pick_winner
from runner.formats.ad.role import normalize_type
from runner.formats.ad.selector import Selector, collapse
from runner.formats.ad.tree import ancestors_of, region_of, sibling_index, visible_part
from runner.model.screen import Node, Snapshot

FIELD_BYTES: Final = 256
"""The longest string field of a record; a longer observed text is cut in the same way."""

Classification: TypeAlias = Literal[
    "verified", "selector-miss", "identity-mismatch", "identity-unverifiable"
]


class Ancestor(Struct, frozen=True):
    """One recorded ancestor; without a label, any label fits."""

    role: str
    label: str | None = None


class Region(Struct, frozen=True):
    """The recorded scroll region."""

    role: str
    id: str | None = None
    label: str | None = None


class Evidence(Struct, frozen=True, kw_only=True, rename="camel"):
    """One `target-v1` record, as far as replay compares it."""

    id: str | None = None
    role: str
    label: str | None = None
    ancestry: tuple[Ancestor, ...] = ()
    sibling: int = 0
    viewport_order: int = 0
    scroll_region: Region | None = None
    verification: Literal["verified", "unverifiable"]


class Binding(Struct, frozen=True, kw_only=True):
    """What the comparison found. `node` is the selector's winner.

    Positions are those of `screen`, or of the step's last screen when it is absent.
    """

    classification: Classification
    match_count: int | None = None
    node: int | None = None
    mismatches: tuple[str, ...] = ()
    candidates: tuple[int, ...] = ()
    screen: Snapshot | None = None


def read_evidence(record: dict[str, Any]) -> Evidence:
    """Read a canonical record. Reasons: `arguments_invalid`."""
    try:
        return msgspec.convert(record, Evidence)
    except msgspec.ValidationError as error:
        raise InputError(
            reason="arguments_invalid",
            message=f"the step's target evidence cannot be read: {error}",
            hint="record the step anew",
        ) from error


def canonical_text(text: str) -> str:
    """Return `text` as records hold it."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = collapse(text)
    if len(text) * 4 <= FIELD_BYTES:
        return text
    return text.encode("utf-8", "replace")[:FIELD_BYTES].decode("utf-8", "ignore")


def has_identity(node: Node, evidence: Evidence) -> bool:
    """Tell whether the node's own identity is the recorded one: its id, else role and label."""
    if evidence.id is not None:
        return canonical_text(node.identifier) == canonical_text(evidence.id)
    return normalize_type(node.type) == evidence.role and canonical_text(node.label) == _given(
        evidence.label
    )


def has_ancestry(snapshot: Snapshot, at: int, evidence: Evidence) -> bool:
    """Tell whether the node's ancestors are the recorded ones, over the recorded length."""
    chain = ancestors_of(snapshot, at)
    return chain is not None and _fits(snapshot, chain, evidence.ancestry)


def denotes(snapshot: Snapshot, at: int, evidence: Evidence) -> bool:
    """Tell whether a node has the recorded identity and ancestry."""
    return has_identity(snapshot.nodes[at], evidence) and has_ancestry(snapshot, at, evidence)


def classify(
    evidence: Evidence, selector: Selector, snapshot: Snapshot, *, level: Level = "main"
) -> Binding:
    """Compare the selector's matches with the record, by the table above."""
    if evidence.verification == "unverifiable":
        return Binding(classification="identity-unverifiable")
    winner = pick_winner(selector, snapshot, level=level)
    count = len(winner.matched)
    if not count:
        return Binding(classification="selector-miss", match_count=0)
    same = tuple(at for at in winner.matched if denotes(snapshot, at, evidence))
    expected = _expected_node(snapshot, same, evidence)
    candidates = (same or winner.matched)[:CANDIDATE_LIMIT]
    if not same or (expected is not None and winner.node not in {None, expected}):
        seen = winner.node if winner.node is not None else winner.matched[0]
        return Binding(
            classification="identity-mismatch",
            match_count=count,
            node=seen,
            mismatches=explain(snapshot, seen, evidence),
            candidates=candidates,
        )
    if expected is None or winner.node is None:
        return Binding(
            classification="identity-unverifiable",
            match_count=count,
            node=winner.node,
            candidates=candidates,
        )
    return Binding(classification="verified", match_count=count, node=winner.node)


def explain(snapshot: Snapshot, at: int, evidence: Evidence) -> tuple[str, ...]:
    """Say in short texts how a node differs from the record; at most five."""
    node = snapshot.nodes[at]
    texts: list[str] = []
    if evidence.id is not None:
        _differ(texts, "id", evidence.id, canonical_text(node.identifier))
    else:
        _differ(texts, "role", evidence.role, normalize_type(node.type))
        _differ(texts, "label", _given(evidence.label), canonical_text(node.label))
    chain = ancestors_of(snapshot, at)
    if chain is None:
        return (*texts, "its place in the tree is broken")
    for depth, recorded in enumerate(evidence.ancestry):
        if depth >= len(chain):
            texts.append(f"it has {len(chain)} ancestors, recorded were {len(evidence.ancestry)}")
            break
        ancestor = snapshot.nodes[chain[depth]]
        name = f"ancestor {depth + 1}"
        _differ(texts, f"{name} role", recorded.role, normalize_type(ancestor.type))
        if recorded.label is not None:
            _differ(texts, f"{name} label", recorded.label, canonical_text(ancestor.label))
    if not texts:
        _differ(texts, "sibling", str(evidence.sibling), str(sibling_index(snapshot, at)))
    return tuple(texts[:5]) or ("it stands elsewhere in its scroll region",)


def is_container_present(snapshot: Snapshot, evidence: Evidence) -> bool | None:
    """Tell whether the place of the recorded element is on the screen; None without such data."""
    if not evidence.ancestry:
        return None
    nodes = snapshot.nodes
    is_there = False
    for at in range(len(nodes)):
        chain = ancestors_of(snapshot, at)
        if chain is not None and _fits(snapshot, (at, *chain), evidence.ancestry):
            is_there = True
            break
    region = evidence.scroll_region
    if not is_there or region is None or (region.id is None and region.label is None):
        return is_there
    return any(
        _is_region(node, region) and visible_part(snapshot, node) is not None for node in nodes
    )


def _expected_node(snapshot: Snapshot, same: tuple[int, ...], evidence: Evidence) -> int | None:
    """Return the one of several equal nodes that the record means, if it tells."""
    if len(same) <= 1:
        return same[0] if same else None
    siblings = [at for at in same if sibling_index(snapshot, at) == evidence.sibling]
    if len(siblings) == 1:
        return siblings[0]
    in_region = [at for at in same if _in_region(snapshot, at, evidence.scroll_region)]
    ranked = sorted(in_region, key=lambda at: _reading_order(snapshot, at))
    if evidence.viewport_order < len(ranked):
        return ranked[evidence.viewport_order]
    return None


def _in_region(snapshot: Snapshot, at: int, region: Region | None) -> bool:
    observed = region_of(snapshot, at)
    if observed is None or region is None:
        return observed is None and region is None
    return _is_region(snapshot.nodes[observed], region)


def _is_region(node: Node, region: Region) -> bool:
    if normalize_type(node.type) != region.role:
        return False
    if region.id is not None:
        return canonical_text(node.identifier) == canonical_text(region.id)
    return canonical_text(node.label) == _given(region.label)


def _reading_order(snapshot: Snapshot, at: int) -> tuple[bool, float, float, int]:
    rect = snapshot.nodes[at].rect
    if rect is None:
        return True, 0.0, 0.0, at
    x, y = rect.center
    return False, y, x, at


def _fits(snapshot: Snapshot, chain: tuple[int, ...], ancestry: tuple[Ancestor, ...]) -> bool:
    return len(chain) >= len(ancestry) and all(
        normalize_type(snapshot.nodes[at].type) == recorded.role
        and (
            recorded.label is None
            or canonical_text(snapshot.nodes[at].label) == canonical_text(recorded.label)
        )
        for at, recorded in zip(chain, ancestry, strict=False)
    )


def _given(text: str | None) -> str:
    # Absent equals absent, and a screen says absent with an empty text.
    return canonical_text(text) if text is not None else ""


def _differ(texts: list[str], name: str, recorded: str, observed: str) -> None:
    if recorded != observed:
        texts.append(f"{name} was {recorded!r}, is {observed!r}")
