"""The Android system around a virtual phone: properties, settings, disk, names of activities.

What the shell's commands and the adb services have in common. One belongs to one phone and one
adbd; it outlives connections, as a phone outlives its cable.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections.abc import Mapping
from typing import Final, final

from msgspec import Struct

from grid.lab.appfile import AppSpec
from grid.lab.disk import VirtualDisk
from grid.lab.phone import SimPhone

LATIN_IME: Final = "com.android.inputmethod.latin/.LatinIME"
GRANT_ACTIVITY: Final = ".permission.ui.GrantPermissionsActivity"
BOOT_S: Final = 1.0
"""How long `sys.boot_completed` stays empty after a reboot."""

_BOOT_PROPS: Final = ("sys.boot_completed", "dev.bootcomplete")
_SDK: Final[Mapping[str, str]] = {
    "9": "28",
    "10": "29",
    "11": "30",
    "12": "31",
    "13": "33",
    "14": "34",
    "15": "35",
    "16": "36",
}


class LatencyProfile(Struct, frozen=True, kw_only=True):
    """How long things take on the phone, in milliseconds. The default is as fast as can be.

    With `is_idle_awaited` a dump waits until the screen is at rest, as UiAutomator does.
    """

    shell_ms: float = 0
    dump_ms: float = 0
    screencap_ms: float = 0
    is_idle_awaited: bool = False


FAST: Final = LatencyProfile()
LIFELIKE: Final = LatencyProfile(shell_ms=20, dump_ms=1_200, screencap_ms=250, is_idle_awaited=True)


@final
class AndroidSystem:
    """State of the Android around one phone."""

    def __init__(self, phone: SimPhone, *, profile: LatencyProfile = FAST) -> None:
        self.phone = phone
        self.profile = profile
        self.disk = VirtualDisk(phone.clock)
        self.is_rebooting = False
        self._boots_until = phone.clock()
        self.density = round(160 * phone.scale)
        self.settings: dict[tuple[str, str], str] = {
            ("secure", "default_input_method"): LATIN_IME,
            ("secure", "enabled_input_methods"): LATIN_IME,
            ("global", "window_animation_scale"): "1.0",
            ("global", "transition_animation_scale"): "1.0",
            ("global", "animator_duration_scale"): "1.0",
            ("global", "airplane_mode_on"): "0",
            ("global", "device_name"): phone.model,
            ("system", "screen_off_timeout"): "60000",
        }
        slug = phone.model.lower().replace(" ", "_")
        self._props: dict[str, str] = {
            "ro.product.name": slug,
            "ro.product.model": phone.model,
            "ro.product.device": slug,
            "ro.product.brand": "sweepgrid",
            "ro.product.manufacturer": "sweepgrid",
            "ro.product.cpu.abi": "arm64-v8a",
            "ro.build.version.release": phone.os_version,
            "ro.build.version.sdk": _SDK.get(phone.os_version.partition(".")[0], "34"),
            "ro.build.characteristics": "default",
            "ro.build.type": "user",
            "ro.build.fingerprint": f"sweepgrid/{slug}/{slug}:{phone.os_version}/LAB/1:user",
            "ro.serialno": phone.serial,
            "ro.boot.serialno": phone.serial,
            "ro.kernel.qemu": "1",
            "ro.hardware": "lab",
            "ro.sf.lcd_density": str(self.density),
            "init.svc.bootanim": "stopped",
            "persist.sys.locale": "en-US",
            "persist.sys.timezone": "Etc/UTC",
        }

    @property
    def size_px(self) -> tuple[int, int]:
        """The screen's width and height in pixels."""
        return round(self.phone.width * self.phone.scale), round(
            self.phone.height * self.phone.scale
        )

    @property
    def is_booted(self) -> bool:
        """Whether the system is up; a reboot takes a while."""
        return self.phone.clock() >= self._boots_until

    def reboot(self) -> None:
        """Restart: processes end, the connection will be closed, booting takes a while."""
        self.phone.reboot()
        self.is_rebooting = True
        self._boots_until = self.phone.clock() + BOOT_S

    def props(self) -> dict[str, str]:
        """Return all properties."""
        done = "1" if self.is_booted else ""
        return {**self._props, **dict.fromkeys(_BOOT_PROPS, done)}

    def get_prop(self, name: str) -> str:
        """Return a property; empty when it does not exist."""
        if name in _BOOT_PROPS:
            return "1" if self.is_booted else ""
        return self._props.get(name, "")

    def set_prop(self, name: str, value: str) -> bool:
        """Set a property; False for one that a shell user may not set."""
        if name.startswith("ro."):
            return False
        self._props[name] = value
        return True

    def find_app(self, package: str) -> AppSpec | None:
        """Return an installed app."""
        return next((app for app in self.phone.installed if app.id == package), None)

    def focused_component(self) -> tuple[str, str]:
        """Return package and full class of the activity that has the focus."""
        alert = self.phone.alert()
        if alert is not None and alert.bundle == self.phone.names.permissions:
            return alert.bundle, alert.bundle + GRANT_ACTIVITY
        return self.resumed_component()

    def resumed_component(self) -> tuple[str, str]:
        """Return package and full class of the app in front."""
        front = self.phone.foreground
        app = self.find_app(front)
        return front, activity_class(front, app.activity if app else ".Launcher")


def activity_class(package: str, activity: str) -> str:
    """Return an activity's full class name."""
    return package + activity if activity.startswith(".") else activity


def short_component(package: str, activity: str) -> str:
    """Return `package/.Activity`, as the system prints it."""
    return f"{package}/{activity.removeprefix(package)}"
