"""What goes where: machine output to stdout, people's output to stderr.

The only module that writes to the terminal. A closed pipe ends the program quietly, as for any
other command of a pipeline.

May be imported by: runner.cli. Imports: runner.errors, runner.model.
"""

import sys

import msgspec

from runner.errors import RunnerError
from runner.model.finding import Finding


def write_machine(text: str) -> None:
    """Write `text` to stdout; what cannot be encoded there is escaped."""
    _write(sys.stdout.fileno(), text)


def write_people(text: str) -> None:
    """Write `text` and a newline to stderr."""
    _write(sys.stderr.fileno(), f"{text}\n")


def write_json(value: object) -> None:
    """Write `value` as indented JSON with a final newline to stdout."""
    encoded = msgspec.json.encode(value)
    write_machine(msgspec.json.format(encoded, indent=2).decode() + "\n")


def _write(descriptor: int, text: str) -> None:
    stream = sys.stdout if descriptor == sys.stdout.fileno() else sys.stderr
    data = text.encode("utf-8", "backslashreplace")
    stream.flush()
    stream.buffer.write(data)
    stream.flush()


def render_error(error: RunnerError) -> str:
    """Return the message for people: what, why, and what next."""
    lines = [f"sweepgrid: {error.message} [{error.reason}]"]
    if error.hint:
        lines.append(f"  next: {error.hint}")
    return "\n".join(lines)


def render_finding(finding: Finding) -> str:
    """Return a problem for people: place, reason, message, next move, and what it blocks."""
    lines = [f"{finding.path}:{finding.line}:{finding.column}: {finding.reason}: {finding.message}"]
    if finding.hint:
        lines.append(f"    next: {finding.hint}")
    others = [flow for flow in finding.flows if flow != finding.path]
    if others:
        shown = ", ".join(others[:5])
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        lines.append(f"    blocks: {shown}{more}")
    return "\n".join(lines)
