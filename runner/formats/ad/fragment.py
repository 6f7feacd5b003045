"""What a script must be to be included: the admission rules of native fragments.

Pure. A fragment is a body without a session: it states its platform and target, its first step
is a verified landmark wait with a concrete timeout, and every command in it has the positive
fragment-safe trait. What is wrong comes back as values; nothing here looks at another file.

May be imported by: runner.formats.ad, runner.preflight. Imports: runner.compose.fact,
runner.formats.ad, runner.model, runner.errors.
"""

import re
from typing import Any, Literal, TypeAlias

from runner.compose.fact import LocalFault
from runner.errors import InputError
from runner.formats.ad.commands import COMMANDS, is_fragment_safe
from runner.formats.ad.role import kind_of
from runner.formats.ad.script import Action, AdScript
from runner.formats.ad.selector import (
    Alternative,
    BoolTerm,
    Selector,
    Term,
    TextTerm,
    fold,
    looks_like_selector,
    parse_selector,
)
from runner.formats.ad.spelling import explain_unknown
from runner.formats.ad.variables import neutralize
from runner.model.finding import Finding
from runner.model.ids import Platform

ScriptKind: TypeAlias = Literal["flat", "composition", "fragment"]

GUARD_VERSION = 1
_WAIT_FORMS = frozenset({"text", "stable", "absent"})
_TIMEOUT = re.compile(r"[0-9]{1,9}\Z")
_IDENTITY_KEYS = frozenset({"id", "label", "text", "value"})
_LABEL_CAP = 250
"""Bytes from which a recorded label may have been cut by its writer."""
_LISTED = 20


def kind_of_script(script: AdScript) -> ScriptKind:
    """Return what a script is by its first guard."""
    return script.guards[0].kind if script.guards else "flat"


def find_guard_fault(script: AdScript) -> LocalFault | None:
    """Return what is wrong with the format guards of a script, if anything."""
    if not script.guards:
        return None
    first, *others = script.guards
    if first.version != GUARD_VERSION:
        return LocalFault(
            line=first.line,
            feature="guard_version",
            message=f"it is {first.kind}-v{first.version}; this version reads {first.kind}-v1",
            details={"version": first.version},
        )
    if not script.guard_is_first:
        return LocalFault(
            line=first.line,
            feature="guard_position",
            message=f"its {first.kind}-v1 guard is not the first executable line; move it up",
        )
    if others:
        return LocalFault(
            line=others[0].line,
            feature="guard_repeated",
            message=f"it has a second format guard at line {others[0].line}; keep one",
        )
    return None


def find_unsupported(script: AdScript, problems: tuple[Finding, ...]) -> LocalFault | None:
    """Return why a script cannot be an include target, if it cannot."""
    kind = kind_of_script(script)
    if kind == "flat":
        return LocalFault(
            feature="flat_script", message="it is a flat script, without a fragment-v1 guard"
        )
    if kind == "composition":
        return LocalFault(
            line=script.guards[0].line,
            feature="composition_root",
            message="it is a composed root; only fragments can be included",
        )
    fault = find_guard_fault(script)
    if fault is not None:
        return fault
    if problems:
        return _parse_fault(problems)
    if script.env:
        return LocalFault(
            line=script.env[0].line,
            feature="env",
            message="it has an env line; a fragment inherits the variables of the flow",
        )
    for name, value in (("platform", script.context.platform), ("target", script.context.target)):
        if value is None:
            return LocalFault(
                line=script.guards[0].line,
                feature=f"context_{name}",
                message=f"its context states no {name}; write context platform=... target=...",
            )
    return None


def find_unsafe(script: AdScript) -> tuple[LocalFault, ...]:
    """Return every action that has no place in a fragment."""
    return tuple(
        _unsafe(node)
        for node in script.nodes
        if isinstance(node, Action) and not is_fragment_safe(node)
    )


def find_entry_missing(script: AdScript) -> LocalFault | None:
    """Return why a fragment has no entry guard, if it has none."""
    if not script.nodes:
        line = script.guards[0].line if script.guards else 1
        return LocalFault(line=line, message="it has no steps; its first must be a landmark wait")
    first = script.nodes[0]
    if not isinstance(first, Action):
        return _no_entry(first.line, "its first step is an include")
    if first.command != "wait":
        return _no_entry(first.line, f"its first step is {_spell(first)}")
    text, timeout = _split_wait(first)
    if not text or text[0] in _WAIT_FORMS or text[0].startswith("@"):
        return _no_entry(first.line, "its first wait names no selector")
    if timeout is None:
        return _no_entry(first.line, "its first wait has no timeout in plain milliseconds")
    selector = _read_selector(" ".join(text))
    if selector is None:
        return _no_entry(first.line, "its first wait names no valid selector")
    if not all(map(_bears_identity, selector.alternatives)):
        return _no_entry(
            first.line, "its first wait has an alternative without id, label, text or value"
        )
    if first.evidence is None:
        return _no_entry(first.line, "its first wait has no target-v1 evidence")
    if not first.evidence.get("id") and not first.evidence.get("label"):
        return _no_entry(first.line, "the evidence of its first wait has neither id nor label")
    return None


