"""Fingers as WDA takes them: the bodies of `/actions`.

Pure. A pan rests before it lifts, so that nothing keeps scrolling; a fling lifts in motion.

May be imported by: drivers.ios, tests. Imports: runner.model.
"""

from typing import Any, Final

from runner.model.action import Drag

REST_MS: Final = 100
_EDGE_SWIPE_MS: Final = 250


def render_drag(drag: Drag) -> dict[str, Any]:
    """Return the body that moves one finger as `drag` says."""
    rest = [{"type": "pause", "duration": REST_MS}] if drag.profile == "pan" else []
    steps = [
        _move(drag.x1, drag.y1, 0),
        {"type": "pointerDown", "button": 0},
        _move(drag.x2, drag.y2, drag.duration_ms),
        *rest,
        {"type": "pointerUp", "button": 0},
    ]
    finger = {
        "type": "pointer",
        "id": "finger1",
        "parameters": {"pointerType": "touch"},
        "actions": steps,
    }
    return {"actions": [finger]}


def edge_swipe(width: float, height: float) -> Drag:
    """Return the system's back gesture: from the left edge inwards, at half height."""
    return Drag(
        x1=1,
        y1=height / 2,
        x2=width * 0.7,
        y2=height / 2,
        duration_ms=_EDGE_SWIPE_MS,
        profile="fling",
    )


def _move(x: float, y: float, duration_ms: int) -> dict[str, Any]:
    return {
        "type": "pointerMove",
        "duration": duration_ms,
        "x": x,
        "y": y,
        "origin": "viewport",
    }
