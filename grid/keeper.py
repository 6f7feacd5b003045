"""The keeper of one device: see `grid.pool` for its life.

It is the only one who opens and closes the device, holds its lease and announces it. `keep` ends
only by `stop`, and then within the release limit.

May be imported by: grid, tests. Imports: drivers.protocol, grid, runner.schedule.ports,
runner.model, runner.errors, trio.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, final

import trio
from msgspec import Struct
from msgspec.structs import replace

from drivers.protocol import Device, OpenDevice, WaitLost
from grid.channel import open_channel, phase_of
from grid.health import check_gate
from grid.identity import Claims, Identify, ask_identity, phone_key
from grid.lease import Lease, LeaseStore, Release, Renew, Take
from grid.link import Link, LinkPorts, refusal
from grid.outbox import Stamp
from grid.pipe import open_memory_pair
from grid.play import failure_of_any
from grid.tenure import LEASE_LAPSED, Tenure, lapsed_lease, refused_renewal
from grid.worker import MachineFactory, WorkerSettings, serve_worker
from runner.clock import Clock
from runner.errors import GridError
from runner.model.device import DeviceFacts
from runner.model.event import LeaseChanged, Logged
from runner.model.failure import Failure
from runner.model.ids import AttemptId, Fence, RunId
from runner.schedule.ports import Assignment, AttemptResult, DeviceChange

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0


class KeeperPorts(Struct, frozen=True, kw_only=True):
    """What all keepers of a pool share."""

    link: LinkPorts
    leases: LeaseStore
    machine_factory: MachineFactory
    clock: Clock
    changes: trio.MemorySendChannel[DeviceChange]


class KeeperSettings(Struct, frozen=True, kw_only=True):
    """See `grid.pool.PoolSettings`; `run_start_s` is on the loop's clock."""

    run_id: RunId
    run_start_s: float
    holder: str
    lease_ttl_s: float
    return_grace_s: float
    open_limit_s: float
    health_limit_s: float
    release_limit_s: float
    heartbeat_s: float


class PoolEntry(Struct, frozen=True, kw_only=True):
    """One way to one device: what is known of it before it is opened, and how to open it.

    `facts.id` stays the device's name. `identify` asks the phone what it is, without disturbing
    who uses it; without it, or without an answer, the stated facts decide. `watch` returns when
    the device is known to be gone.
    """

    facts: DeviceFacts
    open_device: OpenDevice
    identify: Identify | None = None
    watch: WaitLost | None = None


class _Trouble(Struct, frozen=True, kw_only=True):
    """Why a device does not serve.

    `is_known`: the end of an attempt told it already. `is_final`: it is not tried again.
    """

    state: Literal["lost", "unhealthy"] = "unhealthy"
    reason: str
    message: str
    is_known: bool = False
    is_final: bool = False


