import pytest
import trio
import trio.testing
from hypothesis import given, settings, strategies as st

from drivers.ios.http import MAX_BODY_BYTES, HttpConnection, Reply, tcp_dial
from runner.errors import DeviceError
from tests.drivers.ios.standin import open_raw

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


async def read_request(stream: trio.abc.ReceiveStream) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = await stream.receive_some()
        if not chunk:
            return data
        data += chunk
    return data


def connection(port: int, max_body_bytes: int = MAX_BODY_BYTES) -> HttpConnection:
    dial = tcp_dial("127.0.0.1", port)
    return HttpConnection(dial, where="the phone", max_body_bytes=max_body_bytes)


async def test_requests_share_one_connection() -> None:
    heard = []

    async def script(stream: trio.SocketStream) -> None:
        for _ in range(3):
            heard.append(await read_request(stream))
            await stream.send_all(OK)
        await trio.sleep_forever()

    async with open_raw(script) as port, connection(port) as http:
        replies = [
            await http.request("GET", "/status"),
            await http.request("POST", "/session", b"{}"),
            await http.request("DELETE", "/session/1"),
        ]

    assert replies == [Reply(200, b"{}")] * 3
    assert [request.split()[0] for request in heard] == [b"GET", b"POST", b"DELETE"]


async def test_a_body_in_pieces_and_chunks_is_put_together() -> None:
    async def script(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.send_all(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Nope\r\nTransfer-Enc")
        await trio.sleep(0.01)
        await stream.send_all(b"oding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        await trio.sleep_forever()

    async with open_raw(script) as port, connection(port) as http:
        reply = await http.request("GET", "/source")

    assert reply == Reply(404, b"abcde")


async def test_a_get_on_a_connection_that_closed_while_idle_is_answered_on_a_new_one() -> None:
    async def once(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.send_all(OK)

    async with open_raw(once, once) as port, connection(port) as http:
        await http.request("GET", "/status")
        await trio.sleep(0.02)

        assert await http.request("GET", "/status") == Reply(200, b"{}")


async def test_a_post_finds_the_idle_connection_closed_before_it_sends_and_dials_anew() -> None:
    heard = []

    async def once(stream: trio.SocketStream) -> None:
        heard.append(await read_request(stream))
        await stream.send_all(OK)

    async with open_raw(once, once) as port, connection(port) as http:
        await http.request("GET", "/status")
        await trio.sleep(0.02)
        await http.request("POST", "/wda/tap", b"{}")

    assert [request.split()[0] for request in heard] == [b"GET", b"POST"]


async def close_on_second_request(stream: trio.SocketStream) -> None:
    await read_request(stream)
    await stream.send_all(OK)
    await read_request(stream)


async def test_a_get_is_sent_again_when_its_reused_connection_closes_without_an_answer() -> None:
    async def once(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.send_all(OK)

    async with open_raw(close_on_second_request, once) as port, connection(port) as http:
        await http.request("GET", "/status")

        assert await http.request("GET", "/window/size") == Reply(200, b"{}")


async def test_a_post_is_never_sent_again() -> None:
    second = trio.Event()

    async def never(_: trio.SocketStream) -> None:
        second.set()
        await trio.lowlevel.checkpoint()

    async with open_raw(close_on_second_request, never) as port, connection(port) as http:
        await http.request("GET", "/status")
        with pytest.raises(DeviceError) as caught:
            await http.request("POST", "/wda/tap", b"{}")

        assert (caught.value.kind, caught.value.reason) == ("device_lost", "device_lost")
        assert not second.is_set()


async def test_a_fresh_connection_that_closes_without_an_answer_is_a_lost_device() -> None:
    async def shut(stream: trio.SocketStream) -> None:
        await read_request(stream)

    async with open_raw(shut) as port:
        with pytest.raises(DeviceError) as caught:
            await connection(port).request("GET", "/status")

    assert caught.value.reason == "device_lost"
    assert "before it answered" in caught.value.message


async def test_a_connection_cut_in_mid_answer_is_a_lost_device_and_not_retried() -> None:
    async def cut(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

    async with open_raw(cut) as port:
        with pytest.raises(DeviceError) as caught:
            await connection(port).request("GET", "/source")

    assert (caught.value.kind, caught.value.reason) == ("device_lost", "device_lost")
    assert "in mid-answer" in caught.value.message


async def test_a_refused_connection_is_an_unreachable_device() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()

    with pytest.raises(DeviceError) as caught:
        await connection(port).request("GET", "/status")

    assert (caught.value.kind, caught.value.reason) == ("device_lost", "device_unreachable")


async def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    async def twice(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.send_all(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale")
        await trio.sleep_forever()

    async def once(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.send_all(OK)

    async with open_raw(twice, once) as port, connection(port) as http:
        await http.request("GET", "/status")

        assert await http.request("GET", "/status") == Reply(200, b"{}")


async def test_a_body_over_the_bound_is_refused() -> None:
    async def flood(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n" + b"x" * 4096)
        await trio.sleep_forever()

    async with open_raw(flood) as port, connection(port, max_body_bytes=1000) as http:
        with pytest.raises(DeviceError) as caught:
            await http.request("GET", "/source")

    assert (caught.value.kind, caught.value.reason) == ("driver_fault", "wda_answer_invalid")
    assert "over 1000 bytes" in caught.value.message


async def test_a_cancelled_request_returns_at_once_and_closes_its_connection() -> None:
    closed = trio.Event()

    async def hang(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.receive_some()
        closed.set()

    async def once(stream: trio.SocketStream) -> None:
        await read_request(stream)
        await stream.send_all(OK)

    async with open_raw(hang, once) as port, connection(port) as http:
        began = trio.current_time()
        with trio.move_on_after(0.1):
            await http.request("POST", "/wda/tap", b"{}")
        took = trio.current_time() - began
        with trio.fail_after(1):
            await closed.wait()

        assert took < 0.4
        assert await http.request("GET", "/status") == Reply(200, b"{}")


async def test_one_request_is_on_the_wire_at_a_time() -> None:
    overlaps = []

    async def script(stream: trio.SocketStream) -> None:
        for _ in range(5):
            request = await read_request(stream)
            overlaps.append(request.count(b"HTTP/1.1"))
            await trio.sleep(0.005)
            await stream.send_all(OK)

    async with (
        open_raw(script) as port,
        connection(port) as http,
        trio.open_nursery() as nursery,
    ):
        for _ in range(5):
            nursery.start_soon(http.request, "GET", "/status")

    assert overlaps == [1] * 5


@pytest.mark.slow
@given(answer=st.binary(max_size=300) | st.binary(max_size=100).map(OK.__add__))
@settings(max_examples=300, deadline=None)
def test_whatever_bytes_answer_only_our_errors_come_out(answer: bytes) -> None:
    reasons = set()

    async def main() -> None:
        ours, theirs = trio.testing.lockstep_stream_pair()

        async def dial() -> trio.abc.Stream:
            await trio.lowlevel.checkpoint()
            return ours

        async def serve() -> None:
            await theirs.receive_some(10_000)
            if answer:
                await theirs.send_all(answer)
            await theirs.aclose()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            try:
                await HttpConnection(dial, where="it").request("POST", "/x", b"{}")
            except DeviceError as error:
                reasons.add(error.reason)
            nursery.cancel_scope.cancel()

    trio.run(main)

    assert reasons <= {"device_lost", "wda_answer_invalid"}
