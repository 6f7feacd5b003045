"""What is said of a reason.

May be imported by: runner.reasons. Imports: nothing of ours.
"""

from typing import NamedTuple

FILE_MARK = "== "
"""Begins the line that names a file of an example."""


class ReasonInfo(NamedTuple):
    """One reason.

    `code` is its family. `example` is a case in words, a command, or files, each behind a line
    `== PATH`; `<digest of PATH>` stands for the digest of a file there. `places` are the places of
    a composition reason in the total order, and `details` the keys that its details have at least.
    """

    code: str
    meaning: str
    fix: str
    example: str
    places: tuple[int, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def has_files(self) -> bool:
        """Whether the example is files, which can be checked."""
        return self.example.startswith(FILE_MARK)
