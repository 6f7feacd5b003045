"""Every machine-readable reason: its family, what it means and what to do.

An API: a reason is never renamed, and a shape test holds that each is produced by the product
and by a test. `docs/reasons.md` is generated from this table.

May be imported by: runner.errors, runner.cli. Imports: nothing of ours.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class ReasonInfo(NamedTuple):
    """What one reason says."""

    code: str
    meaning: str
    fix: str


_MODEL: Final = {
    "address_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A step address is neither the JSON form nor the text token.",
        "Copy the address from a report, `sweepgrid events` or `sweepgrid check --json`.",
    ),
}

# The source-closure reasons of the founding decision record, in its total order.
_COMPOSITION: Final = {
    "fragment_missing": ReasonInfo(
        "INVALID_ARGS",
        "An included file does not exist inside the source root.",
        "Correct the locator, or add the file; locators are relative to the including file.",
    ),
    "fragment_unsupported": ReasonInfo(
        "INVALID_ARGS",
        "An included source, guard, reference or format version is not a supported fragment.",
        "Look at `details.feature`; record the fragment anew or use a newer sweepgrid.",
    ),
    "fragment_bounds": ReasonInfo(
        "INVALID_ARGS",
        "A closure is over a bound: sources, depth, bytes or expanded steps.",
        "Look at `details.bound`; split the flow or its fragments.",
    ),
    "fragment_cycle": ReasonInfo(
        "INVALID_ARGS",
        "Fragments include each other in a cycle.",
        "Remove one include of the cycle that `details.cycle` shows.",
    ),
    "fragment_call_site_invalid": ReasonInfo(
        "INVALID_ARGS",
        "An include's reference comment, call site id or digest is missing, malformed or doubled.",
        "Give every include its own `# agent-device:fragment-ref-v1` comment on the line before.",
    ),
    "fragment_control_identity_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A repeat or retry control has no id, or the same id as another in its owner.",
        "Give each control an id that is unique in its owner.",
    ),
    "fragment_stale": ReasonInfo(
        "INVALID_ARGS",
        "A pinned digest differs from the digest of the fragment that stands there.",
        "Review the change, then repin from the leaf upward as the printed chain shows.",
    ),
    "fragment_lifecycle": ReasonInfo(
        "INVALID_ARGS",
        "A fragment holds a command that is not safe in fragments (`open`, `close`, refs, ...).",
        "Move the command to the composing flow.",
    ),
    "fragment_entry_guard": ReasonInfo(
        "INVALID_ARGS",
        "A fragment's first step is not a verified selector wait, or its evidence does not fit.",
        "Record the fragment anew with an entry selector.",
    ),
    "fragment_context_mismatch": ReasonInfo(
        "INVALID_ARGS",
        "A fragment's platform or target is not that of the flow, or the flow states none.",
        "Use the fragment of that platform, or state `context platform=` in the flow.",
    ),
    "fragment_variable_unbound": ReasonInfo(
        "INVALID_ARGS",
        "A fragment uses a variable that nothing binds.",
        "Bind it with `-e NAME=VALUE`, `AD_VAR_NAME`, or an `env` line of the flow.",
    ),
    "fragment_composition_required": ReasonInfo(
        "INVALID_ARGS",
        "A fragment was given as a flow of its own.",
        "Run a flow that includes it.",
    ),
}

# What is wrong with one source or with the request.
_FLOW: Final[Mapping[str, ReasonInfo]] = {}

# What devices and drivers answer.
_DEVICE: Final[Mapping[str, ReasonInfo]] = {}

# What a replay finds on the screen.
_REPLAY: Final[Mapping[str, ReasonInfo]] = {}

# The grid, the channel and the schedule.
_GRID: Final[Mapping[str, ReasonInfo]] = {}

# The journal and artifacts.
_RECORD: Final[Mapping[str, ReasonInfo]] = {}

# The lab.
_LAB: Final[Mapping[str, ReasonInfo]] = {}

REASONS: Final[Mapping[str, ReasonInfo]] = {
    **_MODEL,
    **_COMPOSITION,
    **_FLOW,
    **_DEVICE,
    **_REPLAY,
    **_GRID,
    **_RECORD,
    **_LAB,
}
