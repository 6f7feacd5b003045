"""The adb server's smart-socket protocol, asynchronously: for hot and long-lived calls.

A request is four hex digits of length and the text; the answer `OKAY` or `FAIL` with a text. A
device service needs two requests on one connection: the transport, then the service. Only
`shell,v2` is used for commands: version 1 turns a lost device into an empty success. A stream
that ends before its answer is complete is a loss, never a result. Every connection serves one
request and is closed without waiting, so a cancelled call leaves nothing behind. No call here has
a deadline of its own; callers bring one.

May be imported by: drivers.android, tests. Imports: runner.errors, runner.wire,
drivers.android.refusal.
"""

import errno
import os
import re
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, final

import trio
from msgspec import Struct

from drivers.android.refusal import answer_invalid, classify_refusal, lost_in_command, server_lost
from runner import wire
from runner.errors import DeviceError

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
"""Neither a screenshot nor a log nor a tree is larger; a device that sends more is broken."""

MAX_REQUEST_BYTES: Final = 0xFFFF
"""Four hex digits of length say no more."""

_CHUNK_BYTES: Final = 64 * 1024
_NUMERIC: Final = re.compile(r"[0-9]+(\.[0-9]+){3}")
_PACKET: Final = struct.Struct("<BI")
_STDOUT, _STDERR, _EXIT = 1, 2, 3


class AdbEndpoint(Struct, frozen=True):
    """Where an adb server listens."""

    host: str
    port: int


class ShellAnswer(Struct, frozen=True, kw_only=True):
    """What a finished command wrote, and its exit status."""

    stdout: bytes
    stderr: bytes
    exit_code: int

    @property
    def text(self) -> str:
        """Standard output as text, without carriage returns and surrounding white space."""
        return self.stdout.decode("utf-8", "replace").replace("\r", "").strip()

    @property
    def error_text(self) -> str:
        """Standard error as text, likewise."""
        return self.stderr.decode("utf-8", "replace").replace("\r", "").strip()


@final
class Connection:
    """One connection to the server, for one request."""

    def __init__(
        self, link: socket.socket, *, endpoint: AdbEndpoint, serial: str, label: str
    ) -> None:
        self._link = link
        self._endpoint = endpoint
        self._serial = serial
        self._label = label
        self._buffer = bytearray()

    async def send_request(self, request: str) -> None:
        """Send one request and read its `OKAY`. Errors speak of it by the connection's label.

        Reasons: `adb_server_lost`, `adb_answer_invalid`, `device_lost`, `action_unsupported`
        (too long), and those of `classify_refusal`.
        """
        data = request.encode()
        if len(data) > MAX_REQUEST_BYTES:
            raise DeviceError(
                kind="misuse",
                reason="action_unsupported",
                message=f"a command of {len(data)} bytes is over the {MAX_REQUEST_BYTES} of adb",
                details={"serial": self._serial, "sizeBytes": len(data)},
            )
        try:
            await wire.send_all(self._link, b"%04x%b" % (len(data), data))
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise self._server_lost("the connection broke") from error
        status = await self.read_exact(4)
        if status == b"FAIL":
            text = (await self.read_block()).decode("utf-8", "replace")
            raise classify_refusal(text, serial=self._serial, request=self._label)
        if status != b"OKAY":
            raise self._invalid(f"status {status!r}")

    async def open_service(self, service: str) -> None:
        """Open a service of the device. Reasons: those of `send_request`."""
        await self.send_request(f"host:transport:{self._serial}")
        try:
            await self.send_request(service)
        except DeviceError as error:
            # The server says it of a service that the device refuses, and as well when it loses
            # the device in that moment.
            if error.details.get("answer") == "closed" and not await self._is_online():
                raise self._lost() from error
            raise

    async def _is_online(self) -> bool:
        try:
            state = await ask_server(self._endpoint, f"host-serial:{self._serial}:get-state")
        except DeviceError as error:
            return error.kind != "device_lost"
        return state == "device"

    async def read_exact(self, size: int) -> bytes:
        """Return the next `size` bytes; the end before them is a loss."""
        while len(self._buffer) < size:
            if not await self._fill():
                raise self._lost()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def read_block(self) -> bytes:
        """Return a block that four hex digits of length precede."""
        head = await self.read_exact(4)
        try:
            size = int(head, 16)
        except ValueError as error:
            raise self._invalid(f"length {head!r}") from error
        return await self.read_exact(size)

    async def read_all(self) -> bytes:
        """Return everything until the peer closes."""
        while await self._fill():
            if len(self._buffer) > MAX_ANSWER_BYTES:
                raise self._invalid(f"an answer over {MAX_ANSWER_BYTES} bytes")
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    async def read_shell(self) -> ShellAnswer:
        """Read the packets of a `shell,v2` service up to and with the exit status."""
        outputs: tuple[list[bytes], list[bytes]] = ([], [])
        total = 0
        while True:
            kind, size = _PACKET.unpack(await self.read_exact(_PACKET.size))
            total += size
            if total > MAX_ANSWER_BYTES:
                raise self._invalid(f"an answer over {MAX_ANSWER_BYTES} bytes")
            data = await self.read_exact(size)
            if kind in (_STDOUT, _STDERR):
                outputs[kind - _STDOUT].append(data)
            elif kind == _EXIT and size == 1:
                out, err = outputs
                return ShellAnswer(stdout=b"".join(out), stderr=b"".join(err), exit_code=data[0])
            else:
                raise self._invalid(f"shell packet {kind} of {size} bytes")

    def close(self) -> None:
        """Close at once."""
        trio.lowlevel.notify_closing(self._link)
        self._link.close()

    async def _fill(self) -> bool:
        try:
            data = await wire.receive(self._link, _CHUNK_BYTES)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise self._lost() from error
        self._buffer += data
        return bool(data)

    def _lost(self) -> DeviceError:
        if self._serial:
            return lost_in_command(serial=self._serial, request=self._label)
        return self._server_lost("it closed the connection")

    def _server_lost(self, why: str) -> DeviceError:
        return server_lost(host=self._endpoint.host, port=self._endpoint.port, why=why)

    def _invalid(self, why: str) -> DeviceError:
        return answer_invalid(host=self._endpoint.host, port=self._endpoint.port, why=why)


