"""The glass of a virtual phone: where taps go, how lists follow a finger and coast.

A coasting list that is touched stops, and that touch is no tap: as on real phones, who taps a
moving list hits nothing.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, final

from grid.lab.appstack import AppStack
from grid.lab.node import SimNode, node_at

SLOP: Final = 8.0
"""Points that a finger may move and still mean a tap."""
LONG_PRESS_MS: Final = 500.0
_SPEED_WINDOW_S: Final = 0.1


@final
class Finger:
    """A finger from its landing to its lift. A list follows it once it left the slop."""

    def __init__(self, at: float, x: float, y: float, list_ref: str, *, is_catch: bool) -> None:
        self.down_at = at
        self.x = x
        self.y = y
        self.list_ref = list_ref
        self.is_catch = is_catch
        self.has_moved = False
        self._last_y = y
        self._samples: deque[tuple[float, float]] = deque([(at, y)], maxlen=64)

    def move(self, at: float, x: float, y: float) -> float:
        """Note a position; return how far a list has to follow (positive shows later rows)."""
        self._samples.append((at, y))
        if not self.has_moved and abs(x - self.x) < SLOP and abs(y - self.y) < SLOP:
            return 0.0
        self.has_moved = True
        delta = self._last_y - y
        self._last_y = y
        return delta

    def speed(self, now: float) -> float:
        """Return the speed over the last tenth of a second, in points per second."""
        recent = [sample for sample in self._samples if now - sample[0] <= _SPEED_WINDOW_S]
        if len(recent) < 2 or recent[-1][0] <= recent[0][0]:
            return 0.0
        return (recent[0][1] - recent[-1][1]) / (recent[-1][0] - recent[0][0])


@final
class Glass:
    """Turns touches into taps on nodes and moves of lists.

    `look` draws the screen; `press_system` presses what belongs to the phone itself (keyboard,
    dialog, launcher) and answers whether the ref was such a thing.
    """

    def __init__(
        self,
        apps: AppStack,
        *,
        clock: Callable[[], float],
        look: Callable[[], SimNode],
        press_system: Callable[[str], bool],
    ) -> None:
        self._apps = apps
        self._clock = clock
        self._look = look
        self._press_system = press_system
        self._finger: Finger | None = None

    def press(self, x: float, y: float, *, is_long: bool) -> None:
        """Tap or hold a point: the innermost node there that takes taps gets it."""
        if self._catch_list(x, y)[1]:
            return
        for node in reversed(self._path(x, y)):
            if self._press_system(node.ref):
                return
            app = self._apps.front_app()
            if app is not None and app.has_tap(node.ref):
                self._apps.keyboard_hidden = False
                self._apps.grant(app, app.tap(node.ref, self._clock(), is_long=is_long))
                return

    def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: float, *, hold: bool) -> None:
        """Move a finger evenly for `ms`, then lift it in motion, or at rest with `hold`."""
        if abs(x2 - x1) < SLOP and abs(y2 - y1) < SLOP:
            self.press(x1, y1, is_long=ms >= LONG_PRESS_MS)
            return
        list_ref, _ = self._catch_list(x1, y1)
        app = self._apps.front_app()
        if app is not None and list_ref:
            app.drag_list(list_ref, y1 - y2, self._clock())
            if not hold and ms > 0:
                app.fling_list(list_ref, (y1 - y2) / ms * 1000, self._clock())

    def down(self, x: float, y: float) -> None:
        """Put a finger down."""
        list_ref, is_catch = self._catch_list(x, y)
        self._finger = Finger(self._clock(), x, y, list_ref, is_catch=is_catch)

    def move(self, x: float, y: float) -> None:
        """Move the finger; the list under it follows."""
        if self._finger is None:
            return
        delta = self._finger.move(self._clock(), x, y)
        self._look()  # The app acts on what is drawn now.
        app = self._apps.front_app()
        if app is not None and self._finger.list_ref and delta:
            app.drag_list(self._finger.list_ref, delta, self._clock())

    def up(self, x: float, y: float) -> Finger | None:
        """Lift the finger: a tap, a long press, a fling or the end of a drag. Return its path."""
        self.move(x, y)
        finger, self._finger = self._finger, None
        if finger is None:
            return None
        app = self._apps.front_app()
        if not finger.has_moved:
            if not finger.is_catch:
                held_ms = (self._clock() - finger.down_at) * 1000
                self.press(finger.x, finger.y, is_long=held_ms >= LONG_PRESS_MS)
        elif app is not None and finger.list_ref:
            app.fling_list(finger.list_ref, finger.speed(self._clock()), self._clock())
        return finger

    def lift(self) -> None:
        """Forget a finger that is down, as when the phone restarts or a gesture is cancelled."""
        self._finger = None

    def _path(self, x: float, y: float) -> tuple[SimNode, ...]:
        """Return the nodes at a point, outermost first; a dialog lets nothing through."""
        tree = self._look()
        path = node_at(tree, x, y)
        top = tree.children[-1] if tree.children else tree
        return () if top.kind == "alert" and top not in path else path

    def _catch_list(self, x: float, y: float) -> tuple[str, bool]:
        """Return the ref of the list at a point, and whether it coasted until now."""
        path = self._path(x, y)
        app = self._apps.front_app()
        for node in reversed(path):
            if app is not None and node.kind == "list":
                return node.ref, app.stop_list(node.ref, self._clock())
        return "", False
