"""The adb server: our own child on a private port, and what it is asked about devices.

The server is the pinned binary that adbutils ships, run in the foreground: nothing here ever
calls the adb command line, which would start a daemon that nobody owns. We bind the port and hand
the listening socket over, so that no port is ever guessed; the child dies with us (on Linux the
kernel sees to it), ignores `host:kill` of other tools, and is ended by its process id. Without
`usb` it opens no USB device, since two servers cannot share one; without `emulators` it does not
take what listens on the emulator ports.

May be imported by: grid, runner.cli, tests. Imports: drivers.android.smartsocket, runner.errors.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal, TypeAlias, final

import trio

from drivers.android.refusal import answer_invalid, server_lost
from drivers.android.smartsocket import AdbEndpoint, Connection, ask_server, open_host_service
from runner.errors import DeviceError, GridError

PROTOCOL_VERSION: Final = 41
READY_LIMIT_S: Final = 15.0
"""With USB and no device the server looks for one for three seconds before it listens."""
PROBE_LIMIT_S: Final = 2.0
CONNECT_LIMIT_S: Final = 15.0
"""The server itself gives a silent address ten seconds."""

REVIVALS: Final = 3
"""How often a server that ends is started again within a minute."""
_REVIVAL_WINDOW_S: Final = 60.0
_STOP_LIMIT_S: Final = 2.0
_POLL_S: Final = 0.02
_OUTPUT_BYTES: Final = 16 * 1024

# Runs before the server in its process, so that it cannot outlive us: the kernel signals it when
# the thread that started it ends. A callback between fork and exec could deadlock instead.
_DIE_WITH_PARENT: Final = (
    "import ctypes, os, sys; "
    "ctypes.CDLL(None).prctl(1, 15); "
    "os.getppid() == int(sys.argv[1]) or os._exit(1); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)

DeviceStates: TypeAlias = tuple[tuple[str, str], ...]
"""Pairs of serial and state (`device`, `offline`, `unauthorized`, ...), as the server lists."""


def bundled_adb() -> Path:
    """Return the adb binary that adbutils ships, without running it."""
    return Path(str(files("adbutils") / "binaries" / "adb"))


@final
class AdbServer:
    """A running server that this process owns; made by `open_adb_server`.

    The listening socket stays with us, so a server that died can be followed by another on the
    same port, and nobody else can take the port in between.
    """

    def __init__(
        self, *, listener: socket.socket, launch: Callable[[], subprocess.Popen[bytes]], log: Path
    ) -> None:
        self.host = "127.0.0.1"
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._launch = launch
        self._log = log
        self._process = launch()
        self._lock = trio.Lock()
        self._revived: list[float] = []

    @property
    def pid(self) -> int:
        """The process of the server that runs, or ran last."""
        return self._process.pid

    @property
    def endpoint(self) -> AdbEndpoint:
        """Where it listens."""
        return AdbEndpoint(self.host, self.port)

    def read_output(self) -> str:
        """Return the last of what it wrote about itself."""
        return self._log.read_bytes()[-_OUTPUT_BYTES:].decode("utf-8", "replace").strip()

    async def wait_ended(self) -> None:
        """Return when the server has ended, by itself or by us."""
        process = self._process
        while process.poll() is None:  # noqa: ASYNC110  a process sets no event of ours
            await trio.sleep(_POLL_S)

    async def revive(self) -> None:
        """Start the server again if it has ended, `REVIVALS` times a minute at most.

        It knows no device then: those behind TCP have to be connected again.

        Reasons: `adb_server_lost`, `adb_server_failed`.
        """
        async with self._lock:
            if self._process.poll() is None:
                return
            now = trio.current_time()
            self._revived = [*(at for at in self._revived if now - at < _REVIVAL_WINDOW_S), now]
            if len(self._revived) > REVIVALS:
                self._listener.close()  # Whoever asks now is refused instead of kept waiting.
                why = f"it ended {len(self._revived)} times within a minute"
                words = self.read_output()[-500:]
                raise server_lost(
                    host=self.host, port=self.port, why=f"{why}, saying {words!r}" if words else why
                )
            self._process = self._launch()
            await _wait_ready(self)

    async def stop(self) -> None:
        """End the process and wait for it."""
        self._listener.close()
        for end in (self._process.terminate, self._process.kill):
            end()
            with trio.move_on_after(_STOP_LIMIT_S):
                await self.wait_ended()
                return


@asynccontextmanager
async def open_adb_server(
    *,
    port: int | None = None,
    usb: bool = False,
    emulators: bool = False,
    mdns: bool = False,
    keys: Literal["user", "private"] = "private",
    binary: Path | None = None,
) -> AsyncIterator[AdbServer]:
    """Run an adb server until the context is left; on a free port unless `port` says.

    `keys` are those that devices trust: the user's own, for real devices, or fresh ones in a
    folder that is deleted at the end, for virtual ones.

    Reasons: `adb_server_failed`.
    """
    with tempfile.TemporaryDirectory(prefix="sweepgrid-adb-") as folder:
        home = folder if keys == "private" else None
        settings = _environment(usb=usb, emulators=emulators, mdns=mdns, home=home)
        log = Path(folder) / "server.log"
        with _bind(port) as listener:
            launch = partial(
                _start, binary or bundled_adb(), listener=listener, settings=settings, log=log
            )
            server = AdbServer(listener=listener, launch=launch, log=log)
            try:
                await _wait_ready(server)
                yield server
            finally:
                with trio.CancelScope(shield=True):
                    await server.stop()


async def server_version(host: str, port: int) -> int:
    """Return the protocol version, which is `PROTOCOL_VERSION` for a server that fits.

    Reasons: `adb_server_lost`, `adb_answer_invalid`.
    """
    text = await ask_server(AdbEndpoint(host, port), "host:version")
    try:
        return int(text, 16)
    except ValueError as error:
        raise answer_invalid(host=host, port=port, why=f"version {text[:40]!r}") from error


async def check_server(host: str, port: int) -> None:
    """Raise unless a server that fits answers within two seconds.

    Reasons: `adb_server_failed`.
    """
    try:
        with trio.fail_after(PROBE_LIMIT_S):
            version = await server_version(host, port)
    except trio.TooSlowError as error:
        raise GridError(
            reason="adb_server_failed",
            message=f"the adb server at {host}:{port} takes connections but does not answer",
            details={"host": host, "port": port},
            hint="end that server by its process id and run again",
        ) from error
    except DeviceError as error:
        raise GridError(
            reason="adb_server_failed",
            message=error.message,
            details={"host": host, "port": port},
        ) from error
    if version != PROTOCOL_VERSION:
        raise GridError(
            reason="adb_server_failed",
            message=(
                f"the adb server at {host}:{port} speaks protocol {version}, not {PROTOCOL_VERSION}"
            ),
            details={"host": host, "port": port, "version": version},
            hint="give the grid a server of its own, or update the platform tools there",
        )


async def connect(host: str, port: int, address: str) -> None:
    """Make the server connect to the device at `address` (`host:port`).

    Reasons: `device_unreachable`, `adb_server_lost`.
    """
    text = ""
    with trio.move_on_after(CONNECT_LIMIT_S):
        text = await ask_server(AdbEndpoint(host, port), f"host:connect:{address}")
        if text.startswith("already connected to") and not await _is_online(host, port, address):
            # A server says so for seconds after the device went; its own retries come late.
            await disconnect(host, port, address)
            text = await ask_server(AdbEndpoint(host, port), f"host:connect:{address}")
    # The server answers OKAY to everything; only the text tells.
    if text.startswith(("connected to", "already connected to")):
        return
    raise DeviceError(
        kind="device_lost",
        reason="device_unreachable",
        message=f"the adb server could not connect to {address}: {text[:500] or 'no answer'}",
        details={"address": address, "answer": text[:500]},
    )


async def _is_online(host: str, port: int, address: str) -> bool:
    return dict(await list_devices(host, port)).get(address) == "device"


async def disconnect(host: str, port: int, address: str) -> None:
    """Make the server forget the device at `address`; an unknown one is forgotten already.

    Reasons: `adb_server_lost`, `adb_refused`.
    """
    try:
        await ask_server(AdbEndpoint(host, port), f"host:disconnect:{address}")
    except DeviceError as error:
        if not str(error.details.get("answer", "")).startswith("no such device"):
            raise


async def list_devices(host: str, port: int) -> DeviceStates:
    """Return every device that the server knows, with its state.

    Reasons: `adb_server_lost`, `adb_answer_invalid`.
    """
    return parse_devices(await ask_server(AdbEndpoint(host, port), "host:devices"))


@final
class DeviceTracker:
    """Yields the whole list of devices at once and after every change."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __aiter__(self) -> "DeviceTracker":
        return self

    async def __anext__(self) -> DeviceStates:
        """Wait for the next list. The end of the server is `adb_server_lost`."""
        return parse_devices((await self._connection.read_block()).decode("utf-8", "replace"))


