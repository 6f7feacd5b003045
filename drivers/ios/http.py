"""One keep-alive HTTP/1.1 connection to a WebDriverAgent, parsed by h11.

Invariant: at most one request is on the wire, and a connection on which anything but one complete
answer came is closed at once, so that no answer is ever taken for that of another request. Only a
GET is ever sent twice, and only when a reused connection closed before the first byte of its
answer. Deadlines belong to the caller: a cancelled request closes the connection.

May be imported by: drivers.ios, tests. Imports: runner.errors, runner.wire, trio, h11.
"""

import select
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, final

import h11
import trio
from msgspec import Struct

from runner import wire
from runner.errors import DeviceError

Dial: TypeAlias = Callable[[], Awaitable[trio.abc.Stream]]
"""Connects to one WDA. Reasons: `device_unreachable` and those of the way to it."""

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
CONNECT_LIMIT_S: Final = 4.0
"""Shorter than any call's deadline, so that a dead address is not taken for a hung agent."""

_CHUNK_BYTES: Final = 64 * 1024
_END: Final = h11.EndOfMessage()


class Reply(Struct, frozen=True):
    """A complete answer: HTTP status and body."""

    status: int
    body: bytes


def tcp_dial(host: str, port: int) -> Dial:
    """Return a `Dial` for a TCP address."""

    async def dial() -> trio.abc.Stream:
        try:
            with trio.fail_after(CONNECT_LIMIT_S):
                return await trio.open_tcp_stream(host, port)  # It sets TCP_NODELAY.
        except (OSError, trio.TooSlowError) as error:
            raise DeviceError(
                kind="device_lost",
                reason="device_unreachable",
                message=f"no WebDriverAgent answers at {host}:{port}: {str(error) or 'no answer'}",
                details={"host": host, "port": port},
                hint="start WebDriverAgent on the device, and check the url in the grid file",
            ) from error

    return dial


