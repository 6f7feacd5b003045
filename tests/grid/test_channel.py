# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import pytest
import trio
from hypothesis import given, settings, strategies as st
from trio.testing import MockClock

from grid.channel import Channel, open_channel
from grid.message import Cancel, Heartbeat, Hello, encode_frame
from grid.pipe import open_memory_pair
from runner.errors import GridError
from runner.model.ids import AttemptId

CANCEL = Cancel(attempt_id=AttemptId("p.1"))


async def receive_all(channel: Channel) -> None:
    """Receive until the channel ends, with its heart beating."""
    errors: list[GridError] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.beat)
        try:
            while True:
                await channel.receive()
        except GridError as error:
            errors.append(error)
        nursery.cancel_scope.cancel()
    raise errors[0]


async def reason_of(*frames: bytes, close: bool = True) -> str:
    ours, theirs = open_memory_pair(capacity=1 << 20)
    for frame in frames:
        await theirs.send_all(frame)
    if close:
        await theirs.aclose()
    with pytest.raises(GridError) as caught:
        async with open_channel(ours, name="grid", heartbeat_s=5) as channel:
            await receive_all(channel)
    return caught.value.reason


HELLO = encode_frame(Hello(name="worker"))


async def test_messages_pass_both_ways_after_the_greeting() -> None:
    ours, theirs = open_memory_pair()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _worker() -> None:
            async with open_channel(theirs, name="worker") as channel:
                await channel.send(await channel.receive())

        async with open_channel(ours, name="grid") as channel:
            await channel.send(CANCEL)

            assert await channel.receive() == CANCEL


async def test_leaving_closes_the_stream_for_the_other_side() -> None:
    ours, theirs = open_memory_pair()
    await theirs.send_all(HELLO)
    async with open_channel(ours, name="grid"):
        pass
    await theirs.receive_some()

    assert await theirs.receive_some() == b""


async def test_another_protocol_version_ends_the_channel() -> None:
    frame = encode_frame(Hello(protocol=99, name="future"))

    assert await reason_of(frame) == "channel_version"


async def test_a_peer_that_does_not_greet_ends_the_channel() -> None:
    assert await reason_of(encode_frame(CANCEL)) == "channel_frame_invalid"


async def test_a_broken_frame_ends_the_channel() -> None:
    assert await reason_of(HELLO, b"\x00\x00\x00\x01\xc1") == "channel_frame_invalid"


async def test_an_oversized_frame_ends_the_channel() -> None:
    assert await reason_of(HELLO, b"\xff\xff\xff\xff") == "channel_frame_too_large"


async def test_a_close_between_messages_and_within_one_is_told() -> None:
    assert await reason_of(HELLO) == "channel_closed"
    assert await reason_of(HELLO, b"\x00\x00\x00\x09half") == "channel_closed"


async def test_silence_for_three_heartbeats_ends_the_channel(autojump_clock: MockClock) -> None:
    begun = trio.current_time()

    assert await reason_of(HELLO, close=False) == "channel_silent"
    assert trio.current_time() - begun == 15
    assert await reason_of(close=False) == "channel_silent"
    assert trio.current_time() - begun == 30


async def test_heartbeats_keep_an_idle_channel_alive(autojump_clock: MockClock) -> None:
    ours, theirs = open_memory_pair()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _worker() -> None:
            async with open_channel(theirs, name="worker", heartbeat_s=5) as channel:
                nursery.start_soon(channel.beat)
                with trio.move_on_after(100):
                    await channel.receive()
                await channel.send(CANCEL)
                await trio.sleep(1)

        async with open_channel(ours, name="grid", heartbeat_s=5) as channel:
            nursery.start_soon(channel.beat)

            assert await channel.receive() == CANCEL
        assert trio.current_time() >= 100
        nursery.cancel_scope.cancel()


async def test_the_beat_of_a_closed_channel_ends(autojump_clock: MockClock) -> None:
    ours, theirs = open_memory_pair()
    await theirs.send_all(HELLO)
    async with open_channel(ours, name="grid", heartbeat_s=5) as channel:
        await theirs.aclose()
        with trio.fail_after(6):
            await channel.beat()
        assert trio.current_time() >= 5


async def test_heartbeats_are_not_shown_to_the_receiver() -> None:
    beat = encode_frame(Heartbeat())
    ours, theirs = open_memory_pair()
    await theirs.send_all(HELLO + beat + beat + encode_frame(CANCEL) + beat)
    async with open_channel(ours, name="grid") as channel:
        assert await channel.receive() == CANCEL


async def test_sending_on_a_closed_channel_is_a_typed_error() -> None:
    ours, theirs = open_memory_pair()
    await theirs.send_all(HELLO)
    async with open_channel(ours, name="grid") as channel:
        await theirs.aclose()
        with pytest.raises(GridError) as caught:
            await channel.send(CANCEL)

        assert caught.value.reason == "channel_closed"


@given(st.lists(st.binary(max_size=40), max_size=5))
@settings(deadline=None)
def test_whatever_comes_after_the_greeting_only_typed_errors_come_out(
    pieces: list[bytes],
) -> None:
    reason = trio.run(reason_of, HELLO, *pieces)

    assert reason in {"channel_closed", "channel_frame_invalid", "channel_frame_too_large"}
