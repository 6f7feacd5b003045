"""An Android device of the lab, through the real adb server."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from drivers.android.device import open_android_device
from drivers.android.server import AdbServer, connect, open_adb_server
from grid.lab.adbd import serve_adbd
from grid.lab.appfile import load_app
from grid.lab.phone import SimPhone
from tests.contract.face import Face

SHOP = Path(__file__).parents[1] / "support" / "apps" / "keepsake.toml"


def make_phone() -> SimPhone:
    """Return a fresh Android phone with the shop installed."""
    return SimPhone(
        platform="android",
        serial="lab-android-1",
        app=load_app(SHOP),
        clock=time.monotonic,
        seed=1,
        scale=2.7,
    )


@asynccontextmanager
async def open_virtual_phone(phone: SimPhone) -> AsyncIterator[tuple[AdbServer, str]]:
    """Put the phone behind an adb server of its own; yield the server and the phone's serial."""
    async with open_adb_server() as server, trio.open_nursery() as nursery:
        port = await nursery.start(serve, phone)
        serial = f"127.0.0.1:{port}"
        await connect(server.host, server.port, serial)
        yield server, serial
        nursery.cancel_scope.cancel()


async def serve(phone: SimPhone, *, task_status: trio.TaskStatus[int]) -> None:
    """Serve the phone; a shape that `Nursery.start` takes."""
    await serve_adbd(phone, task_status=task_status)


@asynccontextmanager
async def open_android_face() -> AsyncIterator[Face]:
    """Yield a device that is open, and the phone behind it."""
    phone = make_phone()
    async with (
        open_virtual_phone(phone) as (server, serial),
        open_android_device(
            host=server.host, port=server.port, serial=serial, device_id="android-1"
        ) as device,
    ):
        yield Face(device=device, phone=phone)