@asynccontextmanager
async def track_devices(host: str, port: int) -> AsyncIterator[DeviceTracker]:
    """Follow the server's devices: iterate over what the context yields.

    Reasons: `adb_server_lost`, `adb_answer_invalid`.
    """
    async with open_host_service(AdbEndpoint(host, port), "host:track-devices") as connection:
        yield DeviceTracker(connection)


def parse_devices(text: str) -> DeviceStates:
    """Return the pairs of a device list; lines of other shape are not devices."""
    pairs = (line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    return tuple((serial.strip(), state.strip()) for serial, state in pairs)


def _environment(*, usb: bool, emulators: bool, mdns: bool, home: str | None) -> dict[str, str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("ADB_")}
    settings["ADB_REJECT_KILL_SERVER"] = "1"
    settings["ADB_USB"] = "1" if usb else "0"
    settings["ADB_MDNS"] = "1" if mdns else "0"
    if not emulators:
        # Emulator ports begin at 5554; a limit below them leaves none to look at.
        settings["ADB_LOCAL_TRANSPORT_MAX_PORT"] = "5000"
    if home is not None:
        settings["HOME"] = home
        settings["ANDROID_USER_HOME"] = str(Path(home) / ".android")
    return settings


def _bind(port: int | None) -> socket.socket:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port or 0))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise GridError(
            reason="adb_server_failed",
            message=f"port {port} for the adb server cannot be bound: {error}",
            details={"port": port},
            hint="end what listens there, or give another port",
        ) from error
    return listener


