"""From one argument of the command line to files: a path, a folder, or a pattern.

Every folder is visited once, under its real path, and nothing recurses, so neither deep trees nor
links in circles are a danger. A link to a folder is followed when it stays inside the source root;
one to a folder that it stands in itself leads nowhere new. **Names that begin with a dot are
skipped**, in folders always, in patterns unless the pattern spells the dot. Whatever else cannot
be looked at comes out as a `Hurdle`.

May be imported by: runner.preflight. Imports: nothing of ours.
"""

import errno
import glob
import os
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from msgspec import Struct

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_DEAD_END = frozenset({errno.ELOOP, errno.ENAMETOOLONG})


class Found(Struct, frozen=True, kw_only=True):
    """One file; `is_named` when its own path was given, `is_real` when no link is on the way."""

    path: str
    is_named: bool = False
    is_real: bool = False


class Hurdle(Struct, frozen=True, kw_only=True):
    """Something that could not be looked at. `path` is `None` for the argument itself."""

    reason: Literal["path_missing", "source_unreadable"]
    path: str | None = None
    why: str


class _Folder(Struct, frozen=True):
    path: str


_Seen: TypeAlias = _Folder | Found | Hurdle


def find_files(path: str, *, cwd: str, root: str) -> Iterator[Found | Hurdle]:
    """Yield the files behind one argument; `root` is the real path of the source root."""
    full = os.path.join(cwd, path)  # noqa: PTH118 -- Path would drop a trailing `/` and `./`.
    kind, why = _probe(full)
    if kind == "folder":
        yield from _files(_walk(full, root))
    elif kind == "file":
        yield Found(path=full, is_named=True)
    elif glob.has_magic(path):
        yield from _match(path, cwd, root)
    elif kind == "denied":
        yield Hurdle(reason="source_unreadable", why=f"it cannot be looked at: {why}")
    else:
        yield Hurdle(reason="path_missing", why="there is no such file or folder")


def _probe(full: str) -> tuple[Literal["folder", "file", "absent", "denied"], str]:
    """Tell what stands at a path; a link without an end is a file, so that loading reports it."""
    try:
        return ("folder" if stat.S_ISDIR(os.stat(full).st_mode) else "file"), ""  # noqa: PTH116 -- as above.
    except ValueError:
        return "absent", ""  # A NUL or half a character in a path.
    except OSError:
        pass  # Of a link the target may be at fault; what matters is the link.
    try:
        os.lstat(full)
    except OSError as error:
        return ("absent" if error.errno in _MISSING else "denied"), error.strerror or ""
    return "file", ""


def _files(seen: Iterable[_Seen]) -> Iterator[Found | Hurdle]:
    return (each for each in seen if not isinstance(each, _Folder))


def _walk(folder: str, root: str) -> Iterator[_Seen]:
    """Yield a folder and everything below it."""
    top = os.path.realpath(folder)
    known = {top}
    pending = [top]
    while pending:
        parent = pending.pop()
        entries = _list(parent)
        if isinstance(entries, Hurdle):
            yield entries
            continue
        yield _Folder(parent)
        for entry in entries:
            if entry.name.startswith("."):
                continue
            below = _enter(entry, parent, root)
            if isinstance(below, _Folder):
                if below.path not in known:
                    known.add(below.path)
                    pending.append(below.path)
            elif below is not None:
                yield below


def _list(folder: str) -> list[os.DirEntry[str]] | Hurdle:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        return _unreadable(folder, f"the folder cannot be read: {error.strerror}")


def _enter(entry: os.DirEntry[str], parent: str, root: str) -> _Seen | None:
    """Return what an entry of a real folder is; a folder with its real path."""
    try:
        is_folder = entry.is_dir()
    except OSError as error:
        if error.errno not in _DEAD_END:
            return _unreadable(entry.path, f"the link cannot be followed: {error.strerror}")
        is_folder = False
    if not is_folder:
        return Found(path=entry.path, is_real=not entry.is_symlink())
    if not entry.is_symlink():
        return _Folder(entry.path)
    real = os.path.realpath(entry.path)
    if _is_within(parent, real):
        return None  # Back to where the link stands: a circle, and wider than what was asked for.
    if not _is_within(real, root):
        return _unreadable(entry.path, f"the linked folder lies outside the source root {root}")
    return _Folder(real)


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _match(pattern: str, cwd: str, root: str) -> Iterator[Found | Hurdle]:
    """Yield what a pattern matches; `**` stands for any number of folders."""
    places = ["/" if pattern.startswith("/") else cwd]
    hurdles: list[Hurdle] = []
    for part in filter(None, pattern.split("/")):
        nearer: dict[str, None] = {}
        for place in places:
            nearer.update(dict.fromkeys(_step(place, part, root, hurdles)))
        places = list(nearer)
    yield from hurdles
    for place in places:
        if _probe(place)[0] == "folder":
            yield from _files(_walk(place, root))
        else:
            yield Found(path=place)
    if not places and not hurdles:
        yield Hurdle(reason="path_missing", why="no file matches this pattern")


def _step(place: str, part: str, root: str, hurdles: list[Hurdle]) -> Iterator[str]:
    """Yield the paths that one part of a pattern means in one folder."""
    if part == "**":
        for seen in _walk(place, root) if _probe(place)[0] == "folder" else ():
            if isinstance(seen, _Folder):
                yield seen.path
            elif isinstance(seen, Hurdle):
                hurdles.append(seen)
    elif not glob.has_magic(part):
        full = os.path.join(place, part)  # noqa: PTH118 -- as above.
        kind, why = _probe(full)
        if kind == "denied":
            hurdles.append(_unreadable(full, f"it cannot be looked at: {why}"))
        elif kind != "absent":
            yield full
    elif _probe(place)[0] == "folder":
        entries = _list(place)
        if isinstance(entries, Hurdle):
            hurdles.append(entries)
            return
        for entry in entries:
            is_hidden = entry.name.startswith(".") and not part.startswith(".")
            if not is_hidden and fnmatchcase(entry.name, part):
                yield os.path.join(place, entry.name)  # noqa: PTH118 -- as above.


def _unreadable(path: str, why: str) -> Hurdle:
    return Hurdle(reason="source_unreadable", path=path, why=why)