@final
class HttpConnection(trio.abc.AsyncResource):
    """Requests to one WDA, one after the other, on a connection that is dialled when needed."""

    def __init__(
        self,
        dial: Dial,
        *,
        where: str,
        host: str = "localhost",
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._dial = dial
        self._where = where
        self._host = (b"Host", host.encode("ascii", "replace"))
        # Checked once; every request without a body has these.
        self._bare = h11.Request(method="GET", target="/", headers=[self._host]).headers
        self._max_body_bytes = max_body_bytes
        self._lock = trio.Lock()
        self._stream: trio.abc.Stream | None = None
        self._protocol = h11.Connection(h11.CLIENT)

    async def request(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """Send one request and return its answer.

        Reasons: `device_unreachable`, `device_lost` (device_lost), `wda_answer_invalid`
        (driver_fault), and those of the dialler.
        """
        try:
            self._lock.acquire_nowait()  # A free lock needs no turn of the event loop.
        except trio.WouldBlock:
            await self._lock.acquire()
        try:
            is_reused = await self._connect()
            reply = await self._exchange(method, path, body)
            if reply is None and is_reused and method == "GET":
                await self._connect()
                reply = await self._exchange(method, path, body)
        finally:
            self._lock.release()
        if reply is None:
            raise self._lost(method, path, "before it answered")
        return reply

    async def aclose(self) -> None:
        """Close the connection at once; a later request dials again."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await trio.aclose_forcefully(stream)

    async def _connect(self) -> bool:
        """Have a connection; tell whether it has served a request before."""
        if self._stream is not None:
            if _is_quiet(self._stream):
                return True
            await self.aclose()
        self._stream = await self._dial()
        self._protocol = h11.Connection(h11.CLIENT)
        return False

    async def _exchange(self, method: str, path: str, body: bytes | None) -> Reply | None:
        """Return the answer, or `None` when the connection closed before its first byte."""
        is_reusable = False
        try:
            reply = await self._transfer(method, path, body)
            is_reusable = reply is not None and self._rearm()
            return reply
        finally:
            if not is_reusable:
                await self.aclose()

    def _rearm(self) -> bool:
        """Make the parser ready for the next request; tell whether the connection can be kept."""
        protocol = self._protocol
        if protocol.our_state is not h11.DONE or protocol.their_state is not h11.DONE:
            return False
        if protocol.trailing_data[0]:  # An answer to nothing.
            return False
        protocol.start_next_cycle()
        return True

    async def _transfer(self, method: str, path: str, body: bytes | None) -> Reply | None:
        assert self._stream is not None  # noqa: S101 - for the type checker; _connect ran.
        stream = self._stream
        partial = _Partial()
        link = stream.socket if isinstance(stream, trio.SocketStream) else None
        data = self._render(method, path, body)
        try:
            if link is not None:
                await wire.send_all(link, data)
            else:
                await stream.send_all(data)
            while True:
                if link is not None:
                    data = await wire.receive(link, _CHUNK_BYTES)
                else:
                    data = bytes(await stream.receive_some(_CHUNK_BYTES))
                if not data and not self._has_answer_begun():
                    return None
                self._protocol.receive_data(data)
                reply = self._read_events(partial, method, path)
                if reply is not None:
                    return reply
        except trio.BrokenResourceError as error:
            if not self._has_answer_begun():
                return None
            raise self._lost(method, path, "in mid-answer") from error
        except trio.ClosedResourceError as error:
            raise self._lost(method, path, "because it was closed here") from error

    def _render(self, method: str, path: str, body: bytes | None) -> bytes:
        protocol = self._protocol
        if body is None:
            bare = h11.Request(method=method, target=path, headers=self._bare)
            head = protocol.send(bare) or b""
            return head + (protocol.send(_END) or b"")
        headers = [
            self._host,
            (b"Content-Type", b"application/json"),
            (b"Content-Length", b"%d" % len(body)),
        ]
        head = protocol.send(h11.Request(method=method, target=path, headers=headers)) or b""
        data = protocol.send(h11.Data(data=body)) or b""
        return head + data + (protocol.send(_END) or b"")

    def _read_events(self, partial: "_Partial", method: str, path: str) -> Reply | None:
        """Take in what has arrived; return the answer once it is complete."""
        protocol = self._protocol
        while True:
            try:
                event = protocol.next_event()
            except h11.RemoteProtocolError as error:
                if protocol.trailing_data[1]:
                    raise self._lost(method, path, "in mid-answer") from error
                raise self._invalid(method, path, str(error)) from error
            if event is h11.NEED_DATA:
                return None
            if isinstance(event, h11.Response):
                partial.status = event.status_code
            elif isinstance(event, h11.Data):
                partial.chunks.append(bytes(event.data))
                partial.size += len(event.data)
                if partial.size > self._max_body_bytes:
                    raise self._invalid(
                        method, path, f"the body is over {self._max_body_bytes} bytes"
                    )
            elif isinstance(event, h11.EndOfMessage):
                return Reply(partial.status, b"".join(partial.chunks))

    def _has_answer_begun(self) -> bool:
        return self._protocol.their_state is not h11.SEND_RESPONSE or bool(
            self._protocol.trailing_data[0]
        )

    def _lost(self, method: str, path: str, when: str) -> DeviceError:
        return DeviceError(
            kind="device_lost",
            reason="device_lost",
            message=f"the connection to {self._where} closed {when}, at {method} {path}",
            details={"method": method, "path": path, "where": self._where},
            hint="look whether WebDriverAgent still runs and the device is still connected",
        )

    def _invalid(self, method: str, path: str, why: str) -> DeviceError:
        return DeviceError(
            kind="driver_fault",
            reason="wda_answer_invalid",
            message=f"{self._where} did not answer in HTTP at {method} {path}: {why}",
            details={"method": method, "path": path, "where": self._where},
        )


@final
class _Partial:
    """What has come of an answer so far."""

    def __init__(self) -> None:
        self.status = 0
        self.chunks: list[bytes] = []
        self.size = 0


def _is_quiet(stream: trio.abc.Stream) -> bool:
    """Tell whether an idle connection is still open: nothing, not even its end, has arrived."""
    if not isinstance(stream, trio.SocketStream):
        return True
    poller = select.poll()
    poller.register(stream.socket.fileno(), select.POLLIN)
    return not poller.poll(0)
