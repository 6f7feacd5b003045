"""The command `sweepgrid`: the first lines that run, and the last.

`--version` is answered before anything heavy is imported. Every error ends here: ours as one
message with its reason and exit status, a bug as exit 70 with a saved report. Nothing is printed
elsewhere than in `runner.cli`.

May be imported by: the console script, tests. Imports: everything, lazily.
"""

import os
import sys
from collections.abc import Sequence

from runner.version import VERSION

_INTERRUPTED = 10


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _hold_descriptors()
    if words in (["--version"], ["-V"]) and _has_written(f"sweepgrid {VERSION}\n"):
        sys.exit(0)
    try:
        from runner.cli.guard import run_guarded  # noqa: PLC0415  # Cold start.

        status = run_guarded(words)
    except KeyboardInterrupt:  # Before there is anything that could say more.
        status = _INTERRUPTED
    sys.exit(status)


def _hold_descriptors() -> None:
    """Open a standard stream that was closed on nothing.

    Else the next file, a journal or a socket, would get its number, and what somebody writes to
    "stderr" would be written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # It gets the lowest free number, which is this one.


def _has_written(text: str) -> bool:
    """Write to stdout; when that fails, the guard writes again, and tells why it cannot."""
    try:
        os.write(sys.stdout.fileno(), text.encode())
    except (OSError, AttributeError):
        return False
    return True


if __name__ == "__main__":
    main()
