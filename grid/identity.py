"""Which phone it is, whichever way it is reached: two routes to one phone are one device.

May be imported by: grid, tests. Imports: runner.model, runner.errors, trio.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, final

import trio

from runner.errors import DeviceError
from runner.model.device import DeviceFacts
from runner.model.ids import DeviceId

Identify: TypeAlias = Callable[[], Awaitable[str]]
"""Returns the `hardware_id` of a phone, empty where it does not tell. Raises `RunnerError`."""


async def ask_identity(identify: Identify, *, limit_s: float) -> str:
    """Return what the phone says that it is. Reasons: `device_unhealthy`, and its own."""
    with trio.move_on_after(limit_s):
        return await identify()
    raise DeviceError(
        kind="device_busy",
        reason="device_unhealthy",
        message=f"the device did not say which one it is in {limit_s:g} s",
    )


def phone_key(facts: DeviceFacts) -> str:
    """Return what all routes to one phone have in common, as far as it is known."""
    return f"{facts.platform}:{facts.hardware_id or facts.serial or facts.id}"


@final
class Claims:
    """Which entry of a pool uses which phone."""

    def __init__(self) -> None:
        self._owners: dict[str, DeviceId] = {}

    def claim(self, facts: DeviceFacts) -> DeviceId | None:
        """Claim the phone; return who has it when it is somebody else's."""
        owner = self._owners.setdefault(phone_key(facts), facts.id)
        return None if owner == facts.id else owner
