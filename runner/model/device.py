"""Facts about devices, as the grid file states them and as devices report them.

May be imported by: everyone. Imports: runner.model.ids.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from runner.model.ids import DeviceId, Platform


class DeviceFacts(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known about one device. Empty strings mean unknown.

    `target` is `mobile`, `tv` or `desktop`. `serial` is the adb serial or the UDID.
    `is_virtual` covers emulators, simulators and lab devices. `hardware_id` is what the phone
    itself says that it is (`ro.serialno`, WDA's device uuid), whichever way it is reached.
    """

    id: DeviceId
    platform: Platform
    serial: str
    model: str = ""
    os_version: str = ""
    target: Literal["mobile", "tv", "desktop"] = "mobile"
    is_virtual: bool = False
    tags: tuple[str, ...] = ()
    hardware_id: str = ""


Health: TypeAlias = Literal["healthy", "unhealthy", "lost"]


class HealthReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer of a health probe: the state, why, and what to do about it."""

    health: Health
    reason: str = ""
    message: str = ""
    facts: DeviceFacts | None = None
