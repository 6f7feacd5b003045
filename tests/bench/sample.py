"""Samples: how long calls took, and how they are made by many devices at once."""

import math
import statistics
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeAlias

import trio
from msgspec import Struct

AsyncCall: TypeAlias = Callable[[], Awaitable[object]]
Call: TypeAlias = Callable[[], object]

ROUND_LIMIT_S: Final = 30.0
"""A round whose calls do not come back is given up."""


class Sample(Struct, frozen=True):
    """Latencies of single calls in milliseconds, and the rates of the rounds they come from."""

    ms: tuple[float, ...]
    rates: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """The middle latency."""
        return statistics.median(self.ms)

    @property
    def p99(self) -> float:
        """The latency that one call of a hundred exceeds."""
        return percentile(self.ms, 0.99)

    @property
    def worst(self) -> float:
        """The longest latency."""
        return max(self.ms)

    @property
    def per_s(self) -> float:
        """The middle of the rounds' rates."""
        return statistics.median(self.rates)


def percentile(values: Sequence[float], part: float) -> float:
    """Return the nearest-rank percentile."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(part * len(ranked)) - 1)]


def join(samples: Iterable[Sample]) -> Sample:
    """Return the rounds of one measurement as one."""
    parts = list(samples)
    return Sample(
        tuple(value for part in parts for value in part.ms),
        tuple(rate for part in parts for rate in part.rates),
    )


async def drive_tasks(calls: Sequence[AsyncCall], seconds: float) -> Sample:
    """Let each device make its calls one after the other, in a task."""
    ms: list[float] = []
    began = time.perf_counter()
    end = began + seconds

    async def work(call: AsyncCall) -> None:
        while (before := time.perf_counter()) < end:
            await call()
            ms.append((time.perf_counter() - before) * 1000)

    with trio.fail_after(seconds + ROUND_LIMIT_S):
        async with trio.open_nursery() as nursery:
            for call in calls:
                nursery.start_soon(work, call)
    return Sample(tuple(ms), (len(ms) / (time.perf_counter() - began),))


async def drive_threads(calls: Sequence[Call], seconds: float) -> Sample:
    """The same, in a thread a device, as blocking libraries are used."""
    return await trio.to_thread.run_sync(_drive_threads, calls, seconds)


def _drive_threads(calls: Sequence[Call], seconds: float) -> Sample:
    ms: list[float] = []
    errors: list[Exception] = []
    began = time.perf_counter()
    end = began + seconds

    def work(call: Call) -> None:
        try:
            while (before := time.perf_counter()) < end:
                call()
                ms.append((time.perf_counter() - before) * 1000)
        except Exception as error:  # noqa: BLE001  A thread has nobody to raise to.
            errors.append(error)

    threads = [threading.Thread(target=work, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=max(0.0, end + ROUND_LIMIT_S - time.perf_counter()))
    if errors:
        raise errors[0]
    if any(thread.is_alive() for thread in threads):
        raise TimeoutError(f"a call in a thread did not return in {ROUND_LIMIT_S:g} s")
    return Sample(tuple(ms), (len(ms) / (time.perf_counter() - began),))
