"""Replacing the bytes of a file that people keep: whole, or not at all.

What others see is the old file or the new one, also after a crash; its mode stays. A file that is
no longer what was read is left as it is.

May be imported by: runner.cli. Imports: runner.errors, runner.model.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from runner.errors import InputError
from runner.model.finding import Finding


def rewrite_file(path: Path, *, name: str, before: bytes, after: bytes) -> Finding | None:
    """Replace a file that holds `before`; return the problem `source_changed` if it does not.

    `path` has no link in it, and `name` is what problems call it. Reasons: `output_unwritable`.
    """
    try:
        seen = _read(path, len(before) + 1)
        if seen is None or seen[0] != before:
            return _changed(name)
        if not os.access(path, os.W_OK):
            # A folder's rights would let the file be replaced, which is not what its own say.
            raise PermissionError(13, "the file is read-only")
        return _replace(path, name=name, data=after, known=seen[1])
    except OSError as error:
        raise InputError(
            reason="output_unwritable",
            message=f"{path} cannot be written: {error.strerror}",
            details={"path": str(path)},
        ) from error


def _replace(path: Path, *, name: str, data: bytes, known: os.stat_result) -> Finding | None:
    handle, temporary = tempfile.mkstemp(prefix=".sweepgrid-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            with suppress(OSError):  # Only some may give a file away; the writer owns it then.
                os.fchown(handle, known.st_uid, known.st_gid)
            os.fchmod(handle, stat.S_IMODE(known.st_mode))
            os.fsync(handle)
        if not _is_same(path, known):
            return _changed(name)
        Path(temporary).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
    _sync_folder(path.parent)
    return None


def _read(path: Path, limit: int) -> tuple[bytes, os.stat_result] | None:
    """Return what a regular file holds and what it is; `None` if it is none any more."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        return (file.read(limit), status) if stat.S_ISREG(status.st_mode) else None


def _is_same(path: Path, known: os.stat_result) -> bool:
    """Tell whether the file was left alone since it was looked at."""
    try:
        now = path.lstat()
    except OSError:
        return False
    return (now.st_ino, now.st_dev, now.st_size, now.st_mtime_ns, now.st_mode) == (
        known.st_ino,
        known.st_dev,
        known.st_size,
        known.st_mtime_ns,
        known.st_mode,
    )


def _sync_folder(folder: Path) -> None:
    """Make the new name last; some file systems know no such thing for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _changed(name: str) -> Finding:
    return Finding(
        reason="source_changed",
        path=name,
        message=f"{name} is no longer what was read; nothing was written",
        details={"source": name},
    )
