"""Which files a sweep is about: paths, folders and patterns to source names.

A folder is walked whole and sorted, without what begins with a dot; a pattern may name files and
folders. What is left out says so: a path that names nothing, cannot be read, or lies outside the
source root is a finding, because a flow that silently does not run looks like a green one.

May be imported by: runner.preflight, runner.cli. Imports: runner.compose, runner.model.
"""

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from runner.compose.source import Absent, SourceLoader
from runner.model.finding import Finding

AD_SUFFIX: Final = ".ad"


class Selection(Struct, frozen=True, kw_only=True):
    """The sources that were selected, sorted; `named` are those given by their own path."""

    names: tuple[str, ...]
    named: frozenset[str]
    problems: tuple[Finding, ...]


def find_root(cwd: str) -> str:
    """Return the source root for a caller who gives none: the repository's top, else `cwd`."""
    here = Path(cwd).resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return str(folder)
    return str(here)


def select_sources(paths: Sequence[str], *, cwd: str, loader: SourceLoader) -> Selection:
    """Return the `.ad` files that `paths` mean; other named files are problems."""
    names: set[str] = set()
    named: set[str] = set()
    problems: list[Finding] = []
    for path in paths:
        for file, is_named in _expand(path, cwd, problems):
            name = loader.adopt(file)
            if isinstance(name, Absent):
                problems.append(_problem("source_unreadable", path, name.message))
            elif not name.lower().endswith(AD_SUFFIX):
                problems.append(_foreign(name))
            else:
                names.add(name)
                if is_named:
                    named.add(name)
    return Selection(names=tuple(sorted(names)), named=frozenset(named), problems=tuple(problems))


def _expand(path: str, cwd: str, problems: list[Finding]) -> Iterator[tuple[str, bool]]:
    """Yield the files behind one argument, and whether it names them one by one."""
    full = os.path.join(cwd, path)  # noqa: PTH118 -- Path would drop a trailing `/` and `./`.
    if _is_folder(full):
        yield from ((file, False) for file in _walk(full, problems))
    elif os.path.lexists(full):
        yield full, True
    elif glob.has_magic(path):
        found = sorted(glob.glob(path, root_dir=cwd, recursive=True))  # noqa: PTH207 -- as above.
        if not found:
            problems.append(_problem("path_missing", path, "no file matches this pattern"))
        for match in found:
            full = os.path.join(cwd, match)  # noqa: PTH118 -- as above.
            if _is_folder(full):
                yield from ((file, False) for file in _walk(full, problems))
            elif match.lower().endswith(AD_SUFFIX):
                yield full, False
    else:
        problems.append(_problem("path_missing", path, "there is no such file or folder"))


def _walk(folder: str, problems: list[Finding]) -> Iterator[str]:
    def note(error: OSError) -> None:
        why = f"the folder cannot be read: {error.strerror}"
        problems.append(_problem("source_unreadable", str(error.filename), why))

    for parent, folders, files in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(AD_SUFFIX) and not name.startswith("."):
                yield os.path.join(parent, name)  # noqa: PTH118 -- os.walk speaks in strings.


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 -- a NUL in a path is no folder, not an error.


def _foreign(name: str) -> Finding:
    suffix = name.rpartition("/")[2].partition(".")[2]
    return Finding(
        reason="format_unsupported",
        path=name,
        message=f"{name} is no `.ad` script, and no other format can be run yet",
        details={"suffix": suffix},
        flows=(name,),
    )


def _problem(reason: str, path: str, why: str) -> Finding:
    shown = path.encode("utf-8", "backslashreplace").decode()
    return Finding(
        reason=reason, path=shown, message=f"{shown}: {why}", details={"argument": shown}
    )
