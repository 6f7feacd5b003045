"""Text for people that several reports share.

Pure. May be imported by: runner.report, runner.cli, tests. Imports: runner.model, runner.report.
"""

from runner.model.address import Provenance, StepAddress, render_token
from runner.report.summary import AttemptEntry


def one_line(text: str) -> str:
    """Return a text that came from a name as one line, so that no name can forge a line."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def plural(count: int, noun: str) -> str:
    """Return `1 plan`, `2 plans`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def render_duration(ms: int) -> str:
    """Return a duration that a person reads: `850 ms`, `12.3 s`, `4 min 05 s`."""
    if ms < 1000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, rest = divmod(ms // 1000, 60)
    return f"{minutes} min {rest:02d} s"


def render_place(provenance: Provenance | None) -> str:
    """Return `path:line`, with the includes that led there."""
    if provenance is None:
        return ""
    here = f"{provenance.step_source.path}:{provenance.step_source.line}"
    callers = [f"{ref.path}:{ref.line}" for ref in reversed(provenance.invocation_sources)]
    return " included at ".join([here, *callers])


def render_short_address(address: StepAddress) -> str:
    """Return the token with its digest cut to 8 digits, for display only."""
    kind, _, rest = render_token(address).partition(":")
    letter, _, tail = rest.partition(":")
    return f"{kind}:{letter}:{tail[:8]}{tail[64:]}"


def render_cause(attempt: AttemptEntry) -> str:
    """Return one line: why and where the attempt failed."""
    if attempt.failure is None:
        return attempt.outcome or "interrupted"
    text = f"{attempt.failure.message} [{attempt.failure.reason}]"
    place = render_place(attempt.provenance)
    return f"{text} at {place}" if place else text
