"""The problems of a sweep: each once, with every flow that it blocks.

Pure. A fault of an include site is one problem however many flows go through the site; the same
site may have another problem for another flow where the flows differ (context, variables, bounds).

May be imported by: runner.preflight. Imports: runner.compose, runner.errors, runner.model.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias, final

from msgspec.structs import replace

from runner.compose.closure import first_in_order
from runner.compose.fault import Fault
from runner.model.finding import Finding
from runner.preflight.settings import BlockedFlow
from runner.reasons import REASONS

_Key: TypeAlias = tuple[str, int, int, str, str]


@final
class ProblemBook:
    """Collects the problems of a sweep."""

    def __init__(self, problems: Iterable[Finding] = ()) -> None:
        self._found: dict[_Key, tuple[Finding, set[str]]] = {}
        self._reasons: dict[str, str] = {}
        for problem in problems:
            self.add(problem)

    def add(self, finding: Finding, flow: str | None = None) -> None:
        """Note a finding, and the flow that it blocks."""
        key = (finding.path, finding.line, finding.column, finding.reason, finding.message)
        _, flows = self._found.setdefault(key, (finding, set(finding.flows)))
        if flow is not None:
            flows.add(flow)

    def add_flow(self, flow: str, findings: Iterable[Finding], faults: tuple[Fault, ...]) -> bool:
        """Note everything that is wrong with one flow; tell whether anything is."""
        reason = ""
        for finding in untold(findings, faults):
            self.add(finding, flow)
            reason = reason or finding.reason
        for fault in faults:
            self.add(finding_of(fault), flow)
        first = first_in_order(faults)
        if first is not None:
            reason = first.reason
        if reason:
            self._reasons[flow] = reason
        return bool(reason)

    def problems(self) -> tuple[Finding, ...]:
        """Return all problems in the order of their places, each with its flows, sorted."""
        return tuple(
            replace(
                finding,
                flows=tuple(sorted(flows)),
                hint=finding.hint or REASONS[finding.reason].fix,
            )
            for _, (finding, flows) in sorted(self._found.items())
        )

    def blocked(self, problems: tuple[Finding, ...]) -> tuple[BlockedFlow, ...]:
        """Return the flows with problems, by path, with the indices of `problems`."""
        indices: dict[str, list[int]] = {}
        for index, problem in enumerate(problems):
            for flow in problem.flows:
                indices.setdefault(flow, []).append(index)
        return tuple(
            BlockedFlow(
                path=flow,
                reason=self._reasons.get(flow) or problems[found[0]].reason,
                problems=tuple(found),
            )
            for flow, found in sorted(indices.items())
        )


def untold(findings: Iterable[Finding], faults: Iterable[Fault]) -> Iterator[Finding]:
    """Yield the findings that no fault tells already.

    Half a character in the line of an include stands in its locator, so its source is missing.
    """
    sites = {(fault.path, fault.line) for fault in faults}
    for finding in findings:
        if finding.reason != "text_unencodable" or (finding.path, finding.line) not in sites:
            yield finding


def finding_of(fault: Fault) -> Finding:
    """Return a composition fault as a finding."""
    return Finding(
        reason=fault.reason,
        path=fault.path,
        line=fault.line,
        column=fault.column,
        message=fault.message,
        details=fault.details,
    )
