"""What every driver promises, held by each against its virtual phone over the real wire."""

import io
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
import trio
from PIL import Image

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
    LongPress,
    OpenApp,
    PressEnter,
    ReadAlert,
    Tap,
    TypeText,
)
from tests.contract.android_face import open_android_face
from tests.contract.face import PASSWORD, SHOP_ID, USER, Face
from tests.contract.ios_face import open_ios_face, open_usbmux_face

OpenFace = Callable[[], AbstractAsyncContextManager[Face]]

FACES: dict[str, OpenFace] = {
    "android": open_android_face,
    "ios": open_ios_face,
    "ios_usbmux": open_usbmux_face,
}

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("open_face", FACES.values(), ids=FACES)]


async def test_the_device_says_what_it_is_and_that_it_is_well(open_face: OpenFace) -> None:
    async with open_face() as face:
        facts = face.device.facts
        report = await face.device.check_health()

    assert facts.platform == face.phone.platform
    assert facts.is_virtual
    assert facts.model
    assert facts.os_version
    assert report.health == "healthy"


async def test_an_app_opens_shows_its_tree_and_closes(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        title = await face.find("title_login")
        snapshot = await face.look()
        read = await face.device.snapshot()
        await face.device.perform(CloseApp(app=SHOP_ID))

        assert face.phone.foreground != SHOP_ID

    assert (title.label, title.bundle) == ("Welcome", SHOP_ID)
    assert snapshot.platform == face.phone.platform
    assert snapshot.quality == "readable"
    assert snapshot.foreground == SHOP_ID
    assert not snapshot.truncated
    assert all(node.index == index for index, node in enumerate(snapshot.nodes))
    assert all(node.parent is None or node.parent < node.index for node in snapshot.nodes)
    assert read.raw


async def test_fields_say_what_they_are(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        user, password = await face.find("username"), await face.find("password")
        button = await face.find("login_button")

    assert (user.placeholder, user.secure) == ("User name", False)
    assert (password.placeholder, password.secure) == ("Password", True)
    assert button.hittable
    assert button.enabled


async def test_fill_replaces_what_stands_in_the_field(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.fill("username", "some body")
        await face.fill("username", USER)
        await face.fill("password", PASSWORD)

        assert face.phone.truth()["fields"] == {"username": USER, "password": PASSWORD}
        assert (await face.find("username")).value == USER
        assert PASSWORD not in (await face.find("password")).value


@pytest.mark.parametrize("text", ['it\'s 100%sure; $(id) "q" & `x`', "  two  spaces  "])
async def test_text_arrives_as_it_is(open_face: OpenFace, text: str) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.fill("username", text)

        assert face.phone.truth()["fields"]["username"] == text


async def test_text_is_typed_into_the_focused_field(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.tap("username")
        await face.device.perform(TypeText(text="an"))
        await face.device.perform(TypeText(text="n", delay_ms=1))

        assert face.phone.truth()["fields"]["username"] == "ann"


async def test_typing_with_nothing_focused_is_a_product_failure(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.find("title_login")
        with pytest.raises(DeviceError) as caught:
            await face.device.perform(TypeText(text="ann"))

    assert (caught.value.kind, caught.value.reason) == ("product", "text_input_not_focused")


async def test_filling_what_is_no_field_is_a_product_failure(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        x, y = await face.center("title_login")
        with pytest.raises(DeviceError) as caught:
            await face.device.perform(FillText(x=x, y=y, text="ann"))

    assert (caught.value.kind, caught.value.reason) == ("product", "text_input_not_focused")


async def test_the_keyboard_is_seen_and_hidden(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.find("title_login")
        before = await face.device.perform(KeyboardStatus())
        await face.tap("username")
        shown = await face.device.perform(KeyboardStatus())
        await face.device.perform(PressEnter())
        await face.tap("username")
        await face.device.perform(HideKeyboard())
        after = await face.device.perform(KeyboardStatus())

    assert ("hidden", "shown", "hidden") == (before, shown, after)


async def test_hiding_no_keyboard_is_success(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.find("title_login")
        await face.device.perform(HideKeyboard())

        assert await face.device.perform(KeyboardStatus()) == "hidden"


async def test_a_prompt_is_read_and_accepted_and_asked_once(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.log_in()
        text = await face.device.perform(ReadAlert())
        await face.device.perform(AcceptAlert())
        greeting = await face.find("greeting")
        after = await face.device.perform(ReadAlert())
        with pytest.raises(DeviceError) as caught:
            await face.device.perform(AcceptAlert())

    assert "Allow Shop to send you notifications?" in text
    assert greeting.label == "Hello, Ann"
    assert after == ""
    assert (caught.value.kind, caught.value.reason) == ("product", "alert_absent")


async def test_a_prompt_can_be_dismissed(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.log_in()
        await face.device.perform(DismissAlert())
        await face.find("greeting")

        assert face.phone.alert() is None


async def test_a_journey_goes_through_the_shop_and_survives_a_relaunch(
    open_face: OpenFace,
) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.log_in()
        await face.device.perform(AcceptAlert())
        await face.tap("open_catalogue")
        await face.tap("row_2")
        title = await face.find("product_title")
        await face.find("stock_note")
        await face.tap("add_to_cart")
        await face.device.perform(OpenApp(app=SHOP_ID, relaunch=True))
        await face.tap("open_cart")
        total = await face.find("cart_total")
        await face.tap("checkout")
        order = await face.find("order_number")

    assert title.label == "Product 2"
    assert total.label.startswith("Total:")
    assert order.label == "Order 1001"


async def test_a_pan_moves_a_list_by_its_length(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.log_in()
        await face.device.perform(AcceptAlert())
        await face.tap("open_catalogue")
        before = (await face.find("row_4")).rect
        shown = await face.find("product_list")
        assert shown.rect is not None
        assert before is not None
        x, y = shown.rect.center
        length = before.height
        await face.device.perform(Drag(x1=x, y1=y, x2=x, y2=y - length, duration_ms=300))
        after = (await face.find("row_4")).rect

    assert shown.scrollable
    assert after is not None
    # A finger's slop may be lost at the start of a drag, never gained.
    assert before.y - length - 2 <= after.y < before.y - length / 2


async def test_back_and_home_leave_screens(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.log_in()
        await face.device.perform(AcceptAlert())
        await face.tap("open_cart")
        await face.find("title_cart")
        await face.device.perform(Back())
        await face.find("title_home")
        await face.device.perform(Home())
        with trio.fail_after(2):
            while face.phone.foreground == SHOP_ID:  # noqa: ASYNC110  the phone has no event
                await trio.sleep(0.02)


async def test_a_link_opens_its_screen(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.log_in()
        await face.device.perform(AcceptAlert())
        await face.find("title_home")
        await face.device.perform(OpenApp(app=SHOP_ID, url="shop://product/7"))

        assert (await face.find("product_title")).label == "Product 7"


async def test_an_absent_app_is_misuse(open_face: OpenFace) -> None:
    async with open_face() as face:
        with pytest.raises(DeviceError) as caught:
            await face.device.perform(OpenApp(app="com.absent.app"))

    assert (caught.value.kind, caught.value.reason) == ("misuse", "app_not_installed")


async def test_taps_of_every_kind_arrive(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        x, y = await face.center("login_button")
        await face.device.perform(LongPress(x=x, y=y, duration_ms=600))
        await face.device.perform(Tap(x=x, y=y, count=2, interval_ms=10))
        await face.device.perform(Tap(x=x, y=y, double=True))
        await face.device.perform(Tap(x=x, y=y, hold_ms=50))

        assert (await face.find("login_error")).label == "Enter user name and password"


async def test_the_screenshot_is_a_whole_image_in_pixels_of_the_tree(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        snapshot = await face.look()
        image = Image.open(io.BytesIO(await face.device.screenshot()))
        image.load()

    assert image.format == "PNG"
    assert image.size == (
        round(snapshot.width * snapshot.scale),
        round(snapshot.height * snapshot.scale),
    )
    assert len(set(image.convert("L").tobytes())) > 2


async def test_the_log_is_text_where_there_is_one(open_face: OpenFace) -> None:
    async with open_face() as face:
        face.phone.log("Shop", "a line that only this test writes")
        log = (await face.device.read_log()).decode()

    if "logs" in face.device.capabilities:
        assert "a line that only this test writes" in log


async def test_a_cancelled_call_returns_at_once_and_the_next_one_works(
    open_face: OpenFace,
) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        face.phone.faults.set("stall")
        started = trio.current_time()
        with trio.move_on_after(0.1) as scope:
            await face.device.snapshot()
        took_s = trio.current_time() - started
        face.phone.faults.clear("stall")

        assert scope.cancelled_caught
        assert took_s < 0.1 + 0.05
        assert (await face.find("title_login")).label == "Welcome"


async def test_an_app_that_crashes_in_mid_flow_is_told_once(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.find("title_login")
        assert face.phone.crash(SHOP_ID)
        with pytest.raises(DeviceError) as caught:
            await face.look()

        assert ("product", "app_crashed") == (caught.value.kind, caught.value.reason)
        assert SHOP_ID in caught.value.message
        assert SHOP_ID == caught.value.details["app"]
        # A new start is a new beginning.
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.find("title_login")


async def test_an_app_that_crashes_on_a_link_is_told(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.find("title_login")
        await face.device.perform(OpenApp(url="shop://crash"))
        with pytest.raises(DeviceError) as caught:
            await face.find("title_that_never_comes")

    assert ("product", "app_crashed") == (caught.value.kind, caught.value.reason)


async def test_an_app_that_was_closed_or_left_is_no_crash(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.find("title_login")
        await face.device.perform(Home())
        await face.look()
        await face.device.perform(OpenApp(app=SHOP_ID))
        await face.device.perform(CloseApp(app=SHOP_ID))

        assert SHOP_ID != (await face.look()).foreground


async def test_a_lost_device_is_said_to_be_lost(open_face: OpenFace) -> None:
    async with open_face() as face:
        await face.device.perform(OpenApp(app=SHOP_ID))
        face.phone.faults.set("drop", for_s=30)
        with pytest.raises(DeviceError) as caught:
            await face.device.snapshot()
        report = await face.device.check_health()

    assert caught.value.kind == "device_lost"
    assert report.health == "lost"
