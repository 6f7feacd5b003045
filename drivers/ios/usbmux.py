"""Phones on usbmuxd: which are connected, and a stream to a port of one of them.

facebook-wda's plist client speaks the protocol, in a thread, on sockets of ours: it has no usable
time limits of its own, so each socket can be shut down from outside, which ends the thread. A
connected socket is taken from it and given to trio.

May be imported by: drivers.ios, runner.cli, tests. Imports: runner.errors, drivers.threads,
drivers.ios.http, drivers.ios.library, trio.
"""

import socket
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, TypeVar, final
from xml.parsers.expat import ExpatError

import trio
from msgspec import Struct

from drivers.ios.http import CONNECT_LIMIT_S, Dial
from drivers.ios.library import load_pyusbmux
from drivers.threads import run_blocking
from runner.errors import DeviceError

DEFAULT_SOCKET: Final = "/var/run/usbmuxd"
DEFAULT_PORT: Final = 8100

_MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024

T = TypeVar("T")


class UsbmuxTarget(Struct, frozen=True, kw_only=True):
    """A TCP port of one phone behind a usbmuxd; `socket_path` may also be `host:port`."""

    udid: str
    port: int = DEFAULT_PORT
    socket_path: str = DEFAULT_SOCKET


def usbmux_dial(target: UsbmuxTarget) -> Dial:
    """Return a `Dial` for a port of a phone.

    Reasons: `usbmux_unreachable`, `device_unreachable` (device_lost), `usbmux_answer_invalid`.
    """

    async def dial() -> trio.abc.Stream:
        connected = await _ask(target.socket_path, _Connect(target))
        connected.settimeout(0)
        return trio.SocketStream(trio.socket.from_stdlib_socket(connected))

    return dial


async def list_udids(socket_path: str = DEFAULT_SOCKET) -> tuple[str, ...]:
    """Return the UDIDs that usbmuxd lists, sorted, each once.

    Reasons: `usbmux_unreachable` (device_lost), `usbmux_answer_invalid` (driver_fault).
    """
    return await _ask(socket_path, _list)


@final
class _Wire:
    """The sockets of one exchange: what facebook-wda reads and writes, bounded and cancellable."""

    def __init__(self, socket_path: str, library: ModuleType) -> None:
        self.library = library
        self._path = socket_path
        self._sockets: list[socket.socket] = []
        self._is_cancelled = False

    def open_mux(self) -> Any:  # An untyped class of facebook-wda.
        """Connect to usbmuxd and return facebook-wda's client on the connection."""
        host, separator, port = self._path.rpartition(":")
        is_tcp = bool(separator) and port.isdigit()
        family = socket.AF_INET if is_tcp else socket.AF_UNIX
        connection = socket.socket(family, socket.SOCK_STREAM)
        self._sockets.append(connection)
        connection.settimeout(CONNECT_LIMIT_S)
        if self._is_cancelled:
            raise OSError("the call was cancelled")
        connection.connect((host, int(port)) if is_tcp else self._path)
        return self.library.PlistMuxConnection(_BoundedSocket(connection))

    def cancel(self) -> None:
        """Make the exchange fail at once; called from another thread."""
        self._is_cancelled = True
        for connection in tuple(self._sockets):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # It is not connected yet, or closed already.

    def close(self, *, keep: socket.socket | None = None) -> None:
        for connection in self._sockets:
            if connection is not keep:
                connection.close()


@final
class _BoundedSocket:
    """A socket as facebook-wda's codec wants it, with a bound on what it receives."""

    def __init__(self, connection: socket.socket) -> None:
        self.sock = connection
        self._received = 0

    def send(self, message: bytes) -> int:
        self.sock.sendall(message)
        return len(message)

    def recv(self, size: int) -> bytes:
        self._received += size
        if self._received > _MAX_ANSWER_BYTES:
            raise ValueError(f"the answer is over {_MAX_ANSWER_BYTES} bytes")
        message = bytearray()
        while len(message) < size:
            chunk = self.sock.recv(size - len(message))
            if not chunk:
                raise ConnectionResetError("usbmuxd closed the connection")
            message += chunk
        return bytes(message)

    def tell(self) -> int:
        return self._received

    read = recv
    write = send


