"""Every machine-readable reason: its family, what it means, an example, and what to do.

An API: a reason is never renamed, and a shape test holds that each is produced by the product
and by a test. `docs/reasons.md` is generated from this table.

May be imported by: runner.errors, runner.preflight, runner.formats, runner.cli. Imports: nothing
of ours.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.command_line import COMMAND_LINE
from runner.reasons.composition import COMPOSITION
from runner.reasons.device import DEVICE
from runner.reasons.flow import FLOW
from runner.reasons.grid import GRID
from runner.reasons.info import ReasonInfo
from runner.reasons.lab import LAB
from runner.reasons.model import MODEL
from runner.reasons.record import RECORD
from runner.reasons.replay import REPLAY
from runner.reasons.verdict import VERDICT_REASONS

__all__ = ["REASONS", "VERDICT_REASONS", "ReasonInfo"]

REASONS: Final[Mapping[str, ReasonInfo]] = {
    **MODEL,
    **COMPOSITION,
    **FLOW,
    **DEVICE,
    **REPLAY,
    **GRID,
    **RECORD,
    **COMMAND_LINE,
    **LAB,
}
