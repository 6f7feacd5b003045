"""Sends and receives on real sockets."""

import socket
import struct
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from runner import wire


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
    for each in (ours, theirs):
        each.settimeout(0)
    yield ours, theirs
    ours.close()
    theirs.close()


Pair = tuple[socket.socket, socket.socket]


async def test_bytes_arrive_and_the_end_is_empty(pair: Pair) -> None:
    ours, theirs = pair
    await wire.send_all(ours, b"hello")

    assert await wire.receive(theirs, 3) == b"hel"
    assert await wire.receive(theirs, 9) == b"lo"
    ours.close()
    assert await wire.receive(theirs, 9) == b""


async def test_a_send_that_fits_takes_no_turn_of_the_loop(pair: Pair) -> None:
    ours, _ = pair
    with trio.CancelScope() as scope:
        scope.cancel()
        await wire.send_all(ours, b"x")

    assert not scope.cancelled_caught


async def test_more_than_the_system_takes_at_once_arrives_whole(pair: Pair) -> None:
    ours, theirs = pair
    data = bytes(range(256)) * 65_536
    received = bytearray()

    async def take() -> None:
        while len(received) < len(data):
            received.extend(await wire.receive(theirs, 1 << 20))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        await wire.send_all(ours, data)

    assert received == data


async def test_a_receive_that_waits_can_be_cancelled_and_tried_again(pair: Pair) -> None:
    ours, theirs = pair
    with trio.move_on_after(0.01) as scope:
        await wire.receive(theirs, 9)
    assert scope.cancelled_caught
    await wire.send_all(ours, b"late")

    assert await wire.receive(theirs, 9) == b"late"


async def test_a_reset_breaks_both_directions(pair: Pair) -> None:
    ours, theirs = pair
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    ours.close()

    with pytest.raises(trio.BrokenResourceError):
        await wire.receive(theirs, 9)
    with pytest.raises(trio.BrokenResourceError):
        await wire.send_all(theirs, b"x")


async def test_a_socket_closed_here_is_told_apart(pair: Pair) -> None:
    ours, _ = pair
    ours.close()

    with pytest.raises(trio.ClosedResourceError):
        await wire.receive(ours, 9)
    with pytest.raises(trio.ClosedResourceError):
        await wire.send_all(ours, b"x")


async def test_closing_wakes_the_one_that_waits() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    stream = await trio.open_tcp_stream(*listeners[0].socket.getsockname()[:2])
    peer = await listeners[0].accept()

    async def wait() -> None:
        with pytest.raises(trio.ClosedResourceError):
            await wire.receive(stream.socket, 9)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        await stream.aclose()
    await peer.aclose()
    await listeners[0].aclose()
