"""The services of a virtual phone's adbd: what an opened stream does, by its name.

Everything that is not here is refused, as on a phone that does not have it.

May be imported by: grid.lab, tests. Imports: grid.lab, trio.
"""

import struct
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, TypeAlias, final

import trio

from grid.lab.android import AndroidSystem
from grid.lab.shell import Shell
from grid.lab.shell_call import FixedInput, ShellStreams
from grid.lab.shell_table import DEVICE_COMMANDS
from grid.lab.sync import serve_sync

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_EXIT: Final = 3
_STDIN_CLOSERS: Final = (3, 4)
"""The adb client closes stdin with 4; some clients take the number of the exit packet."""
_HEADER: Final = struct.Struct("<BI")
_MAX_PACKET: Final = 1 << 20


class ByteStream(Protocol):
    """An open stream of the transport."""

    async def read(self) -> bytes:
        """Return the next bytes of the client; empty when it has ended."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when the client has taken them. None: say that it is open."""
        ...

    async def finish(self, data: bytes) -> None:
        """Take the last bytes; they leave with the end of the stream."""
        ...


Service: TypeAlias = Callable[[ByteStream], Awaitable[None]]


def find_service(name: str, system: AndroidSystem) -> Service | None:
    """Return what serves a stream of that name, None when the phone has no such service."""
    kind, _, rest = name.partition(":")
    base, *options = kind.split(",")
    if base == "shell" and "v2" in options:
        return partial(_serve_shell_v2, system, rest)
    if kind in ("shell", "exec") or base == "shell":
        return partial(_serve_shell_v1, system, rest)
    if name == "sync:":
        return partial(serve_sync, system.disk)
    if kind == "reboot":
        return partial(_serve_reboot, system)
    if name == "root:":
        return partial(_serve_text, "adbd cannot run as root in production builds\n")
    if name == "unroot:":
        return partial(_serve_text, "adbd not running as root\n")
    if name == "remount:":
        return partial(_serve_text, 'Not running as root. Try "adb root" first.\n')
    return None


async def _serve_text(text: str, stream: ByteStream) -> None:
    await stream.finish(text.encode())


async def _serve_reboot(system: AndroidSystem, stream: ByteStream) -> None:
    del stream  # The phone goes down without a word.
    system.reboot()


@final
class _RawInput:
    """The client's bytes as they are (shell v1 and exec)."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def read(self) -> bytes:
        """Return the next bytes."""
        return await self._stream.read()


@final
class ShellPacketDecoder:
    """Cuts the client's side of a v2 shell into its packets: (id, data)."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> tuple[tuple[int, bytes], ...] | None:
        """Return the packets that `data` completes; None when it is no such stream."""
        self._buffer += data
        found: list[tuple[int, bytes]] = []
        while len(self._buffer) >= _HEADER.size:
            kind, size = _HEADER.unpack_from(self._buffer)
            if size > _MAX_PACKET:
                return None
            end = _HEADER.size + size
            if len(self._buffer) < end:
                break
            found.append((kind, bytes(self._buffer[_HEADER.size : end])))
            del self._buffer[:end]
        return tuple(found)


@final
class _PacketInput:
    """Stdin of a v2 shell: its packets' data, to the one that closes it."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._decoder = ShellPacketDecoder()
        self._ready: deque[bytes] = deque()
        self._is_closed = False

    async def read(self) -> bytes:
        """Return the next data."""
        while not self._ready and not self._is_closed:
            data = await self._stream.read()
            packets = self._decoder.feed(data) if data else None
            if packets is None:
                self._is_closed = True
                break
            for kind, content in packets:
                if kind in _STDIN_CLOSERS:
                    self._is_closed = True
                elif kind == _STDIN and content:
                    self._ready.append(content)
        return self._ready.popleft() if self._ready else b""


async def _serve_shell_v1(system: AndroidSystem, text: str, stream: ByteStream) -> None:
    """Run a command; stdout and stderr share the stream, and no status comes back."""
    output = bytearray()

    async def flush() -> None:
        data = bytes(output)
        output.clear()
        await stream.write(data)

    await _run(system, text, ShellStreams(_RawInput(stream), output.extend, output.extend, flush))
    await stream.finish(bytes(output))


async def _serve_shell_v2(system: AndroidSystem, text: str, stream: ByteStream) -> None:
    """Run a command in packets: stdout and stderr apart, and its exit status at the end."""
    output = bytearray()

    def put(kind: int, data: bytes) -> None:
        for start in range(0, len(data), _MAX_PACKET):
            chunk = data[start : start + _MAX_PACKET]
            output.extend(_HEADER.pack(kind, len(chunk)))
            output.extend(chunk)

    async def flush() -> None:
        data = bytes(output)
        output.clear()
        await stream.write(data)

    streams = ShellStreams(
        _PacketInput(stream), partial(put, _STDOUT), partial(put, _STDERR), flush
    )
    status = await _run(system, text, streams)
    put(_EXIT, bytes([status % 256]))
    await stream.finish(bytes(output))


async def _run(system: AndroidSystem, text: str, streams: ShellStreams) -> int:
    shell = Shell(system, DEVICE_COMMANDS)
    return await (shell.run(text, streams) if text else _run_lines(shell, streams))


async def _run_lines(shell: Shell, streams: ShellStreams) -> int:
    """Run an interactive shell: each line is a command, until `exit` or the end."""
    status = 0
    pending = b""
    while not shell.has_exited:
        line, newline, rest = pending.partition(b"\n")
        if not newline:
            data = await streams.stdin.read()
            if not data:
                break
            pending += data.replace(b"\r", b"\n")
            continue
        pending = rest
        # A long input must not starve the other streams.
        await trio.lowlevel.checkpoint()
        status = await shell.run(
            line.decode("utf-8", "replace"),
            ShellStreams(FixedInput(), streams.out, streams.err, streams.flush),
        )
        await streams.flush()
    return status
