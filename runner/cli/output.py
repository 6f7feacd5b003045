"""What goes where: machine output to stdout, people's output to stderr.

The only module that writes to the terminal. Texts come from files and devices: what UTF-8 cannot
say is written as an escape, and control characters never reach a terminal.

May be imported by: runner.cli. Imports: runner.errors, runner.model, runner.report.
"""

import os
import re
import sys
from typing import Final

from runner.errors import EvidenceError, RunnerError
from runner.model.finding import Finding
from runner.report.encode import render_value
from runner.report.words import one_line

# Everything below a space but tab and newline, delete, and the C1 controls.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class ReaderGoneError(Exception):
    """Whoever read the output has gone, as `head` does; no error of ours, and nothing to say.

    It is no `BrokenPipeError`, for typer ends a command with status 1 on one, and that says that a
    plan failed.
    """


def write_machine(text: str) -> None:
    """Write `text` to stdout. Reasons: `output_lost`; a closed pipe raises `ReaderGoneError`."""
    try:
        write_all(sys.stdout.fileno(), text)
    except BrokenPipeError as error:
        raise ReaderGoneError from error
    except (OSError, ValueError, AttributeError) as error:
        # Python has no stream at all for a descriptor that was closed before the start.
        cause = "it is closed" if isinstance(error, AttributeError) else str(error)
        raise EvidenceError(
            reason="output_lost",
            message=f"standard output cannot be written: {cause}",
            details={"cause": cause},
        ) from error


def write_people(text: str) -> None:
    """Write `text` and a newline to stderr; where nobody can read it, nothing is written."""
    shown = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    try:
        write_all(sys.stderr.fileno(), f"{shown}\n")
    except (OSError, ValueError, AttributeError):
        return  # There is no way left to say so.


def write_json(value: object) -> None:
    """Write `value` as indented JSON with a final newline to stdout. Reasons: `output_lost`."""
    write_machine(render_value(value))


def write_all(descriptor: int, text: str) -> None:
    """Write the whole of `text` to a descriptor; raises what the system does."""
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(descriptor, data) :]


def render_error(error: RunnerError) -> str:
    """Return the message for people: what, why, and what next."""
    lines = [f"sweepgrid: {error.message} [{error.reason}]"]
    if error.hint:
        lines.append(f"  next: {error.hint}")
    return "\n".join(lines)


def render_finding(finding: Finding) -> str:
    """Return a problem for people: place, reason, message, next move, and what it blocks."""
    place = f"{one_line(finding.path)}:{finding.line}:{finding.column}"
    lines = [f"{place}: {finding.reason}: {finding.message}"]
    if finding.hint:
        lines.append(f"    next: {finding.hint}")
    others = [flow for flow in finding.flows if flow != finding.path]
    if others:
        shown = one_line(", ".join(others[:5]))
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        lines.append(f"    blocks: {shown}{more}")
    return "\n".join(lines)
