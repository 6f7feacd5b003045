"""How far a list is scrolled, and how it coasts after a flick.

Pure; time is passed in. A finger moves the content one to one. A flick coasts with constant
deceleration, so where it stops depends on its speed alone.

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

from typing import Final

from msgspec import Struct

DECELERATION: Final = 3_000.0
"""Points per second per second."""
MIN_FLING: Final = 50.0
MAX_FLING: Final = 8_000.0


class Scroll(Struct, frozen=True):
    """The content's offset at `at`, and the speed (points per second) that it coasts with."""

    offset: float = 0.0
    speed: float = 0.0
    at: float = 0.0

    def offset_at(self, now: float, limit: float) -> float:
        """Return the offset at `now`, kept within 0 and `limit`."""
        elapsed = min(max(0.0, now - self.at), self.lasts_s)
        slowed = self.speed * elapsed
        slowed -= (1 if self.speed > 0 else -1) * DECELERATION * elapsed * elapsed / 2
        return min(max(0.0, self.offset + slowed), max(0.0, limit))

    @property
    def lasts_s(self) -> float:
        """How long it coasts."""
        return abs(self.speed) / DECELERATION


def drag_scroll(scroll: Scroll, delta: float, *, now: float, limit: float) -> Scroll:
    """Return the scroll after a finger moved the content by `delta`; a coasting list is caught."""
    offset = scroll.offset_at(now, limit) + delta
    return Scroll(offset=min(max(0.0, offset), max(0.0, limit)), at=now)


def fling_scroll(scroll: Scroll, speed: float, *, now: float, limit: float) -> Scroll:
    """Return the scroll when the finger lifts at `speed`."""
    offset = scroll.offset_at(now, limit)
    if abs(speed) < MIN_FLING:
        return Scroll(offset=offset, at=now)
    return Scroll(offset=offset, speed=max(-MAX_FLING, min(MAX_FLING, speed)), at=now)
