"""How long a lease still holds, as who commands the device by it must know.

The keeper extends it with every renewal; a worker asks before each command, so that nobody
commands a phone that may be somebody else's by now, also after the whole process stood still.

May be imported by: grid, tests. Imports: grid.lease, runner.clock, runner.errors, runner.model.
"""

from typing import Final, final

from grid.lease import Lease
from runner.clock import Clock
from runner.errors import DeviceError
from runner.model.failure import Failure, failure_of

LEASE_LAPSED: Final = "lease_lapsed"


@final
class Tenure:
    """The time of one lease; `expires_ms` is UTC wall time since the epoch."""

    def __init__(self, clock: Clock, expires_ms: int) -> None:
        self._clock = clock
        self._expires_ms = expires_ms

    def extend(self, expires_ms: int) -> None:
        """Enter a renewal."""
        self._expires_ms = expires_ms

    def left_s(self) -> float:
        """Return the seconds that are left, 0 at its end."""
        return max(0, self._expires_ms - self._clock.wall_ms()) / 1000

    def lapse(self) -> Failure | None:
        """Return the failure of whoever still commands by it; `None` while it holds."""
        return None if self.left_s() else lapsed_lease()


def lapsed_lease(why: str = "its time ended before it was renewed") -> Failure:
    """Return the failure of an attempt whose lease is over, and `why` it is."""
    error = DeviceError(
        kind="device_lost",
        reason=LEASE_LAPSED,
        message=f"the lease of the device is over: {why}",
    )
    return failure_of(error)


def refused_renewal(lease: Lease, standing: Lease | None) -> Failure:
    """Return the failure that the refusal to renew `lease` is, by what stands in its place."""
    if standing is None:
        return lapsed_lease("its record is gone")
    if standing.fence != lease.fence:
        return lapsed_lease(f"it is held by {standing.holder} now")
    return lapsed_lease()
