"""Exit statuses: what a finished sweep tells the shell that started it.

Pure. Of several causes the first one present in `PRECEDENCE` is the status; all are reported.

May be imported by: runner.record, runner.report, runner.cli, tests. Imports: runner.model.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from runner.model.verdict import Verdict

OK: Final = 0
PRODUCT: Final = 1
USAGE: Final = 2
PREFLIGHT: Final = 3
NOTHING_SELECTED: Final = 4
NO_DEVICE: Final = 5
INFRASTRUCTURE: Final = 6
RUN_LIMIT: Final = 7
EVIDENCE_LOST: Final = 8
FLAKY: Final = 9
INTERRUPTED: Final = 10
BUG: Final = 70

PRECEDENCE: Final = (
    EVIDENCE_LOST,
    INTERRUPTED,
    RUN_LIMIT,
    INFRASTRUCTURE,
    PREFLIGHT,
    NO_DEVICE,
    PRODUCT,
    FLAKY,
)

_NOT_RUN: Final = {
    "preflight": PREFLIGHT,
    "no_eligible_device": NO_DEVICE,
    "run_limit": RUN_LIMIT,
    "interrupted": INTERRUPTED,
}

_ENDED: Final[dict[Verdict, int]] = {
    "failed": PRODUCT,
    "timed_out": PRODUCT,
    "inconclusive": PRODUCT,
    "infra_exhausted": INFRASTRUCTURE,
    "needs_attention": INFRASTRUCTURE,
    "cancelled": INTERRUPTED,
}


class ExitStatus(Struct, frozen=True):
    """The status of the process, and every cause in order of precedence."""

    exit: int
    causes: tuple[int, ...] = ()


def exit_of(
    verdicts: Iterable[tuple[Verdict, str]],
    *,
    evidence_lost: bool = False,
    preflight_problems: bool = False,
    flaky_fails: bool = False,
) -> ExitStatus:
    """Return the exit status of a run that gave each plan its verdict and reason.

    A plan that was not run because others failed adds no cause: those others do.
    """
    causes: set[int] = set()
    count = 0
    for verdict, reason in verdicts:
        count += 1
        causes.update(_causes_of(verdict, reason, flaky_fails=flaky_fails))
    if evidence_lost:
        causes.add(EVIDENCE_LOST)
    if preflight_problems:
        causes.add(PREFLIGHT)
    if not causes and count == 0:
        return ExitStatus(NOTHING_SELECTED, (NOTHING_SELECTED,))
    ordered = tuple(cause for cause in PRECEDENCE if cause in causes)
    return ExitStatus(ordered[0] if ordered else OK, ordered)


def _causes_of(verdict: Verdict, reason: str, *, flaky_fails: bool) -> set[int]:
    causes = set()
    if verdict in _ENDED:
        causes.add(_ENDED[verdict])
    if verdict == "not_run" and reason in _NOT_RUN:
        causes.add(_NOT_RUN[reason])
    if verdict == "flaky" and flaky_fails:
        causes.add(FLAKY)
    if verdict == "timed_out" and reason == "run_time_limit":
        causes.add(RUN_LIMIT)
    return causes
