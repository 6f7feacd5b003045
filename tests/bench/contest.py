"""A contest: several clients make the same call against the same devices, in turns.

The turns are short and repeated, so that a busy moment of the machine hits every client alike.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from tests.bench.farm import Farm
from tests.bench.sample import Sample, join

Turn: TypeAlias = Callable[[float], Awaitable[Sample]]
"""Makes calls for so many seconds."""


class Result(Struct, frozen=True, kw_only=True):
    """What one client did, and the processor time of each side for one of its calls, in ms."""

    sample: Sample
    client_ms: float
    lab_ms: float
    server_ms: float

    @property
    def cost(self) -> str:
        """Where the processor time of one call went."""
        parts = [("client", self.client_ms), ("adb server", self.server_ms), ("lab", self.lab_ms)]
        return ", ".join(f"{name} {ms:.2f}" for name, ms in parts if ms > 0.005) + " ms CPU a call"


async def compete(
    farm: Farm, turns: Mapping[str, Turn], *, rounds: int, seconds: float
) -> dict[str, Result]:
    """Let every client have `rounds` turns; the first, short one of each does not count."""
    for turn in turns.values():
        await turn(seconds / 4)
    samples: dict[str, list[Sample]] = {name: [] for name in turns}
    spent = dict.fromkeys(turns, (0.0, 0.0, 0.0))
    for _ in range(rounds):
        for name, turn in turns.items():
            before = (time.process_time(), *farm.cpu_s())
            samples[name].append(await turn(seconds))
            after = (time.process_time(), *farm.cpu_s())
            client, lab, server = (
                sofar + end - start
                for sofar, start, end in zip(spent[name], before, after, strict=True)
            )
            spent[name] = (client, lab, server)
    return {name: _result(join(samples[name]), spent[name]) for name in turns}


def _result(sample: Sample, spent: tuple[float, float, float]) -> Result:
    client, lab, server = (seconds * 1000 / len(sample.ms) for seconds in spent)
    return Result(sample=sample, client_ms=client, lab_ms=lab, server_ms=server)
