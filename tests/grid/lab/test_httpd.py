import pytest
import trio
import trio.testing
from hypothesis import given, settings, strategies as st
from trio.testing import MockClock

from grid.lab.httpd import MAX_BODY_BYTES, HttpReply, HttpRequest, read_plain, serve_http


async def echo(request: HttpRequest) -> HttpReply:
    text = f"{request.method} {request.path} {dict(request.query)} {request.body.decode('latin-1')}"
    return HttpReply(status=201, body=text.encode("latin-1"), content_type="text/plain")


async def exchange(data: bytes, *, more: bytes = b"") -> tuple[bytes, int]:
    """Send bytes, then end; return all that comes back and what was counted."""
    client, server = trio.testing.memory_stream_pair()
    counted: list[int] = []
    answer = b""

    async def serve() -> None:
        await serve_http(server, echo, counted.append)
        await server.aclose()

    async def send() -> None:
        try:
            await client.send_all(data)
            if more:
                await client.send_all(more)
            await client.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # The server has had enough.

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        nursery.start_soon(send)
        async for chunk in client:
            answer += chunk
    return answer, sum(counted)


async def test_several_requests_share_one_connection() -> None:
    first = b"GET /a%20b?x=1&y= HTTP/1.1\r\nHost: p\r\n\r\n"
    second = b"POST /c HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\nhi"

    answer, counted = await exchange(first + second)

    assert answer.count(b"HTTP/1.1 201 Created\r\n") == 2
    assert b"GET /a%20b {'x': '1', 'y': ''} " in answer
    assert answer.endswith(b"POST /c {} hi")
    assert counted == len(first + second)


async def test_a_client_that_asks_for_it_is_let_go() -> None:
    answer, _ = await exchange(b"GET / HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")

    assert b"connection: close" in answer.lower()


async def test_a_client_that_waits_for_leave_to_send_gets_it() -> None:
    head = b"POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"

    answer, _ = await exchange(head, more=b"x")

    assert answer.startswith(b"HTTP/1.1 100 ")
    assert answer.endswith(b"POST / {} x")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"SSH-2.0-client\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"411"),
        (
            b"POST / HTTP/1.1\r\nHost: p\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
            b"413",
        ),
        (b"GET / HTTP/1.1\r\nHost: p\r\nX: " + b"a" * 70_000, b"431"),
        (
            b"GET /?"
            + b"&".join(b"a%d=1" % n for n in range(200))
            + b" HTTP/1.1\r\nHost: p\r\n\r\n",
            b"400",
        ),
    ],
)
async def test_what_is_no_request_is_refused(data: bytes, status: bytes) -> None:
    answer, _ = await exchange(data)

    assert answer.split(b" ")[1] == status


async def test_a_request_that_does_not_arrive_in_30_s_ends_the_connection(
    autojump_clock: MockClock,
) -> None:
    client, server = trio.testing.memory_stream_pair()
    began = autojump_clock.current_time()
    await client.send_all(b"GET / HTTP/1.1\r\n")

    await serve_http(server, echo, lambda _: None)

    assert autojump_clock.current_time() - began == 30


@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(
            st.sampled_from(
                [
                    b"GET / HTTP/1.1\r\n",
                    b"POST /x HTTP/1.0\r\n",
                    b"Host: p\r\n",
                    b"Content-Length: 3\r\n",
                    b"Content-Length: x\r\n",
                    b"Connection: close\r\n",
                    b"Expect: 100-continue\r\n",
                    b"\r\n",
                    b"abc",
                    b"//[::1",
                    b"\x00\xff",
                ]
            ),
            max_size=12,
        ).map(b"".join),
    )
)
@settings(deadline=None, max_examples=50)
async def test_no_bytes_raise_out_of_the_server(data: bytes) -> None:
    answer, counted = await exchange(data)

    assert counted <= len(data)
    assert not answer or answer.startswith(b"HTTP/1.1 ")


REQUEST_LINES = st.sampled_from(
    [
        b"GET /a/%20b HTTP/1.1\r\n",
        b"POST /x;y@[z HTTP/1.1\r\n",
        b"DELETE //h/x HTTP/1.1\r\n",
        b"PUT /x?y=1 HTTP/1.1\r\n",
        b"GET /x#y HTTP/1.1\r\n",
        b"PATCH /x HTTP/1.1\r\n",
        b"GET /x HTTP/1.0\r\n",
        b"GET /\xe9 HTTP/1.1\r\n",
    ]
)
HEADERS = st.sampled_from(
    [
        b"Host: p\r\n",
        b"hOST: q\r\n",
        b"Host: \r\n",
        b"Host : p\r\n",
        b"Accept: */*\r\n",
        b"Accept-Encoding:  a, b \r\n",
        b"X-Other: 1\r\n",
        b"User-Agent: a\x00b\r\n",
        b" folded\r\n",
        b"Content-Length: 3\r\n",
        b"Content-Length: 0003\r\n",
        b"Content-Length: 3 \r\n",
        b"Content-Length: -3\r\n",
        b"Content-Length: 0\r\n",
        b"Connection: close\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ]
)


@given(REQUEST_LINES, st.lists(HEADERS, max_size=4), st.sampled_from([b"", b"abc", b"abcd"]))
@settings(deadline=None, max_examples=300)
async def test_what_is_read_as_plain_is_what_h11_reads(
    line: bytes, headers: list[bytes], body: bytes
) -> None:
    """What arrives in two pieces is always read by h11."""
    data = b"".join((line, *headers, b"\r\n", body))
    if read_plain(data) is not None:
        assert await exchange(data) == await exchange(data[:1], more=data[1:])


@pytest.mark.parametrize(
    "data",
    [
        b"GET /a%20b HTTP/1.1\r\nHost: p\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n",
        b"POST /c HTTP/1.1\r\nHost: p\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nhi",
    ],
)
async def test_a_plain_request_is_read_without_h11_and_answered_alike(data: bytes) -> None:
    assert read_plain(data) is not None
    assert read_plain(data[:-1]) is None
    assert read_plain(data + b"x") is None
    whole, counted = await exchange(data)

    assert (whole, counted) == await exchange(data[:9], more=data[9:])
    assert whole.startswith(b"HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\n")
