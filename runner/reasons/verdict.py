"""Reasons of verdicts that no error has: why a plan was not run, or was cancelled.

May be imported by: runner.reasons. Imports: nothing of ours.
"""

from collections.abc import Mapping
from typing import Final

VERDICT_REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "preflight": (
        "Preflight found problems in the flow, and `--skip-invalid` left it out.",
        "Mend what `problems` names.",
    ),
    "no_eligible_device": (
        "No device of the grid fits the plan and serves.",
        "The verdict's `message` names each device and its trouble; `sweepgrid devices` too.",
    ),
    "fail_fast": (
        "A plan failed before, and `--fail-fast` ended the run.",
        "Mend that plan, or run without the option.",
    ),
    "max_failures": (
        "As many plans as `--max-fail` allows failed before.",
        "Mend them, or allow more.",
    ),
    "run_limit": (
        "The run's time was over before the plan began.",
        "Give it more time (`--run-timeout`) or more devices.",
    ),
    "interrupted": (
        "The run was interrupted, or killed, before the plan had its verdict.",
        "Run the plan again.",
    ),
}
"""Meaning and next step of each."""
