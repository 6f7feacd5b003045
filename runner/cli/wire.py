"""The wiring: from a grid file to devices that can be opened.

The only place where concrete drivers and the grid meet.

May be imported by: runner.cli. Imports: everything.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Final, TypeAlias

import trio
from msgspec import Struct

from drivers.android.device import identify_android_device, open_android_device
from drivers.android.server import (
    check_server,
    connect,
    disconnect,
    list_devices,
    open_adb_server,
    track_devices,
)
from drivers.android.smartsocket import AdbEndpoint
from drivers.ios.device import identify_ios_device, open_ios_device
from drivers.ios.usbmux import DEFAULT_SOCKET, UsbmuxTarget
from drivers.protocol import Device, WaitLost
from grid.inventory import AdbEntry, Inventory, WdaEntry, device_id_of
from grid.pool import PoolEntry
from runner.errors import RunnerError
from runner.model.device import DeviceFacts
from runner.model.failure import Failure, failure_of
from runner.model.ids import DeviceId

_USABLE: Final = "device"

Revive: TypeAlias = Callable[[], Awaitable[None]]


class OpenGrid(Struct, frozen=True, kw_only=True):
    """The devices that a run may use, and what could not be reached."""

    entries: tuple[PoolEntry, ...]
    troubles: tuple[Failure, ...]


@asynccontextmanager
async def open_grid(inventory: Inventory) -> AsyncIterator[OpenGrid]:
    """Start owned adb servers, connect what is to be connected, and list the devices.

    An adb server or address that does not answer is a trouble in the result, not an error: the
    other devices go on without it.
    """
    async with AsyncExitStack() as stack:
        entries: list[PoolEntry] = []
        troubles: list[Failure] = []
        for adb in inventory.adb:
            try:
                endpoint, revive = await _enter_server(stack, adb)
                troubles += await _connect_all(endpoint.host, endpoint.port, adb.connect)
                entries += await _android_entries(endpoint, revive, adb, inventory)
            except RunnerError as error:
                troubles.append(failure_of(error))
        entries += [_ios_entry(wda, inventory) for wda in inventory.wda]
        yield OpenGrid(entries=tuple(entries), troubles=tuple(troubles))


async def _enter_server(stack: AsyncExitStack, adb: AdbEntry) -> tuple[AdbEndpoint, Revive]:
    """Return where the server listens, and what to call before a lost phone is looked for."""
    if not adb.owned:
        await check_server(adb.host, adb.port)
        return AdbEndpoint(adb.host, adb.port), trio.lowlevel.checkpoint
    server = await stack.enter_async_context(
        open_adb_server(port=adb.port or None, usb=not adb.connect, keys="user")
    )
    return server.endpoint, server.revive


async def _connect_all(host: str, port: int, addresses: Sequence[str]) -> list[Failure]:
    troubles: list[Failure] = []

    async def connect_one(address: str) -> None:
        try:
            await connect(host, port, address)
        except RunnerError as error:
            troubles.append(failure_of(error))

    known = dict(await list_devices(host, port))
    async with trio.open_nursery() as nursery:
        for address in addresses:
            if known.get(address) != _USABLE:
                nursery.start_soon(connect_one, address)
    return troubles


async def _android_entries(
    endpoint: AdbEndpoint, revive: Revive, adb: AdbEntry, inventory: Inventory
) -> list[PoolEntry]:
    host, port = endpoint.host, endpoint.port
    listed = [serial for serial, _ in await list_devices(host, port)]
    # A stated phone that the server does not list is awaited: it may come back.
    serials = listed if adb.serials is None else adb.serials
    return [
        PoolEntry(
            facts=DeviceFacts(
                id=DeviceId(serial),
                platform="android",
                serial=serial,
                is_virtual=inventory.lab is not None,
                tags=adb.tags,
            ),
            open_device=partial(
                _open_android, endpoint, revive, serial, is_tcp=serial in adb.connect
            ),
            identify=partial(
                _identify_android, endpoint, revive, serial, is_tcp=serial in adb.connect
            ),
            watch=_watch_android(host, port, serial),
        )
        for serial in serials
    ]


@asynccontextmanager
async def _open_android(
    endpoint: AdbEndpoint, revive: Revive, serial: str, *, is_tcp: bool
) -> AsyncIterator[Device]:
    await _attach(endpoint, revive, serial, is_tcp=is_tcp)
    host, port = endpoint.host, endpoint.port
    async with open_android_device(host=host, port=port, serial=serial, device_id=serial) as device:
        yield device


async def _identify_android(
    endpoint: AdbEndpoint, revive: Revive, serial: str, *, is_tcp: bool
) -> str:
    await _attach(endpoint, revive, serial, is_tcp=is_tcp)
    return await identify_android_device(host=endpoint.host, port=endpoint.port, serial=serial)


async def _attach(endpoint: AdbEndpoint, revive: Revive, serial: str, *, is_tcp: bool) -> None:
    """Have the server know a phone; a TCP phone that it has lost is connected anew.

    The server answers "already connected" for a dead connection, so it is cut before. An owned
    server that has ended is started again, and knows no phone then.
    """
    host, port = endpoint.host, endpoint.port
    await revive()
    if is_tcp and dict(await list_devices(host, port)).get(serial) != _USABLE:
        await disconnect(host, port, serial)
        await connect(host, port, serial)


def _watch_android(host: str, port: int, serial: str) -> WaitLost:
    async def wait_lost() -> None:
        # The end of the server is the loss of every phone on it; opening them again tells why.
        with suppress(RunnerError):
            async with track_devices(host, port) as tracker:
                async for states in tracker:
                    if dict(states).get(serial) != _USABLE:
                        return

    return wait_lost


def _ios_entry(wda: WdaEntry, inventory: Inventory) -> PoolEntry:
    name = device_id_of(wda)
    target = (
        None
        if wda.url
        else UsbmuxTarget(udid=wda.udid, port=wda.port, socket_path=wda.usbmux or DEFAULT_SOCKET)
    )
    return PoolEntry(
        facts=DeviceFacts(
            id=name,
            platform="ios",
            serial=wda.udid,
            is_virtual=inventory.lab is not None,
            tags=wda.tags,
            hardware_id=wda.udid,
        ),
        open_device=partial(
            open_ios_device,
            device_id=name,
            url=wda.url or None,
            usbmux=target,
            udid=wda.udid,
            tags=wda.tags,
            is_virtual=True if inventory.lab is not None else None,
        ),
        identify=partial(identify_ios_device, url=wda.url or None, usbmux=target),
    )
