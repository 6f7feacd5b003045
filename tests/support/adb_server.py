"""A scripted adb server on a real socket, for faults that a real one shows too rarely.

It speaks the smart-socket protocol and answers device services from a function. What a test does
not script, it refuses as a real server does.
"""

import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from drivers.android.smartsocket import AdbEndpoint


@dataclass(frozen=True)
class Shell:
    """A finished command, answered after some seconds."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    after_s: float = 0.0


@dataclass(frozen=True)
class Refuse:
    """`FAIL` with a text."""

    text: str


@dataclass(frozen=True)
class Raw:
    """`OKAY`, then these bytes, then the end of the connection, or silence when `stall`."""

    data: bytes = b""
    stall: bool = False


@dataclass(frozen=True)
class Silent:
    """Nothing at all."""


Reply = Shell | Refuse | Raw | Silent
Script = Callable[[str], Reply]


@dataclass
class ScriptedServer:
    """The server: where it listens, and every request that it saw."""

    endpoint: AdbEndpoint
    requests: list[str] = field(default_factory=list)


def block(text: str) -> bytes:
    data = text.encode()
    return b"%04x" % len(data) + data


def shell_packets(answer: Shell) -> bytes:
    parts = [(1, answer.stdout), (2, answer.stderr), (3, bytes([answer.exit_code]))]
    return b"".join(struct.pack("<BI", kind, len(data)) + data for kind, data in parts if data)


def only(reply: Reply) -> Script:
    """Answer every device service with `reply`, and the transport as a present device does."""
    return lambda request: Raw() if request.startswith("host:transport:") else reply


def shells(answers: Callable[[str], Shell]) -> Script:
    """Answer shell commands by `answers`."""

    def script(request: str) -> Reply:
        prefix = "shell,v2,raw:"
        if request.startswith(prefix):
            return answers(request.removeprefix(prefix))
        if request == "host:version":
            return Raw(block("0029"))
        if request.startswith("host-serial:"):
            return Raw(block("device"))
        return Raw() if request.startswith("host:transport:") else Refuse("closed")

    return script


@asynccontextmanager
async def open_scripted_server(script: Script) -> AsyncIterator[ScriptedServer]:
    """Serve on a free port until the context is left."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server = ScriptedServer(AdbEndpoint("127.0.0.1", listeners[0].socket.getsockname()[1]))

    async def handle(stream: trio.SocketStream) -> None:
        try:
            await converse(stream)
        except trio.BrokenResourceError:
            return

    async def converse(stream: trio.SocketStream) -> None:
        while True:
            request = await read_request(stream)
            if request is None:
                return
            server.requests.append(request)
            reply = script(request)
            match reply:
                case Silent():
                    await trio.sleep_forever()
                case Refuse(text=text):
                    await stream.send_all(b"FAIL" + block(text))
                    return
                case Shell(after_s=after_s):
                    await trio.sleep(after_s)
                    await stream.send_all(b"OKAY" + shell_packets(reply))
                    return
                case Raw(data=data, stall=stall):
                    await stream.send_all(b"OKAY" + data)
                    if stall:
                        await trio.sleep_forever()
                    if not request.startswith(("host:transport:", "host:tport:")):
                        return

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, handle, listeners)
        yield server
        nursery.cancel_scope.cancel()


async def read_request(stream: trio.SocketStream) -> str | None:
    head = await read_exact(stream, 4)
    return None if head is None else (await read_exact(stream, int(head, 16)) or b"").decode()


async def read_exact(stream: trio.SocketStream, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        chunk = await stream.receive_some(size - len(data))
        if not chunk:
            return None
        data += chunk
    return data
