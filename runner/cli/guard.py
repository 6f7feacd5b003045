"""The outermost frame: every error becomes a message and an exit status.

May be imported by: runner.cli.entry. Imports: runner.cli, runner.errors.
"""

import gc
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from runner.cli.output import ReaderGoneError, render_error, write_people
from runner.errors import EvidenceError, GridError, InternalError, RunnerError

USAGE: Final = 2
NO_DEVICE: Final = 5
EVIDENCE_LOST: Final = 8
INTERRUPTED: Final = 10
INTERNAL: Final = 70
BROKEN_PIPE: Final = 141
"""The reader of a pipeline has gone; as a shell reports it of any other command."""

# Evidence errors that say "you named the wrong folder" rather than "evidence was lost".
_MISNAMED: Final = frozenset({"run_directory_used", "run_not_found", "run_directory_unwritable"})


def run_guarded(words: Sequence[str]) -> int:
    """Run the command line `words` and return the exit status."""
    # Preflights and sweeps make many values and few cycles; a full collection costs tens of
    # milliseconds on a big sweep, so they are made rare.
    gc.set_threshold(50_000, 20, 100)
    try:
        from runner.cli.app import run_app  # noqa: PLC0415  # A bug may show as early as here.

        return run_app(words)
    except RunnerError as error:
        write_people(render_error(error))
        return status_of(error)
    except KeyboardInterrupt:
        write_people("sweepgrid: interrupted")
        return INTERRUPTED
    except ReaderGoneError:
        return BROKEN_PIPE
    except BaseExceptionGroup as group:
        return _status_of_group(group)
    except Exception as error:  # noqa: BLE001  # The last frame: a bug must end as exit 70.
        return _report_bug(error)


def status_of(error: RunnerError) -> int:
    """Return the exit status of an error that ended a command."""
    if isinstance(error, InternalError):
        return INTERNAL
    if isinstance(error, EvidenceError) and error.reason not in _MISNAMED:
        return EVIDENCE_LOST
    if isinstance(error, GridError) and not error.reason.startswith(("grid_file", "lab_")):
        return NO_DEVICE
    return USAGE


def _status_of_group(group: BaseExceptionGroup[BaseException]) -> int:
    leaves = list(_leaves(group))
    if all(isinstance(leaf, ReaderGoneError) for leaf in leaves):
        return BROKEN_PIPE
    ours = [leaf for leaf in leaves if isinstance(leaf, RunnerError)]
    if ours and len(ours) == len(leaves):
        for error in ours:
            write_people(render_error(error))
        return status_of(ours[0])
    if any(isinstance(leaf, KeyboardInterrupt) for leaf in leaves):
        write_people("sweepgrid: interrupted")
        return INTERRUPTED
    return _report_bug(group)


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    leaves: list[BaseException] = []
    for part in group.exceptions:
        leaves += _leaves(part) if isinstance(part, BaseExceptionGroup) else [part]
    return leaves


def _report_bug(error: BaseException) -> int:
    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="sweepgrid-bug-", suffix=".txt", delete=False, errors="backslashreplace"
        ) as report:
            report.write(text)
        where = f"the report was saved in {Path(report.name)}"
    except OSError as trouble:
        where = f"the report could not be saved ({trouble}):\n{text}"
    write_people(
        f"sweepgrid: internal error: {type(error).__name__}: {error}\n"
        f"  this is a bug in sweepgrid; {where}"
    )
    return INTERNAL
