"""One virtual iPhone with the shop app, reached by URL or by usbmux, for the driver's tests."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from msgspec import Struct

from drivers.ios.device import IosDevice, open_ios_device
from drivers.ios.usbmux import UsbmuxTarget
from drivers.ios.wda import Limits
from grid.lab.appfile import load_app
from grid.lab.phone import SimPhone
from grid.lab.usbmuxd import UsbDevice, serve_usbmuxd
from grid.lab.wda import serve_wda
from runner.model.ids import DeviceId

SHOP = "com.sweepgrid.shop"
UDID = "00008110-000A1B2C3D4E5F60"
SHOP_FILE = Path(__file__).parents[2] / "support" / "apps" / "keepsake.toml"


class LabPhone(Struct, frozen=True):
    """The phone, its truth, and the driver on it."""

    device: IosDevice
    phone: SimPhone
    port: int

    def screen(self) -> str:
        """Return the screen that the app is on, in truth."""
        return str(self.phone.truth()["screen"])

    def tap_point(self, identifier: str) -> tuple[float, float]:
        """Return the middle of a shown node, in truth."""
        (node,) = (node for node in self.phone.tree().walk() if node.id == identifier)
        return node.rect.center


@asynccontextmanager
async def open_lab_phone(
    *, socket_path: Path | None = None, limits: Limits | None = None
) -> AsyncGenerator[LabPhone]:
    """Open a phone; through a usbmuxd when a path for its socket is given."""
    phone = SimPhone(
        platform="ios", serial=UDID, app=load_app(SHOP_FILE), clock=time.monotonic, seed=1
    )
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_wda, phone)
        usbmux = None
        if socket_path is not None:
            ports = {8100: ("127.0.0.1", port)}
            usb = UsbDevice(device_id=1, phone=phone, ports=ports)
            await nursery.start(lambda **kw: serve_usbmuxd([usb], path=socket_path, **kw))
            usbmux = UsbmuxTarget(udid=UDID, socket_path=str(socket_path))
        async with open_ios_device(
            device_id=DeviceId("lab-ios-1"),
            url=None if usbmux else f"http://127.0.0.1:{port}",
            usbmux=usbmux,
            udid=UDID,
            is_virtual=True,
            limits=limits,
        ) as device:
            yield LabPhone(device, phone, port)
        nursery.cancel_scope.cancel()
