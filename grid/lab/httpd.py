"""HTTP/1.1 with keep-alive on one trio stream: the server side that the lab's faces share.

h11 parses; nothing that a client sends raises out of `serve_http`. Bounds: 64 KiB of head, 16 MiB
of body, 30 s for a request to arrive (an idle connection is closed after that, as on a phone).
Bodies come with a length; chunked requests are refused.

A request that arrives whole, alone and with nothing but the usual headers is read here and never
reaches h11, which then is as new. `read_plain` takes only what h11 would read the same way.

May be imported by: grid.lab, tests. Imports: h11, trio, runner.wire.
"""

import math
import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final, TypeAlias, final
from urllib.parse import parse_qsl, urlsplit

import h11
import trio
from msgspec import Struct

from runner import wire

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_BODY_BYTES: Final = 16 * 1024 * 1024
REQUEST_TIMEOUT_S: Final = 30.0
_READ_BYTES: Final = 64 * 1024
_PLAIN_HEAD: Final = re.compile(
    rb"(GET|POST|PUT|DELETE) (/[!-\"$->@-~]*) HTTP/1\.1\r\n((?:[A-Za-z-]+: [ -~]*\r\n)+)\r\n"
)
_PLAIN_HEADERS: Final = frozenset(
    {b"host", b"accept", b"accept-encoding", b"content-type", b"content-length", b"user-agent"}
)
_LENGTH: Final = re.compile(rb"[0-9]{1,8}")
_NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})


class HttpRequest(Struct, frozen=True, kw_only=True):
    """One complete request. `path` is still percent-encoded."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes


class HttpReply(Struct, frozen=True, kw_only=True):
    """One complete response."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json; charset=UTF-8"


Answer: TypeAlias = Callable[[HttpRequest], Awaitable[HttpReply]]
Count: TypeAlias = Callable[[int], None]


async def serve_http(stream: trio.abc.Stream, answer: Answer, count: Count) -> None:
    """Answer the requests of one connection until either side is done; `count` gets its bytes.

    The caller owns the stream and closes it.
    """
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
    receiver = _Receiver(stream, count)
    try:
        with receiver.scope:
            while await _serve_one(receiver, connection, answer):
                pass
    except h11.RemoteProtocolError as error:
        await _refuse(stream, connection, error)
    except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
        return  # The client is gone: nobody is left to answer.


@final
class _Receiver:
    """What arrives on a stream. `scope` ends the connection when a request takes too long."""

    def __init__(self, stream: trio.abc.Stream, count: Count) -> None:
        self.stream = stream
        self.scope = trio.CancelScope()
        self._link = stream.socket if isinstance(stream, trio.SocketStream) else None
        self._count = count

    async def receive(self) -> bytes:
        """Return the next bytes, empty at the end."""
        if self._link is not None:
            data = await wire.receive(self._link, _READ_BYTES)
        else:
            data = bytes(await self.stream.receive_some(_READ_BYTES))
        self._count(len(data))
        return data

    async def send(self, data: bytes) -> None:
        """Send all of `data`."""
        if self._link is not None:
            await wire.send_all(self._link, data)
        else:
            await self.stream.send_all(data)


async def _serve_one(receiver: _Receiver, connection: h11.Connection, answer: Answer) -> bool:
    """Answer one request; tell whether another may follow."""
    receiver.scope.deadline = trio.current_time() + REQUEST_TIMEOUT_S
    request: HttpRequest | None = None
    is_plain = False
    if not connection.trailing_data[0]:
        data = await receiver.receive()
        request = read_plain(data)
        is_plain = request is not None
        if not is_plain:
            connection.receive_data(data)
    if request is None:
        request = await _read_request(receiver, connection)
    receiver.scope.deadline = math.inf
    if request is None:
        return False
    reply = await answer(request)
    if is_plain:
        await receiver.send(_render_plain(reply))
        return True
    await receiver.send(_render_reply(connection, reply))
    if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
        return False
    connection.start_next_cycle()
    return True


def read_plain(data: bytes) -> HttpRequest | None:
    """Return the request that `data` is, None when it is anything but one plain request."""
    found = _PLAIN_HEAD.match(data)
    if found is None:
        return None
    length = 0
    names = set()
    for line in found[3].split(b"\r\n")[:-1]:
        name, _, value = line.partition(b": ")
        name = name.lower()
        if name in names or name not in _PLAIN_HEADERS:
            return None
        names.add(name)
        if name == b"content-length":
            if not _LENGTH.fullmatch(value):
                return None
            length = int(value)
    if b"host" not in names or len(data) - found.end() != length:
        return None
    target = found[2].decode("ascii")
    if target.startswith("//"):
        return None
    return HttpRequest(
        method=found[1].decode("ascii"), path=target, query=_NO_QUERY, body=data[found.end() :]
    )


async def _read_request(receiver: _Receiver, connection: h11.Connection) -> HttpRequest | None:
    """Return the next request, or None when the client has closed."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await receiver.send(connection.send(go_on) or b"")
            connection.receive_data(await receiver.receive())
        elif isinstance(event, h11.Request):
            head = event
            _check_head(event)
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return _request_of(head, bytes(body))
        else:
            return None


def _check_head(head: h11.Request) -> None:
    headers = dict(head.headers)
    if b"transfer-encoding" in headers:
        raise h11.RemoteProtocolError("a request body needs a length", error_status_hint=411)
    # h11 has checked that the length is a number.
    if int(headers.get(b"content-length", b"0")) > MAX_BODY_BYTES:
        raise h11.RemoteProtocolError("the request body is too large", error_status_hint=413)


def _request_of(head: h11.Request, body: bytes) -> HttpRequest:
    target = head.target.decode("latin-1")
    try:
        parts = urlsplit(target if not target.startswith("//") else f"/{target.lstrip('/')}")
        query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100))
    except ValueError as error:
        raise h11.RemoteProtocolError("the request target is malformed") from error
    return HttpRequest(
        method=head.method.decode("ascii").upper(), path=parts.path, query=query, body=body
    )


def _render_plain(reply: HttpReply) -> bytes:
    """Return the bytes of a reply, as h11 would send them."""
    return b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
        reply.status,
        _phrase(reply.status),
        reply.content_type.encode("ascii"),
        len(reply.body),
        reply.body,
    )


def _render_reply(connection: h11.Connection, reply: HttpReply) -> bytes:
    response = h11.Response(
        status_code=reply.status,
        reason=_phrase(reply.status),
        headers=[
            ("Content-Type", reply.content_type),
            ("Content-Length", str(len(reply.body))),
        ],
    )
    parts = (
        connection.send(response),
        connection.send(h11.Data(data=reply.body)),
        connection.send(h11.EndOfMessage()),
    )
    return b"".join(part or b"" for part in parts)


def _phrase(status: int) -> bytes:
    return b"OK" if status == 200 else HTTPStatus(status).phrase.encode("ascii")


async def _refuse(
    stream: trio.abc.Stream, connection: h11.Connection, error: h11.RemoteProtocolError
) -> None:
    """Tell a client that does not speak HTTP so, when the protocol still has room for it."""
    if connection.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
        return
    reply = HttpReply(
        status=error.error_status_hint, body=str(error).encode(), content_type="text/plain"
    )
    try:
        await stream.send_all(_render_reply(connection, reply))
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return  # It did not wait for the answer.
