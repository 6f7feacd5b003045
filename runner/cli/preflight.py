"""The preflight of a whole sweep, with everything this machine has: processors and a cache.

May be imported by: runner.cli. Imports: runner.preflight, runner.cli.output.
"""

import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from runner.cli.output import write_people
from runner.preflight.bulk import open_bulk
from runner.preflight.cache import default_folder
from runner.preflight.settings import Preflight, PreflightSettings
from runner.preflight.sweep import check_sweep

CACHE_VARIABLE: Final = "SWEEPGRID_CACHE"
"""A folder for the cache of read sources, or `off`; by default it is the user's."""


def run_preflight(paths: Sequence[str], settings: PreflightSettings) -> Preflight:
    """Check everything that the sweep over `paths` would run."""
    is_collecting = gc.isenabled()
    gc.disable()  # Everything that is made here stays; looking at it again and again takes long.
    try:
        with open_bulk(cache_folder=_cache_folder()) as bulk:
            preflight = check_sweep(paths, settings, bulk=bulk)
    finally:
        if is_collecting:
            gc.enable()
    for notice in bulk.notices:
        write_people(f"note: {notice}")
    return preflight


def _cache_folder() -> Path | None:
    given = os.environ.get(CACHE_VARIABLE, "")
    if given == "off":
        return None
    return Path(given) if given else default_folder(os.environ)
