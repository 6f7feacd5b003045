"""Bytes over a connected socket with as few turns of the event loop as possible.

trio's own streams give the loop a turn for every operation, also for one that is done at once. On
a connection that serves one small request after the other these turns are half of its cost. Here a
send that the system takes at once needs none, and a receive waits before it reads, since what it
reads is the answer to what was just sent. So a receive always is a checkpoint and a send only when
it has to wait: who sends in a loop also receives, or brings a checkpoint of its own. Errors are
those of trio's streams. At most one task sends and one receives at a time.

May be imported by: drivers, grid, tests. Imports: trio.
"""

import os
from typing import Protocol

import trio


class Link(Protocol):
    """A connected, non-blocking stream socket: trio's or the standard library's."""

    def fileno(self) -> int:
        """Return the descriptor; -1 when the socket is closed."""
        ...


async def send_all(link: Link, data: bytes) -> None:
    """Send all of `data`. Raises `BrokenResourceError` and `ClosedResourceError` of trio."""
    sent = _write(link, data)
    if sent < len(data):
        rest = memoryview(data)
        while sent < len(rest):
            rest = rest[sent:]
            await trio.lowlevel.wait_writable(link.fileno())
            sent = _write(link, rest)


async def receive(link: Link, size: int) -> bytes:
    """Wait for bytes and return up to `size` of them; empty at the peer's end.

    Raises `BrokenResourceError` and `ClosedResourceError` of trio.
    """
    while True:
        descriptor = link.fileno()
        if descriptor < 0:
            raise trio.ClosedResourceError("the socket is closed")
        await trio.lowlevel.wait_readable(descriptor)
        try:
            # Asked for again: another task may have closed the socket in the meantime.
            return os.read(link.fileno(), size)
        except BlockingIOError:
            continue
        except OSError as error:
            raise _translate(link, error) from error


def _write(link: Link, data: bytes | memoryview) -> int:
    try:
        return os.write(link.fileno(), data)
    except BlockingIOError:
        return 0
    except OSError as error:
        raise _translate(link, error) from error


def _translate(link: Link, error: OSError) -> trio.BrokenResourceError | trio.ClosedResourceError:
    if link.fileno() < 0:
        return trio.ClosedResourceError("the socket was closed here")
    return trio.BrokenResourceError(f"the connection broke: {error}")
