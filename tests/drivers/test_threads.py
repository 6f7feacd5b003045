"""Blocking calls: values, errors, cancellation by socket, the limiter."""

import contextlib
import socket
import threading

import pytest
import trio

from drivers.threads import GRACE_S, run_blocking


async def test_the_value_of_the_call_is_returned() -> None:
    limiter = trio.CapacityLimiter(1)

    value = await run_blocking(lambda a, b: a + b, 2, 3, limiter=limiter, on_cancel=lambda: None)

    assert value == 5
    assert limiter.borrowed_tokens == 0


async def test_an_error_of_the_call_is_raised_and_frees_the_limiter() -> None:
    limiter = trio.CapacityLimiter(1)

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await run_blocking(fail, limiter=limiter, on_cancel=lambda: None)

    assert limiter.borrowed_tokens == 0


async def test_cancellation_shuts_the_socket_down_and_the_thread_ends() -> None:
    limiter = trio.CapacityLimiter(1)
    near, far = socket.socketpair()
    ended = threading.Event()

    def read() -> bytes:
        try:
            return near.recv(1)
        finally:
            ended.set()

    def shut() -> None:
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)

    started = trio.current_time()
    with near, far:
        with trio.move_on_after(0.05) as scope:
            await run_blocking(read, limiter=limiter, on_cancel=shut)

    assert scope.cancelled_caught
    assert ended.is_set()
    assert limiter.borrowed_tokens == 0
    assert trio.current_time() - started < 0.05 + GRACE_S


async def test_a_thread_that_does_not_listen_keeps_its_limiter_until_it_ends() -> None:
    limiter = trio.CapacityLimiter(1)
    release = threading.Event()

    with trio.move_on_after(0.01) as scope:
        await run_blocking(release.wait, limiter=limiter, on_cancel=lambda: None)

    assert scope.cancelled_caught
    assert limiter.borrowed_tokens == 1

    with trio.move_on_after(0.01) as scope:
        await run_blocking(int, limiter=limiter, on_cancel=lambda: None)

    assert scope.cancelled_caught

    release.set()
    assert await run_blocking(int, limiter=limiter, on_cancel=lambda: None) == 0


async def test_a_call_that_waits_for_the_limiter_never_starts_when_cancelled() -> None:
    limiter = trio.CapacityLimiter(1)
    ran: list[str] = []
    cancelled: list[str] = []

    async with limiter:
        with trio.move_on_after(0.01):
            await run_blocking(
                ran.append, "ran", limiter=limiter, on_cancel=lambda: cancelled.append("x")
            )

    assert ran == []
    assert cancelled == []
