"""A bounded byte stream pair in memory: a channel's transport inside one process.

Unlike a pair of sockets it costs no descriptors and no system calls, and unlike trio's testing
pair it holds `capacity` bytes at most in each direction, so that a slow reader stops its writer.

May be imported by: grid, tests. Imports: trio.
"""

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

import trio

CAPACITY_BYTES = 256 * 1024


@final
class _Pipe:
    """One direction; one task may write and one may read."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._data = bytearray()
        self._writers = trio.lowlevel.ParkingLot()
        self._readers = trio.lowlevel.ParkingLot()
        self._is_write_closed = False
        self._is_read_closed = False

    async def send(self, data: bytes) -> None:
        await self.wait_room()
        view = memoryview(data)
        while view:
            room = self._capacity - len(self._data)
            self._data += view[:room]
            view = view[room:]
            self._readers.unpark_all()
            if view:
                await self.wait_room()

    async def wait_room(self) -> None:
        await trio.lowlevel.checkpoint()
        self._require_writable()
        while len(self._data) >= self._capacity:
            await self._writers.park()
            self._require_writable()

    async def receive(self, max_bytes: int | None) -> bytes:
        await trio.lowlevel.checkpoint()
        while True:
            if self._is_read_closed:
                raise trio.ClosedResourceError("this end is closed")
            if self._data or self._is_write_closed:
                break
            await self._readers.park()
        size = len(self._data) if max_bytes is None else max_bytes
        taken = bytes(self._data[:size])
        del self._data[:size]
        self._writers.unpark_all()
        return taken

    def close_write(self) -> None:
        self._is_write_closed = True
        self._wake()

    def close_read(self) -> None:
        self._is_read_closed = True
        self._wake()

    def _require_writable(self) -> None:
        if self._is_write_closed:
            raise trio.ClosedResourceError("this end is closed")
        if self._is_read_closed:
            raise trio.BrokenResourceError("the other end is closed")

    def _wake(self) -> None:
        self._writers.unpark_all()
        self._readers.unpark_all()


@final
class MemoryStream(trio.abc.Stream):
    """One end of a pair."""

    def __init__(self, outgoing: _Pipe, incoming: _Pipe) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._is_sending = False
        self._is_receiving = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send all of `data`; wait while the other side does not read."""
        with self._sending():
            await self._outgoing.send(bytes(data))

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until there is room."""
        with self._sending():
            await self._outgoing.wait_room()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has come, or nothing when the other side closed."""
        if max_bytes is not None and operator.index(max_bytes) < 1:
            raise ValueError("max_bytes must be at least 1")
        if self._is_receiving:
            raise trio.BusyResourceError("another task reads from this end")
        self._is_receiving = True
        try:
            return await self._incoming.receive(max_bytes)
        finally:
            self._is_receiving = False

    async def aclose(self) -> None:
        """Close both directions; the other side reads what was sent and then the end."""
        self._outgoing.close_write()
        self._incoming.close_read()
        await trio.lowlevel.checkpoint()

    @contextmanager
    def _sending(self) -> Iterator[None]:
        if self._is_sending:
            raise trio.BusyResourceError("another task writes to this end")
        self._is_sending = True
        try:
            yield
        finally:
            self._is_sending = False


def open_memory_pair(capacity: int = CAPACITY_BYTES) -> tuple[MemoryStream, MemoryStream]:
    """Return two connected ends."""
    there, back = _Pipe(capacity), _Pipe(capacity)
    return MemoryStream(there, back), MemoryStream(back, there)
