"""The preflight of a large suite: from nothing, from the cache, and with broken flows in it."""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from tests.bench.compiled import compiled_environment
from tests.bench.corpus import write_suite
from tests.bench.scale import Scale
from tests.bench.table import Bar, Row
from tests.shape import gates

_LIMIT_S: Final = 150.0
_COLD: Final = Bar(5)
_CACHED: Final = Bar(2)
_BARRED: Final = 10_000
_BROKEN_EVERY: Final = 100


async def measure(scale: Scale) -> list[Row]:
    """Return the rows of each size of suite: medians of as many rounds as the scale asks for."""
    with tempfile.TemporaryDirectory(prefix="sweepgrid-bench-") as name:
        folder = Path(name)
        suite = await _write(folder, 1)
        await _check(folder, suite, status=0)  # The first start compiles.
        return [row for flows in scale.flows for row in await _measure_suite(folder, flows, scale)]


async def _measure_suite(folder: Path, flows: int, scale: Scale) -> list[Row]:
    suite = await _write(folder, flows)
    broken = await _write(folder, flows, broken_every=_BROKEN_EVERY)
    cold: list[_Run] = []
    cached: list[_Run] = []
    mixed: list[_Run] = []
    for _ in range(scale.rounds):
        for tree, status, runs in ((suite, 0, cold), (suite, 0, cached), (broken, 3, mixed)):
            if runs is not cached:
                shutil.rmtree(folder / "cache", ignore_errors=True)
            runs.append(await _check(folder, tree, status=status))
    has_bar = flows == _BARRED
    what = f"preflight, {flows:,} composed flows"
    return [
        _row(f"{what}, cold", cold, _COLD if has_bar else None),
        _row(f"{what}, cached", cached, _CACHED if has_bar else None),
        _row(f"{what}, cold, 1 % of them broken", mixed, None),
    ]


class _Run(Struct, frozen=True):
    """One check: seconds on the clock, and what its process used."""

    spent: float
    cpu: float
    rss_mb: float


def _row(what: str, runs: list[_Run], bar: Bar | None) -> Row:
    cpu = statistics.median(run.cpu for run in runs)
    rss = max(run.rss_mb for run in runs)
    return Row(
        what=what,
        value=statistics.median(run.spent for run in runs),
        unit="s",
        bar=bar,
        note=f"the whole of `sweepgrid check`; {cpu:.1f} s CPU and {rss:.0f} MB RSS, helpers apart",
    )


async def _write(folder: Path, flows: int, *, broken_every: int = 0) -> Path:
    suite = folder / f"suite-{flows}-{broken_every}"
    await trio.to_thread.run_sync(partial(write_suite, suite, flows, broken_every=broken_every))
    return suite


async def _check(folder: Path, suite: Path, *, status: int) -> _Run:
    environment = compiled_environment(folder)
    began = time.perf_counter()
    with trio.fail_after(_LIMIT_S):
        done = await trio.run_process(
            [sys.executable, "-m", "tests.bench.preflighter", str(suite)],
            cwd=gates.ROOT,
            env={**environment, "SWEEPGRID_CACHE": str(folder / "cache")},
            capture_stdout=True,
            stderr=subprocess.DEVNULL,
        )
    spent = time.perf_counter() - began
    said = json.loads(done.stdout)
    if said["exit"] != status:
        raise AssertionError(f"the suite is not as written: exit {said['exit']}")
    return _Run(spent, said["cpu_s"], said["rss_kb"] / 1024)
