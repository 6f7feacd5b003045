"""Which files a sweep is about: paths, folders and patterns to source names.

A folder is walked whole; a pattern may name files and folders. In both, names that begin with a
dot are skipped (a pattern may spell the dot), and files that are flows of no known format are none
of our business. What else is left out says so: a path that names nothing, cannot be read, lies
outside the source root, or is a flow of a format that cannot be run is a finding, because a flow
that silently does not run looks like a green one.

May be imported by: runner.preflight, runner.cli. Imports: runner.compose, runner.preflight,
runner.model.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from runner.compose.source import Absent, SourceLoader
from runner.model.finding import Finding
from runner.preflight.foreign import detect_format, may_be_foreign, read_head
from runner.preflight.walk import Found, Hurdle, find_files

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
        for found in find_files(path, cwd=cwd, root=loader.root):
            name = _name(found, path, loader)
            if isinstance(name, Finding):
                problems.append(name)
            elif name is not None:
                names.add(name)
                if isinstance(found, Found) and found.is_named:
                    named.add(name)
    return Selection(names=tuple(sorted(names)), named=frozenset(named), problems=tuple(problems))


def _name(found: Found | Hurdle, argument: str, loader: SourceLoader) -> str | Finding | None:
    """Return the name of a script, what is wrong with it, or None for what concerns nobody."""
    if isinstance(found, Hurdle):
        path = argument if found.path is None else _shown(found.path, loader.root)
        return _problem(found.reason, path, found.why, argument)
    if not found.is_named and not found.path.lower().endswith(AD_SUFFIX):
        return _look(found.path, argument, loader)
    name = loader.adopt(found.path, is_real=found.is_real)
    if isinstance(name, Absent):
        path = argument if found.is_named else _shown(found.path, loader.root)
        return _problem("source_unreadable", path, name.message, argument)
    if name.lower().endswith(AD_SUFFIX):
        return name
    if not os.path.exists(found.path):  # noqa: PTH110 -- as everywhere here.
        path = argument if found.is_named else _shown(found.path, loader.root)
        return _problem("source_unreadable", path, "it is a link that leads nowhere", argument)
    return _foreign(name)


def _look(path: str, argument: str, loader: SourceLoader) -> Finding | None:
    """Return the problem of a file that nobody named, if it is a flow of another format."""
    if not may_be_foreign(path):
        return None
    try:
        head = read_head(path)
    except FileNotFoundError:
        return None  # A link without an end.
    except OSError as error:
        why = f"it cannot be told whether it is a flow: {error.strerror}"
        return _problem("source_unreadable", _shown(path, loader.root), why, argument)
    if head is None or detect_format(path, head) is None:
        return None
    name = loader.adopt(path)
    return _foreign(_shown(path, loader.root) if isinstance(name, Absent) else name)


def _shown(path: str, root: str) -> str:
    """Return a path as problems spell it: from the source root, links on the way resolved."""
    folder, name = os.path.split(path)
    real = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118 -- Path would normalise it.
    if real == root:
        return "."
    return real.removeprefix(root.rstrip("/") + "/")


def _foreign(name: str) -> Finding:
    suffix = name.rpartition("/")[2].partition(".")[2]
    return Finding(
        reason="format_unsupported",
        path=name,
        message=f"{name} is no `.ad` script, and no other format can be run yet",
        details={"suffix": suffix},
        flows=(name,),
    )


def _problem(reason: str, path: str, why: str, argument: str) -> Finding:
    shown, given = (text.encode("utf-8", "backslashreplace").decode() for text in (path, argument))
    return Finding(
        reason=reason, path=shown, message=f"{shown}: {why}", details={"argument": given}
    )