def find_entry_mismatch(script: AdScript) -> LocalFault | None:
    """Return why the evidence of a fragment's entry guard does not fit, if it does not.

    Asked only where `find_entry_missing` finds nothing.
    """
    first = script.nodes[0] if script.nodes else None
    if not isinstance(first, Action) or first.evidence is None:
        return None
    if first.evidence.get("verification") != "verified":
        return LocalFault(
            line=first.line,
            message="the evidence of its entry guard is not verified; record it anew",
            details={"verification": first.evidence.get("verification")},
        )
    text = " ".join(_split_wait(first)[0])
    selector = _read_selector(text)
    if selector is None or "${" in text or _denotes(selector, first.evidence, script):
        return None
    facts = {key: first.evidence.get(key) for key in ("id", "role", "label")}
    return LocalFault(
        line=first.line,
        message=f"the selector {text[:200]!r} of its entry guard cannot mean what was recorded",
        details={"selector": text[:2000], "evidence": facts},
    )


def _unsafe(action: Action) -> LocalFault:
    if action.command in COMMANDS:
        message = f"{_spell(action)} has no place in a fragment; move it to the composing flow"
        details: dict[str, Any] = {"command": action.command}
    else:
        # What was meant may well be safe, so moving the line is no advice.
        message, nearest = explain_unknown(action.command)
        details = {"command": action.command[:80], "nearest": nearest}
    return LocalFault(line=action.line, column=action.column, message=message, details=details)


def _parse_fault(problems: tuple[Finding, ...]) -> LocalFault:
    first = problems[0]
    return LocalFault(
        line=first.line,
        column=first.column,
        feature="parse_error",
        message=f"it cannot be read at line {first.line}: {first.message}",
        details={
            "problems": [
                {"line": each.line, "column": each.column, "message": each.message}
                for each in problems[:_LISTED]
            ]
        },
    )


def _no_entry(line: int, why: str) -> LocalFault:
    return LocalFault(
        line=line, message=f"{why}; it must be: wait <selector> <timeout ms>, with evidence"
    )


def _spell(action: Action) -> str:
    first = action.positionals[0] if action.positionals else ""
    return f"`{action.command} {first}`" if first.startswith("@") else f"`{action.command}`"


def _split_wait(action: Action) -> tuple[tuple[str, ...], int | None]:
    """Return the words before the timeout, and the timeout where it is concrete."""
    words = action.positionals
    if len(words) > 1 and _TIMEOUT.match(words[-1]):
        return words[:-1], int(words[-1])
    return words, None


def _read_selector(text: str) -> Selector | None:
    text = neutralize(text)
    if not looks_like_selector(text):
        return None
    try:
        return parse_selector(text)
    except InputError:  # The caller reports that there is no guard; the check of actions, why.
        return None


def _denotes(selector: Selector, evidence: dict[str, Any], script: AdScript) -> bool:
    platform: Platform = "ios" if script.context.platform == "ios" else "android"
    return all(_agrees(part, evidence, platform) for part in selector.alternatives)


def _bears_identity(part: Alternative) -> bool:
    """Tell whether an alternative names something, beyond a kind or a state of elements."""
    return any(
        isinstance(term, TextTerm) and term.key in _IDENTITY_KEYS and term.folded
        for term in part.terms
    )


def _agrees(part: Alternative, evidence: dict[str, Any], platform: Platform) -> bool:
    """Tell whether one element can satisfy all terms and carry the evidence.

    What evidence does not record (an id that was not unique, values, states) may be anything.
    """
    return all(_term_agrees(term, evidence, platform) for term in part.terms)


def _term_agrees(term: Term, evidence: dict[str, Any], platform: Platform) -> bool:
    identifier, label = str(evidence.get("id") or ""), str(evidence.get("label") or "")
    role = str(evidence.get("role") or "")
    match term:
        case TextTerm(key="id", folded=wanted):
            return not identifier or fold(identifier) == wanted
        case TextTerm(key="label", folded=wanted):
            return bool(label) and _is_same_text(label, wanted)
        case TextTerm(key="text", folded=wanted):
            return not label or _is_same_text(label, wanted)
        case TextTerm(key="role", folded=wanted):
            return not role or wanted in {fold(role), kind_of(role, platform)}
        case TextTerm() | BoolTerm():
            return True


def _is_same_text(recorded: str, wanted: str) -> bool:
    folded = fold(recorded)
    if folded == wanted:
        return True
    return len(recorded.encode()) >= _LABEL_CAP and wanted.startswith(folded)
