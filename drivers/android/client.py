"""adbutils, tuned: the client library for rare calls (files, facts about apps).

Stock adbutils sleeps in every close, asks the server's version on every transport, has no
deadline of its own, and forks `adb start-server` when a server does not answer. The client here
does none of that. A client serves one call: `abort` shuts what it has open and refuses more, which
is how cancellation reaches a thread. Everything that adbutils may raise is translated in one
place.

May be imported by: drivers.android, tests. Imports: adbutils, drivers.threads,
drivers.android.refusal, runner.errors.
"""

import contextlib
import shlex
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, TypeVar, final

import adbutils
import trio
from adbutils.errors import AdbConnectionError, AdbError, AdbTimeout
from msgspec import Struct

from drivers.android.refusal import classify_refusal, lost_in_command, server_lost
from drivers.android.server import PROTOCOL_VERSION
from drivers.android.smartsocket import AdbEndpoint
from drivers.threads import run_blocking
from runner.errors import DeviceError

CALL_LIMIT_S: Final = 120.0
"""Bound of one rare call; a large file over a slow link takes its time."""

T = TypeVar("T")


class _FullSocket(socket.socket):
    """A socket whose `send` sends all: adbutils uses it as if it did."""

    def send(self, data: bytes, flags: int = 0, /) -> int:  # type: ignore[override]  # bytes only
        self.sendall(data, flags)
        return len(data)


