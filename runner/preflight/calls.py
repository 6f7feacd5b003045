"""Calls that are printed for the reader to give: they mean what they mean where they are read.

May be imported by: runner.preflight. Imports: runner.compose, runner.preflight.
"""

import os
import shlex

from runner.compose.pin import PinCall, pin_command
from runner.preflight.select import find_root
from runner.preflight.settings import PreflightSettings


def pin_calls(settings: PreflightSettings) -> PinCall:
    """Return how a call of `sweepgrid pin` is spelled for who stands in the current folder."""
    root, here = os.path.realpath(settings.root), os.path.realpath(settings.cwd)
    is_near = os.path.commonpath([root, here]) in {root, here}
    way = os.path.relpath(root, here) if is_near else root
    options = "" if root == find_root(here) else f" --root {shlex.quote(way)}"
    if settings.ad_level != "main":
        options += f" --ad-level {settings.ad_level}"

    def call(path: str, call_site_id: str) -> str:
        shown = os.path.normpath(os.path.join(way, path))  # noqa: PTH118 -- text for a shell.
        return f"{pin_command(shown, call_site_id)}{options}"

    return call
