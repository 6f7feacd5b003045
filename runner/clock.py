"""The one place that reads wall and monotonic time and makes random identifiers.

Everything else takes time as an argument or a `Clock`.

May be imported by: grid, runner.record, runner.cli, tests. Imports: nothing of ours.
"""

import secrets
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time in milliseconds since the epoch (UTC) and monotonic time in seconds."""

    def wall_ms(self) -> int:
        """Return UTC wall time in milliseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...


class SystemClock:
    """The machine's clocks."""

    def wall_ms(self) -> int:
        """Return UTC wall time in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


def new_token() -> str:
    """Return 12 random hex digits for identifiers that must not collide."""
    return secrets.token_hex(6)
