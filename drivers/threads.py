"""Blocking libraries: the one way in which they are called.

A call runs in a thread while it holds the device's limiter. Cancellation reaches it through
`on_cancel`, which must make the present and every later blocking operation of the call fail at
once (shut its sockets down); the thread then ends by itself. A thread that ends late all the same
keeps the limiter until it does, so a device has at most one.

May be imported by: drivers. Imports: trio.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, TypeVarTuple

import outcome
import trio

T = TypeVar("T")
Args = TypeVarTuple("Args")

GRACE_S = 0.05
"""How long a cancelled call waits for its thread. A closed socket ends it in far less."""


async def run_blocking(
    fn: Callable[[*Args], T],
    *args: *Args,
    limiter: trio.CapacityLimiter,
    on_cancel: Callable[[], None],
) -> T:
    """Return `fn(*args)`, run in a thread under `limiter`; raise what it raises.

    When cancelled, call `on_cancel` once and give the thread `GRACE_S` to end. A call that is
    cancelled while it waits for the limiter never starts.
    """
    holder = object()
    await limiter.acquire_on_behalf_of(holder)
    ended = trio.Event()
    results: list[outcome.Outcome[T]] = []
    token = trio.lowlevel.current_trio_token()

    def finish() -> None:
        limiter.release_on_behalf_of(holder)
        ended.set()

    def deliver(result: outcome.Outcome[T]) -> None:
        results.append(result)
        # The event loop may be gone when the thread of an abandoned call ends.
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(finish)

    trio.lowlevel.start_thread_soon(lambda: fn(*args), deliver)
    try:
        await ended.wait()
    except trio.Cancelled:
        on_cancel()
        with trio.CancelScope(deadline=trio.current_time() + GRACE_S, shield=True):
            await ended.wait()
        raise
    return results[0].unwrap()
