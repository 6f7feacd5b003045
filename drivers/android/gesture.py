"""Touches as shell commands.

Pure. `input swipe` lifts in motion, so what it drags flies on. A pan goes finger by finger
instead: down, some moves, a rest, up; the parts are joined so that the finger is lifted even when
a part fails.

May be imported by: drivers.android, tests. Imports: runner.model.action.
"""

from collections.abc import Iterator
from typing import Final

from runner.model.action import Drag, LongPress, Tap

MOTION_EVENT_SDK: Final = 29
"""The first release whose `input` knows single motion events."""

_MOVE_MS: Final = 40
_MAX_MOVES: Final = 12
_REST_MS: Final = 100
_TAPS_PER_CALL: Final = 10


def tap_commands(action: Tap) -> Iterator[str]:
    """Yield the shell commands of a tap; the caller pauses `interval_ms` between them.

    Without a pause several taps share a command: starting `input` takes longer than a tap, and a
    double tap must be quick.
    """
    once = _touch(action.x, action.y, action.hold_ms)
    if action.double:
        once = f"{once} && {once}"
    per_call = 1 if action.interval_ms else _TAPS_PER_CALL
    for done in range(0, action.count, per_call):
        yield " && ".join([once] * min(per_call, action.count - done))


def long_press_command(action: LongPress) -> str:
    """Return the shell command that holds a point."""
    return _touch(action.x, action.y, action.duration_ms)


def drag_command(action: Drag, *, sdk: int) -> str:
    """Return the shell command that drags; `sdk` 0 stands for a release that is not known."""
    if action.profile == "fling" or 0 < sdk < MOTION_EVENT_SDK:
        start, end = _point(action.x1, action.y1), _point(action.x2, action.y2)
        return f"input swipe {start} {end} {action.duration_ms}"
    moves = max(2, min(_MAX_MOVES, action.duration_ms // _MOVE_MS))
    pause = f"sleep {action.duration_ms / moves / 1000:.3f}"
    parts = [f"input motionevent DOWN {_point(action.x1, action.y1)}"]
    for move in range(1, moves + 1):
        done = move / moves
        x = action.x1 + (action.x2 - action.x1) * done
        y = action.y1 + (action.y2 - action.y1) * done
        parts += [pause, f"input motionevent MOVE {_point(x, y)}"]
    # A second move at the same place makes the speed at which the finger is lifted zero.
    end = _point(action.x2, action.y2)
    parts += [f"sleep {_REST_MS / 1000}", f"input motionevent MOVE {end}"]
    parts += [f"input motionevent UP {end}"]
    return "; ".join(parts)


def drag_time_s(action: Drag) -> float:
    """Return how long the drag lasts at least."""
    return (action.duration_ms + _REST_MS) / 1000


def _touch(x: float, y: float, hold_ms: int) -> str:
    point = _point(x, y)
    return f"input swipe {point} {point} {hold_ms}" if hold_ms > 0 else f"input tap {point}"


def _point(x: float, y: float) -> str:
    return f"{round(x)} {round(y)}"
