"""The driver through the real adb server to a virtual phone: what only this platform has."""

import random

import pytest
import trio

from drivers.android.client import AdbCalls
from drivers.android.device import open_android_device
from drivers.android.line import Deadlines
from drivers.android.server import connect, disconnect, list_devices, track_devices
from drivers.android.smartsocket import run_shell
from runner.errors import DeviceError
from runner.model.action import Back, OpenApp, Tap
from tests.contract.android_face import make_phone, open_android_face, open_virtual_phone
from tests.contract.face import SHOP_ID

pytestmark = pytest.mark.slow


async def test_text_beyond_ascii_is_pasted() -> None:
    async with open_android_face() as face:
        face.phone.set_clipboard("mine")
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.fill("username", "Grüße 😀 100%s")

        assert face.phone.truth()["fields"]["username"] == "Grüße 😀 100%s"
        assert face.phone.clipboard == "mine"


async def test_long_text_is_cleared_and_typed_whole() -> None:
    rng = random.Random(7)
    text = "".join(chr(rng.randrange(0x20, 0x7F)) for _ in range(450))
    async with open_android_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.fill("username", "x" * 250)
        await face.fill("username", text)

        assert face.phone.truth()["fields"]["username"] == text


async def test_an_activity_is_opened_by_its_name() -> None:
    async with open_android_face() as face:
        with pytest.raises(DeviceError) as caught:
            await face.device.perform(OpenApp(app=f"{SHOP_ID}/.Absent"))

    assert caught.value.reason == "app_not_installed"


async def test_the_back_key_leaves_the_first_screen_for_the_launcher() -> None:
    async with open_android_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.find("title_login")
        await face.device.perform(Back())

        assert (await face.look()).foreground == "com.android.launcher"


async def test_files_of_megabytes_travel_whole() -> None:
    data = random.Random(3).randbytes(3 * 1024 * 1024 + 17)
    async with open_virtual_phone(make_phone()) as (server, serial):
        calls = AdbCalls(server.endpoint, serial)
        await calls.push(data, "/data/local/tmp/big.bin")
        names = await calls.list_names("/data/local/tmp")
        back = await calls.pull("/data/local/tmp/big.bin")
        await calls.push(b"", "/data/local/tmp/empty")

        assert await calls.pull("/data/local/tmp/empty") == b""

    assert back == data
    assert "big.bin" in names


async def test_facts_about_the_app_are_read() -> None:
    async with open_virtual_phone(make_phone()) as (server, serial):
        calls = AdbCalls(server.endpoint, serial)
        facts = await calls.read_app(SHOP_ID)

        assert await calls.read_app("com.absent") is None

    assert facts is not None
    assert (facts.version_name, facts.version_code) == ("1.4.0", 14)


async def test_a_pulled_cable_is_reported_within_a_second() -> None:
    phone = make_phone()
    async with (
        open_virtual_phone(phone) as (server, serial),
        track_devices(server.host, server.port) as tracker,
    ):
        assert (serial, "device") in await anext(tracker)
        phone.faults.set("drop", for_s=30)
        with trio.fail_after(1):
            while (serial, "device") in await anext(tracker):
                pass

        assert dict(await list_devices(server.host, server.port)).get(serial) != "device"


async def test_a_cable_pulled_in_a_command_is_a_loss_and_never_an_empty_answer() -> None:
    phone = make_phone()
    async with open_virtual_phone(phone) as (server, serial), trio.open_nursery() as nursery:

        async def pull() -> None:
            await trio.sleep(0.1)
            phone.faults.set("drop", for_s=30)

        nursery.start_soon(pull)
        with pytest.raises(DeviceError) as caught:
            await run_shell(server.endpoint, serial, "echo begun; sleep 30")

    assert caught.value.kind == "device_lost"


async def test_a_frozen_device_misses_its_deadline_and_is_lost() -> None:
    phone = make_phone()
    async with (
        open_virtual_phone(phone) as (server, serial),
        open_android_device(
            host=server.host,
            port=server.port,
            serial=serial,
            device_id="a",
            deadlines=Deadlines(shell_s=0.2),
        ) as device,
    ):
        phone.faults.set("stall")
        with pytest.raises(DeviceError) as caught:
            await device.perform(Tap(x=1, y=1))

        assert (caught.value.kind, caught.value.reason) == ("device_lost", "device_call_deadline")


async def test_a_device_that_was_disconnected_is_unreachable() -> None:
    async with open_virtual_phone(make_phone()) as (server, serial):
        await disconnect(server.host, server.port, serial)
        with pytest.raises(DeviceError) as caught:
            await run_shell(server.endpoint, serial, "true")

    assert (caught.value.kind, caught.value.reason) == ("device_lost", "device_unreachable")


async def test_no_dump_leaves_a_file_behind() -> None:
    async with open_virtual_phone(make_phone()) as (server, serial):
        async with open_android_device(
            host=server.host, port=server.port, serial=serial, device_id="a"
        ) as device:
            for _ in range(3):
                await device.snapshot()

        assert await AdbCalls(server.endpoint, serial).list_names("/data/local/tmp") == ()


async def test_the_phone_lacks_no_command_that_the_driver_uses() -> None:
    async with open_android_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.fill("username", "é")
        await face.device.check_health()
        await face.device.screenshot()

        missing = [line.text for line in face.phone.log_lines() if "no such command" in line.text]

    assert missing == []


async def test_a_device_that_comes_back_is_connected_without_waiting_for_the_server() -> None:
    phone = make_phone()
    async with open_virtual_phone(phone) as (server, serial):
        phone.faults.set("drop", for_s=0.5)
        await trio.sleep(0.6)
        started = trio.current_time()
        await connect(server.host, server.port, serial)

        assert (await run_shell(server.endpoint, serial, "echo back")).text == "back"
        assert trio.current_time() - started < 2
