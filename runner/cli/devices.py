"""`devices`: the grid with the health of each device.

May be imported by: runner.cli. Imports: grid, runner.cli.wire, runner.model.
"""

from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from grid.inventory import Inventory, load_inventory
from grid.play import failure_of_any
from grid.pool import PoolEntry
from runner.cli.output import write_json, write_people
from runner.cli.sources import required_grid_path
from runner.cli.wire import open_grid
from runner.exits import NO_DEVICE, OK
from runner.model.device import DeviceFacts, HealthReport
from runner.model.failure import Failure

_LIMIT_S: Final = 20.0


class DeviceRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One device as the grid sees it now."""

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
    """List the devices of the grid file; exit status 5 when none is healthy."""
    devices = trio.run(_probe_all, load_inventory(required_grid_path(grid)))
    if as_json:
        write_json(devices)
    else:
        write_people(_render(devices))
    return OK if any(row.health == "healthy" for row in devices.devices) else NO_DEVICE


async def _probe_all(inventory: Inventory) -> DevicesJson:
    rows: dict[str, DeviceRow] = {}

    async def probe(entry: PoolEntry) -> None:
        rows[entry.facts.id] = await _probe(entry)

    async with open_grid(inventory) as grid:
        async with trio.open_nursery() as nursery:
            for entry in grid.entries:
                nursery.start_soon(probe, entry, name=f"probe of {entry.facts.id}")
        ordered = tuple(rows[entry.facts.id] for entry in grid.entries)
        return DevicesJson(devices=ordered, troubles=grid.troubles)


async def _probe(entry: PoolEntry) -> DeviceRow:
    report = HealthReport(
        health="lost",
        reason="device_call_deadline",
        message=f"it did not answer within {_LIMIT_S:g} s",
    )
    facts = entry.facts
    with trio.move_on_after(_LIMIT_S):
        try:
            async with entry.open_device() as device:
                facts = device.facts
                report = await device.check_health()
        except Exception as error:  # noqa: BLE001  # Whatever one device does, the others are listed.
            failure = failure_of_any(error)
            report = HealthReport(health="lost", reason=failure.reason, message=failure.message)
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
