"""The file system of a virtual Android: folders and files in memory, shared by shell and sync.

Errors are the operating system's own (`OSError` with its number), because that is what the shell
commands and the sync service have to report. Only `/data/local/tmp` and the shared storage can be
written, as a shell user finds it on a phone.

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

import errno
import os
import posixpath
import stat
from collections.abc import Callable
from typing import Final, final

from msgspec import Struct

MAX_BYTES: Final = 256 << 20
_STORAGE: Final = "/storage/emulated/0"
_WRITABLE: Final = ("/data/local/tmp", _STORAGE)
_FOLDERS: Final = (
    "/",
    "/data",
    "/data/local",
    "/data/local/tmp",
    "/proc",
    "/storage",
    "/storage/emulated",
    _STORAGE,
    f"{_STORAGE}/Download",
    f"{_STORAGE}/Pictures",
    "/system",
    "/system/bin",
)


class FileStat(Struct, frozen=True, kw_only=True):
    """What `stat` says of one path."""

    mode: int
    size: int
    mtime: int

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)


class _File(Struct, frozen=True):
    data: bytes
    mode: int
    mtime: int


@final
class VirtualDisk:
    """One phone's files."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._folders: dict[str, int] = dict.fromkeys(_FOLDERS, int(clock()))
        self._files: dict[str, _File] = {}
        self._used = 0

    def read(self, path: str) -> bytes:
        """Return a file's content."""
        path = resolve_path(path)
        if path in self._folders:
            raise _error(errno.EISDIR, path)
        if path not in self._files:
            raise _error(errno.ENOENT, path)
        return self._files[path].data

    def write(self, path: str, data: bytes, *, mode: int = 0o644, mtime: int | None = None) -> None:
        """Make or replace a file."""
        path = resolve_path(path)
        self._require_writable(path)
        if path in self._folders:
            raise _error(errno.EISDIR, path)
        if posixpath.dirname(path) not in self._folders:
            raise _error(errno.ENOENT, path)
        before = self._files.get(path)
        used = self._used - (len(before.data) if before else 0) + len(data)
        if used > MAX_BYTES:
            raise _error(errno.ENOSPC, path)
        self._used = used
        when = int(self._clock()) if mtime is None else mtime
        self._files[path] = _File(data, stat.S_IFREG | (mode & 0o7777), when)

    def append(self, path: str, data: bytes) -> None:
        """Add to a file, which is made when missing."""
        old = self.read(path) if self.exists(path) else b""
        self.write(path, old + data)

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, or with `recursive` a folder and all in it."""
        path = resolve_path(path)
        if path in self._folders and not recursive:
            raise _error(errno.EISDIR, path)
        if not self.exists(path):
            raise _error(errno.ENOENT, path)
        self._require_writable(path)
        below = path + "/"
        for name in [f for f in self._files if f == path or f.startswith(below)]:
            self._used -= len(self._files.pop(name).data)
        for name in [f for f in self._folders if f == path or f.startswith(below)]:
            del self._folders[name]

    def make_folder(self, path: str, *, parents: bool = False) -> None:
        """Make a folder, with `parents` all that are missing above it."""
        path = resolve_path(path)
        if path in self._folders and parents:
            return
        if self.exists(path):
            raise _error(errno.EEXIST, path)
        self._require_writable(path)
        above = posixpath.dirname(path)
        if above not in self._folders:
            if not parents:
                raise _error(errno.ENOENT, path)
            self.make_folder(above, parents=True)
        self._folders[path] = int(self._clock())

    def list_folder(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted."""
        path = resolve_path(path)
        if path not in self._folders:
            raise _error(errno.ENOTDIR if path in self._files else errno.ENOENT, path)
        below = path.rstrip("/") + "/"
        names = {
            name[len(below) :]
            for name in (*self._folders, *self._files)
            if name.startswith(below) and len(name) > len(below)
        }
        return tuple(sorted(name for name in names if "/" not in name))

    def stat(self, path: str) -> FileStat:
        """Return what a path is."""
        path = resolve_path(path)
        if path in self._folders:
            return FileStat(mode=stat.S_IFDIR | 0o771, size=4096, mtime=self._folders[path])
        if path not in self._files:
            raise _error(errno.ENOENT, path)
        file = self._files[path]
        return FileStat(mode=file.mode, size=len(file.data), mtime=file.mtime)

    def exists(self, path: str) -> bool:
        """Tell whether a path is there."""
        path = resolve_path(path)
        return path in self._folders or path in self._files

    def _require_writable(self, path: str) -> None:
        if not any(path == root or path.startswith(root + "/") for root in _WRITABLE):
            raise _error(errno.EACCES if path.startswith("/data") else errno.EROFS, path)


def resolve_path(path: str) -> str:
    """Return the absolute path without dots, with the shared storage's links followed."""
    whole = posixpath.normpath("/" + path)
    whole = "/" + whole.lstrip("/")
    for link in ("/sdcard", "/mnt/sdcard", "/storage/self/primary"):
        if whole == link or whole.startswith(link + "/"):
            return _STORAGE + whole[len(link) :]
    return whole


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
