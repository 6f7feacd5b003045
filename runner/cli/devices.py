"""`devices`: the grid with the health of each device.

A phone that a run holds is listed as in use and left alone: to open it would take it away.

May be imported by: runner.cli. Imports: grid, runner.cli.wire, runner.model.
"""

import os
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from grid.identity import Claims, phone_key
from grid.inventory import Inventory, load_inventory
from grid.lease import LeaseStore, Release, Take, lease_folder
from grid.play import failure_of_any
from grid.pool import PoolEntry
from runner.cli.output import write_json, write_people
from runner.cli.sources import required_grid_path
from runner.cli.wire import open_grid
from runner.clock import SystemClock
from runner.exits import NO_DEVICE, OK
from runner.model.device import DeviceFacts
from runner.model.failure import Failure
from runner.model.ids import DeviceId

_LIMIT_S: Final = 20.0


class DeviceRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One device as the grid sees it now: `healthy`, `unhealthy`, `lost`, or `busy` in a run.

    `duplicate` is another route to a phone that is listed too; a run uses one of them.
    """

    device: DeviceFacts
    health: str
    reason: str = ""
    message: str = ""


class DevicesJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """All devices, and what of the grid could not be reached."""

    version: int = 1
    devices: tuple[DeviceRow, ...]
    troubles: tuple[Failure, ...]


def show_devices(grid: Path | None, *, as_json: bool) -> int:
    """List the devices of the grid file; exit status 5 when none is healthy or in use."""
    devices = trio.run(_probe_all, load_inventory(required_grid_path(grid)))
    if as_json:
        write_json(devices)
    else:
        write_people(_render(devices))
    return OK if any(row.health in {"healthy", "busy"} for row in devices.devices) else NO_DEVICE


async def _probe_all(inventory: Inventory) -> DevicesJson:
    rows: dict[str, DeviceRow] = {}
    leases = LeaseStore(lease_folder(os.environ, os.getuid()))
    claims = Claims()

    async def probe(entry: PoolEntry) -> None:
        rows[entry.facts.id] = await probe_device(entry, leases, claims)

    async with open_grid(inventory) as grid:
        async with trio.open_nursery() as nursery:
            for entry in grid.entries:
                nursery.start_soon(probe, entry, name=f"probe of {entry.facts.id}")
        ordered = tuple(rows[entry.facts.id] for entry in grid.entries)
        return DevicesJson(devices=ordered, troubles=grid.troubles)


async def probe_device(entry: PoolEntry, leases: LeaseStore, claims: Claims) -> DeviceRow:
    """Return what can be told of one device, in bounded time, whatever it does."""
    row = DeviceRow(
        device=entry.facts,
        health="lost",
        reason="device_call_deadline",
        message=f"it did not answer within {_LIMIT_S:g} s",
    )
    with trio.move_on_after(_LIMIT_S):
        try:
            facts = await _identified(entry)
            row = replace(row, device=facts)  # Who it is stays known when the rest goes wrong.
            owner = claims.claim(facts)
            if owner is None:
                row = await _probe_under_lease(entry, facts, leases)
            else:
                row = _duplicate(facts, owner)
        except Exception as error:  # noqa: BLE001  # Whatever one device does, the others are listed.
            failure = failure_of_any(error)
            row = replace(row, reason=failure.reason, message=failure.message)
    return row


def _duplicate(facts: DeviceFacts, owner: DeviceId) -> DeviceRow:
    message = f"it is the same phone as {owner}, of which a run uses one route"
    return DeviceRow(device=facts, health="duplicate", reason="device_duplicate", message=message)


async def _identified(entry: PoolEntry) -> DeviceFacts:
    identity = await entry.identify() if entry.identify is not None else ""
    return replace(entry.facts, hardware_id=identity or entry.facts.hardware_id)


async def _probe_under_lease(entry: PoolEntry, facts: DeviceFacts, leases: LeaseStore) -> DeviceRow:
    take = Take(
        device=phone_key(facts),
        holder=f"sweepgrid devices {os.getpid()}",
        at_ms=SystemClock().wall_ms(),
        ttl_ms=round(_LIMIT_S * 1000),
    )
    lease, is_ours = await leases.apply(take)
    if lease is None or not is_ours:
        holder = lease.holder if lease else "somebody"
        message = f"it is in use by {holder}"
        return DeviceRow(device=facts, health="busy", reason="lease_held", message=message)
    try:
        async with entry.open_device() as device:
            facts = replace(
                device.facts,
                id=facts.id,
                tags=facts.tags,
                hardware_id=device.facts.hardware_id or facts.hardware_id,
            )
            report = await device.check_health()
    finally:
        leases.apply_nowait(Release(device=lease.device, fence=lease.fence))
    return DeviceRow(
        device=facts, health=report.health, reason=report.reason, message=report.message
    )


def _render(devices: DevicesJson) -> str:
    lines = [
        f"{row.health:<10} {row.device.platform:<8} {row.device.id:<40} {row.device.model}"
        f" {row.device.os_version}".rstrip()
        + (f"\n           {row.message} [{row.reason}]" if row.message or row.reason else "")
        for row in devices.devices
    ]
    lines += [f"trouble    {each.message} [{each.reason}]" for each in devices.troubles]
    return "\n".join(lines) or "the grid names no device"
