"""The run directory: made before a run, filled by it, complete and portable after it.

    journal.sqlite   the truth
    sources/         what was checked and run, by path in the source root; secrets are replaced
    artifacts/       evidence, by attempt
    junit.xml        computed from the journal

May be imported by: runner.cli. Imports: runner.errors, runner.clock.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from runner.clock import SystemClock, new_token
from runner.errors import EvidenceError, InputError
from runner.record.redaction import Redactor
from runner.record.store import JOURNAL_NAME
from runner.report.times import render_utc

DEFAULT_PARENT: Final = Path("sweep-runs")


def default_run_folder() -> Path:
    """Return a new folder's path for a run that names none: by time, and never the same twice."""
    time = render_utc(SystemClock().wall_ms())[:19].replace(":", "").replace("-", "")
    return DEFAULT_PARENT / f"{time}-{new_token()[:6]}"


def create_run_folder(out: Path | None, sources: Mapping[str, bytes], redactor: Redactor) -> Path:
    """Make the folder of a new run and write the checked sources into it, without secrets.

    Reasons: `run_directory_used`, `run_directory_unwritable`.
    """
    folder = out or default_run_folder()
    require_unused(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in sources.items():
            path = folder / "sources" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(redactor.redact_bytes(data))
    except OSError as error:
        raise EvidenceError(
            reason="run_directory_unwritable",
            message=f"{folder} cannot be written: {error.strerror}",
            details={"path": str(folder), "cause": str(error)},
        ) from error
    return folder


def require_unused(folder: Path) -> None:
    """Refuse a folder that holds a run. Reasons: `run_directory_used`."""
    if (folder / JOURNAL_NAME).exists():
        raise EvidenceError(
            reason="run_directory_used",
            message=f"{folder} already holds a run",
            details={"path": str(folder)},
        )


def write_report(path: Path, data: bytes) -> None:
    """Write a report. Reasons: `output_unwritable`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise InputError(
            reason="output_unwritable",
            message=f"{path} cannot be written: {error.strerror}",
            details={"path": str(path)},
        ) from error
