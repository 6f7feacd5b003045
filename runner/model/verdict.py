"""The one final result of a plan in a run, and of one attempt.

May be imported by: everyone. Imports: nothing of ours.
"""

from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal[
    "passed",
    "flaky",
    "failed",
    "timed_out",
    "inconclusive",
    "infra_exhausted",
    "needs_attention",
    "cancelled",
    "not_run",
]

AttemptOutcome: TypeAlias = Literal["passed", "failed", "timed_out", "infra", "cancelled"]
"""`infra`: device, driver or agent was lost, or the plan failed before its first step."""

NotRunReason: TypeAlias = Literal[
    "preflight", "no_eligible_device", "fail_fast", "max_failures", "run_limit", "interrupted"
]

GREEN: frozenset[Verdict] = frozenset({"passed", "flaky"})
