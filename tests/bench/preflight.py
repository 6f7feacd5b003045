"""The preflight of a large suite, cold: one command from nothing, over files that are all new."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import trio

from tests.bench.compiled import compiled_environment
from tests.bench.corpus import write_suite
from tests.bench.scale import Scale
from tests.bench.table import Bar, Row
from tests.shape import gates

_LIMIT_S: Final = 150.0
_BARS: Final = {10_000: Bar(5)}


async def measure(scale: Scale) -> list[Row]:
    """Return a row for each size of suite."""
    with tempfile.TemporaryDirectory(prefix="sweepgrid-bench-") as name:
        folder = Path(name)
        await _check(folder, 1)  # The first start compiles.
        return [await _check(folder, flows) for flows in scale.flows]


async def _check(folder: Path, flows: int) -> Row:
    suite = folder / f"suite-{flows}"
    await trio.to_thread.run_sync(write_suite, suite, flows)
    began = time.perf_counter()
    with trio.fail_after(_LIMIT_S):
        done = await trio.run_process(
            [sys.executable, "-m", "tests.bench.preflighter", str(suite)],
            cwd=gates.ROOT,
            env=compiled_environment(folder),
            capture_stdout=True,
            stderr=subprocess.DEVNULL,
        )
    spent = time.perf_counter() - began
    said = json.loads(done.stdout)
    if said["exit"] != 0:
        raise AssertionError(f"the suite is not clean: exit {said['exit']}")
    return Row(
        what=f"preflight, {flows:,} composed flows, cold",
        value=spent,
        unit="s",
        bar=_BARS.get(flows),
        note=(
            f"the whole of `sweepgrid check`; {said['cpu_s']:.1f} s CPU, "
            f"{said['rss_kb'] / 1024:.0f} MB RSS at most"
        ),
    )
