"""Faults that a virtual phone can be told to have, and which of them it has now.

A board belongs to one phone. A momentary fault happens once and is over; any other stays until it
is cleared, or for `for_s` seconds. Faces ask `get` at the point where the fault acts, and
subscribe where something must happen at once.

May be imported by: grid.lab, tests. Imports: runner.errors, runner.model.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final, final

from msgspec import Struct

from runner.errors import InputError
from runner.model.ids import Platform


class FaultInfo(Struct, frozen=True, kw_only=True):
    """One row of the catalogue. `params` gives each parameter's default; all are numbers."""

    platforms: tuple[Platform, ...]
    params: Mapping[str, float]
    help: str
    momentary: bool = False


_BOTH: Final[tuple[Platform, ...]] = ("android", "ios")

FAULTS: Final[Mapping[str, FaultInfo]] = {
    "drop": FaultInfo(
        platforms=_BOTH,
        params={"for_s": 0},
        help="close every connection now; refuse new ones for `for_s` seconds",
        momentary=True,
    ),
    "stall": FaultInfo(
        platforms=_BOTH,
        params={"for_s": 0},
        help="accept connections and bytes, answer nothing (`for_s` 0: until cleared)",
    ),
    "slow": FaultInfo(
        platforms=_BOTH,
        params={"latency_ms": 200, "for_s": 0},
        help="wait `latency_ms` before every packet (Android) or response (iOS)",
    ),
    "wda_hang": FaultInfo(
        platforms=("ios",),
        params={"for_s": 0},
        help="the main queue of WebDriverAgent hangs; /status still answers",
    ),
    "wda_restart": FaultInfo(
        platforms=("ios",),
        params={},
        help="WebDriverAgent restarts: sessions are gone, sockets are reset",
        momentary=True,
    ),
}


@final
class FaultBoard:
    """The faults of one phone."""

    def __init__(self, *, platform: Platform, clock: Callable[[], float]) -> None:
        self._platform = platform
        self._clock = clock
        self._active: dict[str, tuple[Mapping[str, float], float | None]] = {}
        self._watchers: list[Callable[[str], None]] = []

    def set(self, name: str, **params: float) -> None:
        """Start a fault, or start it anew with other parameters. Reasons: `lab_fault_unknown`."""
        info = self._info(name)
        for key, value in params.items():
            if key not in info.params:
                known = ", ".join(info.params) or "none"
                raise InputError(
                    reason="lab_fault_unknown",
                    message=f"lab fault {name!r} has no parameter {key!r} (it has: {known})",
                    details={"fault": name, "param": key},
                )
            if not 0 <= value < math.inf:
                raise InputError(
                    reason="lab_fault_unknown",
                    message=f"{key} of lab fault {name!r} is {value:g}; it must be a number "
                    "from 0 up",
                    details={"fault": name, "param": key, "value": str(value)},
                )
        values = {**info.params, **params}
        lasts_s = values.get("for_s", 0.0)
        if lasts_s > 0:
            self._active[name] = (values, self._clock() + lasts_s)
        elif not info.momentary:
            self._active[name] = (values, None)
        self._tell(name)

    def clear(self, name: str) -> None:
        """End a fault; ending one that is not active is fine. Reasons: `lab_fault_unknown`."""
        self._info(name)
        if self._active.pop(name, None) is not None:
            self._tell(name)

    def get(self, name: str) -> Mapping[str, float] | None:
        """Return the parameters of a fault that is active now, else None."""
        entry = self._active.get(name)
        if entry is None:
            return None
        values, until = entry
        if until is not None and self._clock() >= until:
            del self._active[name]
            return None
        return values

    def remaining_s(self, name: str) -> float:
        """Return how long an active fault will last: infinity until cleared, 0 when not active."""
        if self.get(name) is None:
            return 0.0
        until = self._active[name][1]
        return math.inf if until is None else max(0.0, until - self._clock())

    def active(self) -> Mapping[str, Mapping[str, float]]:
        """Return all faults that are active now, with their parameters."""
        found = {name: self.get(name) for name in tuple(self._active)}
        return {name: values for name, values in found.items() if values is not None}

    def subscribe(self, watcher: Callable[[str], None]) -> Callable[[], None]:
        """Call `watcher(name)` at each change by `set` or `clear`; return what ends that.

        Expiry calls nobody: who waits for it asks `get` again in time.
        """
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _tell(self, name: str) -> None:
        for watcher in tuple(self._watchers):
            watcher(name)

    def _info(self, name: str) -> FaultInfo:
        info = FAULTS.get(name)
        if info is None or self._platform not in info.platforms:
            known = ", ".join(key for key, row in FAULTS.items() if self._platform in row.platforms)
            raise InputError(
                reason="lab_fault_unknown",
                message=f"no lab fault {name!r} on {self._platform} (there are: {known})",
                details={"fault": name, "platform": self._platform},
            )
        return info
