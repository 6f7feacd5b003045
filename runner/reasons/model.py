"""Reasons about addresses.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

MODEL: Final[Mapping[str, ReasonInfo]] = {
    "address_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A step address is neither the JSON form nor the text token.",
        fix="Copy the address from a report, `sweepgrid events` or `sweepgrid check --json`.",
        example="sweepgrid events runs/nightly --where address=login#2",
    ),
}
