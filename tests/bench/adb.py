"""Shell commands through the real adb server: our client, our tuned adbutils, stock adbutils."""

from collections.abc import Mapping
from functools import partial
from typing import Final

import adbutils

from drivers.android.client import AdbClient
from drivers.android.smartsocket import AdbEndpoint, run_shell
from tests.bench.contest import Result, Turn, compete
from tests.bench.farm import Farm
from tests.bench.sample import drive_tasks, drive_threads
from tests.bench.scale import Scale
from tests.bench.table import Bar, Row, render_ratio

COMMAND: Final = "getprop ro.product.model"
OURS, TUNED, STOCK = "sweepgrid", "adbutils, tuned", "adbutils, stock"
_SOCKET_LIMIT_S: Final = 20.0


async def measure(farm: Farm, scale: Scale) -> list[Row]:
    """Return the rows for one device and for all."""
    rows: list[Row] = []
    for count in (1, len(farm.info.serials)):
        turns = _turns(farm.endpoint, farm.info.serials[:count])
        results = await compete(farm, turns, rounds=scale.rounds, seconds=scale.turn_s)
        rows += _rows(results, count)
    return rows


def _turns(endpoint: AdbEndpoint, serials: tuple[str, ...]) -> Mapping[str, Turn]:
    ours = [partial(run_shell, endpoint, serial, COMMAND) for serial in serials]
    tuned = [partial(_tuned_shell, endpoint, serial) for serial in serials]
    client = adbutils.AdbClient(endpoint.host, endpoint.port, socket_timeout=_SOCKET_LIMIT_S)
    stock = [partial(client.device(serial=serial).shell, COMMAND) for serial in serials]
    return {
        OURS: partial(drive_tasks, ours),
        TUNED: partial(drive_threads, tuned),
        STOCK: partial(drive_threads, stock),
    }


def _tuned_shell(endpoint: AdbEndpoint, serial: str) -> str:
    """Make one call as the driver does: with a client of its own."""
    client = AdbClient(endpoint, socket_timeout=_SOCKET_LIMIT_S)
    try:
        return client.device(serial).shell(COMMAND)
    finally:
        client.close()


def _rows(results: Mapping[str, Result], count: int) -> list[Row]:
    rows = []
    ours = results[OURS].sample
    for name, result in results.items():
        sample = result.sample
        rows.append(
            Row(
                what=f"adb shell, {count} device{'s' if count > 1 else ''}: {name}",
                value=sample.median,
                unit="ms",
                tail=sample.p99,
                bar=Bar(1.2) if name == OURS and count == 1 else None,
                beside="" if name == OURS else render_ratio(sample.median, ours.median, "ours"),
                note=result.cost,
            )
        )
        if count > 1:
            rows.append(
                Row(
                    what=f"adb shells a second, {count} devices: {name}",
                    value=sample.per_s,
                    unit="/s",
                    tail=min(sample.rates),
                    tail_name="min",
                    bar=Bar(1400, ">=") if name == OURS else None,
                    beside="" if name == OURS else render_ratio(sample.per_s, ours.per_s, "ours"),
                )
            )
    return rows
