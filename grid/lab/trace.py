"""What clients asked of one virtual phone: the newest requests and the bytes received.

Bounded: old entries fall out, the counters stay exact. Tests and `sweepgrid lab status` read it;
it is how "no byte went to a device" is proved.

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, final

from msgspec import Struct

MAX_ENTRIES: Final = 2_000
MAX_TEXT: Final = 500


class TraceEntry(Struct, frozen=True, kw_only=True):
    """One request: when (the phone's clock, seconds), through which face, and what."""

    at: float
    face: str
    text: str


@final
class Trace:
    """The record of one phone. Written by its faces, on one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: deque[TraceEntry] = deque(maxlen=MAX_ENTRIES)
        self._received: dict[str, int] = {}

    def record(self, face: str, text: str) -> None:
        """Note one request."""
        self._entries.append(TraceEntry(at=self._clock(), face=face, text=text[:MAX_TEXT]))

    def count_received(self, face: str, size_bytes: int) -> None:
        """Add to the bytes that a face received."""
        self._received[face] = self._received.get(face, 0) + size_bytes

    def entries(self) -> tuple[TraceEntry, ...]:
        """Return the newest requests, oldest first."""
        return tuple(self._entries)

    def received(self) -> Mapping[str, int]:
        """Return the bytes received, by face."""
        return dict(self._received)