@final
class Keeper:
    """Keeps one device in service."""

    def __init__(
        self, entry: PoolEntry, ports: KeeperPorts, settings: KeeperSettings, claims: Claims
    ) -> None:
        self.facts = entry.facts
        self._entry = entry
        self._ports = ports
        self._settings = settings
        self._claims = claims
        self._is_stopped = False
        self._is_open = False
        self._closing = trio.CancelScope()
        self._working = trio.CancelScope()
        self._link: Link | None = None
        self._session = 0
        self._lapse: _Trouble | None = None
        self._has_worked = False
        self._down_since_s = trio.current_time()
        self._announced: tuple[str, str, bool] | None = None
        self.evidence_failures: list[Failure] = []

    async def run(self, assignment: Assignment) -> AttemptResult:
        """Run one attempt, or refuse it when the device does not serve now."""
        if self._link is None:
            await trio.lowlevel.checkpoint()
            return refusal(assignment, session=self._session)
        return await self._link.run(assignment)

    def cancel(self, attempt_id: AttemptId) -> None:
        """Ask the attempt to end if it runs here."""
        if self._link is not None:
            self._link.cancel(attempt_id)

    def stop(self) -> None:
        """End the keeping; the device is released within the release limit."""
        self._is_stopped = True
        self._interrupt()

    async def keep(self) -> None:
        """Keep the device in service until `stop`."""
        pause_s = _FIRST_PAUSE_S
        with trio.CancelScope(shield=True):  # Ended by `stop`, which bounds every phase.
            while not self._is_stopped:
                self._has_worked = False
                trouble = await self._serve_under_lease()
                if trouble is None:
                    return
                if self._has_worked:
                    pause_s = _FIRST_PAUSE_S
                with self._interruptible():
                    await self._wait_out(trouble, pause_s)
                if trouble.is_final:
                    return
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _interrupt(self) -> None:
        """Leave what is waited for: let go of a device being opened, close an open one."""
        self._working.cancel()
        if self._is_open:
            self._closing.deadline = trio.current_time() + self._settings.release_limit_s
        else:
            self._closing.cancel()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        with trio.CancelScope() as self._working:
            if self._is_stopped or self._lapse is not None:
                self._working.cancel()
            yield

    async def _serve_under_lease(self) -> _Trouble | None:
        """Serve once; return why it ended, or `None` when it was stopped."""
        settings = self._settings
        # Before anything else: two who open one phone would take it from each other.
        trouble = await self._identify() or self._claim()
        if trouble is not None:
            return None if self._is_stopped else trouble
        want = Take(
            device=phone_key(self.facts),
            holder=settings.holder,
            at_ms=self._ports.clock.wall_ms(),
            ttl_ms=round(settings.lease_ttl_s * 1000),
        )
        try:
            lease, is_ours = await self._ports.leases.apply(want)
        except GridError as error:
            return _Trouble(reason=error.reason, message=error.message)
        if lease is None or not is_ours:
            holder = lease.holder if lease else "somebody"
            return _Trouble(reason="lease_held", message=f"it is in use by {holder}")
        self._emit_lease("taken", lease)
        tenure = Tenure(self._ports.clock, lease.expires_ms)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._renew, lease, tenure)
            trouble = await self._serve(lease.fence, tenure)
            nursery.cancel_scope.cancel()
        await self._release(lease)
        lapse, self._lapse = self._lapse, None
        return None if self._is_stopped else lapse or trouble

    async def _identify(self) -> _Trouble | None:
        """Learn which phone it is; return why that cannot be told."""
        if self._entry.identify is None:
            return None
        try:
            with self._interruptible():
                limit_s = self._settings.open_limit_s
                identity = await ask_identity(self._entry.identify, limit_s=limit_s)
                self.facts = replace(self.facts, hardware_id=identity or self.facts.hardware_id)
        except Exception as error:  # noqa: BLE001  # A driver's bug costs one device, not the run.
            return _trouble_of(failure_of_any(error))
        return None

    def _claim(self) -> _Trouble | None:
        owner = self._claims.claim(self.facts)
        if owner is None:
            return None
        message = f"it is the same phone as {owner}, which the run uses already"
        return _Trouble(reason="device_duplicate", message=message, is_final=True)

    async def _renew(self, lease: Lease, tenure: Tenure) -> None:
        ttl_ms = round(self._settings.lease_ttl_s * 1000)
        third_s = self._settings.lease_ttl_s / 3
        await trio.sleep(phase_of(self.facts.id) * third_s)  # Spreads the renewals of a pool.
        while True:
            at_ms = self._ports.clock.wall_ms()
            want = Renew(device=lease.device, fence=lease.fence, at_ms=at_ms, ttl_ms=ttl_ms)
            failure: Failure | None = None
            try:
                standing, done = await self._ports.leases.apply(want)
            except GridError as error:
                # The store may work again before the lease is over.
                failure = None if tenure.left_s() else lapsed_lease(error.message)
            else:
                if done:
                    tenure.extend(at_ms + ttl_ms)
                else:
                    failure = refused_renewal(lease, standing)
            if failure is not None:
                self._lapse = _trouble_of(failure)
                if self._link is not None:
                    self._link.trouble = failure
                self._emit_lease("lapsed", lease)
                self._interrupt()
                return
            await trio.sleep(min(third_s, tenure.left_s()))

    async def _release(self, lease: Lease) -> None:
        try:
            _, done = await self._ports.leases.apply(
                Release(device=lease.device, fence=lease.fence)
            )
        except GridError as error:
            self._log(f"the lease was not released and ends by itself: {error}")
        else:
            if done:
                self._emit_lease("released", lease)

    async def _serve(self, fence: Fence, tenure: Tenure) -> _Trouble:
        """Open the device and serve until it is lost, unusable or interrupted."""
        limit_s = self._settings.open_limit_s
        trouble = _Trouble(
            reason="device_unhealthy", message=f"the device did not open in {limit_s:g} s"
        )
        try:
            with trio.CancelScope(deadline=trio.current_time() + limit_s) as self._closing:
                if self._is_stopped or self._lapse is not None:
                    self._closing.cancel()
                async with self._entry.open_device() as device:
                    self._is_open = True
                    self._closing.deadline = math.inf
                    with self._interruptible():
                        trouble = await self._work_safely(device, fence, tenure)
                    self._closing.deadline = trio.current_time() + self._settings.release_limit_s
            if self._is_open and self._closing.cancelled_caught:
                self._log(f"closing the device took over {self._settings.release_limit_s:g} s")
        except Exception as error:  # noqa: BLE001  # A driver's bug costs one device, not the run.
            failure = failure_of_any(error)
            if self._is_open:
                self._log(f"closing the device failed: {failure.message}")
            else:
                trouble = _trouble_of(failure)
        finally:
            self._is_open = False
        return trouble

    async def _work_safely(self, device: Device, fence: Fence, tenure: Tenure) -> _Trouble:
        """Work, with every error caught here: it must not pass through the driver's context."""
        try:
            return await self._gate_and_work(device, fence, tenure)
        except Exception as error:  # noqa: BLE001  # As above.
            return _trouble_of(failure_of_any(error))

    async def _gate_and_work(self, device: Device, fence: Fence, tenure: Tenure) -> _Trouble:
        stated = self._entry.facts
        tags = device.facts.tags or stated.tags
        hardware_id = device.facts.hardware_id or self.facts.hardware_id
        self.facts = replace(device.facts, id=stated.id, tags=tags, hardware_id=hardware_id)
        lapsed = tenure.lapse()
        if lapsed is not None:
            return _trouble_of(lapsed)
        report = await check_gate(device, limit_s=self._settings.health_limit_s)
        if report.health != "healthy":
            state: Literal["lost", "unhealthy"] = report.health
            return _Trouble(state=state, reason=report.reason, message=report.message)
        duplicate = self._claim()
        if duplicate is not None:
            return duplicate
        self._session += 1
        link = Link(stated.id, session=self._session, fence=fence, ports=self._ports.link)
        try:
            return await self._work(device, link, fence, tenure)
        finally:
            self._link = None
            self._down_since_s = trio.current_time()
            self._has_worked = link.has_worked
            self.evidence_failures += link.evidence_failures
            link.close()

    async def _work(self, device: Device, link: Link, fence: Fence, tenure: Tenure) -> _Trouble:
        ours, theirs = open_memory_pair()
        ends: list[Failure | None] = []

        async def work() -> None:
            stamp = Stamp(
                run_id=self._settings.run_id,
                device_id=self.facts.id,
                fence=fence,
                run_start_s=self._settings.run_start_s,
            )
            lost = await serve_worker(
                theirs,
                device,
                wait_lost=self._entry.watch,
                machine_factory=self._ports.machine_factory,
                clock=self._ports.clock,
                settings=WorkerSettings(
                    stamp=stamp, heartbeat_s=self._settings.heartbeat_s, lapse=tenure.lapse
                ),
            )
            ends.append(lost)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work, name=f"worker of {self.facts.id}")
            heartbeat_s = self._settings.heartbeat_s
            async with open_channel(ours, name="grid", heartbeat_s=heartbeat_s) as channel:
                self._link = link
                await self._announce("ready")
                await link.serve(channel)
        failure = next((end for end in ends if end is not None), link.trouble)
        if failure is None:
            return _Trouble(reason="channel_closed", message="the worker ended")
        trouble = _trouble_of(failure)
        return replace(trouble, is_known=link.is_unusable and trouble.state != "lost")

    async def _wait_out(self, trouble: _Trouble, pause_s: float) -> None:
        """Announce the trouble and wait before the next try; one try falls on the grace's end."""
        until_s = trio.current_time() + pause_s
        grace_s = self._down_since_s + self._settings.return_grace_s
        is_awaited = not trouble.is_final and trio.current_time() < grace_s
        if not (trouble.is_known and is_awaited):
            await self._announce(trouble.state, trouble, returns=is_awaited)
        if not trouble.is_final:
            await trio.sleep_until(min(until_s, grace_s) if is_awaited else until_s)

    async def _announce(
        self,
        state: Literal["ready", "lost", "unhealthy"],
        trouble: _Trouble | None = None,
        *,
        returns: bool = True,
    ) -> None:
        reason = trouble.reason if trouble else ""
        if state != "ready" and self._announced == (state, reason, returns):
            return
        self._announced = (state, reason, returns)
        change = DeviceChange(
            facts=self.facts,
            state=state,
            reason=reason,
            message=trouble.message if trouble else "",
            session=self._session,
            returns=returns,
        )
        await self._ports.changes.send(change)

    def _emit_lease(self, change: Literal["taken", "released", "lapsed"], lease: Lease) -> None:
        body = LeaseChanged(change=change, fence=lease.fence)
        self._ports.link.emit(body, device_id=self.facts.id)

    def _log(self, message: str) -> None:
        self._ports.link.emit(Logged(level="warning", message=message), device_id=self.facts.id)


def _trouble_of(failure: Failure) -> _Trouble:
    # After a lapse the phone is still there; only the right to it is gone.
    is_lost = failure.kind == "device_lost" and failure.reason != LEASE_LAPSED
    state: Literal["lost", "unhealthy"] = "lost" if is_lost else "unhealthy"
    return _Trouble(state=state, reason=failure.reason, message=failure.message)
