"""The driver on the virtual iPhone: real HTTP, real usbmux, and the app's truth beside it."""

from pathlib import Path

import pytest
import trio

from drivers.ios.device import open_ios_device
from drivers.ios.usbmux import list_udids
from drivers.ios.wda import Limits
from runner.errors import DeviceError
from runner.model.action import (
    AcceptAlert,
    Back,
    CloseApp,
    DismissAlert,
    Drag,
    FillText,
    HideKeyboard,
    Home,
    KeyboardStatus,
    OpenApp,
    PressEnter,
    ReadAlert,
    Tap,
    TypeText,
)
from runner.model.ids import DeviceId
from runner.model.screen import Node
from tests.drivers.ios.labkit import SHOP, UDID, LabPhone, open_lab_phone

pytestmark = pytest.mark.slow


async def find(lab: LabPhone, identifier: str) -> Node:
    with trio.fail_after(3):
        while True:
            snapshot = (await lab.device.snapshot()).snapshot
            for node in snapshot.nodes:
                if node.identifier == identifier:
                    return node
            await trio.sleep(0.02)


async def tap(lab: LabPhone, identifier: str) -> None:
    rect = (await find(lab, identifier)).rect
    assert rect is not None
    await lab.device.perform(Tap(x=rect.center[0], y=rect.center[1]))


async def fill(lab: LabPhone, identifier: str, text: str) -> None:
    rect = (await find(lab, identifier)).rect
    assert rect is not None
    await lab.device.perform(FillText(x=rect.center[0], y=rect.center[1], text=text))


async def wait_alert(lab: LabPhone) -> str:
    with trio.fail_after(3):
        while True:
            text = await lab.device.perform(ReadAlert())
            if text:
                return text
            await trio.sleep(0.02)


async def log_in(lab: LabPhone) -> None:
    await lab.device.perform(OpenApp(app=SHOP, relaunch=True))
    await fill(lab, "username", "ann@example.com")
    await fill(lab, "password", "secret-42")
    await tap(lab, "login_button")
    await wait_alert(lab)
    await lab.device.perform(AcceptAlert())
    await find(lab, "title_home")


async def test_a_shopping_journey_over_usbmux(tmp_path: Path) -> None:
    socket_path = tmp_path / "usbmuxd"
    async with open_lab_phone(socket_path=socket_path) as lab:
        assert await list_udids(str(socket_path)) == (UDID,)
        await log_in(lab)
        await tap(lab, "open_catalogue")
        await tap(lab, "row_2")
        await tap(lab, "add_to_cart")
        await lab.device.perform(Back())
        await find(lab, "title_catalogue")
        await lab.device.perform(Back())
        await tap(lab, "open_cart")
        total = await find(lab, "cart_total")
        await tap(lab, "checkout")
        await find(lab, "order_number")

        assert total.label.startswith("Total: ")
        assert lab.screen() == "confirmation"


async def test_the_login_screen_reads_as_documented() -> None:
    async with open_lab_phone() as lab:
        await lab.device.perform(OpenApp(app=SHOP))
        read = await lab.device.snapshot()
        nodes = {node.identifier: node for node in read.snapshot.nodes}

        assert read.snapshot.foreground == SHOP
        assert (read.snapshot.width, read.snapshot.height, read.snapshot.scale) == (400, 860, 3)
        assert nodes["title_login"].label == "Welcome"
        assert (nodes["username"].value, nodes["username"].placeholder) == ("", "User name")
        assert nodes["password"].secure
        assert nodes["login_button"].hittable
        assert nodes["login_button"].rect == next(
            node.rect for node in lab.phone.tree().walk() if node.id == "login_button"
        )


async def test_filling_types_what_the_app_then_has() -> None:
    async with open_lab_phone() as lab:
        await lab.device.perform(OpenApp(app=SHOP))
        await fill(lab, "username", "wrong")
        await fill(lab, "username", "ann@example.com")
        await fill(lab, "password", "secret-42")

        fields = lab.phone.truth()["fields"]
        assert (fields["username"], fields["password"]) == ("ann@example.com", "secret-42")


async def test_the_keyboard_follows_the_focus() -> None:
    async with open_lab_phone() as lab:
        device = lab.device
        await device.perform(OpenApp(app=SHOP))
        assert await device.perform(KeyboardStatus()) == "hidden"
        with pytest.raises(DeviceError) as caught:
            await device.perform(TypeText(text="x"))
        assert caught.value.reason == "text_input_not_focused"

        await tap(lab, "username")
        await device.perform(TypeText(text="ann"))
        snapshot = (await device.snapshot()).snapshot
        assert snapshot.keyboard_shown is True
        assert [node.identifier for node in snapshot.nodes if node.focused] == ["username"]
        assert await device.perform(KeyboardStatus()) == "shown"
        await device.perform(PressEnter())


async def test_a_prompt_is_read_dismissed_and_then_absent() -> None:
    async with open_lab_phone() as lab:
        device = lab.device
        await device.perform(OpenApp(app=SHOP))
        assert await device.perform(ReadAlert()) == ""
        with pytest.raises(DeviceError) as caught:
            await device.perform(DismissAlert())
        assert caught.value.reason == "alert_absent"

        await fill(lab, "username", "ann@example.com")
        await fill(lab, "password", "secret-42")
        await tap(lab, "login_button")
        text = await wait_alert(lab)
        shown = (await device.snapshot()).snapshot
        await device.perform(DismissAlert())

        assert "notifications" in text
        assert "Allow" in {node.label for node in shown.nodes}
        assert lab.phone.alert() is None


