"""Steps that look: wait, get, is, snapshot, screenshot.

May be imported by: runner.formats.ad, tests. Imports: runner.formats.ad, runner.model.
"""

import json
from typing import Any, Final, assert_never

from runner.formats.ad.aim import describe_node, miss_error, require_verified
from runner.formats.ad.match import has_state, text_of
from runner.formats.ad.request import (
    PresenceQuestion,
    Question,
    StateQuestion,
    read_question,
    read_wait,
    refuse_operands,
    refuse_ref,
)
from runner.formats.ad.resolve import (
    CANDIDATE_LIMIT,
    Miss,
    find_matches,
    resolve_unique,
    resolve_winner,
)
from runner.formats.ad.script import Action
from runner.formats.ad.selector import parse_selector
from runner.formats.ad.stage import Stage, StepError, Steps, step_error
from runner.formats.ad.target import Evidence, canonical_text
from runner.formats.ad.tree import is_on_screen
from runner.formats.ad.wait import wait_for
from runner.model.screen import Node, Snapshot

_SCOPED: Final = ("snapshotScope", "snapshotDepth")


def wait(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Wait for time, an element, a text, absence or stillness."""
    narrowed = [key for key in _SCOPED if key in action.flags]
    if narrowed:
        refuse_operands(
            "wait", "it must see the whole screen, so it takes no scope or depth", "wait <selector>"
        )
    return (yield from wait_for(stage, read_wait(action.positionals), evidence))


def get(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Read the text or the attributes of an element."""
    words = action.positionals
    usage = "get text|attrs <selector>"
    if len(words) < 2 or words[0] not in {"text", "attrs"}:
        refuse_operands("get", "it needs `text` or `attrs` and a selector", usage)
    refuse_ref("get", words[1])
    selector = parse_selector(" ".join(words[1:]))
    snapshot = yield from stage.read_screen()
    if evidence is not None:
        require_verified(stage, selector, evidence, snapshot)
    choose = resolve_winner if words[0] == "text" else resolve_unique
    found = choose(selector, snapshot, level=stage.level)
    if isinstance(found, Miss):
        raise miss_error(selector, snapshot, found)
    node = snapshot.nodes[found]
    if words[0] == "text":
        return text_of(node)
    return json.dumps(_attributes(snapshot, found, node), ensure_ascii=False)


def judge(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Hold an element to a predicate, on one screen."""
    question = read_question(action.positionals)
    snapshot = yield from stage.read_screen()
    if isinstance(question, PresenceQuestion):
        _require_presence(stage, question, snapshot)
        return ""
    if evidence is not None:
        require_verified(stage, question.selector, evidence, snapshot)
    found = resolve_unique(question.selector, snapshot, level=stage.level)
    if isinstance(found, Miss):
        raise miss_error(question.selector, snapshot, found)
    _require_state(question, snapshot, found)
    return ""


def take_snapshot(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Capture the screen; the count of its elements is the note."""
    del action, evidence  # Options of `snapshot` choose what is printed, never what is captured.
    snapshot = yield from stage.read_screen()
    return f"{len(snapshot.nodes)} elements"


def take_screenshot(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Keep a picture of the screen as an artifact, under the name when one is given."""
    del evidence  # A picture is of the whole screen.
    yield from stage.shoot(action.positionals[0] if action.positionals else "")
    return ""


def _require_presence(stage: Stage, question: PresenceQuestion, snapshot: Snapshot) -> None:
    found = find_matches(question.selector, snapshot, level=stage.level)
    wants = question.predicate == "exists"
    if wants == bool(found) and (wants or not snapshot.truncated):
        return
    source = question.selector.source
    message = f"{source[:120]} is not {question.predicate}"
    facts: dict[str, Any] = {"actual": "present" if found else "absent", "matchCount": len(found)}
    if found:
        facts["candidates"] = [describe_node(snapshot, at) for at in found[:CANDIDATE_LIMIT]]
    if snapshot.truncated:
        facts["truncated"] = True
        if not found:
            message = f"the platform cut the screen short, so nothing proves {source[:120]} absent"
    raise _false_error(question, message, facts)


def _require_state(question: StateQuestion, snapshot: Snapshot, at: int) -> None:
    node = snapshot.nodes[at]
    source = question.selector.source
    facts: dict[str, Any] = {"element": describe_node(snapshot, at)}
    predicate = question.predicate
    match predicate:
        case "text":
            text = text_of(node)
            holds = canonical_text(text) == canonical_text(question.value)
            message = f"{source[:120]} shows {text[:120]!r}, not {question.value[:120]!r}"
            facts |= {"expected": question.value, "actual": text}
        case "visible" | "hidden":
            holds = is_on_screen(snapshot, node) is (predicate == "visible")
            message = f"{source[:120]} is not {predicate}"
        case "editable" | "selected" | "focused":
            holds = has_state(node, predicate, snapshot.platform)
            message = f"{source[:120]} is not {predicate}"
        case _:
            assert_never(predicate)
    if not holds:
        raise _false_error(question, message, facts)


def _false_error(question: Question, message: str, facts: dict[str, Any]) -> StepError:
    details = {"predicate": question.predicate, "selector": question.selector.source, **facts}
    return step_error("predicate_false", message, details=details)


def _attributes(snapshot: Snapshot, at: int, node: Node) -> dict[str, Any]:
    facts = describe_node(snapshot, at)
    states = ("enabled", "selected", "focused", "checked", "hittable", "scrollable")
    facts |= {name: value for name in states if (value := getattr(node, name)) is not None}
    texts = ("value", "placeholder", "bundle")
    facts |= {name: value for name in texts if (value := getattr(node, name))}
    return facts
