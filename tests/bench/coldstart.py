"""How long the command line takes from nothing to its answer, with compiled modules."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

import trio

from tests.bench.compiled import compiled_environment
from tests.bench.sample import Sample
from tests.bench.scale import Scale
from tests.bench.table import Bar, Row, render_ratio

PYTHON: Final = "python -c pass"
VERSION: Final = "sweepgrid --version"
CHECK: Final = "sweepgrid check one.ad"
_BARS: Final = {VERSION: Bar(60), CHECK: Bar(400)}
_LIMIT_S: Final = 30.0
_FLOW: Final = """context platform=android
open com.example.shop
press "id=com.example.shop:id/login"
wait "label=Home" 5000
close
"""


async def measure(scale: Scale) -> list[Row]:
    """Return the rows for the two commands, beside the bare interpreter."""
    command = Path(sys.executable).with_name("sweepgrid")
    with tempfile.TemporaryDirectory(prefix="sweepgrid-bench-") as folder:
        (Path(folder) / "one.ad").write_text(_FLOW)
        words = {
            PYTHON: [sys.executable, "-c", "pass"],
            VERSION: [str(command), "--version"],
            CHECK: [str(command), "check", "one.ad", "--root", folder],
        }
        wall: dict[str, list[float]] = {what: [] for what in words}
        cpu: dict[str, list[float]] = {what: [] for what in words}
        for turn in range(scale.starts + 1):
            for what, call in words.items():
                wall_ms, cpu_ms = await trio.to_thread.run_sync(_start, call, Path(folder))
                if turn:  # The first start compiles.
                    wall[what].append(wall_ms)
                    cpu[what].append(cpu_ms)
    bare = Sample(tuple(wall[PYTHON]))
    return [_row(what, Sample(tuple(wall[what])), Sample(tuple(cpu[what])), bare) for what in words]


def _start(words: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its wall time and its processor time in milliseconds."""
    began = time.perf_counter()
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=compiled_environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # A wait with a time limit would poll, in steps as long as what is measured.
    guard = threading.Timer(_LIMIT_S, process.kill)
    guard.start()
    _, status, used = os.wait4(process.pid, 0)
    spent = time.perf_counter() - began
    guard.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise AssertionError(f"{words} ended with {process.returncode}")
    return spent * 1000, (used.ru_utime + used.ru_stime) * 1000


def _row(what: str, wall: Sample, cpu: Sample, bare: Sample) -> Row:
    return Row(
        what=f"cold start: {what}",
        value=wall.median,
        unit="ms",
        tail=min(wall.ms),
        tail_name="min",
        bar=_BARS.get(what),
        beside="" if what == PYTHON else render_ratio(wall.median, bare.median, PYTHON),
        note=f"median {cpu.median:.0f} ms CPU",
    )
