"""The device protocol: what every driver offers, in which units, with which errors.

Units: coordinates in the unit of the driver's own snapshots (pixels on Android, points on iOS),
durations in milliseconds. Errors: only `runner.errors.DeviceError`, whose `kind` says who is to
blame; foreign exceptions never leave a driver. Deadlines: every call is bounded by the driver's
own limits and may be cancelled at any time; it returns within 50 ms of cancellation and leaves its
connection usable or closed, never a stuck thread. A driver serialises its own calls: one device,
one command at a time. Optional capabilities are declared in `capabilities`, never guessed.

May be imported by: drivers, grid, runner.cli, tests. Imports: runner.model, runner.errors.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from runner.model.action import Action
from runner.model.device import DeviceFacts, HealthReport
from runner.model.screen import Snapshot

Capability: TypeAlias = Literal["recording", "clipboard", "multi_touch", "orientation", "logs"]


class ScreenRead(Struct, frozen=True, kw_only=True):
    """A snapshot and the raw document that it was read from (XML or JSON), for artifacts."""

    snapshot: Snapshot
    raw: bytes
    raw_kind: Literal["xml", "json"]


class Device(Protocol):
    """One device under command."""

    @property
    def facts(self) -> DeviceFacts:
        """What the device reported when it was opened."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The optional parts of this protocol that this device has."""
        ...

    async def snapshot(self) -> ScreenRead:
        """Capture the UI tree.

        Reasons: `screen_busy`, `screen_unreadable` and `screen_reader_died` (device_busy),
        `app_crashed` (product), and the losses.
        """
        ...

    async def perform(self, action: Action) -> str:
        """Carry out one action; return what it read, else an empty string."""
        ...

    async def screenshot(self) -> bytes:
        """Return the screen as a complete PNG, in screenshot pixels."""
        ...

    async def read_log(self) -> bytes:
        """Return the recent device log as UTF-8 text, newest last, at most 1 MiB.

        Without the capability `logs` it is the driver's own exchange with the device, and its
        first line says so.
        """
        ...

    async def check_health(self) -> HealthReport:
        """Probe whether the device can take a plan now. Never raises for an ill device."""
        ...


OpenDevice: TypeAlias = Callable[[], AbstractAsyncContextManager[Device]]
"""Opens one device of the inventory; leaving the context releases everything it holds."""

WaitLost: TypeAlias = Callable[[], Awaitable[None]]
"""Returns when the device is known to be gone."""
