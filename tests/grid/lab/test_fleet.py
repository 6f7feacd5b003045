"""A whole lab in this process, on the real adb server."""

# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import os
import signal
import socket
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, final

import pytest
import trio
from trio.testing import MockClock

from drivers.android.server import AdbServer, connect, list_devices, open_adb_server
from grid.inventory import parse_inventory, stated_facts
from grid.lab.attached import Attached
from grid.lab.control import lab_shutdown, lab_status, lab_trace, lab_truth
from grid.lab.fleet import (
    FleetInfo,
    FleetSpec,
    parse_spec,
    render_spec,
    run_fleet,
)
from grid.lab.gridfile import render_grid
from runner.errors import DeviceError, GridError, InputError
from tests.grid.lab.ioskit import BUNDLE, SHOP, open_client

INFO = FleetInfo(
    serials=("127.0.0.1:40001", "127.0.0.1:40002"),
    udids=("U-1", "U-2"),
    adb_port=41000,
    wda_urls=("http://127.0.0.1:8101", "http://127.0.0.1:8102"),
    usbmux_socket="/run/sweepgrid-lab-x/usbmuxd",
    truth_url="http://127.0.0.1:42000",
    pid=77,
)


async def is_any_down(info: FleetInfo) -> bool:
    return "down" in {part.state for part in (await lab_status(info.truth_url)).parts}


@contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def is_socket(path: str) -> bool:
    return Path(path).is_socket()


def test_the_grid_file_names_every_device_and_both_routes_to_iphones() -> None:
    grid = tomllib.loads(render_grid(INFO))

    assert grid == {
        "version": 1,
        "adb": [
            {
                "host": "127.0.0.1",
                "port": 41000,
                "owned": False,
                "connect": list(INFO.serials),
                "serials": list(INFO.serials),
                "tags": ["lab"],
            }
        ],
        "wda": [
            {"url": "http://127.0.0.1:8101", "udid": "U-1", "tags": ["lab"]},
            {"usbmux": INFO.usbmux_socket, "port": 8100, "udid": "U-2", "tags": ["lab"]},
        ],
        "lab": {
            "pid": 77,
            "truth_url": "http://127.0.0.1:42000",
            "usbmux_socket": INFO.usbmux_socket,
        },
    }


def test_the_grid_file_is_one_that_a_run_reads() -> None:
    inventory = parse_inventory(render_grid(INFO), name="grid.toml")

    assert [facts.serial for facts in stated_facts(inventory)] == [*INFO.serials, *INFO.udids]
    assert inventory.lab is not None


def test_a_specification_reads_back_and_nothing_else_does() -> None:
    spec = FleetSpec(app="a.toml", android=3, ios=0, seed=9, runtime_dir="/run/ü")

    assert spec == parse_spec(render_spec(spec))
    for text in ("", "{", '{"app": 1}', '{"app": "x", "more": 1}', "\ud800"):
        with pytest.raises(InputError) as caught:
            parse_spec(text)
        assert caught.value.reason == "lab_spec_invalid"


@pytest.mark.slow
async def test_a_fleet_comes_up_serves_and_goes_down() -> None:
    pids: list[int] = []

    async def connect_noted(host: str, port: int, address: str) -> None:
        await connect(host, port, address)
        pids.append(port)

    spec = FleetSpec(app=str(SHOP), android=2, ios=2)
    async with trio.open_nursery() as nursery:
        start = partial(run_fleet, spec, adb_server=open_adb_server, connect=connect_noted)
        info: FleetInfo = await nursery.start(start)
        states = dict(await list_devices("127.0.0.1", info.adb_port))
        status = await lab_status(info.truth_url)
        async with open_client(int(info.wda_urls[1].rpartition(":")[2])) as client:
            await client.open_session(bundleId=BUNDLE)
        truth = await lab_truth(info.truth_url, info.udids[1])
        trace = await lab_trace(info.truth_url, info.serials[0])
        assert is_socket(info.usbmux_socket)
        await lab_shutdown(info.truth_url)

    assert states == dict.fromkeys(info.serials, "device")
    assert pids == [info.adb_port] * 2
    assert [device.serial for device in status.devices] == [*info.serials, *info.udids]
    assert status.pid == os.getpid() == info.pid
    assert truth["screen"] == "login"
    assert trace["received"]["adb"] > 0
    assert not is_socket(info.usbmux_socket)
    with pytest.raises(GridError):
        await lab_status(info.truth_url)
    with pytest.raises(DeviceError):
        await list_devices("127.0.0.1", info.adb_port)


