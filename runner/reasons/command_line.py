"""Reasons of the command line and its tools.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

COMMAND_LINE: Final[Mapping[str, ReasonInfo]] = {
    "grid_file_absent": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A run needs a grid file and none was given or found.",
        fix=(
            "Give `--grid FILE`; `sweepgrid lab up --grid-out grid.toml` makes one without phones."
        ),
        example="sweepgrid devices, in a folder without grid.toml",
    ),
    "duration_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A duration on the command line is malformed or out of range.",
        fix="Write 500ms, 30s, 2m or 1h; a bare number is milliseconds.",
        example="sweepgrid run flows/ --timeout soon",
    ),
    "option_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="An option has a value that it does not know.",
        fix="Use one of the values that the message lists.",
        example="sweepgrid run flows/ --platform symbian",
    ),
    "filter_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A `--where` filter is not KEY=VALUE with a known key.",
        fix="Filter by address, attempt, device, kind or plan.",
        example="sweepgrid events runs/nightly --where colour=red",
    ),
    "output_lost": ReasonInfo(
        code="EVIDENCE",
        meaning="Standard output could not be written (full disk, closed descriptor).",
        fix=(
            "Send the output somewhere that can be written; the run directory holds the same facts."
        ),
        example="sweepgrid check flows/ --json > /dev/full",
    ),
    "output_unwritable": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A report or grid file cannot be written where it was asked for.",
        fix="Give a path in a folder that you may write to.",
        example="sweepgrid report runs/nightly --junit /absent/junit.xml",
    ),
    "include_place_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "An include behind the line that was given would change what the rest of the file says."
        ),
        fix="Give another line; `details.near` is the next that will do, for example `--after 7`.",
        example=(
            "sweepgrid include main.ad login.ad --after 1 --call-site login, where line 1 is "
            "`context`"
        ),
    ),
    "source_changed": ReasonInfo(
        code="COMMAND_FAILED",
        meaning=(
            "A file was changed by somebody else between being read and being written; it was left."
        ),
        fix="Look at the change, for example with `git diff FILE`, and give the command again.",
        example="An editor that saves main.ad while `sweepgrid pin` is at it.",
    ),
}
