"""The adb server of a lab: it knows the Android phones, and is started again when it dies.

The server and the way to make it connect come from the caller, since the grid knows no drivers.

May be imported by: grid.lab, tests. Imports: grid.lab.control, runner.errors, trio.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, NoReturn, Protocol, TypeAlias, final

import trio

from grid.lab.control import LabPart
from runner.errors import GridError, RunnerError

READY_LIMIT_S: Final = 60.0
_POLL_S: Final = 0.05
_CONNECTS_AT_ONCE: Final = 16
_ASK_LIMIT_S: Final = 2.0
_PAUSE_S: Final = 20.0
"""After a server that ended too often, before the next try."""


class AdbServerHandle(Protocol):
    """A running adb server."""

    @property
    def host(self) -> str:
        """Its address."""
        ...

    @property
    def port(self) -> int:
        """Its port."""
        ...

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    async def wait_ended(self) -> None:
        """Wait until it has ended."""
        ...

    async def revive(self) -> None:
        """Start it again on the same port. Reasons: its own, when it ends too often."""
        ...


OpenAdbServer: TypeAlias = Callable[[], AbstractAsyncContextManager[AdbServerHandle]]
Connect: TypeAlias = Callable[[str, int, str], Awaitable[None]]
"""Makes the adb server at (host, port) connect to a device at an address."""


@final
class Attached:
    """A server and the phones that it is to know."""

    def __init__(self, server: AdbServerHandle, serials: tuple[str, ...], connect: Connect) -> None:
        self._server = server
        self._serials = serials
        self._connect = connect
        self._trouble = ""

    async def attach(self) -> None:
        """Make the server connect to every phone. Reasons: `lab_start_failed`."""
        await attach_all(self._server, self._serials, self._connect)

    async def keep(self) -> NoReturn:
        """Start the server again whenever it has ended, and have it know the phones again."""
        while True:
            await self._server.wait_ended()
            try:
                await self._server.revive()
                await self.attach()
                self._trouble = ""
            except RunnerError as error:
                self._trouble = error.message
                await trio.sleep(_PAUSE_S)

    async def parts(self) -> tuple[LabPart, ...]:
        """Return the server and each phone behind it, and whether they serve."""
        address = f"{self._server.host}:{self._server.port}"
        states: Mapping[str, str] = {}
        trouble = self._trouble
        try:
            with trio.fail_after(_ASK_LIMIT_S):
                states = await _device_states(self._server)
        except GridError as error:
            trouble = trouble or error.message
        except trio.TooSlowError:
            trouble = trouble or f"no answer in {_ASK_LIMIT_S:g} s"
        return (
            _part("adb server", address, trouble),
            *(_part("adbd", serial, _trouble_of(states.get(serial))) for serial in self._serials),
        )


def _part(name: str, address: str, trouble: str) -> LabPart:
    return LabPart(name=name, address=address, state="down" if trouble else "up", note=trouble)


def _trouble_of(state: str | None) -> str:
    if state == "device":
        return ""
    return f"the adb server has it as {state}" if state else "the adb server does not list it"


async def attach_all(server: AdbServerHandle, serials: tuple[str, ...], connect: Connect) -> None:
    """Make the server connect to every phone and wait until it lists all of them as usable."""
    states: Mapping[str, str] = {}
    limiter = trio.CapacityLimiter(_CONNECTS_AT_ONCE)

    async def attach(serial: str) -> None:
        async with limiter:
            await connect(server.host, server.port, serial)

    with trio.move_on_after(READY_LIMIT_S):
        async with trio.open_nursery() as nursery:
            for serial in serials:
                nursery.start_soon(attach, serial)
        while True:
            states = await _device_states(server)
            if all(states.get(serial) == "device" for serial in serials):
                return
            await trio.sleep(_POLL_S)
    missing = {serial: states.get(serial, "absent") for serial in serials}
    missing = {serial: state for serial, state in missing.items() if state != "device"}
    raise GridError(
        reason="lab_start_failed",
        message=f"{len(missing)} of {len(serials)} virtual phones did not become usable in adb",
        details={"states": missing},
    )


async def _device_states(server: AdbServerHandle) -> Mapping[str, str]:
    """Ask the server for its list over the smart socket."""
    try:
        async with await trio.open_tcp_stream(server.host, server.port) as stream:
            await stream.send_all(b"000chost:devices")
            data = b"".join([chunk async for chunk in stream])
    except (OSError, trio.BrokenResourceError) as error:
        raise GridError(
            reason="lab_start_failed",
            message=f"the adb server on port {server.port} does not answer: {error}",
            details={"port": server.port},
        ) from error
    lines = data[8:].decode("utf-8", "replace").splitlines()
    parts = (line.partition("\t") for line in lines)
    return {serial: state for serial, tab, state in parts if tab}
