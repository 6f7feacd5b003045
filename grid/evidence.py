"""Collects what a device shows after a failure, each piece bounded in time.

What cannot be had is noted and changes nothing about the verdict.

May be imported by: grid, tests. Imports: drivers.protocol, grid.message, grid.play, trio.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, TypeVar

import trio

from drivers.protocol import Device, ScreenRead
from grid.play import Lapse, failure_of_any, never_lapses
from runner.model.artifact import ArtifactKind

_Piece = TypeVar("_Piece")

PIECE_S: Final = 5.0


class Evidence(Protocol):
    """Takes the pieces. Neither call waits."""

    def keep(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Take one piece."""
        ...

    def note(self, message: str) -> None:
        """Take the news that a piece could not be had."""
        ...


async def collect_evidence(
    device: Device, last: ScreenRead | None, evidence: Evidence, *, lapse: Lapse = never_lapses
) -> None:
    """Keep a screenshot, the tree that the failure was decided on, and the device's log.

    A phone whose lease is over is asked for nothing more: it may be somebody else's by now.
    """
    keep = partial(_keep, evidence, lapse)
    await keep("screenshot", device.screenshot, lambda png: ("failure.png", png))
    if last is not None:
        evidence.keep("hierarchy", f"failure.{last.raw_kind}", last.raw)
    else:
        await keep("hierarchy", device.snapshot, lambda r: (f"failure.{r.raw_kind}", r.raw))
    # Where a platform gives no log, this is what the driver exchanged with it, and says so.
    await keep("device_log", device.read_log, lambda log: ("failure.log", log))


async def _keep(
    evidence: Evidence,
    lapse: Lapse,
    kind: ArtifactKind,
    call: Callable[[], Awaitable[_Piece]],
    name: Callable[[_Piece], tuple[str, bytes]],
) -> None:
    lapsed = lapse()
    if lapsed is not None:
        evidence.note(f"no {kind} of the failure: {lapsed.message}")
        return
    try:
        with trio.fail_after(PIECE_S):
            piece = await call()
    except trio.TooSlowError:
        evidence.note(f"no {kind} of the failure: the device did not answer in {PIECE_S:g} s")
    except Exception as error:  # noqa: BLE001  # Evidence never decides; the cause is noted.
        evidence.note(f"no {kind} of the failure: {failure_of_any(error).message}")
    else:
        evidence.keep(kind, *name(piece))
