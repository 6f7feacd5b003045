"""Source bytes: each file is read once, and what was read is what everybody sees.

A `SourceLoader` lives for one preflight. It names a source by its real path relative to the
source root, so one file has one name by whatever link or locator it is reached, and nothing
outside the root has a name at all. It remembers bytes: a file that changes on the disk in the
meantime cannot replace what was checked.

May be imported by: runner.compose, runner.preflight, runner.cli. Imports: runner.compose.bound.
"""

import os
import stat
from typing import Literal, TypeAlias, final

from msgspec import Struct

from runner.compose.bound import BYTE_LIMIT

AbsenceKind: TypeAlias = Literal["missing", "outside_root", "not_relative", "not_a_file", "denied"]


class Source(Struct, frozen=True, kw_only=True):
    """One file's bytes; `path` is relative to the source root, with `/`.

    A file over the byte bound is cut just behind it: `is_oversized` tells, and only its beginning
    is looked at.
    """

    path: str
    data: bytes

    @property
    def is_oversized(self) -> bool:
        """Whether the file alone is over the byte bound of a closure."""
        return len(self.data) > BYTE_LIMIT


class Absent(Struct, frozen=True, kw_only=True):
    """Why there is no source at a path."""

    kind: AbsenceKind
    message: str


@final
class SourceLoader:
    """Finds and reads the sources under one root."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._prefix = self._root if self._root.endswith("/") else self._root + "/"
        self._located: dict[tuple[str, str], str | Absent] = {}
        self._folders: dict[str, str] = {}
        self._loaded: dict[str, Source | Absent] = {}

    @property
    def root(self) -> str:
        """The real path of the source root."""
        return self._root

    @property
    def read_count(self) -> int:
        """How many files were opened so far."""
        return len(self._loaded)

    def adopt(self, path: str, *, is_real: bool = False) -> str | Absent:
        """Name a file that was given by its path in the file system.

        `is_real` tells that the path is absolute and no link is on it.
        """
        return self._name(path, path, is_real=is_real)

    def locate(self, locator: str, *, base: str) -> str | Absent:
        """Name the file that `locator` means in the source `base`."""
        folder = base.rpartition("/")[0]
        known = self._located.get((folder, locator))
        if known is None:
            if os.path.isabs(locator):  # noqa: PTH117 -- Path would normalise the locator.
                known = Absent(
                    kind="not_relative", message=f"{locator!r} is absolute; write it relative"
                )
            elif locator.endswith("/"):
                known = Absent(kind="missing", message=f"{locator!r} names a folder")
            else:
                known = self._resolve(folder, locator)
            self._located[folder, locator] = known
        return known

    def load(self, name: str) -> Source | Absent:
        """Return the bytes of the source `name`, reading the file the first time."""
        known = self._loaded.get(name)
        if known is None:
            known = self._read(name)
            self._loaded[name] = known
        return known

    def _resolve(self, folder: str, locator: str) -> str | Absent:
        """Name what a locator means; the folders of a suite are looked at once, not each file."""
        path = f"{self._prefix}{folder}/{locator}"
        parent, _, leaf = path.rpartition("/")
        if leaf in {"", ".", ".."} or "\0" in path:
            return self._name(path, locator)
        if parent not in self._folders:
            try:
                self._folders[parent] = os.path.realpath(parent)
            except (OSError, RecursionError):
                return self._name(path, locator)
        real = f"{self._folders[parent].rstrip('/')}/{leaf}"
        return self._name(real, locator, is_real=not os.path.islink(real))  # noqa: PTH114 -- hot.

    def _name(self, path: str, shown: str, *, is_real: bool = False) -> str | Absent:
        try:
            real = path if is_real else os.path.realpath(path)
        except (OSError, ValueError, RecursionError) as error:  # The last: a long chain of links.
            return Absent(kind="missing", message=f"{shown!r} is no file name: {error}")
        if not real.startswith(self._prefix):
            return Absent(
                kind="outside_root", message=f"{shown!r} leads out of the source root {self._root}"
            )
        name = real.removeprefix(self._prefix)
        try:
            name.encode()
        except UnicodeEncodeError:
            return Absent(kind="missing", message=f"{shown!a} is not UTF-8; rename the file")
        return name

    def _read(self, name: str) -> Source | Absent:
        # The path is real already: a link that appears now is refused, and a pipe never blocks.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            handle = os.open(self._prefix + name, flags)
        except (FileNotFoundError, NotADirectoryError):
            return Absent(kind="missing", message=f"there is no file {name}")
        except (OSError, ValueError) as error:
            return Absent(kind="denied", message=f"{name} cannot be opened: {_why(error)}")
        try:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                return Absent(kind="not_a_file", message=f"{name} is no regular file")
            return Source(path=name, data=_read_up_to_bound(handle, facts.st_size))
        except OSError as error:
            return Absent(kind="denied", message=f"{name} cannot be read: {_why(error)}")
        finally:
            os.close(handle)


def _read_up_to_bound(handle: int, size: int) -> bytes:
    """Read a file whole, or one byte more than the bound; `size` is what it had a moment ago."""
    data = os.read(handle, min(size, BYTE_LIMIT) + 1)
    if len(data) == size:
        return data
    parts = [data]  # It changed, or its system gives it in pieces.
    total = len(data)
    while data and total <= BYTE_LIMIT:
        data = os.read(handle, BYTE_LIMIT + 1 - total)
        total += len(data)
        parts.append(data)
    return b"".join(parts)


def _why(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
