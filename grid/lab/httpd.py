"""HTTP/1.1 with keep-alive on one trio stream: the server side that the lab's faces share.

h11 parses; nothing that a client sends raises out of `serve_http`. Bounds: 64 KiB of head, 16 MiB
of body, 30 s for a request to arrive (an idle connection is closed after that, as on a phone).
Bodies come with a length; chunked requests are refused.

May be imported by: grid.lab, tests. Imports: h11, trio; nothing of ours.
"""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import h11
import trio
from msgspec import Struct

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_BODY_BYTES: Final = 16 * 1024 * 1024
REQUEST_TIMEOUT_S: Final = 30.0
_READ_BYTES: Final = 64 * 1024


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
    try:
        while True:
            request = await _read_request(stream, connection, count)
            if request is None:
                return
            reply = await answer(request)
            await stream.send_all(_render_reply(connection, reply))
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()
    except h11.RemoteProtocolError as error:
        await _refuse(stream, connection, error)
    except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
        return  # The client is gone or never finished its request: nobody is left to answer.


async def _read_request(
    stream: trio.abc.Stream, connection: h11.Connection, count: Count
) -> HttpRequest | None:
    """Return the next request, or None when the client has closed."""
    head: h11.Request | None = None
    body = bytearray()
    with trio.fail_after(REQUEST_TIMEOUT_S):
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(status_code=100, headers=[])
                    await stream.send_all(connection.send(go_on) or b"")
                data = await stream.receive_some(_READ_BYTES)
                count(len(data))
                connection.receive_data(bytes(data))
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
    return HTTPStatus(status).phrase.encode("ascii")


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
