"""Crashes of the opened app: seen at the next look, with what the system wrote down."""

import pytest

from drivers.android.crash import Watched, crash_record
from runner.errors import DeviceError
from runner.model.action import AcceptAlert, Back, CloseApp, Home, OpenApp, ReadAlert
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


def dialog(what: str, package: str = APP) -> Shell:
    """Return a look at the system's error dialog; the process stays while it is shown."""
    window = f"mCurrentFocus=Window{{3f2 u0 Application {what}: {package}}}\n"
    ids = "".join(
        f"<node package='android' resource-id='android:id/{name}' text='{name}' "
        "class='android.widget.Button' bounds='[0,0][10,10]'/>"
        for name in ("alertTitle", "aerr_wait")
    )
    head = f"{window}mFocusedApp=X{{1 u0 {APP}/.Main t1}}\nsweepgrid-app-pids=4711\n"
    return Shell(SIZE + head.encode() + WRITTEN + f"<hierarchy>{ids}</hierarchy>".encode())


async def test_the_systems_dialog_tells_a_crash_while_the_process_still_stands() -> None:
    error = await crash_of(phone_with(look("4711"), dialog("Error"), log=JAVA))

    assert ("product", "app_crashed") == (error.kind, error.reason)
    assert "NullPointerException: price" in error.message
    assert "Cart.kt:12" in error.details["log"]


async def test_an_app_that_does_not_respond_is_told_with_the_systems_reason() -> None:
    phone = phone_with(look("4711"), dialog("Not Responding"))
    event = f"I am_anr  : [0,4711,{APP},815316550,Input dispatching timed out]\n"
    phone.rules["logcat -b events"] = Shell(event.replace("4711", "12").encode() + event.encode())
    error = await crash_of(phone)

    assert ("product", "app_crashed") == (error.kind, error.reason)
    assert error.message.startswith(f"{APP} does not respond: ")
    assert event.strip() == error.details["log"]


async def test_a_step_about_the_dialog_of_a_hanging_app_finds_it() -> None:
    phone = phone_with(dialog("Not Responding"))
    async with opened(phone) as device:
        await device.perform(OPEN)
        text = await device.perform(ReadAlert())
        await device.perform(AcceptAlert())

    assert "alertTitle" == text
    assert 1 == len(phone.ran("^input tap|^input swipe"))


async def test_a_dialog_about_another_app_is_no_crash_of_ours() -> None:
    phone = phone_with(dialog("Error", "com.other"), dialog("Not Responding", "com.other"))
    async with opened(phone) as device:
        await device.perform(OPEN)
        for _ in range(2):
            await device.snapshot()

    assert [] == phone.ran("logcat")


async def test_a_screen_that_cannot_be_read_because_the_app_died_is_a_crash() -> None:
    busy = Shell(SIZE + b"sweepgrid-app-pids=\n", b"ERROR: could not get idle state.")
    error = await crash_of(phone_with(look("4711"), busy, log=JAVA))

    assert "app_crashed" == error.reason


async def test_a_screen_that_cannot_be_read_while_the_app_lives_is_busy() -> None:
    busy = Shell(SIZE + b"sweepgrid-app-pids=4711\n", b"ERROR: could not get idle state.")
    error = await crash_of(phone_with(look("4711"), busy))

    assert "screen_busy" == error.reason


@pytest.mark.parametrize("action", [Back(), Home()])
async def test_an_app_that_ends_without_a_record_after_it_was_left_is_no_crash(
    action: Back | Home,
) -> None:
    async with opened(phone_with(look("4711"), look("", "com.android.launcher"))) as device:
        await device.perform(OPEN)
        await device.snapshot()
        await device.perform(action)
        for _ in range(2):
            await device.snapshot()


async def test_an_app_that_crashes_on_back_has_crashed() -> None:
    phone = phone_with(look("4711"), look("", "com.android.launcher"), log=JAVA)
    async with opened(phone) as device:
        await device.perform(OPEN)
        await device.snapshot()
        await device.perform(Back())
        with pytest.raises(DeviceError) as caught:
            await device.snapshot()

    assert "app_crashed" == caught.value.reason


async def test_back_within_the_app_lets_it_end_no_more() -> None:
    phone = phone_with(look("4711"), look("4711"), look("", "com.android.launcher"))
    async with opened(phone) as device:
        await device.perform(OPEN)
        await device.perform(Back())
        for _ in range(2):
            await device.snapshot()
        with pytest.raises(DeviceError) as caught:
            await device.snapshot()

    assert "app_crashed" == caught.value.reason


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
