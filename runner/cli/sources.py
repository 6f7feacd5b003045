"""From the command line and the environment to preflight settings and a grid file.

May be imported by: runner.cli. Imports: runner.preflight, runner.cli.request, grid.inventory.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

from grid.inventory import Inventory, load_inventory
from runner.cli.request import PreflightRequest, one_of
from runner.errors import InputError
from runner.formats.ad.reader import AdLevel
from runner.formats.ad.variables import SHELL_PREFIX, parse_assignment
from runner.model.ids import PLATFORMS, Platform
from runner.preflight.select import find_root
from runner.preflight.settings import PreflightSettings

GRID_VARIABLE = "SWEEPGRID_GRID"
DEFAULT_GRID = Path("grid.toml")
_DIGEST: Final = re.compile(r"(sha256:)?[0-9a-f]{64}")


def grid_path(given: Path | None) -> Path | None:
    """Return the grid file: the one given, then the environment's, then `./grid.toml`."""
    if given is not None:
        return given
    named = os.environ.get(GRID_VARIABLE)
    if named:
        return Path(named)
    return DEFAULT_GRID if DEFAULT_GRID.is_file() else None


def grid_of(given: Path | None) -> Inventory | None:
    """Load the grid file, if there is one. Reasons: `grid_file_unreadable`, `grid_file_invalid`."""
    path = grid_path(given)
    return None if path is None else load_inventory(path)


def required_grid_path(given: Path | None) -> Path:
    """Return the grid file of a command that needs one. Reasons: `grid_file_absent`."""
    path = grid_path(given)
    if path is None:
        raise InputError(
            reason="grid_file_absent",
            message=f"no grid file: no --grid, no ${GRID_VARIABLE}, and no {DEFAULT_GRID} here",
        )
    return path


def platforms_of(grid: Inventory) -> tuple[Platform, ...]:
    """Return the platforms that a grid file speaks of."""
    present: dict[Platform, bool] = {"android": bool(grid.adb), "ios": bool(grid.wda)}
    return tuple(platform for platform in PLATFORMS if present[platform])


def settings_of(
    request: PreflightRequest,
    *,
    platforms: Sequence[Platform],
    stated: Sequence[Platform] | None = None,
    plan_ms: int | None = None,
    retries: int | None = None,
) -> PreflightSettings:
    """Return what preflight needs; `stated` are the platforms that a grid file speaks of.

    Reasons: `option_invalid`, `variable_invalid`.
    """
    platform = request.platform
    if platform is not None:
        one_of("--platform", platform, PLATFORMS)
    if "" in request.paths:
        raise InputError(
            reason="path_missing",
            message="a path is empty",
            details={"argument": ""},
            hint="Name a file or a folder; `.` is the current folder.",
        )
    if request.root is not None and not request.root.is_dir():
        raise InputError(
            reason="option_invalid",
            message=f"--root is {str(request.root)[:300]!r}, which is no folder",
            details={"option": "--root", "value": str(request.root)[:300]},
            hint="Name the folder that holds the flows and their fragments.",
        )
    return PreflightSettings(
        root=str(request.root) if request.root is not None else default_root(request.paths),
        cwd=_current_folder(),
        platform=cast("Platform | None", platform),
        grid_platforms=tuple(platforms),
        stated_platforms=None if stated is None else tuple(stated),
        variables=dict(parse_assignment(text) for text in request.env),
        environ=_environment(),
        ad_level=ad_level_of(request),
        expect_digests=expected_digests(request.expect_digests),
        secrets=request.secrets,
        timeout_ms=plan_ms,
        retries=retries,
    )


def _environment() -> dict[str, str]:
    """Return the environment, in which every variable of a flow is text.

    Reasons: `variable_invalid`.
    """
    for name, value in os.environ.items():
        if name.startswith(SHELL_PREFIX):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InputError(
                    reason="variable_invalid",
                    message=f"the value of {name[:80]!r} in the environment is not UTF-8",
                    details={"name": name[:80]},
                ) from error
    return dict(os.environ)


def expected_digests(texts: Sequence[str]) -> dict[str, str]:
    """Return the digest that is expected of each path, from `PATH=DIGEST`.

    Reasons: `option_invalid`.
    """
    expected: dict[str, str] = {}
    for text in texts:
        path, _, digest = text.rpartition("=")
        if not path or not _DIGEST.fullmatch(digest):
            raise InputError(
                reason="option_invalid",
                message=f"--expect-digest is {text[:300]!r}; it must be PATH=DIGEST, where DIGEST "
                "is `sha256:` and 64 hex digits, or the 64 of a plan digest alone",
                details={"option": "--expect-digest", "value": text[:300]},
                hint="`sweepgrid digest FILE` prints the digests of a file.",
            )
        if expected.setdefault(path, digest) != digest:
            raise InputError(
                reason="option_invalid",
                message=f"--expect-digest gives {path[:300]!r} two digests",
                details={"option": "--expect-digest", "value": text[:300]},
            )
    return expected


def ad_level_of(request: PreflightRequest) -> AdLevel:
    """Return the compatibility level that was asked for. Reasons: `option_invalid`."""
    return cast("AdLevel", one_of("--ad-level", request.ad_level, ("main", "0.21")))


def default_root(paths: Sequence[str]) -> str:
    """Return the source root for a caller who gives none.

    It is the repository's top, else the current folder, when the first of `paths` that exists lies
    there. Flows that lie elsewhere have a root of their own: the top of their repository, else
    their folder. What else is named widens no root: a boundary that moves is none.
    """
    here = Path(find_root(_current_folder()))
    named = next((Path(path).resolve() for path in paths if path and os.path.exists(path)), None)  # noqa: PTH110  # Path.exists raises for a name that is too long.
    if named is None or named.is_relative_to(here):
        return str(here)
    return find_root(str(named if named.is_dir() else named.parent))


def _current_folder() -> str:
    """Return the current folder. Reasons: `path_missing`."""
    try:
        return os.getcwd()  # noqa: PTH109 -- as the errors that it raises.
    except OSError as error:
        raise InputError(
            reason="path_missing",
            message=f"the current folder cannot be told: {error.strerror}",
            details={"argument": "."},
            hint="It may have been removed: change to another folder.",
        ) from error