def _start(
    program: Path, *, listener: socket.socket, settings: dict[str, str], log: Path
) -> subprocess.Popen[bytes]:
    command = [str(program), "-L", f"acceptfd:{listener.fileno()}", "server", "nodaemon"]
    if sys.platform == "linux":
        launcher = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid())]
        command = launcher + command
    try:
        # Its own process group: Ctrl-C drains the run while the server goes on serving it. Called
        # in this thread, not in a helper: the kernel watches the thread that forks.
        with log.open("wb") as output:
            return subprocess.Popen(  # noqa: S603  the program is ours
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=settings,
                pass_fds=(listener.fileno(),),
                process_group=0,
            )
    except OSError as error:
        raise GridError(
            reason="adb_server_failed",
            message=f"the adb program {program} cannot be started: {error}",
            details={"program": str(program)},
        ) from error


async def _wait_ready(server: AdbServer) -> None:
    """Wait for the version: the socket listens already, so the request waits in its queue."""
    why = f"it did not answer in {READY_LIMIT_S:.0f} s"
    version: int | None = None
    try:
        with trio.move_on_after(READY_LIMIT_S):
            version = await server_version(server.host, server.port)
            why = f"it speaks protocol {version}"
    except DeviceError as error:
        # A connection that ends means a process that ends; its last words say why.
        with trio.move_on_after(_STOP_LIMIT_S):
            await server.wait_ended()
        why = error.message
    if version == PROTOCOL_VERSION:
        return
    raise GridError(
        reason="adb_server_failed",
        message=f"the adb server did not become ready: {why}",
        details={"output": server.read_output()[-2000:], "port": server.port, "version": version},
    )
