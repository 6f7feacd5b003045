"""Reasons about what a run keeps.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

RECORD: Final[Mapping[str, ReasonInfo]] = {
    "run_directory_used": ReasonInfo(
        code="EVIDENCE",
        meaning="The folder given for a new run already holds a run.",
        fix="Give another `--out` folder, or remove the old run first.",
        example="sweepgrid run flows/ --out runs/nightly, for the second time",
    ),
    "run_directory_unwritable": ReasonInfo(
        code="EVIDENCE",
        meaning="The folder for the run cannot be created or written.",
        fix="Give an `--out` folder on a local disk that you may write to.",
        example="sweepgrid run flows/ --out /nightly, without the right to make it",
    ),
    "run_not_found": ReasonInfo(
        code="EVIDENCE",
        meaning="A folder that should be a run directory holds no journal.",
        fix="Give the folder that `sweepgrid run --out` wrote.",
        example="sweepgrid report runs/absent",
    ),
    "journal_network_filesystem": ReasonInfo(
        code="EVIDENCE",
        meaning=(
            "The run directory is on a network file system, where the journal would not be durable."
        ),
        fix="Give an `--out` folder on a local disk, and copy it when the run has ended.",
        example="sweepgrid run flows/ --out /mnt/nfs/nightly",
    ),
    "journal_unwritable": ReasonInfo(
        code="EVIDENCE",
        meaning="The journal could not be written (full disk, lost rights, broken disk).",
        fix=(
            "Free space or repair the disk; the verdicts printed as *not stored* are all there is."
        ),
        example="A disk that runs full in mid-run.",
    ),
    "journal_overflow": ReasonInfo(
        code="EVIDENCE",
        meaning=(
            "The disk took events so slowly that the bounded queue before the journal ran full."
        ),
        fix="Use a faster disk for `--out`; what came after the first loss is not stored.",
        example="A disk that stands still while 64 phones report.",
    ),
    "journal_unsupported": ReasonInfo(
        code="EVIDENCE",
        meaning="A journal was written in a layout that this version does not read.",
        fix="Read it with the sweepgrid version that wrote it, or a newer one.",
        example="A run of a newer sweepgrid.",
    ),
    "journal_damaged": ReasonInfo(
        code="EVIDENCE",
        meaning="A journal file, or rows of it, cannot be read or fail their checksum.",
        fix="Restore the run directory from a copy; undamaged rows are still reported.",
        example="`journal.sqlite` with a page of zeros.",
    ),
    "artifact_unwritable": ReasonInfo(
        code="EVIDENCE",
        meaning="A file of evidence could not be written into the run directory.",
        fix="Free space in the `--out` folder, then run again.",
        example="A disk that is full when the screenshot comes.",
    ),
}
