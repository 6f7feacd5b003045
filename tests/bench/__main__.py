"""Measures every topic and prints one table.

    python -m tests.bench [--quick] [--only NAME ...]

The exit status tells whether everything could be measured, never whether a bar is met.
"""

import argparse
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Final, TypeAlias

import trio

from tests.bench import adb, coldstart, deadline, engine, events, preflight, wda
from tests.bench.farm import Farm, open_farm
from tests.bench.scale import QUICK, Scale
from tests.bench.table import Row, render_table, render_verdict

Topic: TypeAlias = Callable[[Scale], Awaitable[list[Row]]]
FarmTopic: TypeAlias = Callable[[Farm, Scale], Awaitable[list[Row]]]

TOPICS: Final[Mapping[str, Topic]] = {
    "engine": engine.measure,
    "coldstart": coldstart.measure,
    "preflight": preflight.measure,
    "events": events.measure,
}
FARM_TOPICS: Final[Mapping[str, FarmTopic]] = {
    "adb": adb.measure,
    "wda": wda.measure,
    "deadline": deadline.measure,
}


async def measure(names: Sequence[str], scale: Scale) -> list[Row]:
    """Measure the named topics; those that need phones come last and share one farm."""
    rows: list[Row] = []
    for name, topic in TOPICS.items():
        if name in names:
            _say(name)
            rows += await topic(scale)
    wanted = {name: topic for name, topic in FARM_TOPICS.items() if name in names}
    if wanted:
        async with open_farm(android=scale.devices, ios=scale.devices) as farm:
            for name, farm_topic in wanted.items():
                _say(name)
                rows += await farm_topic(farm, scale)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, measure, print."""
    known = (*TOPICS, *FARM_TOPICS)
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measured figures.")
    parser.add_argument("--only", action="append", choices=known, metavar="NAME", help=f"{known}")
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, no figures")
    options = parser.parse_args(arguments)
    rows = trio.run(measure, options.only or known, QUICK if options.quick else Scale())
    print(render_machine())
    print(render_table(rows))
    print(render_verdict(rows))


def render_machine() -> str:
    """Return what the figures depend on."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    python = ".".join(map(str, sys.version_info[:3]))
    packages = ", ".join(f"{name} {version(name)}" for name in ("trio", "adbutils", "facebook-wda"))
    machine = f"{os.cpu_count()} cores, load {load}, yardstick {yardstick_ms():.0f} ms"
    return f"{machine}; Python {python}, {packages}"


def yardstick_ms() -> float:
    """Return how long this machine takes for a fixed piece of pure Python, at its best.

    It tells figures of different machines, and of busy and quiet moments, apart.
    """
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        sum(number * number for number in range(200_000))
        best = min(best, time.perf_counter() - began)
    return best * 1000


def _say(name: str) -> None:
    print(f"measuring {name} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