async def test_a_list_is_dragged_and_rests() -> None:
    async with open_lab_phone() as lab:
        await log_in(lab)
        await tap(lab, "open_catalogue")
        await find(lab, "row_1")
        await lab.device.perform(Drag(x1=200, y1=700, x2=200, y2=300, duration_ms=300))
        nodes = (await lab.device.snapshot()).snapshot.nodes

        assert "row_1" not in {node.identifier for node in nodes if node.hittable}


async def test_the_edge_swipe_leads_back_where_no_control_does() -> None:
    async with open_lab_phone() as lab:
        await log_in(lab)
        await tap(lab, "open_catalogue")
        await find(lab, "nav_back")
        await lab.device.perform(Back())
        await find(lab, "title_home")

        assert lab.screen() == "home"


async def test_home_close_and_a_missing_app() -> None:
    async with open_lab_phone() as lab:
        device = lab.device
        await device.perform(OpenApp(app=SHOP))
        await device.perform(Home())
        assert (await device.snapshot()).snapshot.foreground == "com.apple.springboard"
        await device.perform(OpenApp(app=SHOP))
        assert (await device.snapshot()).snapshot.foreground == SHOP
        await device.perform(CloseApp(app=SHOP))
        assert lab.phone.app_state(SHOP) == 1
        with pytest.raises(DeviceError) as caught:
            await device.perform(OpenApp(app="com.example.absent"))
        assert (caught.value.kind, caught.value.reason) == ("misuse", "app_not_installed")


async def test_a_crash_is_seen_at_the_next_look() -> None:
    async with open_lab_phone() as lab:
        await lab.device.perform(OpenApp(app=SHOP))
        await lab.device.snapshot()
        lab.phone.crash(SHOP)
        with pytest.raises(DeviceError) as caught:
            await lab.device.snapshot()

        assert (caught.value.kind, caught.value.reason) == ("product", "app_crashed")


async def test_a_screenshot_has_the_scales_pixels() -> None:
    async with open_lab_phone() as lab:
        png = await lab.device.screenshot()

        assert int.from_bytes(png[16:20]) == 1200
        assert int.from_bytes(png[20:24]) == 2580


async def test_a_keyboard_that_has_only_a_return_key_is_dragged_away_and_sends_nothing() -> None:
    async with open_lab_phone() as lab:
        await lab.device.perform(OpenApp(app=SHOP))
        await tap(lab, "username")
        await lab.device.perform(HideKeyboard())

        assert not lab.phone.keyboard_shown
        assert ("login", "") == (
            lab.phone.truth()["screen"],
            lab.phone.truth()["fields"]["username"],
        )


async def test_a_hang_is_found_remedied_and_over() -> None:
    limits = Limits(call_s=0.2, probe_s=0.2)
    async with open_lab_phone(limits=limits) as lab:
        lab.phone.faults.set("wda_hang")
        with pytest.raises(DeviceError) as caught:
            await lab.device.perform(Tap(x=1, y=1))
        assert caught.value.reason == "device_call_deadline"
        report = await lab.device.check_health()
        assert (report.health, report.reason) == ("unhealthy", "wda_hung")

        lab.phone.faults.clear("wda_hang")
        assert (await lab.device.check_health()).health == "healthy"
        await lab.device.perform(OpenApp(app=SHOP))


async def test_a_restart_loses_the_session_until_the_health_check() -> None:
    async with open_lab_phone() as lab:
        await lab.device.perform(OpenApp(app=SHOP))
        lab.phone.faults.set("wda_restart")
        with pytest.raises(DeviceError) as caught:
            await lab.device.snapshot()
        assert (caught.value.kind, caught.value.reason) == ("driver_fault", "wda_session_lost")
        assert "as after a restart" in caught.value.message
        assert (await lab.device.check_health()).health == "healthy"
        assert (await lab.device.snapshot()).snapshot.foreground == SHOP


async def test_a_session_that_another_client_opens_is_stolen_and_left_to_it() -> None:
    async with open_lab_phone() as lab:
        await lab.device.perform(OpenApp(app=SHOP))
        url = f"http://127.0.0.1:{lab.port}"
        async with open_ios_device(device_id=DeviceId("other"), url=url) as other:
            with pytest.raises(DeviceError) as caught:
                await lab.device.snapshot()
            report = await lab.device.check_health()
            theirs = other.wda.session
            await other.snapshot()

        assert ("driver_fault", "wda_session_lost") == (caught.value.kind, caught.value.reason)
        assert "another client has the session" in caught.value.message
        assert theirs == caught.value.details["session"]
        assert ("unhealthy", "wda_session_stolen") == (report.health, report.reason)
        assert "healthy" == (await lab.device.check_health()).health


async def test_a_cut_in_the_middle_of_a_call_is_a_lost_device() -> None:
    async with open_lab_phone() as lab:
        lab.phone.faults.set("stall")
        failures: list[DeviceError] = []

        async def look() -> None:
            with pytest.raises(DeviceError) as caught:
                await lab.device.snapshot()
            failures.append(caught.value)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            await trio.sleep(0.1)
            lab.phone.faults.set("drop", for_s=5)

        assert failures[0].kind == "device_lost"
        assert (await lab.device.check_health()).health == "lost"
