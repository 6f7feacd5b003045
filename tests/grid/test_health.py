# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import trio
from trio.testing import MockClock

from grid.health import check_gate
from runner.model.device import HealthReport
from tests.support.device import FakeDevice, FakePhone
from tests.support.plans import make_facts


async def test_the_drivers_report_is_passed_on() -> None:
    phone = FakePhone(make_facts("d"))

    assert (await check_gate(FakeDevice(phone))).health == "healthy"
    phone.health = HealthReport(health="unhealthy", reason="battery_low", message="3 %")

    assert await check_gate(FakeDevice(phone)) == phone.health


async def test_an_ill_device_without_a_reason_gets_one() -> None:
    phone = FakePhone(make_facts("d"))
    phone.health = HealthReport(health="unhealthy", message="odd")
    report = await check_gate(FakeDevice(phone))

    assert (report.health, report.reason) == ("unhealthy", "device_unhealthy")


async def test_a_device_that_does_not_answer_is_unhealthy(autojump_clock: MockClock) -> None:
    phone = FakePhone(make_facts("d"))
    phone.hangs = True
    begun = trio.current_time()
    report = await check_gate(FakeDevice(phone), limit_s=4)

    assert (report.health, report.reason) == ("unhealthy", "device_unhealthy")
    assert trio.current_time() - begun == 4


async def test_a_probe_that_raises_is_a_lost_or_unhealthy_device() -> None:
    phone = FakePhone(make_facts("d"))
    phone.unplug()

    assert (await check_gate(FakeDevice(phone))).health == "lost"
    phone.breaks_contract = True
    report = await check_gate(FakeDevice(phone))

    assert (report.health, report.reason) == ("unhealthy", "worker_fault")
