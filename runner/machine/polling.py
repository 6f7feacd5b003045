"""Polling: deadlines on the attempt's clock, and the record of the looks that a wait took.

Pure values. Time is what observations carry (`at_ms`); nothing here reads a clock. The last sleep
of a wait is cut to what remains, so a look begins at the deadline at the latest.

May be imported by: runner.formats, tests. Imports: nothing of ours.
"""

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

FIRST_KEPT: Final = 5
LAST_KEPT: Final = 25
PROGRESS_EVERY_MS: Final = 1_000

PollOutcome: TypeAlias = Literal["readable", "unreadable", "deadline", "runner-restart"]
"""`runner-restart`: what reads the screen died in the look, and begins anew with the next."""


class Deadline(Struct, frozen=True):
    """A budget of `timeout_ms` that began at `start_ms`."""

    start_ms: float
    timeout_ms: float

    def waited_ms(self, now_ms: float) -> int:
        """Return how much time has passed."""
        return max(0, round(now_ms - self.start_ms))

    def is_over(self, now_ms: float) -> bool:
        """Tell whether the budget is used up."""
        return now_ms - self.start_ms >= self.timeout_ms

    def pause_ms(self, now_ms: float, interval_ms: float) -> int:
        """Return how long to sleep before the next look: the interval, or what remains of it.

        Never less than a millisecond, so that a loop over it always moves on.
        """
        remaining = self.start_ms + self.timeout_ms - now_ms
        return max(1, round(min(interval_ms, remaining)))


class Poll(Struct, frozen=True):
    """One look: when it began (from the start of the wait), how long it took, what it gave."""

    started_ms: int
    duration_ms: int
    outcome: PollOutcome


class Timeline(Struct, frozen=True, kw_only=True):
    """The looks of one wait; of many, the first and the last are kept."""

    first: tuple[Poll, ...] = ()
    last: tuple[Poll, ...] = ()
    captures: int = 0
    readable: int = 0

    def add(self, poll: Poll) -> "Timeline":
        """Return the timeline with one more look."""
        counted = replace(
            self,
            captures=self.captures + 1,
            readable=self.readable + (poll.outcome == "readable"),
        )
        if len(self.first) < FIRST_KEPT:
            return replace(counted, first=(*self.first, poll))
        return replace(counted, last=(*self.last, poll)[-LAST_KEPT:])

    def details(self, waited_ms: int) -> dict[str, Any]:
        """Return the facts for a failure's details."""
        return {
            "waitedMs": waited_ms,
            "captures": self.captures,
            "readableCaptures": self.readable,
            "polls": [
                {
                    "startedMs": poll.started_ms,
                    "durationMs": poll.duration_ms,
                    "outcome": poll.outcome,
                }
                for poll in (*self.first, *self.last)
            ],
        }
