"""Crashes of the opened app: seen at the next look, with what the system wrote down."""

import pytest

from drivers.android.crash import Watched, crash_record
from runner.errors import DeviceError
from runner.model.action import CloseApp, OpenApp
from tests.drivers.android.test_device import APP, SIZE, WRITTEN, Phone, focus, opened
from tests.support.adb_server import Shell

JAVA = f"""--------- beginning of crash
12-01 10:00:00.001  4711  4711 E AndroidRuntime: FATAL EXCEPTION: main
12-01 10:00:00.001  4711  4711 E AndroidRuntime: Process: {APP}, PID: 4711
12-01 10:00:00.001  4711  4711 E AndroidRuntime: java.lang.NullPointerException: price
12-01 10:00:00.001  4711  4711 E AndroidRuntime: \tat {APP}.Cart.total(Cart.kt:12)
"""
NATIVE = f"""12-01 10:00:00.001  4800  4800 F DEBUG   : *** *** *** *** *** ***
12-01 10:00:00.001  4800  4800 F DEBUG   : pid: 4711, tid: 4711, name: main  >>> {APP} <<<
12-01 10:00:00.001  4800  4800 F DEBUG   : signal 11 (SIGSEGV), code 1 (SEGV_MAPERR)
"""
OPEN = OpenApp(app=f"{APP}/.Main")


def look(pids: str, front: str = APP) -> Shell:
    head = focus(front) + f"sweepgrid-app-pids={pids}\n".encode()
    return Shell(SIZE + head + WRITTEN + b"<hierarchy><node package='a' text='x'/></hierarchy>")


def phone_with(*looks: Shell, log: str = "", pids: bytes = b"4711\n") -> Phone:
    return Phone(
        {"uiautomator": list(looks), "logcat -b crash": Shell(log.encode()), "^pidof": Shell(pids)}
    )


async def crash_of(phone: Phone) -> DeviceError:
    async with opened(phone) as device:
        await device.perform(OPEN)
        await device.snapshot()
        with pytest.raises(DeviceError) as caught:
            await device.snapshot()
    return caught.value


@pytest.mark.parametrize(
    ("log", "said"), [(JAVA, "NullPointerException: price"), (NATIVE, "SIGSEGV")]
)
async def test_a_process_that_is_gone_with_a_record_is_a_crash(log: str, said: str) -> None:
    error = await crash_of(phone_with(look("4711"), look("", "com.android.launcher"), log=log))

    assert ("product", "app_crashed") == (error.kind, error.reason)
    assert said in error.message
    assert said in error.details["log"]
    assert {"app": APP, "pid": "4711", "foreground": "com.android.launcher"}.items() <= (
        error.details.items()
    )


async def test_a_process_that_is_gone_without_a_record_ended_by_itself() -> None:
    error = await crash_of(phone_with(look("4711"), look("", "com.android.launcher")))

    assert f"{APP} ended by itself" == error.message


async def test_an_app_that_the_system_started_again_after_a_crash_has_crashed() -> None:
    error = await crash_of(phone_with(look("4711"), look("4900"), log=JAVA))

    assert "app_crashed" == error.reason


async def test_an_app_that_started_itself_again_is_alive_with_its_new_process() -> None:
    phone = phone_with(look("4711"), look("4900"), look("4900 4901"), log="")
    async with opened(phone) as device:
        await device.perform(OPEN)
        for _ in range(3):
            await device.snapshot()

    assert 1 == len(phone.ran("logcat -b crash"))


async def test_nobody_asks_about_an_app_that_is_closed_or_whose_process_cannot_be_told() -> None:
    closed = phone_with(look("4711"), look(""))
    async with opened(closed) as device:
        await device.perform(OPEN)
        await device.snapshot()
        closed.front = "com.android.launcher"
        await device.perform(CloseApp(app=APP))
        await device.snapshot()
    untold = phone_with(look(""), pids=b"/system/bin/sh: pidof: not found\n")
    async with opened(untold) as device:
        await device.perform(OPEN)
        await device.snapshot()

    assert ["uiautomator" in command for command in closed.ran("echo sweepgrid")] == [True]
    assert [] == untold.ran("echo sweepgrid")


def test_only_the_record_of_this_process_counts() -> None:
    assert ("Process: " + APP + ", PID: 4711") == crash_record(JAVA, Watched(APP, "4711"))[0]
    assert () == crash_record(JAVA, Watched(APP, "471"))
    assert () == crash_record(JAVA, Watched("com.example", "4711"))
    assert () == crash_record("", Watched(APP, "4711"))
