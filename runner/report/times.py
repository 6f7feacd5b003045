"""Wall times as text.

Pure. May be imported by: runner.report, runner.cli, tests. Imports: nothing of ours.
"""

from datetime import UTC, datetime


def render_utc(wall_ms: int) -> str:
    """Return milliseconds since the epoch as ISO 8601 UTC with milliseconds and `Z`."""
    seconds, ms = divmod(wall_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"
