"""Debian's adb: where it is, and its server and command line held to a private port."""

import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from msgspec import Struct

from drivers.android.server import AdbServer, connect, open_adb_server, track_devices
from grid.lab.phone import SimPhone
from tests.contract.android_face import make_phone, serve

PLACES = (Path("/usr/bin/adb"), Path("/usr/lib/android-sdk/platform-tools/adb"))
INSTALL = "apt-get install -y adb"
DEFAULT_PORT = 5037
CALL_LIMIT_S = 20.0


class Answer(Struct, frozen=True):
    """What one call of the command line gave."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode()


class AdbStand(Struct, frozen=True):
    """A virtual phone behind a server of this adb, and the command line that talks to it."""

    program: Path
    server: AdbServer
    phone: SimPhone
    serial: str

    async def adb(self, *words: str) -> Answer:
        """Run the command line against the server of the test, and no other."""
        command = [str(self.program), "-P", str(self.server.port), *words]
        with trio.fail_after(CALL_LIMIT_S):
            done = await trio.run_process(
                command, capture_stdout=True, capture_stderr=True, check=False
            )
        return Answer(done.returncode, done.stdout, done.stderr)

    async def on_device(self, *words: str) -> Answer:
        """Run the command line for the phone."""
        return await self.adb("-s", self.serial, *words)


def find_adb(places: Sequence[Path] = PLACES) -> Path:
    """Return Debian's adb; without it the test fails, and says how to get it."""
    for place in places:
        if place.is_file():
            return place
    pytest.fail(f"Debian's adb is at none of {', '.join(map(str, places))}; run: {INSTALL}")


def read_version(program: Path) -> str:
    """Return the release of an adb program, as it tells."""
    done = subprocess.run(
        [str(program), "version"], capture_output=True, text=True, check=True, timeout=CALL_LIMIT_S
    )
    lines = done.stdout.splitlines()
    return next(line.removeprefix("Version ") for line in lines if line.startswith("Version "))


@asynccontextmanager
async def open_stand() -> AsyncIterator[AdbStand]:
    """Yield a phone that Debian's server is connected to; every process ends with the context."""
    program = find_adb()
    phone = make_phone()
    async with open_adb_server(binary=program) as server, trio.open_nursery() as nursery:
        assert server.port != DEFAULT_PORT
        serial = f"127.0.0.1:{await nursery.start(serve, phone)}"
        await connect(server.host, server.port, serial)
        async with track_devices(server.host, server.port) as tracker:
            with trio.fail_after(CALL_LIMIT_S):
                while (serial, "device") not in await anext(tracker):
                    pass
        yield AdbStand(program, server, phone, serial)
        nursery.cancel_scope.cancel()