class _Connection(adbutils.AdbConnection):  # type: ignore[misc]  # adbutils has no types
    """A connection without delay on small writes, without a sleep at its end, and without forks."""

    def __init__(self, host: str, port: int, *, timeout: float | None) -> None:
        self._timeout = timeout
        self._live: socket.socket | None = None
        self._endpoint = (host, port)
        super().__init__(host, port)

    def _safe_connect(self) -> socket.socket:
        live = _FullSocket()
        try:
            live.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            live.settimeout(self._timeout)
            live.connect(self._endpoint)
        except OSError as error:
            live.close()
            raise AdbConnectionError(f"connect to adb server failed: {error}") from error
        self._live = live
        return live

    @property
    def closed(self) -> bool:
        return self._live is None

    @property
    def conn(self) -> socket.socket:
        if self._live is None:
            raise AdbError("Connection is closed")
        return self._live

    def close(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = None

    def shut(self) -> None:
        """Make whatever reads or writes here fail at once; called from another thread."""
        live = self._live
        if live is not None:
            with contextlib.suppress(OSError):
                live.shutdown(socket.SHUT_RDWR)


@final
class _Device(adbutils.AdbDevice):  # type: ignore[misc]  # adbutils has no types
    """A device whose commands are `shell,v2`: the first version takes a loss for an answer."""

    def shell(self, cmdargs: str | list[str], **_options: object) -> str:
        """Return what the command wrote; adbutils' own calls use no other option."""
        command = cmdargs if isinstance(cmdargs, str) else shlex.join(cmdargs)
        output: bytes = self._shell_v2(command, CALL_LIMIT_S).output
        return output.decode("utf-8", "replace").rstrip()


@final
class AdbClient(adbutils.AdbClient):  # type: ignore[misc]  # adbutils has no types
    """adbutils' client for one call against a server whose version is known."""

    def __init__(self, endpoint: AdbEndpoint, *, socket_timeout: float = CALL_LIMIT_S) -> None:
        super().__init__(host=endpoint.host, port=endpoint.port, socket_timeout=socket_timeout)
        self._socket_timeout = socket_timeout
        self._lock = threading.Lock()
        self._open: list[_Connection] = []
        self._aborted = False

    def make_connection(self, timeout: float | None = None) -> _Connection:
        """Connect; refused once the client was aborted."""
        connection = _Connection(
            self.host, self.port, timeout=min(timeout or CALL_LIMIT_S, self._socket_timeout)
        )
        with self._lock:
            self._open = [known for known in self._open if not known.closed]
            self._open.append(connection)
            if self._aborted:
                connection.close()
                raise AdbConnectionError("the call was cancelled")
        return connection

    def device(self, serial: str) -> "_Device":
        """Return the device with this serial."""
        return _Device(self, serial=serial)

    def server_version(self) -> int:
        """Return the version that the run's server was checked for, without asking."""
        return PROTOCOL_VERSION

    def abort(self) -> None:
        """End every call of this client at once; for another thread than the call's."""
        with self._lock:
            self._aborted = True
            for connection in self._open:
                connection.shut()

    def close(self) -> None:
        """Close what adbutils left open, as it does whenever a request is refused."""
        with self._lock:
            for connection in self._open:
                connection.close()


class AppFacts(Struct, frozen=True, kw_only=True):
    """An installed app."""

    package: str
    version_name: str
    version_code: int | None
    path: str


@final
class AdbCalls:
    """The rare calls to one device. They take turns: `limiter` has one token."""

    def __init__(self, endpoint: AdbEndpoint, serial: str) -> None:
        self._endpoint = endpoint
        self._serial = serial
        self._limiter = trio.CapacityLimiter(1)

    async def push(self, data: bytes, path: str, *, mode: int = 0o644) -> None:
        """Write `data` to the file `path` on the device.

        Reasons: `adb_refused`, `device_call_deadline`, and the losses.
        """
        await self._call(
            f"push {path}", lambda device: device.sync.push(data, path, mode=mode, check=True)
        )

    async def pull(self, path: str) -> bytes:
        """Return the content of the file `path`. Reasons as `push`."""
        return await self._call(f"pull {path}", lambda device: bytes(device.sync.read_bytes(path)))

    async def list_names(self, folder: str) -> tuple[str, ...]:
        """Return the names in `folder`, sorted, without `.` and `..`. Reasons as `push`."""
        entries = await self._call(f"list {folder}", lambda device: device.sync.list(folder))
        names = (PurePosixPath(str(entry.path)).name for entry in entries)
        return tuple(sorted(name for name in names if name not in {"", ".."}))

    async def read_app(self, package: str) -> AppFacts | None:
        """Return what is known about an app, None when it is not installed. Reasons as `push`."""
        info = await self._call(f"app {package}", lambda device: device.app_info(package))
        if info is None:
            return None
        return AppFacts(
            package=package,
            version_name=str(info.version_name or ""),
            version_code=info.version_code,
            path=str(info.path),
        )

    async def _call(self, what: str, fn: Callable[[_Device], T]) -> T:
        client = AdbClient(self._endpoint)

        def call() -> T:
            try:
                return fn(client.device(serial=self._serial))
            finally:
                client.close()

        try:
            with trio.fail_after(CALL_LIMIT_S):
                return await run_blocking(call, limiter=self._limiter, on_cancel=client.abort)
        except trio.TooSlowError as error:
            raise self._too_slow(what) from error
        # ValueError and struct.error: adbutils parses short answers as if they were whole.
        except (AdbError, OSError, EOFError, ValueError, struct.error, AssertionError) as error:
            raise self._translate(error, what) from error

    def _translate(self, error: Exception, what: str) -> DeviceError:
        if isinstance(error, AdbConnectionError):
            return server_lost(host=self._endpoint.host, port=self._endpoint.port, why=str(error))
        if isinstance(error, AdbTimeout | TimeoutError):
            return self._too_slow(what)
        if isinstance(error, AdbError) and str(error) not in {"connection closed", ""}:
            return classify_refusal(str(error), serial=self._serial, request=what)
        return lost_in_command(serial=self._serial, request=what)

    def _too_slow(self, what: str) -> DeviceError:
        return DeviceError(
            kind="driver_fault",
            reason="device_call_deadline",
            message=f"{what!r} on device {self._serial!r} took over {CALL_LIMIT_S:.0f} s",
            details={"serial": self._serial, "call": what, "limitS": CALL_LIMIT_S},
        )
