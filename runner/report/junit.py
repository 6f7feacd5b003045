"""The JUnit XML report of a run: one suite a platform, one case a plan.

Pure. `failure` stands for product failures and time limits, `error` for what says nothing about the
product (infrastructure used up, evidence that needs a person), `skipped` for plans that did not run
or were cancelled. A flaky plan is a pass with a note. Characters that XML forbids become U+FFFD.

May be imported by: runner.cli, tests. Imports: runner.model, runner.report.
"""

import json
import re
from collections.abc import Iterable
from typing import Final
from xml.etree import ElementTree as ET

import msgspec

from runner.model.address import render_token
from runner.report.summary import (
    AttemptEntry,
    PlanEntry,
    RunSummary,
    decisive_attempt,
    elapsed_ms,
    final_verdict,
)
from runner.report.times import render_utc
from runner.report.words import render_cause, render_place

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FAILURES: Final = frozenset({"failed", "timed_out", "inconclusive"})
_ERRORS: Final = frozenset({"infra_exhausted", "needs_attention"})
_TEXT_LIMIT: Final = 20_000


def render_junit(run: RunSummary) -> bytes:
    """Return the report as UTF-8 XML."""
    root = ET.Element("testsuites", {"name": "sweepgrid", **_counts(run, run.plans)})
    for platform in sorted({plan.platform or "unknown" for plan in run.plans}):
        plans = [plan for plan in run.plans if (plan.platform or "unknown") == platform]
        suite = ET.SubElement(
            root, "testsuite", {"name": f"sweepgrid {platform}", **_counts(run, plans)}
        )
        if run.started_ms is not None:
            suite.set("timestamp", render_utc(run.started_ms))
        for plan in plans:
            _add_case(suite, run, plan)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _counts(run: RunSummary, plans: Iterable[PlanEntry]) -> dict[str, str]:
    plans = list(plans)
    kinds = [_kind(plan) for plan in plans]
    return {
        "tests": str(len(plans)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": _seconds(sum(_duration_ms(run, plan) for plan in plans)),
    }


def _kind(plan: PlanEntry) -> str:
    verdict, _ = final_verdict(plan)
    if verdict in _FAILURES:
        return "failure"
    if verdict in _ERRORS:
        return "error"
    return "" if verdict in {"passed", "flaky"} else "skipped"


def _duration_ms(run: RunSummary, plan: PlanEntry) -> int:
    return sum(elapsed_ms(run, attempt) for attempt in plan.attempts)


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.3f}"


def _add_case(suite: ET.Element, run: RunSummary, plan: PlanEntry) -> None:
    platform = plan.platform or "unknown"
    folder, _, name = plan.path.rpartition("/")
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "classname": _clean(".".join(part for part in (platform, folder) if part)),
            "name": _clean(name or plan.id),
            "file": _clean(plan.path),
            "time": _seconds(_duration_ms(run, plan)),
        },
    )
    kind = _kind(plan)
    verdict, reason = final_verdict(plan)
    last = decisive_attempt(plan)
    if kind == "skipped":
        why = f"{verdict} {reason}".strip()
        why = f"{why}: {plan.message}" if plan.message else why
        ET.SubElement(case, "skipped", {"message": _clean(why)})
    elif kind:
        cause = render_cause(last) if last is not None else reason
        element = ET.SubElement(
            case, kind, {"type": _clean(reason or verdict), "message": _clean(cause)}
        )
        element.text = _clean(_explain(last))
    ET.SubElement(case, "system-out").text = _clean(_facts(run, plan))


def _explain(attempt: AttemptEntry | None) -> str:
    if attempt is None or attempt.failure is None:
        return ""
    failure = attempt.failure
    lines = [failure.message, f"reason: {failure.reason} ({failure.kind})"]
    if attempt.address is not None:
        lines.append(f"address: {render_token(attempt.address)}")
    if attempt.provenance is not None:
        lines.append(f"at: {render_place(attempt.provenance)}")
    if failure.hint:
        lines.append(f"hint: {failure.hint}")
    lines += [f"{artifact.kind}: {artifact.path}" for artifact in attempt.artifacts]
    details = msgspec.to_builtins(failure.details)
    lines.append(f"details: {json.dumps(details, ensure_ascii=False, sort_keys=True)}")
    return "\n".join(lines)


def _facts(run: RunSummary, plan: PlanEntry) -> str:
    verdict, reason = final_verdict(plan)
    lines = [
        f"verdict: {verdict}{f' ({reason})' if reason else ''}",
        f"compositionDigest: {plan.composition_digest}",
    ]
    if plan.message:
        lines.append(f"message: {plan.message}")
    lines += [_attempt_line(run, attempt) for attempt in plan.attempts]
    return "\n".join(lines)


def _attempt_line(run: RunSummary, attempt: AttemptEntry) -> str:
    outcome = attempt.outcome or "interrupted"
    more = " or more" if attempt.outcome is None else ""
    why = f": {render_cause(attempt)}" if attempt.failure is not None else ""
    where = f"attempt {attempt.number} on {attempt.device}"
    return f"{where}: {outcome} after {elapsed_ms(run, attempt)} ms{more}{why}"


def _clean(text: str) -> str:
    cut = text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}… (cut)"
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", cut)
