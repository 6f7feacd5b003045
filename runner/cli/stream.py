"""Standard streams for what writes to them by itself: the help, usage errors, and the live picture.

Both end in `runner.cli.output`'s rules: machine output that cannot be written is an error with a
reason, people's output is lost in silence. Without them a full disk would look like a bug, and
what is meant for a closed stderr would be found in stdout.

May be imported by: runner.cli.app. Imports: runner.cli.output.
"""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import TextIO, final

from runner.cli.output import write_all, write_machine


class _Stream(io.TextIOBase):
    """Text that goes straight to the descriptor of a real stream, `None` for a closed one."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, real: TextIO | None) -> None:
        self._real = real

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._real is not None and self._real.isatty()

    def fileno(self) -> int:
        """Return the descriptor; a closed stream has none, as for any stream of Python."""
        if self._real is None:
            raise io.UnsupportedOperation("it is closed")
        return self._real.fileno()


@final
class _MachineStream(_Stream):
    def write(self, text: str, /) -> int:
        """Write all of `text`. Reasons: `output_lost`."""
        write_machine(_checked(text))
        return len(text)


@final
class _PeopleStream(_Stream):
    def write(self, text: str, /) -> int:
        """Write what can be written."""
        _checked(text)
        with suppress(OSError, ValueError):  # There is no way left to say so.
            write_all(self.fileno(), text)
        return len(text)


def _checked(text: str) -> str:
    if not isinstance(text, str):
        # How others find out that a stream is one of text.
        raise TypeError(f"a text stream takes no {type(text).__name__}")
    return text


@contextmanager
def open_streams() -> Iterator[None]:
    """Put these streams in the place of the standard ones."""
    with (
        redirect_stdout(_MachineStream(sys.stdout)),
        redirect_stderr(_PeopleStream(sys.stderr)),
    ):
        yield
