"""Readings of a device's facts and health."""

import pytest

from drivers.android.health import is_asleep, judge_health, read_build
from runner.model.device import DeviceFacts
from runner.model.ids import DeviceId

FACTS = DeviceFacts(id=DeviceId("a"), platform="android", serial="s")

HEALTHY = """1
  AC powered: false
  USB powered: false
  level: 80
  mWakefulness=Awake
    mDreamingLockscreen=false mDreamingSleepToken=null
Data-Free: 110000000K / 112345678K total = 97% free
"""


def test_the_facts_are_read_line_by_line_even_where_one_is_empty() -> None:
    build = read_build(
        "Pixel 7\n14\n34\nnosdcard\n\npanther\nR58X\n", device_id=DeviceId("a"), serial="s:1"
    )

    assert build.facts == DeviceFacts(
        id=DeviceId("a"),
        platform="android",
        serial="s:1",
        model="Pixel 7",
        os_version="14",
        hardware_id="R58X",
    )
    assert build.sdk == 34


def test_a_television_and_an_emulator_are_known() -> None:
    build = read_build("X\n12\n31\nnosdcard,tv\n1\nranchu\n\n", device_id=DeviceId("a"), serial="s")

    assert build.facts.target == "tv"
    assert build.facts.is_virtual


def test_a_device_that_tells_nothing_has_no_facts() -> None:
    build = read_build("", device_id=DeviceId("a"), serial="s")

    assert build.facts == DeviceFacts(id=DeviceId("a"), platform="android", serial="s")
    assert build.sdk == 0


def test_a_healthy_device_is_healthy() -> None:
    assert judge_health(HEALTHY, facts=FACTS).health == "healthy"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("1\n", "\n", "device_booting"),
        ("mDreamingLockscreen=false", "mDreamingLockscreen=true", "device_locked"),
        ("mWakefulness=Awake", "mWakefulness=Asleep", "device_locked"),
        ("level: 80", "level: 4", "device_battery_low"),
        ("110000000", "1000", "device_storage_low"),
    ],
)
def test_an_ill_device_says_why(old: str, new: str, reason: str) -> None:
    report = judge_health(HEALTHY.replace(old, new, 1), facts=FACTS)

    assert (report.health, report.reason) == ("unhealthy", reason)


def test_a_low_battery_on_the_cable_is_well() -> None:
    text = HEALTHY.replace("level: 80", "level: 4").replace(
        "USB powered: false", "USB powered: true"
    )

    assert judge_health(text, facts=FACTS).health == "healthy"


def test_what_is_not_told_is_no_illness() -> None:
    assert judge_health("1\n", facts=FACTS).health == "healthy"


def test_sleep_is_seen() -> None:
    assert is_asleep("mWakefulness=Dozing")
    assert not is_asleep(HEALTHY)