def _list(wire: _Wire) -> tuple[str, ...]:
    return tuple(sorted({udid for udid, _, _ in _devices(wire)}))


@final
class _Connect:
    """Finds the phone, by cable if it can, and connects to its port."""

    def __init__(self, target: UsbmuxTarget) -> None:
        self._target = target

    def __call__(self, wire: _Wire) -> socket.socket:
        target = self._target
        wanted = target.udid.replace("-", "")
        routes = [
            (connection != "USB", number)
            for udid, connection, number in _devices(wire)
            if udid.replace("-", "") == wanted
        ]
        if not routes:
            raise _unreachable(target, "usbmuxd does not list it")
        mux = wire.open_mux()
        try:
            mux.connect(wire.library.MuxDevice(min(routes)[1], target.udid, ""), target.port)
        except wire.library.BadDevError as error:
            raise _unreachable(target, "it was just disconnected") from error
        except wire.library.MuxConnectError as error:
            raise _unreachable(target, f"nothing listens on its port {target.port}") from error
        connected: socket.socket = mux._sock.sock  # noqa: SLF001 - the only way to the socket.
        return connected


def _devices(wire: _Wire) -> Sequence[tuple[str, str, int]]:
    mux = wire.open_mux()
    mux.get_device_list()
    found = [(each.serial, each.connection_type, each.devid) for each in mux.devices]
    for udid, connection, number in found:
        if not (isinstance(udid, str) and isinstance(connection, str) and isinstance(number, int)):
            raise TypeError("a listed device has no serial number, connection type or number")
    return found


async def _ask(socket_path: str, question: Callable[[_Wire], T]) -> T:
    """Run one exchange in a thread; what it leaves open, except its answer, is closed."""
    library = load_pyusbmux()
    wire = _Wire(socket_path, library)

    kept: socket.socket | None = None
    try:
        with trio.fail_after(CONNECT_LIMIT_S):
            found = await run_blocking(
                question, wire, limiter=trio.CapacityLimiter(1), on_cancel=wire.cancel
            )
        kept = found if isinstance(found, socket.socket) else None
        return found  # noqa: TRY300 - the finally needs to know what is kept.
    except (OSError, trio.TooSlowError) as error:
        raise DeviceError(
            kind="device_lost",
            reason="usbmux_unreachable",
            message=f"usbmuxd does not answer at {socket_path}: {_why(error)}",
            details={"socket": socket_path},
        ) from error
    except DeviceError:
        raise
    except (
        library.MuxError,
        _construct_error(),
        ExpatError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        # What the plist reader and facebook-wda raise on bytes that are not an answer.
        raise DeviceError(
            kind="driver_fault",
            reason="usbmux_answer_invalid",
            message=f"what answers at {socket_path} does not speak usbmux: {error!r:.300}",
            details={"socket": socket_path},
        ) from error
    finally:
        wire.close(keep=kept)


def _construct_error() -> type[Exception]:
    from construct import ConstructError  # noqa: PLC0415 - comes with the lazy library.

    error: type[Exception] = ConstructError
    return error


def _unreachable(target: UsbmuxTarget, why: str) -> DeviceError:
    return DeviceError(
        kind="device_lost",
        reason="device_unreachable",
        message=f"the phone {target.udid} cannot be reached through {target.socket_path}: {why}",
        details={"udid": target.udid, "port": target.port, "socket": target.socket_path},
        hint="connect and unlock the phone, trust this computer, and start WebDriverAgent on it",
    )


def _why(error: Exception) -> str:
    return str(error) or "no answer in time"
