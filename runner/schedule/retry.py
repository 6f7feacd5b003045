"""Quotas: whether an ended attempt decides its plan, or the plan gets another.

Pure. Product failures, infrastructure failures and time-outs are counted apart, each against its
own quota, because each says something else about who must act:

    outcome     counted as      quota used up gives
    passed      -               passed, or flaky after a failed or timed-out attempt
    failed      product         failed
    timed_out   time-out        timed_out
    infra       infrastructure  infra_exhausted
    cancelled   -               cancelled

A failed attempt that never began its first step counts as infrastructure. One that was refused,
for the device or the way to it was gone before a step, uses up no quota, within a bound.

May be imported by: runner.schedule, tests. Imports: runner.model, runner.schedule.ports.
"""

from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from runner.model.failure import is_infrastructure
from runner.model.verdict import NotRunReason, Verdict
from runner.schedule.ports import AttemptResult


class Quotas(Struct, frozen=True, kw_only=True):
    """How often what is repeated.

    `retries` overrides each plan's own number. `max_failures` ends the run after so many plans
    that did not pass for good; `fail_fast` is one. `black_hole` is the number of plans in a row
    that a device may end for infrastructure reasons before it is taken out.
    """

    retries: int | None = None
    infra_retries: int = 1
    timeout_retries: int = 0
    max_failures: int | None = None
    fail_fast: bool = False
    black_hole: int = 3


FREE_REFUSALS: Final = 5
"""So many attempts of a plan that never reached a step are free; each further one counts."""

_NOT_OFFERED: Final = "device_not_ready"
"""The attempt came too late for the device, which is no fault of it."""


class Tally(Struct, frozen=True, kw_only=True):
    """What the attempts of one plan have come to, with the last reason of each kind."""

    started: int = 0
    failures: int = 0
    timeouts: int = 0
    infra: int = 0
    refusals: int = 0
    failure_reason: str = ""
    timeout_reason: str = ""
    infra_reason: str = ""


class Decision(Struct, frozen=True):
    """The final result of a plan."""

    verdict: Verdict
    reason: str = ""


def counts_as_infra(result: AttemptResult) -> bool:
    """Tell whether the attempt says nothing about the product."""
    return result.outcome == "infra" or (result.outcome == "failed" and not result.began)


def blames_device(result: AttemptResult) -> bool:
    """Tell whether the attempt was lost to its device, and not to its plan or our program."""
    if not counts_as_infra(result):
        return False
    if result.failure is None:
        return not result.refused
    return result.failure.reason != _NOT_OFFERED and is_infrastructure(result.failure.kind)


def count(tally: Tally, result: AttemptResult) -> Tally:
    """Return the tally after one more ended attempt."""
    reason = result.failure.reason if result.failure else ""
    if counts_as_infra(result):
        is_free = result.refused and tally.refusals < FREE_REFUSALS
        return replace(
            tally,
            infra=tally.infra + (not is_free),
            refusals=tally.refusals + result.refused,
            infra_reason=reason,
        )
    if result.outcome == "failed":
        return replace(tally, failures=tally.failures + 1, failure_reason=reason)
    if result.outcome == "timed_out":
        return replace(tally, timeouts=tally.timeouts + 1, timeout_reason=reason)
    return tally


def decide(tally: Tally, result: AttemptResult, *, retries: int, quotas: Quotas) -> Decision | None:
    """Return the verdict that `result` brings, or `None` when the plan may run again.

    `tally` already counts `result`.
    """
    if counts_as_infra(result):
        exhausted = tally.infra > quotas.infra_retries
        return Decision("infra_exhausted", tally.infra_reason) if exhausted else None
    match result.outcome:
        case "passed":
            return Decision("flaky" if tally.failures or tally.timeouts else "passed")
        case "failed":
            return Decision("failed", tally.failure_reason) if tally.failures > retries else None
        case "timed_out":
            exhausted = tally.timeouts > quotas.timeout_retries
            return Decision("timed_out", tally.timeout_reason) if exhausted else None
        case "cancelled" | "infra":
            return Decision("cancelled", "interrupted")
        case _:
            assert_never(result.outcome)


def conclude(tally: Tally, why: NotRunReason) -> Decision:
    """Return the verdict of a plan that gets no further attempt because of `why`.

    What its attempts showed stands; a plan that was only lost to infrastructure was not run,
    unless no device is left that could run it.
    """
    if tally.failures:
        return Decision("failed", tally.failure_reason)
    if tally.timeouts:
        return Decision("timed_out", tally.timeout_reason)
    if (tally.infra or tally.refusals) and why == "no_eligible_device":
        return Decision("infra_exhausted", tally.infra_reason)
    return Decision("not_run", why)
