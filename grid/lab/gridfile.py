"""The grid file of a lab: written by it, and by it the lab is known.

May be imported by: grid.lab, runner.cli, tests. Imports: grid.lab.fleet, runner.errors.
"""

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from grid.lab.fleet import HOST, WDA_PORT, FleetInfo
from runner.errors import InputError

MAX_GRID_BYTES: Final = 1 << 20
GRID_MARK: Final = (
    "# Written by `sweepgrid lab up`; `sweepgrid lab down` ends the lab and removes it."
)
"""The first line of every lab's grid file."""


class LabTable(Struct, frozen=True, kw_only=True):
    """The `[lab]` table of a grid file."""

    pid: int
    truth_url: str
    usbmux_socket: str

    @property
    def folder(self) -> Path:
        """The lab's own folder."""
        return Path(self.usbmux_socket).parent


class _GridFile(Struct, frozen=True):
    lab: LabTable


def read_lab(grid_file: Path) -> LabTable:
    """Return the `[lab]` table of a grid file. Reasons: `lab_grid_invalid`."""
    try:
        with grid_file.open("rb") as opened:
            data = opened.read(MAX_GRID_BYTES + 1)
        if len(data) > MAX_GRID_BYTES:
            raise _grid_invalid(grid_file, "it is larger than 1 MiB")
        return msgspec.toml.decode(data, type=_GridFile).lab
    except OSError as error:
        raise _grid_invalid(grid_file, error.strerror or str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _grid_invalid(grid_file, str(error)) from error


def _grid_invalid(grid_file: Path, why: str) -> InputError:
    return InputError(
        reason="lab_grid_invalid",
        message=f"{grid_file} is not the grid file of a lab: {why}",
        details={"path": str(grid_file), "cause": why},
    )


def is_untouched(grid_file: Path) -> bool:
    """Tell whether a grid file begins as every lab writes it."""
    mark = GRID_MARK.encode()
    try:
        with grid_file.open("rb") as opened:
            return opened.read(len(mark)) == mark
    except OSError:
        return False


def render_grid(info: FleetInfo) -> str:
    """Return the grid file of a lab: a run on it needs nothing else.

    Every second iPhone is reached through usbmux, so that both routes are in use.
    """
    lines = [GRID_MARK, "version = 1"]
    if info.serials:
        serials = _render_value(list(info.serials))
        lines += [
            "",
            "[[adb]]",
            f"host = {_render_value(HOST)}",
            f"port = {info.adb_port}",
            "owned = false",
            f"connect = {serials}",
            f"serials = {serials}",
            'tags = ["lab"]',
        ]
    for number, (udid, url) in enumerate(zip(info.udids, info.wda_urls, strict=True), start=1):
        lines += ["", "[[wda]]"]
        if number % 2:
            lines += [f"url = {_render_value(url)}"]
        else:
            lines += [f"usbmux = {_render_value(info.usbmux_socket)}", f"port = {WDA_PORT}"]
        lines += [f"udid = {_render_value(udid)}", 'tags = ["lab"]']
    lines += [
        "",
        "[lab]",
        f"pid = {info.pid}",
        f"truth_url = {_render_value(info.truth_url)}",
        f"usbmux_socket = {_render_value(info.usbmux_socket)}",
    ]
    return "\n".join(lines) + "\n"


def _render_value(value: str | list[str]) -> str:
    # JSON's strings and lists of strings are TOML's as well.
    return msgspec.json.encode(value).decode()
