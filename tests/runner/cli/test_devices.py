# ruff: noqa: ARG001  # The clock fixture acts by being asked for.
"""What `devices` tells of each device, on phones in memory."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from trio.testing import MockClock

from grid.identity import Claims
from grid.lease import LeaseStore, Take
from grid.pool import PoolEntry
from runner.cli.devices import DeviceRow, probe_device
from runner.clock import SystemClock
from tests.support.device import FakePhone
from tests.support.plans import make_facts


def phone(name: str) -> FakePhone:
    made = FakePhone(make_facts(name, hardware_id="UUID"))
    made.tells_identity = True
    return made


def entry_of(made: FakePhone) -> PoolEntry:
    facts = replace(made.facts, hardware_id="", tags=("shelf",))
    return PoolEntry(facts=facts, open_device=made.open, identify=made.identify)


def lease_files(folder: Path) -> list[Path]:
    return list(folder.glob("*.json"))


async def probe(made: FakePhone, folder: Path, claims: Claims | None = None) -> DeviceRow:
    return await probe_device(entry_of(made), LeaseStore(folder), claims or Claims())


async def test_a_healthy_device_has_the_tags_of_the_grid_file_and_its_hardware_id(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    row = await probe(phone("a"), tmp_path)

    assert ("healthy", ("shelf",), "UUID") == (
        row.health,
        row.device.tags,
        row.device.hardware_id,
    )
    assert [] == lease_files(tmp_path)


@pytest.mark.parametrize("trouble", ["opening_hangs", "hangs"])
async def test_a_device_that_says_only_who_it_is_is_listed_as_that(
    tmp_path: Path, autojump_clock: MockClock, trouble: str
) -> None:
    ill = phone("a")
    setattr(ill, trouble, True)
    row = await probe(ill, tmp_path)

    assert ("lost", "device_call_deadline") == (row.health, row.reason)
    assert (("shelf",), "UUID") == (row.device.tags, row.device.hardware_id)


async def test_a_second_route_to_a_phone_is_called_that_and_not_in_use(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    claims = Claims()
    first = await probe(phone("url"), tmp_path, claims)
    second = await probe(phone("usbmux"), tmp_path, claims)

    assert ("healthy", "duplicate") == (first.health, second.health)
    assert "device_duplicate" == second.reason
    assert "it is the same phone as url" in second.message


async def test_a_phone_that_a_run_holds_is_busy_and_not_opened(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    take = Take(device="android:UUID", holder="run 7", at_ms=SystemClock().wall_ms(), ttl_ms=60_000)
    await LeaseStore(tmp_path).apply(take)
    held = phone("a")
    row = await probe(held, tmp_path)

    assert ("busy", "lease_held", "it is in use by run 7") == (row.health, row.reason, row.message)
    assert ("UUID", 0) == (row.device.hardware_id, held.opened)
