"""A channel: messages over any trio byte stream, with a greeting, heartbeats and typed ends.

The same frames travel in memory, through pipes and through sockets. Either side greets first; a
greeting of another protocol version, a broken or oversized frame, and silence for longer than
three heartbeats end the channel with a `GridError`, never the process. `send` waits while the
other side does not read: whoever must not wait keeps an outbox (`grid.outbox`). The context
manager is the one closer of the stream.

May be imported by: grid, tests. Imports: grid.message, runner.errors, trio.
"""

import zlib
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, final

import trio

from grid.message import (
    PROTOCOL_VERSION,
    FrameReader,
    Heartbeat,
    Hello,
    Message,
    decode_payload,
    encode_frame,
)
from runner.errors import GridError

HEARTBEAT_S: Final = 5.0
_SILENT_BEATS: Final = 3
_READ_BYTES: Final = 64 * 1024


@final
class Channel:
    """One side of an open channel. One task may receive; any may send.

    A cancelled `send` may leave half a frame behind, so only tasks that end with the channel send.
    """

    def __init__(self, stream: trio.abc.Stream, *, heartbeat_s: float) -> None:
        self._stream = stream
        self._reader = FrameReader()
        self._ready: deque[bytes] = deque()
        self._sending = trio.Lock()
        self._heartbeat_s = heartbeat_s
        self._silence_s = heartbeat_s * _SILENT_BEATS
        self._heard_s = trio.current_time()
        self._is_silent = False

    async def send(self, message: Message) -> None:
        """Send one message. Reasons: `channel_frame_too_large`, `channel_closed`."""
        frame = encode_frame(message)
        async with self._sending:
            try:
                await self._stream.send_all(frame)
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                raise _closed("it was closed while a message was sent") from error

    async def receive(self) -> Message:
        """Wait for the next message that is not a heartbeat.

        Reasons: `channel_closed`, `channel_silent`, `channel_frame_invalid`,
        `channel_frame_too_large`. After any of them the channel is of no use.
        """
        while True:
            message = decode_payload(await self._next_payload())
            if not isinstance(message, Heartbeat):
                return message

    async def _next_payload(self) -> bytes:
        while not self._ready:
            data = await self._receive_some()
            self._heard_s = trio.current_time()
            if not data:
                within = "between messages" if self._reader.is_empty else "within a message"
                raise _closed(f"the other side closed it {within}")
            self._ready.extend(self._reader.feed(data))
        return self._ready.popleft()

    async def _receive_some(self) -> bytes:
        try:
            return bytes(await self._stream.receive_some(_READ_BYTES))
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            if self._is_silent:
                raise _silent(self._silence_s) from error
            raise _closed("the connection broke") from error

    async def greet(self, name: str) -> str:
        """Exchange greetings; return the other side's name. Reasons: `channel_version`."""
        with suppress(GridError):  # What the other side said before it closed tells more.
            await self.send(Hello(name=name))
        hello = await self.receive()
        if not isinstance(hello, Hello):
            raise GridError(
                reason="channel_frame_invalid",
                message="the other side did not greet before its first message",
            )
        if hello.protocol != PROTOCOL_VERSION:
            raise GridError(
                reason="channel_version",
                message=f"{hello.name!r} speaks protocol {hello.protocol}, we {PROTOCOL_VERSION}",
                details={"theirs": hello.protocol, "ours": PROTOCOL_VERSION},
            )
        return hello.name

    async def beat(self, phase: float = 0.0) -> None:
        """Send heartbeats until the channel is closed, and close it when nothing comes.

        Silence is looked for here, once a heartbeat, so that receiving needs no timer; some task
        must be receiving meanwhile. `phase` (0 to 1) of many channels keeps them from beating all
        at once.
        """
        await trio.sleep(phase * self._heartbeat_s)
        while True:
            await trio.sleep(self._heartbeat_s)
            if trio.current_time() - self._heard_s >= self._silence_s:
                self._is_silent = True
                await trio.aclose_forcefully(self._stream)
                return
            try:
                await self.send(Heartbeat())
            except GridError:
                return  # The receiving task learns of the same end, and reports it.


@asynccontextmanager
async def open_channel(
    stream: trio.abc.Stream, *, name: str, heartbeat_s: float = HEARTBEAT_S
) -> AsyncIterator[Channel]:
    """Greet over `stream` as `name`; leaving closes the stream.

    The caller runs `Channel.beat` beside its work. Reasons: `channel_version`, and those of
    `Channel.receive`, for the greeting.
    """
    channel = Channel(stream, heartbeat_s=heartbeat_s)
    try:
        with trio.move_on_after(heartbeat_s * _SILENT_BEATS) as limit:
            await channel.greet(name)
        if limit.cancelled_caught:
            raise _silent(heartbeat_s * _SILENT_BEATS)
        yield channel
    finally:
        await trio.aclose_forcefully(stream)


def phase_of(name: str) -> float:
    """Return a fraction that differs between names, to spread what many would do at once."""
    return (zlib.crc32(name.encode("utf-8", "backslashreplace")) % 1000) / 1000


def _silent(silence_s: float) -> GridError:
    return GridError(
        reason="channel_silent",
        message=f"nothing came on the channel for {silence_s:g} s",
        details={"silence_ms": round(silence_s * 1000)},
    )


def _closed(why: str) -> GridError:
    return GridError(reason="channel_closed", message=f"the channel is closed: {why}")
