"""What a device command sees: its arguments, its streams, the phone it acts on.

Output is collected and sent when a command pauses or ends, so one short command costs one write on
the wire, and the order of stdout and stderr stays true.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol, TypeAlias, final

import trio

from grid.lab.android import AndroidSystem
from grid.lab.phone import SimPhone

Put: TypeAlias = Callable[[bytes], None]
"""Takes output of a command."""


class Input(Protocol):
    """Where a command reads from."""

    async def read(self) -> bytes:
        """Return the next bytes; empty at the end."""
        ...


@final
class FixedInput:
    """Input that is known: a file, or the output of the command before a pipe."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    async def read(self) -> bytes:
        """Return all that is left."""
        data, self._data = self._data, b""
        await trio.lowlevel.checkpoint()
        return data


@final
class ShellStreams:
    """The three streams of a command, and `flush`, which sends what was collected."""

    def __init__(
        self, stdin: Input, out: Put, err: Put, flush: Callable[[], Awaitable[None]]
    ) -> None:
        self.stdin = stdin
        self.out = out
        self.err = err
        self.flush = flush


MAX_INPUT: Final = 64 << 20


@final
class Call:
    """One command that runs. `args` are the words after its name."""

    def __init__(
        self,
        system: AndroidSystem,
        name: str,
        args: tuple[str, ...],
        streams: ShellStreams,
        *,
        variables: Mapping[str, str],
        cwd: str,
    ) -> None:
        self.system = system
        self.name = name
        self.args = args
        self.variables = variables
        self.cwd = cwd
        self._streams = streams

    @property
    def phone(self) -> SimPhone:
        """The phone under the system."""
        return self.system.phone

    def out(self, text: str) -> None:
        """Print to stdout."""
        self._streams.out(text.encode("utf-8", "surrogateescape"))

    def out_bytes(self, data: bytes) -> None:
        """Write bytes to stdout."""
        self._streams.out(data)

    def err(self, text: str) -> None:
        """Print to stderr."""
        self._streams.err(text.encode("utf-8", "surrogateescape"))

    def fail(self, text: str, status: int = 1) -> int:
        """Print `name: text` to stderr and return the status."""
        self.err(f"{self.name}: {text}\n")
        return status

    async def read_all(self) -> bytes:
        """Return stdin to its end."""
        await self._streams.flush()
        parts: list[bytes] = []
        while data := await self._streams.stdin.read():
            parts.append(data)
            if sum(map(len, parts)) > MAX_INPUT:
                break
        return b"".join(parts)

    async def pause(self, ms: float) -> None:
        """Let time pass, with all output so far sent."""
        if ms > 0:
            await self._streams.flush()
            await trio.sleep(ms / 1000)

    def with_args(self, name: str, args: tuple[str, ...]) -> "Call":
        """Return this call as one of another command."""
        return Call(self.system, name, args, self._streams, variables=self.variables, cwd=self.cwd)

    def path(self, name: str) -> str:
        """Return a path as seen from the current folder."""
        return name if name.startswith("/") else f"{self.cwd}/{name}"


DeviceCommand: TypeAlias = Callable[[Call], Awaitable[int]]
"""A command of the device: does its work and returns the exit status."""


def os_error_text(error: OSError) -> str:
    """Return the text that a command prints for a failed file operation."""
    return error.strerror or str(error)