@asynccontextmanager
async def open_host_service(endpoint: AdbEndpoint, request: str) -> AsyncIterator[Connection]:
    """Ask the server itself (`host:…`); yield the connection after `OKAY`."""
    connection = await _connect(endpoint, serial="", label=request)
    try:
        await connection.send_request(request)
        yield connection
    finally:
        connection.close()


@asynccontextmanager
async def open_device_service(
    endpoint: AdbEndpoint, serial: str, service: str, *, label: str = ""
) -> AsyncIterator[Connection]:
    """Open `service` on the device; yield the connection after both `OKAY`.

    `label` stands for a service in errors that must not be repeated, as it holds a secret.
    """
    connection = await _connect(endpoint, serial=serial, label=label or service)
    try:
        await connection.open_service(service)
        yield connection
    finally:
        connection.close()


async def run_shell(
    endpoint: AdbEndpoint, serial: str, command: str, *, label: str = ""
) -> ShellAnswer:
    """Run `command` in the device's shell and return its whole answer.

    Reasons: those of `Connection.send_request`, and `device_lost`.
    """
    service = f"shell,v2,raw:{command}"
    connection = await _connect(endpoint, serial=serial, label=label or service)
    try:
        await connection.open_service(service)
        return await connection.read_shell()
    finally:
        connection.close()


async def run_exec(endpoint: AdbEndpoint, serial: str, command: str) -> bytes:
    """Run `command` without a terminal and return its raw output.

    This service has no end mark: the caller must be able to tell a whole answer from a part.
    """
    async with open_device_service(endpoint, serial, f"exec:{command}") as connection:
        return await connection.read_all()


async def ask_server(endpoint: AdbEndpoint, request: str) -> str:
    """Ask the server and return the text of its answer."""
    async with open_host_service(endpoint, request) as connection:
        return (await connection.read_block()).decode("utf-8", "replace")


async def _connect(endpoint: AdbEndpoint, *, serial: str, label: str) -> Connection:
    try:
        link = await _open_link(endpoint)
    except OSError as error:
        raise server_lost(host=endpoint.host, port=endpoint.port, why=str(error)) from error
    return Connection(link, endpoint=endpoint, serial=serial, label=label)


async def _open_link(endpoint: AdbEndpoint) -> socket.socket:
    """Connect; to a numeric address directly, which spares the race over a name's addresses.

    One connection is made for every command, so that race would be a third of a command's cost.
    """
    if not _NUMERIC.fullmatch(endpoint.host):
        stream = await trio.open_tcp_stream(endpoint.host, endpoint.port)
        named = socket.socket(fileno=stream.socket.detach())
        named.settimeout(0)
        return named
    link = socket.socket()
    try:
        link.settimeout(0)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await _finish_connect(link, (endpoint.host, endpoint.port))
    except BaseException:
        link.close()
        raise
    return link


async def _finish_connect(link: socket.socket, address: tuple[str, int]) -> None:
    code = link.connect_ex(address)
    if code == errno.EINPROGRESS:
        # A server on this computer has answered by now: asking again spares the wait.
        code = link.connect_ex(address)
    if code in (errno.EALREADY, errno.EINPROGRESS):
        await trio.lowlevel.wait_writable(link)
        code = link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code not in (0, errno.EISCONN):
        raise OSError(code, os.strerror(code))