@pytest.mark.slow
async def test_a_fleet_of_iphones_alone_needs_no_adb_server() -> None:
    def never() -> Any:
        raise AssertionError("no adb server is needed")

    spec = FleetSpec(app=str(SHOP), android=0, ios=1)
    async with trio.open_nursery() as nursery:
        start = partial(run_fleet, spec, adb_server=never, connect=connect)
        info: FleetInfo = await nursery.start(start)
        nursery.cancel_scope.cancel()

    assert (info.adb_port, info.serials) == (0, ())
    assert "[[adb]]" not in render_grid(info)


async def test_an_app_that_is_none_starts_nothing(tmp_path: Path) -> None:
    spec = FleetSpec(app=str(tmp_path / "none.toml"))
    with pytest.raises(InputError) as caught:
        await run_fleet(spec, adb_server=open_adb_server, connect=connect)

    assert caught.value.reason == "lab_app_invalid"


@pytest.mark.slow
async def test_phones_that_adb_does_not_reach_are_named() -> None:
    async def fail(host: str, port: int, address: str) -> None:
        del host, port
        raise DeviceError(
            kind="device_lost", reason="device_unreachable", message=f"no way to {address}"
        )

    with pytest.raises(DeviceError, match="no way to"):
        await run_fleet(FleetSpec(app=str(SHOP)), adb_server=open_adb_server, connect=fail)


@pytest.mark.slow
async def test_an_adb_server_that_dies_is_started_again_with_its_phones() -> None:
    spec = FleetSpec(app=str(SHOP), android=2, ios=1)
    pids: list[int] = []

    @asynccontextmanager
    async def open_noted() -> AsyncIterator[AdbServer]:
        async with open_adb_server() as server:
            pids.append(server.pid)
            yield server

    async with trio.open_nursery() as nursery:
        start = partial(run_fleet, spec, adb_server=open_noted, connect=connect)
        info: FleetInfo = await nursery.start(start)
        before = await lab_status(info.truth_url)
        os.kill(pids[0], signal.SIGKILL)
        assert await is_any_down(info)
        with trio.fail_after(20):
            while await is_any_down(info):  # noqa: ASYNC110 - another process gives no event.
                await trio.sleep(0.05)
        states = dict(await list_devices("127.0.0.1", info.adb_port))
        nursery.cancel_scope.cancel()

    assert [part.name for part in before.parts] == ["adb server", "adbd", "adbd", "WDA", "usbmux"]
    assert {part.state for part in before.parts} == {"up"}
    assert states == dict.fromkeys(info.serials, "device")


@final
class DyingServer:
    """A server that ends again whenever it is started."""

    host, port, pid = "127.0.0.1", 1, 1

    def __init__(self) -> None:
        self.revivals = 0

    async def wait_ended(self) -> None:
        await trio.lowlevel.checkpoint()

    async def revive(self) -> None:
        self.revivals += 1
        raise GridError(reason="adb_server_lost", message="it ended 4 times within a minute")


async def test_a_server_that_cannot_be_kept_is_told_as_a_part_that_is_down(
    autojump_clock: MockClock,
) -> None:
    server = DyingServer()
    attached = Attached(server, ("127.0.0.1:5",), connect)
    with trio.move_on_after(100):
        await attached.keep()
    with closed_port() as server.port:
        parts = await attached.parts()

    assert server.revivals == 5  # With a pause after each.
    assert [(part.name, part.state) for part in parts] == [
        ("adb server", "down"),
        ("adbd", "down"),
    ]
    assert parts[0].note == "it ended 4 times within a minute"
