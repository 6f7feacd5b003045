"""What was read before: readings of source bytes, kept on the disk between runs.

A cache never decides anything. A reading is found by the digest of its source's bytes under the
version of the reader, so another source or other code never finds it; each has a checksum, and
whatever does not fit is read anew. A cache that cannot be used is a notice, not an error. The
files are private to the user. Each version of the reader has its own file: an older or newer
program neither reads nor changes it, and files that nobody opened for a month are removed.

May be imported by: runner.preflight, runner.cli. Imports: runner.formats, runner.compose,
runner.model (as files, to tell their version).
"""

import hashlib
import os
import platform
import sqlite3
import stat
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeAlias, final

import runner.compose
import runner.formats.ad
import runner.model

SIZE_LIMIT: Final = 512 * 1024 * 1024
"""Bytes of one cache file; a larger one is begun anew."""
_AGE_LIMIT_S: Final = 30 * 24 * 3600.0
_WAIT_S: Final = 1.0
_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS reading (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
_CHECK_BYTES: Final = 4
_ROWS: Final = 250
"""Readings in one statement; SQLite takes no more than 999 values everywhere."""

Key: TypeAlias = bytes


def reader_version() -> str:
    """Return what names the code that reads sources: hex digits that change with it."""
    total = hashlib.sha256()
    total.update(f"{platform.python_version()} {version('msgspec')}".encode())
    for package in (runner.model, runner.compose, runner.formats.ad):
        for folder in package.__path__:
            for path in sorted(Path(folder).glob("*.py")):
                total.update(path.name.encode())
                total.update(path.read_bytes())
    return total.hexdigest()[:16]


def default_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the user's folder for caches: `$XDG_CACHE_HOME`, else `~/.cache`."""
    base = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # noqa: PTH117 -- an empty text is no path.
        home = environ.get("HOME", "")
        if not home:
            return None
        base = f"{home}/.cache"
    return Path(base) / "sweepgrid"


@final
class ReadingCache:
    """The readings of this version of the reader under a folder.

    Nothing is open between calls, so any thread may make one. `notices` tell why it is not used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.notices: list[str] = []

    def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        """Return what is kept under each key."""
        nothing: list[bytes | None] = [None] * len(keys)
        if self.notices:
            return nothing
        try:
            with closing(self._open()) as connection:
                return [_get(connection, key) for key in keys]
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)
            return nothing

    def put(self, readings: Sequence[tuple[Key, bytes]]) -> None:
        """Keep readings, all of them or none."""
        if self.notices:
            return
        try:
            with closing(self._open()) as connection, connection:
                for start in range(0, len(readings), _ROWS):
                    _put(connection, readings[start : start + _ROWS])
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def _open(self) -> sqlite3.Connection:
        path = self._folder / f"reading-{reader_version()}.sqlite"
        _prepare(path)
        return _connect(path)

    def _give_up(self, error: Exception) -> None:
        self.notices.append(f"the cache of what was read, {self._folder}, is unusable: {error}")


def _prepare(path: Path) -> None:
    """Make the folder, and remove what is too old or too large in it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    facts = path.parent.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
        raise PermissionError(f"{path.parent} is not a folder of this user")
    oldest = time.time() - _AGE_LIMIT_S
    for other in path.parent.glob("reading-*.sqlite"):
        found = other.lstat()
        if found.st_size > SIZE_LIMIT or (other != path and found.st_mtime < oldest):
            other.unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return _open(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise  # It is in use or cannot be written; it may well be sound.
        path.unlink(missing_ok=True)
        return _open(path)


def _open(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    os.utime(path)
    connection = sqlite3.connect(path, timeout=_WAIT_S)
    try:
        # A reading fills a page or two of this size, and lost ones are read again.
        connection.execute("PRAGMA page_size = 16384")
        connection.execute(f"PRAGMA mmap_size = {SIZE_LIMIT}")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _get(connection: sqlite3.Connection, key: Key) -> bytes | None:
    row = connection.execute("SELECT value FROM reading WHERE key = ?", (key,)).fetchone()
    if row is None or not isinstance(row[0], bytes):
        return None
    value = row[0][_CHECK_BYTES:]
    return value if row[0][:_CHECK_BYTES] == _check(key, value) else None


def _put(connection: sqlite3.Connection, readings: Sequence[tuple[Key, bytes]]) -> None:
    """Insert with one statement: a statement runs beside other threads, its beginning does not."""
    places = ",".join(["(?, ?)"] * len(readings))
    values = [part for key, value in readings for part in (key, _check(key, value) + value)]
    connection.execute(f"INSERT OR REPLACE INTO reading VALUES {places}", values)  # noqa: S608


def _check(key: Key, value: bytes) -> bytes:
    return zlib.crc32(key + value).to_bytes(_CHECK_BYTES, "big")
