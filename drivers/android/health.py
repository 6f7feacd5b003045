"""Whether a device can take a plan, and what it is.

Pure readings of two shells. A fact that the device does not tell is no reason to refuse it.

May be imported by: drivers.android, tests. Imports: runner.model.device.
"""

import re
from typing import Final

from msgspec import Struct

from runner.model.device import DeviceFacts, HealthReport
from runner.model.ids import DeviceId

MIN_BATTERY_PERCENT: Final = 10
MIN_FREE_KIB: Final = 200 * 1024

_PROPERTIES: Final = (
    "ro.product.model",
    "ro.build.version.release",
    "ro.build.version.sdk",
    "ro.build.characteristics",
    "ro.kernel.qemu",
    "ro.hardware",
    "ro.serialno",
)
FACTS_COMMAND: Final = "; ".join(f"getprop {name}" for name in _PROPERTIES)

HEALTH_COMMAND: Final = (
    "getprop sys.boot_completed; "
    "dumpsys battery | grep -E 'level|powered'; "
    "dumpsys power | grep mWakefulness=; "
    "dumpsys window | grep -E 'mDreamingLockscreen=|isKeyguardShowing=|mShowingLockscreen='; "
    "dumpsys diskstats | grep Data-Free"
)

_VIRTUAL_HARDWARE: Final = frozenset({"goldfish", "ranchu", "cutf_cvm", "sweepgrid"})
_LEVEL: Final = re.compile(r"^\s*level:\s*(\d+)", re.MULTILINE)
_POWERED: Final = re.compile(r"powered:\s*true")
_LOCKED: Final = re.compile(r"(?:mDreamingLockscreen|isKeyguardShowing|mShowingLockscreen)=true")
_FREE: Final = re.compile(r"Data-Free:\s*(\d+)K")


IDENTITY_COMMAND: Final = "getprop ro.serialno"

_SHARED_SERIALS: Final = re.compile(r"EMULATOR.*|unknown|0123456789ABCDEF|0*", re.IGNORECASE)
"""What emulators and phones of careless makers all call themselves."""


class Build(Struct, frozen=True, kw_only=True):
    """What a device is: the facts for everyone, and what the driver alone needs."""

    facts: DeviceFacts
    sdk: int


def read_build(text: str, *, device_id: DeviceId, serial: str) -> Build:
    """Return what the output of `FACTS_COMMAND` tells: one line for each property, maybe empty."""
    lines = [part.strip() for part in text.split("\n")]
    values = dict(zip(_PROPERTIES, lines + [""] * len(_PROPERTIES), strict=False))
    sdk = values["ro.build.version.sdk"]
    return Build(
        facts=DeviceFacts(
            id=device_id,
            platform="android",
            serial=serial,
            model=values["ro.product.model"],
            os_version=values["ro.build.version.release"],
            target="tv" if "tv" in values["ro.build.characteristics"].split(",") else "mobile",
            is_virtual=values["ro.kernel.qemu"] == "1"
            or values["ro.hardware"] in _VIRTUAL_HARDWARE,
            hardware_id=read_identity(values["ro.serialno"]),
        ),
        sdk=int(sdk) if sdk.isdecimal() and len(sdk) < 6 else 0,
    )


def read_identity(text: str) -> str:
    """Return what tells a phone from all others, from `ro.serialno`; empty where it does not."""
    serial = text.strip()
    return "" if _SHARED_SERIALS.fullmatch(serial) else serial


def is_asleep(text: str) -> bool:
    """Tell whether the output of `HEALTH_COMMAND` says that the screen is off."""
    return "mWakefulness=Asleep" in text or "mWakefulness=Dozing" in text


def judge_health(text: str, *, facts: DeviceFacts) -> HealthReport:
    """Return what the output of `HEALTH_COMMAND` says.

    Reasons: `device_booting`, `device_locked`, `device_battery_low`, `device_storage_low`.
    """
    if text.split("\n", 1)[0].strip() != "1":
        return _unhealthy("device_booting", "the device has not finished its start", facts)
    if _LOCKED.search(text) or is_asleep(text):
        return _unhealthy("device_locked", "the screen is locked or off", facts)
    level = _LEVEL.search(text)
    if level is not None and int(level[1]) < MIN_BATTERY_PERCENT and not _POWERED.search(text):
        return _unhealthy("device_battery_low", f"the battery is at {level[1]} %", facts)
    free = _FREE.search(text)
    if free is not None and int(free[1]) < MIN_FREE_KIB:
        return _unhealthy(
            "device_storage_low", f"only {int(free[1]) // 1024} MiB are free on /data", facts
        )
    return HealthReport(health="healthy", facts=facts)


def _unhealthy(reason: str, message: str, facts: DeviceFacts) -> HealthReport:
    return HealthReport(health="unhealthy", reason=reason, message=message, facts=facts)
