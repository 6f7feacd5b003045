"""The pool: opens the devices of a run, keeps them open, and runs attempts on them.

Each device has a keeper: it takes the lease, opens the device, passes the health gate, serves a
worker over an in-memory channel, and does it all again with back-off when the device goes away.
Which of these may command the device is decided by the lease alone.

    keeper       lease -> open -> gate -> serve -> closed -> back-off -> lease ...
    announced    ready when it serves; lost or unhealthy when that ends for the device's reasons,
                 again when the reason changes or when its return is no longer awaited

Leaving the context ends every keeper: a device being opened is let go, an open one is closed in a
shielded scope of bounded time, leases are released.

May be imported by: grid, runner.cli, tests. Imports: drivers.protocol, grid, runner.schedule.ports,
runner.model, runner.errors, trio.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import final

import trio
from msgspec import Struct

from grid.artifact import ArtifactStore
from grid.identity import Claims
from grid.keeper import Keeper, KeeperPorts, KeeperSettings, PoolEntry
from grid.lease import LeaseStore
from grid.link import LinkPorts, refusal
from grid.worker import MachineFactory
from runner.clock import Clock
from runner.model.device import DeviceFacts
from runner.model.failure import Failure
from runner.model.ids import AttemptId, RunId
from runner.schedule.ports import Assignment, AttemptResult, DeviceChange, Emit, EventSink

__all__ = ("GridPool", "PoolEntry", "PoolSettings", "open_pool")


class PoolSettings(Struct, frozen=True, kw_only=True):
    """How a pool serves one run. `holder` names the run to others who want its devices."""

    run_id: RunId
    holder: str
    lease_folder: Path
    lease_ttl_s: float = 15.0
    return_grace_s: float = 30.0
    open_limit_s: float = 60.0
    health_limit_s: float = 15.0
    release_limit_s: float = 10.0
    heartbeat_s: float = 15.0


@final
class GridPool:
    """An open pool; implements `runner.schedule.ports.Pool`."""

    def __init__(
        self, keepers: Sequence[Keeper], changes: trio.MemoryReceiveChannel[DeviceChange]
    ) -> None:
        self._keepers = {keeper.facts.id: keeper for keeper in keepers}
        self._stated = tuple(keeper.facts for keeper in keepers)
        self._changes = changes

    @property
    def devices(self) -> tuple[DeviceFacts, ...]:
        """Every device that will be announced."""
        return self._stated

    @property
    def evidence_failures(self) -> tuple[Failure, ...]:
        """Why artifacts could not be stored, if any could not."""
        return tuple(f for keeper in self._keepers.values() for f in keeper.evidence_failures)

    async def run(self, assignment: Assignment) -> AttemptResult:
        """Run one attempt on its device."""
        keeper = self._keepers.get(assignment.device_id)
        if keeper is None:
            await trio.lowlevel.checkpoint()
            return refusal(assignment, session=0)
        return await keeper.run(assignment)

    def cancel(self, attempt_id: AttemptId) -> None:
        """Ask a running attempt to end as `cancelled`; unknown ids are ignored."""
        for keeper in self._keepers.values():
            keeper.cancel(attempt_id)

    async def next_change(self) -> DeviceChange:
        """Wait for the next change of a device's usability."""
        return await self._changes.receive()


@asynccontextmanager
async def open_pool(
    entries: Sequence[PoolEntry],
    *,
    machine_factory: MachineFactory,
    artifacts: ArtifactStore,
    emit: Emit,
    sink: EventSink,
    clock: Clock,
    settings: PoolSettings,
) -> AsyncIterator[GridPool]:
    """Open all devices side by side; leaving releases everything, at every phase.

    Worker events go to `sink` with the worker's own sequence; what the grid itself has to say
    (leases, stored artifacts, logs) through `emit`.
    """
    changes, receive = trio.open_memory_channel[DeviceChange](2 * len(entries) + 16)
    keepers = _make_keepers(
        entries,
        KeeperPorts(
            link=LinkPorts(sink=sink, emit=emit, artifacts=artifacts),
            leases=LeaseStore(settings.lease_folder),
            machine_factory=machine_factory,
            clock=clock,
            changes=changes,
        ),
        settings,
    )
    async with trio.open_nursery() as nursery:
        for keeper in keepers:
            nursery.start_soon(keeper.keep, name=f"keeper of {keeper.facts.id}")
        try:
            yield GridPool(keepers, receive)
        finally:
            for keeper in keepers:
                keeper.stop()


def _make_keepers(
    entries: Sequence[PoolEntry], ports: KeeperPorts, settings: PoolSettings
) -> list[Keeper]:
    own = KeeperSettings(
        run_id=settings.run_id,
        run_start_s=trio.current_time(),
        holder=settings.holder,
        lease_ttl_s=settings.lease_ttl_s,
        return_grace_s=settings.return_grace_s,
        open_limit_s=settings.open_limit_s,
        health_limit_s=settings.health_limit_s,
        release_limit_s=settings.release_limit_s,
        heartbeat_s=settings.heartbeat_s,
    )
    claims = Claims()
    return [Keeper(entry, ports, own, claims) for entry in entries]
