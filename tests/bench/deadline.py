"""How late a call returns whose deadline has passed while the device stays silent."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

import adbutils
import trio

from drivers.android.client import AdbClient
from drivers.android.smartsocket import AdbEndpoint, run_shell
from drivers.ios.wda import Limits, Wda
from drivers.threads import run_blocking
from grid.lab.control import lab_clear_fault, lab_fault
from runner.errors import DeviceError
from tests.bench.farm import Farm
from tests.bench.sample import AsyncCall, Sample
from tests.bench.scale import Scale
from tests.bench.table import Bar, Row, render_ratio
from tests.bench.wda import open_stock, open_wda

DEADLINE_S: Final = 0.5
SILENCE_S: Final = 3.0
_COMMAND: Final = f"sleep {SILENCE_S:.0f}"
_BAR: Final = Bar(50)


async def measure(farm: Farm, scale: Scale) -> list[Row]:
    """Return the rows for adb and for WDA."""
    return [*await _measure_adb(farm, scale), *await _measure_wda(farm, scale)]


async def _measure_adb(farm: Farm, scale: Scale) -> list[Row]:
    endpoint, serials = farm.endpoint, farm.info.serials
    ours = await _miss_often([partial(run_shell, endpoint, serials[0], _COMMAND)], scale.misses)
    crowd = await _miss_often(
        [partial(run_shell, endpoint, serial, _COMMAND) for serial in serials], 1
    )
    limiter = trio.CapacityLimiter(1)
    tuned = await _miss_often([partial(_tuned_shell, endpoint, serials[0], limiter)], scale.misses)
    stock = await _miss_often([partial(_stock_shell, endpoint, serials[0])], 1)
    late = "late return, adb shell"
    return [
        _row(f"{late}, 1 device: sweepgrid", ours, bar=_BAR),
        _row(f"{late}, {len(serials)} devices at once: sweepgrid", crowd, bar=_BAR),
        _row(f"{late}, 1 device: adbutils, tuned", tuned, bar=_BAR, ours=ours),
        _row(f"{late}, 1 device: adbutils, stock, in a thread", stock, ours=ours),
    ]


async def _measure_wda(farm: Farm, scale: Scale) -> list[Row]:
    truth, udids, urls = farm.info.truth_url, farm.info.udids, farm.info.wda_urls
    late = "late return, hung WDA"
    async with open_wda(urls[0], Limits()) as client:
        await lab_fault(truth, udids[0], "wda_hang")
        ours = await _miss_often([partial(_hung_call, client)], scale.misses, has_own_limit=True)
        await lab_clear_fault(truth, udids[0], "wda_hang")
        await client.window_size()  # The client is of use again.
    stock_client = await trio.to_thread.run_sync(open_stock, urls[0])
    await lab_fault(truth, udids[0], "wda_hang", {"for_s": SILENCE_S})
    stock = await _miss_often([partial(trio.to_thread.run_sync, stock_client.window_size)], 1)
    return [
        _row(f"{late}, 1 device: sweepgrid", ours, bar=_BAR),
        _row(f"{late}, 1 device: facebook-wda, stock, in a thread", stock, ours=ours),
    ]


async def _hung_call(client: Wda) -> None:
    """Make a call that the driver's own limit must end."""
    try:
        await client.window_size(limit_s=DEADLINE_S)
    except DeviceError as error:
        if error.reason == "device_call_deadline":
            return
        raise
    raise AssertionError("a hung WDA answered")


async def _tuned_shell(endpoint: AdbEndpoint, serial: str, limiter: trio.CapacityLimiter) -> None:
    client = AdbClient(endpoint)

    def call() -> None:
        try:
            client.device(serial).shell(_COMMAND)
        finally:
            client.close()

    await run_blocking(call, limiter=limiter, on_cancel=client.abort)


async def _stock_shell(endpoint: AdbEndpoint, serial: str) -> None:
    client = adbutils.AdbClient(endpoint.host, endpoint.port)
    await trio.to_thread.run_sync(client.device(serial=serial).shell, _COMMAND)


async def _miss_often(
    calls: Sequence[AsyncCall], times: int, *, has_own_limit: bool = False
) -> Sample:
    """Let all calls miss the deadline at once, `times` times; return how late each came back."""
    late_ms: list[float] = []

    async def miss(call: AsyncCall) -> None:
        began = time.perf_counter()
        with trio.move_on_after(SILENCE_S * 10 if has_own_limit else DEADLINE_S):
            await call()
        late_ms.append((time.perf_counter() - began - DEADLINE_S) * 1000)

    for _ in range(times):
        async with trio.open_nursery() as nursery:
            for call in calls:
                nursery.start_soon(miss, call)
    return Sample(tuple(late_ms))


def _row(what: str, sample: Sample, *, bar: Bar | None = None, ours: Sample | None = None) -> Row:
    return Row(
        what=what,
        value=sample.median,
        unit="ms",
        tail=sample.worst,
        tail_name="max",
        bar=bar,
        beside="" if ours is None else render_ratio(sample.median, ours.median, "ours"),
    )
