"""W3C action sequences (`POST /actions`) reduced to what a finger or a keyboard did.

Pure: the request's JSON in, gestures out. One touch pointer becomes taps, holds and drags; a hold
before lifting makes a drag end at rest. A key source becomes typed text. Several pointers at once
become one `MultiTouch`, which the lab's apps do not react to.

May be imported by: grid.lab, tests. Imports: grid.lab.wda_error.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias, final

from msgspec import Struct

from grid.lab.wda_error import WdaError

MAX_ACTIONS: Final = 1_000
MAX_TOTAL_MS: Final = 60_000
TAP_RADIUS: Final = 10.0
_SETTLE_MS: Final = 80
"""A finger that rests this long before it lifts flings nothing."""


class Touch(Struct, frozen=True):
    """A finger that went down and up about the same place."""

    x: float
    y: float
    ms: float


class Stroke(Struct, frozen=True):
    """A finger that moved. `rests` says that it stood still before it lifted."""

    x1: float
    y1: float
    x2: float
    y2: float
    ms: float
    press_ms: float
    rests: bool


class Pause(Struct, frozen=True):
    """Nothing touched the screen for that long."""

    ms: float


class Typed(Struct, frozen=True):
    """Keys in order."""

    text: str


class MultiTouch(Struct, frozen=True):
    """Two or more fingers at once."""

    pointers: int
    ms: float


Gesture: TypeAlias = Touch | Stroke | Pause | Typed | MultiTouch
Center: TypeAlias = Callable[[str], tuple[float, float]]
"""Gives the middle of an element by its id; raises `WdaError`."""


def read_actions(arguments: dict[str, Any], center: Center) -> tuple[Gesture, ...]:
    """Return the gestures of a request in order. Raises *invalid argument*."""
    sources = arguments.get("actions")
    if not isinstance(sources, list) or not sources:
        raise WdaError("invalid argument", "actions must be a list with at least one source")
    gestures: list[Gesture] = []
    pointers: list[tuple[Gesture, ...]] = []
    for source in sources:
        if not isinstance(source, dict):
            raise WdaError("invalid argument", "an action source must be an object")
        items = _items(source)
        if source.get("type") == "key":
            gestures.extend(_read_keys(items))
        elif source.get("type") == "pointer":
            pointers.append(_Pointer(center).read(items))
        elif source.get("type") != "none":
            raise WdaError("invalid argument", f"no action source of type {source.get('type')!r}")
    if len(pointers) > 1:
        return (*gestures, MultiTouch(len(pointers), max(map(_total_ms, pointers))))
    found = (*gestures, *(gesture for pointer in pointers for gesture in pointer))
    if _total_ms(found) > MAX_TOTAL_MS:
        raise WdaError("invalid argument", f"the actions last longer than {MAX_TOTAL_MS} ms")
    return found


def _items(source: dict[str, Any]) -> list[dict[str, Any]]:
    items = source.get("actions")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise WdaError("invalid argument", "an action source needs a list of action objects")
    if len(items) > MAX_ACTIONS:
        raise WdaError("invalid argument", f"more than {MAX_ACTIONS} actions")
    return items


def _total_ms(gestures: tuple[Gesture, ...]) -> float:
    total = 0.0
    for gesture in gestures:
        if not isinstance(gesture, Typed):
            total += gesture.ms
        if isinstance(gesture, Stroke):
            total += gesture.press_ms
    return total


def _read_keys(items: list[dict[str, Any]]) -> list[Gesture]:
    text = ""
    for item in items:
        kind, value = item.get("type"), item.get("value")
        if kind == "keyDown":
            if not isinstance(value, str) or not value:
                raise WdaError("invalid argument", "keyDown needs a value")
            text += value
        elif kind not in ("keyUp", "pause"):
            raise WdaError("invalid argument", f"no key action {kind!r}")
    return [Typed(text)] if text else []


@final
class _Pointer:
    """One touch pointer, followed through its actions."""

    def __init__(self, center: Center) -> None:
        self._center = center
        self._x = 0.0
        self._y = 0.0
        self._down: tuple[float, float] | None = None
        self._press_ms = 0.0
        self._moved_ms = 0.0
        self._rest_ms = 0.0
        self._found: list[Gesture] = []

    def read(self, items: list[dict[str, Any]]) -> tuple[Gesture, ...]:
        for item in items:
            kind = item.get("type")
            if kind == "pointerMove":
                self._move(item)
            elif kind == "pointerDown":
                if self._down is not None:
                    raise WdaError("invalid argument", "pointerDown of a finger that is down")
                self._down = self._x, self._y
                self._press_ms = self._moved_ms = self._rest_ms = 0.0
            elif kind == "pointerUp":
                self._lift()
            elif kind == "pause":
                self._wait(_number(item, "duration", 0.0))
            else:
                raise WdaError("invalid argument", f"no pointer action {kind!r}")
        if self._down is not None:
            raise WdaError("invalid argument", "the pointer is never lifted")
        return tuple(self._found)

    def _move(self, item: dict[str, Any]) -> None:
        origin = item.get("origin", "viewport")
        x, y = _number(item, "x", 0.0), _number(item, "y", 0.0)
        if origin == "pointer":
            x, y = self._x + x, self._y + y
        elif origin != "viewport":
            name = origin
            if isinstance(origin, dict):
                name = origin.get("element-6066-11e4-a52e-4f735466cecf", origin.get("ELEMENT"))
            if not isinstance(name, str):
                raise WdaError("invalid argument", f"no pointer origin {origin!r}")
            middle = self._center(name)
            x, y = middle[0] + x, middle[1] + y
        ms = _number(item, "duration", 0.0)
        is_still = abs(x - self._x) + abs(y - self._y) < 1
        self._x, self._y = x, y
        if self._down is None or is_still:
            self._wait(ms)
        else:
            self._moved_ms += ms + self._rest_ms
            self._rest_ms = 0.0

    def _wait(self, ms: float) -> None:
        if self._down is None:
            if ms:
                self._found.append(Pause(ms))
        elif self._moved_ms:
            self._rest_ms += ms
        else:
            self._press_ms += ms

    def _lift(self) -> None:
        if self._down is None:
            raise WdaError("invalid argument", "pointerUp of a finger that is not down")
        x, y = self._down
        self._down = None
        moved = max(abs(self._x - x), abs(self._y - y))
        if moved < TAP_RADIUS:
            self._found.append(Touch(x, y, self._press_ms + self._moved_ms + self._rest_ms))
            return
        stroke = Stroke(
            x1=x,
            y1=y,
            x2=self._x,
            y2=self._y,
            ms=self._moved_ms,
            press_ms=self._press_ms,
            rests=self._rest_ms >= _SETTLE_MS,
        )
        self._found.append(stroke)
        if self._rest_ms:
            self._found.append(Pause(self._rest_ms))


def _number(item: dict[str, Any], key: str, default: float) -> float:
    value = item.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WdaError("invalid argument", f"{key} must be a number")
    if not -1e6 < value < 1e6:
        raise WdaError("invalid argument", f"{key} is out of range")
    if key == "duration" and value < 0:
        raise WdaError("invalid argument", "duration must not be negative")
    return float(value)
