"""An iPhone of the lab: by URL, and through usbmuxd."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.contract.face import Face
from tests.drivers.ios.labkit import open_lab_phone


@asynccontextmanager
async def open_ios_face() -> AsyncIterator[Face]:
    """Yield a device that is open over TCP, and the phone behind it."""
    async with open_lab_phone() as lab:
        yield Face(device=lab.device, phone=lab.phone)


@asynccontextmanager
async def open_usbmux_face() -> AsyncIterator[Face]:
    """Yield a device that is open through usbmuxd, and the phone behind it."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_lab_phone(socket_path=Path(folder) / "usbmuxd") as lab:
            yield Face(device=lab.device, phone=lab.phone)
