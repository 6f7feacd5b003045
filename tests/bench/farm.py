"""The farm: the lab in a process of its own, so that clients do not wait for what they measure.

It ends when its standard input closes, so it cannot outlive this process, and by its process id
when that does not help.
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, final

import msgspec
import trio

from drivers.android.smartsocket import AdbEndpoint
from grid.lab.fleet import FleetInfo, FleetSpec, render_spec
from tests.shape import gates

READY_LIMIT_S: Final = 90.0
STOP_LIMIT_S: Final = 5.0
SHOP: Final = gates.ROOT / "configs" / "lab" / "shop.toml"
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@final
class Farm:
    """A running farm: where everything is, and what its processes have used."""

    def __init__(self, info: FleetInfo) -> None:
        self.info = info
        self.endpoint = AdbEndpoint("127.0.0.1", info.adb_port)
        self._server_pids = _children(info.pid)

    def cpu_s(self) -> tuple[float, float]:
        """Return the processor time that the phones and the adb server have used so far."""
        return _cpu_s(self.info.pid), sum(_cpu_s(pid) for pid in self._server_pids)


@asynccontextmanager
async def open_farm(*, android: int, ios: int) -> AsyncIterator[Farm]:
    """Run the phones; every process has ended when the context is left."""
    spec = render_spec(FleetSpec(app=str(SHOP), android=android, ios=ios))
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", "tests.bench.farmhost", spec],
        cwd=gates.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with trio.fail_after(READY_LIMIT_S):
            line = await _read_line(process.stdout)
        yield Farm(msgspec.json.decode(line, type=FleetInfo))
    finally:
        with trio.CancelScope(shield=True):
            await process.stdin.aclose()
            for end in (process.terminate, process.kill):
                with trio.move_on_after(STOP_LIMIT_S):
                    await process.wait()
                    break
                end()
            await process.wait()
            await process.stdout.aclose()


async def _read_line(stream: trio.abc.ReceiveStream) -> bytes:
    data = b""
    async for chunk in stream:
        data += chunk
        if b"\n" in data:
            return data
    raise EOFError("the farm ended before it was ready")


def _children(pid: int) -> tuple[int, ...]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return ()
    return tuple(int(word) for word in text.split())


def _cpu_s(pid: int) -> float:
    """Return user and system time of a process; 0 where nobody tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS
