# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import pytest
import trio
from hypothesis import given, settings, strategies as st
from trio.testing import MockClock, check_two_way_stream, wait_all_tasks_blocked

from grid.pipe import MemoryStream, open_memory_pair


@pytest.mark.slow
async def test_it_is_a_stream_as_trio_defines_one(autojump_clock: MockClock) -> None:
    async def make() -> tuple[MemoryStream, MemoryStream]:
        await trio.lowlevel.checkpoint()
        return open_memory_pair(capacity=100)

    async def make_clogged() -> tuple[MemoryStream, MemoryStream]:
        here, there = await make()
        await here.send_all(b"x" * 100)
        await there.send_all(b"x" * 100)
        return here, there

    await check_two_way_stream(make, make_clogged)


async def test_a_writer_waits_while_nobody_reads(autojump_clock: MockClock) -> None:
    here, there = open_memory_pair(capacity=10)
    with trio.move_on_after(5) as limit:
        await here.send_all(b"x" * 25)

    assert limit.cancelled_caught
    assert await there.receive_some() == b"x" * 10


async def test_what_was_sent_before_the_close_is_still_read() -> None:
    here, there = open_memory_pair()
    await here.send_all(b"last words")
    await here.aclose()

    assert await there.receive_some() == b"last words"
    assert await there.receive_some() == b""


async def test_closing_wakes_a_writer_on_the_other_side() -> None:
    here, there = open_memory_pair(capacity=1)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _write() -> None:
            with pytest.raises(trio.BrokenResourceError):
                await here.send_all(b"too much")

        await wait_all_tasks_blocked()
        await there.aclose()


@given(st.lists(st.binary(max_size=50), max_size=20), st.integers(1, 30))
@settings(max_examples=50, deadline=None)
def test_bytes_arrive_whole_and_in_order(pieces: list[bytes], capacity: int) -> None:
    async def main() -> bytes:
        here, there = open_memory_pair(capacity=capacity)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _write() -> None:
                for piece in pieces:
                    await here.send_all(piece)
                await here.aclose()

            got = b""
            while data := await there.receive_some(7):
                got += data
        return got

    assert trio.run(main) == b"".join(pieces)
