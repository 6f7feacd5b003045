"""The command `sweepgrid`: the first lines that run, and the last.

`--version` is answered before anything heavy is imported. Every error ends here: ours as one
message with its reason and exit status, a bug as exit 70 with a saved report. Nothing is printed
elsewhere than in `runner.cli`.

May be imported by: the console script, tests. Imports: everything, lazily.
"""

import sys
from collections.abc import Sequence

from runner.version import VERSION


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--version"], ["-V"]):
        sys.stdout.write(f"sweepgrid {VERSION}\n")
        sys.exit(0)
    from runner.cli.guard import run_guarded  # noqa: PLC0415  # Cold start.

    sys.exit(run_guarded(words))


if __name__ == "__main__":
    main()
