import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from drivers.ios.device import IosDevice, identify_ios_device, open_ios_device
from drivers.ios.usbmux import UsbmuxTarget
from drivers.ios.wda import Limits
from runner.errors import DeviceError
from runner.model.action import (
    AcceptAlert,
    Action,
    Back,
    CloseApp,
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
from runner.model.device import DeviceFacts
from runner.model.ids import DeviceId
from tests.drivers.ios.standin import SESSION, Hang, Late, Raw, StandIn, open_standin, refused

PNG = b"\x89PNG\r\n\x1a\n....\x00\x00\x00\x00IEND\xaeB\x60\x82"
NO_ELEMENT = refused(404, "no such element")
STALE = refused(404, "stale element reference")
KEYBOARD = {"type": "Keyboard", "rect": {"x": 0, "y": 600, "width": 400, "height": 260}}


def tree(*children: dict[str, Any], label: str = "Shop") -> dict[str, Any]:
    return {"type": "Application", "label": label, "children": list(children)}


def field(value: str) -> dict[str, Any]:
    rect = {"x": 20, "y": 100, "width": 360, "height": 40}
    return {"type": "TextField", "rawIdentifier": "username", "value": value, "rect": rect}


@asynccontextmanager
async def open_pair(**limits: float) -> AsyncGenerator[tuple[IosDevice, StandIn]]:
    async with (
        open_standin() as standin,
        open_ios_device(
            device_id=DeviceId("phone-1"),
            url=standin.url,
            udid="UDID",
            tags=("lab",),
            limits=Limits(**limits),
        ) as device,
    ):
        yield device, standin


async def failure_of(device: IosDevice, action: Action) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        await device.perform(action)
    return caught.value


async def test_a_phone_says_which_one_it_is_without_a_session() -> None:
    async with open_standin() as standin:
        assert "A-UUID" == await identify_ios_device(url=standin.url)
        assert ["GET /wda/device/info"] == standin.seen


@pytest.mark.parametrize("error", ["unknown command", "unknown error"])
async def test_an_agent_that_does_not_tell_leaves_the_udid(error: str) -> None:
    async with open_standin() as standin:
        standin.answers["GET /wda/device/info"] = refused(404, error)
        assert not await identify_ios_device(url=standin.url)
        async with open_ios_device(device_id="p", url=standin.url, udid="UDID") as device:
            assert "UDID" == device.facts.hardware_id


async def test_opening_creates_one_session_and_closing_deletes_it() -> None:
    async with open_standin() as standin:
        async with open_ios_device(
            device_id=DeviceId("phone-1"), url=standin.url, udid="UDID", tags=("lab",)
        ) as device:
            facts = device.facts
            asked = standin.asked("POST /session")[0]

        assert facts == DeviceFacts(
            id=DeviceId("phone-1"),
            platform="ios",
            serial="UDID",
            model="iphone",
            os_version="17.5",
            is_virtual=True,
            tags=("lab",),
            hardware_id="A-UUID",
        )
        assert asked["capabilities"]["alwaysMatch"]["shouldWaitForQuiescence"] is False
        assert standin.asked("POST /appium/settings")[0]["settings"] == {
            "waitForIdleTimeout": 0,
            "animationCoolOffTimeout": 0,
            "respectSystemAlerts": True,
            "maxTypingFrequency": 60,
            "snapshotMaxDepth": 50,
        }
        assert standin.seen[-1] == "DELETE /"
        assert standin.connections == 1


async def test_the_session_is_deleted_when_the_user_is_cancelled() -> None:
    async with open_standin() as standin:
        with trio.CancelScope() as scope:
            async with open_ios_device(device_id=DeviceId("p"), url=standin.url):
                scope.cancel()
                await trio.lowlevel.checkpoint()

        assert standin.seen[-1] == "DELETE /"


async def test_a_release_that_hangs_is_bounded() -> None:
    async with open_standin() as standin:
        limits = Limits(release_s=0.1)
        async with open_ios_device(device_id=DeviceId("p"), url=standin.url, limits=limits):
            standin.answers["DELETE /"] = Hang()
            began = trio.current_time()

        assert trio.current_time() - began < 1


async def test_a_phone_needs_exactly_one_sound_address() -> None:
    addresses: list[dict[str, Any]] = [
        {},
        {"url": "http://h:1", "usbmux": UsbmuxTarget(udid="u")},
        {"url": "https://h:1"},
        {"url": "http://h:1/wd/hub"},
        {"url": "http://h:99999"},
        {"url": "http://[::1"},
        {"url": "h:8100"},
    ]
    for address in addresses:
        with pytest.raises(DeviceError) as caught:
            async with open_ios_device(device_id=DeviceId("p"), **address):
                pass
        assert (caught.value.kind, caught.value.reason) == ("misuse", "device_address_invalid")


async def test_a_snapshot_asks_for_the_app_only_when_the_tree_shows_another() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /source"] = tree(field("ann"))
        first = await device.snapshot()
        await device.snapshot()
        standin.answers["GET /source"] = tree(label="SpringBoard")
        await device.snapshot()

        assert first.snapshot.foreground == "com.sweepgrid.shop"
        assert (first.snapshot.width, first.snapshot.height, first.snapshot.scale) == (400, 860, 3)
        assert json.loads(first.raw)["value"]["label"] == "Shop"
        assert first.raw_kind == "json"
        assert standin.seen.count("GET /wda/activeAppInfo") == 2


async def test_the_focused_field_is_marked_when_a_keyboard_is_shown() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /source"] = tree(field("ann"), KEYBOARD)
        standin.answers["GET /element/active"] = {"ELEMENT": "E1"}
        standin.answers["GET /element/E1/rect"] = field("")["rect"]
        focused = (await device.snapshot()).snapshot.nodes[1].focused
        standin.answers["GET /element/E1/rect"] = STALE
        moved = (await device.snapshot()).snapshot.nodes[1].focused

        assert (focused, moved) == (True, False)


async def test_a_tree_too_deep_for_ios_is_read_again_with_less_depth() -> None:
    depths: list[int] = []

    def settings(body: dict[str, Any]) -> None:
        depths.append(body["settings"]["snapshotMaxDepth"])

    def source(_: object) -> Any:
        return (
            refused(404, "stale element reference", "Error kAXErrorIllegalArgument getting it")
            if depths[-1] > 30
            else tree(field(""))
        )

    async with open_standin() as standin:
        standin.answers["POST /appium/settings"] = settings
        standin.answers["GET /source"] = source
        async with open_ios_device(device_id=DeviceId("p"), url=standin.url) as device:
            await device.snapshot()
            await device.snapshot()
            assert depths == [50, 40, 30]
            assert (await device.wda.read_source()).max_depth == 30

            standin.answers["GET /source"] = refused(
                404, "stale element reference", "kAXErrorIllegalArgument"
            )
            with pytest.raises(DeviceError) as caught:
                await device.snapshot()

    assert (caught.value.kind, caught.value.reason) == ("device_busy", "screen_unreadable")


async def test_a_crash_of_the_opened_app_is_a_product_failure() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /source"] = tree(field(""))
        await device.perform(OpenApp(app="com.sweepgrid.shop"))
        await device.snapshot()
        standin.answers["GET /source"] = tree(label=" ")
        standin.answers["GET /wda/activeAppInfo"] = {"bundleId": "com.apple.springboard"}
        standin.answers["POST /wda/apps/state"] = 1
        for _ in range(2):
            with pytest.raises(DeviceError) as caught:
                await device.snapshot()
            assert (caught.value.kind, caught.value.reason) == ("product", "app_crashed")

        await device.perform(CloseApp(app="com.sweepgrid.shop"))
        assert (await device.snapshot()).snapshot.foreground == "com.apple.springboard"


async def test_wdas_own_word_for_a_crash_is_a_product_failure_too() -> None:
    async with open_pair() as (device, standin):
        standin.answers["POST /wda/tap"] = refused(
            400, "invalid element state", "The application is not running, possibly crashed"
        )
        error = await failure_of(device, Tap(x=1, y=2))

        assert (error.kind, error.reason) == ("product", "app_crashed")


async def test_a_lost_session_stays_lost_until_the_health_check_opens_it_again() -> None:
    async with open_pair() as (device, standin):
        standin.answers["POST /wda/tap"] = refused(404, "invalid session id")
        lost = await failure_of(device, Tap(x=1, y=2))
        asked = len(standin.seen)
        still = await failure_of(device, Tap(x=1, y=2))

        assert (lost.kind, lost.reason) == ("driver_fault", "wda_session_lost")
        assert still.reason == "wda_session_lost"
        assert len(standin.seen) == asked

        standin.status_session = None
        standin.answers["POST /wda/tap"] = None
        report = await device.check_health()

        assert report.health == "healthy"
        assert await device.perform(Tap(x=1, y=2)) == ""
        assert standin.seen.count("POST /session") == 2


async def test_a_session_that_another_client_took_is_left_to_it() -> None:
    async with open_pair() as (device, standin):
        standin.status_session = "ANOTHER"
        report = await device.check_health()

        assert (report.health, report.reason) == ("unhealthy", "wda_session_stolen")
        assert standin.seen.count("POST /session") == 1


async def test_a_hang_of_the_main_queue_is_told_from_a_dead_process() -> None:
    async with open_pair(probe_s=0.05) as (device, standin):
        standin.answers["GET /window/size"] = Hang()
        report = await device.check_health()

        assert (report.health, report.reason) == ("unhealthy", "wda_hung")
        assert "its session was ended" in report.message
        assert standin.seen[-1] == "DELETE /"


async def test_a_hang_that_no_deletion_ends_is_a_hang_all_the_same() -> None:
    async with open_pair(probe_s=0.05, release_s=0.05) as (device, standin):
        standin.answers["GET /window/size"] = standin.answers["DELETE /"] = Hang()
        report = await device.check_health()

        assert (report.health, report.reason) == ("unhealthy", "wda_hung")
        assert "failed too" in report.message


async def test_a_phone_that_is_gone_is_reported_as_lost() -> None:
    async with open_standin() as standin:
        pass
    with pytest.raises(DeviceError) as caught:
        async with open_ios_device(device_id=DeviceId("p"), url=standin.url):
            pass

    assert (caught.value.kind, caught.value.reason) == ("device_lost", "device_unreachable")

    async with trio.open_nursery() as nursery:
        standin = StandIn()
        listeners = await nursery.start(trio.serve_tcp, standin.serve, 0)
        url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        async with open_ios_device(device_id=DeviceId("p"), url=url) as device:
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await listeners[0].aclose()
                await trio.sleep(0.02)
                report = await device.check_health()

    assert report.health == "lost"


async def test_a_locked_phone_is_woken_and_one_with_a_passcode_is_unhealthy() -> None:
    async with open_pair() as (device, standin):
        answers = [True, False, True, True]
        standin.answers["GET /wda/locked"] = lambda _: answers.pop(0)

        assert (await device.check_health()).health == "healthy"
        report = await device.check_health()
        assert (report.health, report.reason) == ("unhealthy", "device_locked")
        assert standin.seen.count("POST /wda/unlock") == 2


async def test_a_call_past_its_deadline_returns_at_once_and_the_next_one_works() -> None:
    async with open_pair(call_s=0.1) as (device, standin):
        standin.answers["POST /wda/tap"] = Hang()
        began = trio.current_time()
        error = await failure_of(device, Tap(x=1, y=2))
        took = trio.current_time() - began
        standin.answers["POST /wda/tap"] = None

        assert (error.kind, error.reason) == ("driver_fault", "device_call_deadline")
        assert took < 0.4
        assert await device.perform(Tap(x=1, y=2)) == ""


async def test_a_gateways_page_is_a_fault_of_the_driver() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /source"] = Raw(502, b"<html>502 Bad Gateway</html>")
        with pytest.raises(DeviceError) as caught:
            await device.snapshot()

        assert (caught.value.kind, caught.value.reason) == ("driver_fault", "wda_answer_invalid")


async def test_calls_of_two_tasks_do_not_mix() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /source"] = tree(field("ann"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(device.perform, Tap(x=1, y=1, count=3))
            nursery.start_soon(device.snapshot)
            nursery.start_soon(device.perform, Tap(x=2, y=2, count=3))

        taps = [body["x"] for body in standin.asked("POST /wda/tap")]
        assert taps in ([1, 1, 1, 2, 2, 2], [2, 2, 2, 1, 1, 1])


@pytest.mark.parametrize(
    ("action", "asked"),
    [
        (Tap(x=1, y=2, count=2), [("POST /wda/tap", {"x": 1, "y": 2})] * 2),
        (Tap(x=1, y=2, double=True), [("POST /wda/doubleTap", {"x": 1, "y": 2})]),
        (
            Tap(x=1, y=2, hold_ms=500),
            [("POST /wda/touchAndHold", {"x": 1, "y": 2, "duration": 0.5})],
        ),
        (LongPress(x=1, y=2), [("POST /wda/touchAndHold", {"x": 1, "y": 2, "duration": 0.8})]),
        (Home(), [("POST /wda/homescreen", {})]),
        (AcceptAlert(), [("POST /alert/accept", {})]),
        (
            CloseApp(app="a"),
            [
                ("POST /wda/apps/terminate", {"bundleId": "a"}),
                ("POST /wda/apps/state", {"bundleId": "a"}),
            ],
        ),
        (
            OpenApp(url="shop://cart"),
            [("POST /url", {"url": "shop://cart"})],
        ),
    ],
)
async def test_actions_become_the_documented_requests(
    action: Action, asked: list[tuple[str, Any]]
) -> None:
    async with open_pair() as (device, standin):
        if isinstance(action, CloseApp):
            standin.answers["POST /wda/apps/state"] = 1
        before = len(standin.bodies)
        await device.perform(action)

        assert standin.bodies[before:] == asked


async def test_taps_are_spaced_by_their_interval() -> None:
    async with open_pair() as (device, _):
        began = trio.current_time()
        await device.perform(Tap(x=1, y=2, count=3, interval_ms=20))

        assert trio.current_time() - began >= 0.04


async def test_a_long_gesture_may_take_its_own_time_beyond_the_deadline() -> None:
    async with open_pair(call_s=0.05) as (device, standin):
        standin.answers["POST /actions"] = standin.answers["POST /wda/touchAndHold"] = Late(0.1)
        await device.perform(Drag(x1=1, y1=2, x2=3, y2=4, duration_ms=1000))
        await device.perform(LongPress(x=1, y=2, duration_ms=1000))

        assert standin.seen[-2:] == ["POST /actions", "POST /wda/touchAndHold"]


async def test_relaunching_terminates_the_app_first() -> None:
    states = [1, 4]
    async with open_pair() as (device, standin):
        standin.answers["POST /wda/apps/state"] = lambda _: states.pop(0)
        await device.perform(OpenApp(app="a", relaunch=True))

        assert standin.seen[-4:] == [
            "POST /wda/apps/terminate",
            "POST /wda/apps/state",
            "POST /wda/apps/launch",
            "POST /wda/apps/state",
        ]


async def test_an_app_that_is_not_there_or_does_not_start_is_told_apart() -> None:
    async with open_pair() as (device, standin):
        standin.answers["POST /wda/apps/launch"] = refused(
            500, "unknown error", "Application 'a' is unknown to FrontBoard"
        )
        missing = await failure_of(device, OpenApp(app="a"))
        standin.answers["POST /wda/apps/launch"] = refused(500, "unknown error", "it would not")
        refusing = await failure_of(device, OpenApp(app="a"))
        nothing = await failure_of(device, OpenApp())

        assert (missing.kind, missing.reason) == ("misuse", "app_not_installed")
        assert (refusing.kind, refusing.reason) == ("product", "app_start_failed")
        assert (nothing.kind, nothing.reason) == ("misuse", "action_unsupported")


async def test_an_app_that_ends_or_stays_behind_after_its_start_has_failed(
    autojump_clock: MockClock,
) -> None:
    del autojump_clock
    async with open_pair() as (device, standin):
        standin.answers["POST /wda/apps/state"] = 1
        ended = await failure_of(device, OpenApp(app="a"))
        standin.answers["POST /wda/apps/state"] = 3
        behind = await failure_of(device, OpenApp(app="a"))

        assert (ended.kind, ended.reason) == ("product", "app_crashed")
        assert (behind.kind, behind.reason) == ("product", "app_start_failed")


async def test_home_that_springboard_answers_late_is_no_failure() -> None:
    async with open_pair() as (device, standin):
        standin.answers["POST /wda/homescreen"] = refused(
            500, "unknown error", "Timeout waiting until SpringBoard is visible"
        )
        assert await device.perform(Home()) == ""

        standin.answers["POST /wda/homescreen"] = refused(500, "unknown error", "no")
        assert (await failure_of(device, Home())).reason == "wda_refused"


async def test_back_taps_the_visible_control_and_else_swipes_from_the_edge() -> None:
    async with open_pair() as (device, standin):
        rect = {"x": 10, "y": 50, "width": 40, "height": 40}
        control = {"type": "Button", "rawIdentifier": "nav_back", "rect": rect}
        standin.answers["GET /source"] = tree(control)
        await device.perform(Back())
        standin.answers["GET /source"] = tree(field(""))
        await device.perform(Back())

        assert standin.asked("POST /wda/tap") == [{"x": 30, "y": 70}]
        assert len(standin.asked("POST /actions")) == 1


async def test_typing_needs_a_focused_field() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /element/active"] = NO_ELEMENT
        for action in (TypeText(text="x"), PressEnter()):
            error = await failure_of(device, action)
            assert (error.kind, error.reason) == ("product", "text_input_not_focused")

        standin.answers["GET /element/active"] = {"ELEMENT": "E1"}
        await device.perform(TypeText(text="hé\n"))
        await device.perform(TypeText(text="ab", delay_ms=1))
        await device.perform(PressEnter())

        assert standin.asked("POST /wda/keys") == [
            {"value": ["h", "é", "\n"], "frequency": 60},
            {"value": ["a"], "frequency": 60},
            {"value": ["b"], "frequency": 60},
            {"value": ["\n"], "frequency": 60},
        ]


async def test_a_long_text_is_typed_in_calls_that_fit_their_deadline() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /element/active"] = {"ELEMENT": "E1"}
        await device.perform(TypeText(text="x" * 1000))

        sizes = [len(body["value"]) for body in standin.asked("POST /wda/keys")]
        assert sizes == [300, 300, 300, 100]


class Field:
    """A text field behind the stand-in's routes."""

    def __init__(self, standin: StandIn, *, kind: str = "TextField") -> None:
        self.text = ""
        self.placeholder = "User name"
        self.drops = 0
        self.stale = 0
        self.focused = False
        self.kind = kind
        answers = standin.answers
        answers["POST /wda/tap"] = self.tap
        answers["GET /element/active"] = lambda _: {"ELEMENT": "E1"} if self.focused else NO_ELEMENT
        answers["GET /element/E1/rect"] = field("")["rect"]
        answers["GET /element/E1/name"] = f"XCUIElementType{kind}"
        answers["GET /element/E1/attribute/value"] = lambda _: self.shown()
        answers["GET /element/E1/attribute/placeholderValue"] = lambda _: self.placeholder
        answers["POST /element/E1/clear"] = self.clear
        answers["POST /element/E1/value"] = self.type
        answers["POST /wda/keys"] = self.type

    def tap(self, body: dict[str, Any]) -> None:
        self.focused = 100 <= body["y"] <= 140

    def shown(self) -> str:
        text = "•" * len(self.text) if self.kind == "SecureTextField" else self.text
        return text or self.placeholder

    def clear(self, _: object) -> Any:
        if self.stale:
            self.stale -= 1
            return STALE
        self.text = ""
        return None

    def type(self, body: dict[str, Any]) -> None:
        text = "".join(body["value"])
        if self.drops:
            self.drops -= 1
            text = text[:-1]
        self.text += text


def fill(text: str, y: float = 120, **options: Any) -> FillText:
    return FillText(x=200, y=y, text=text, **options)


async def test_filling_replaces_what_stands_in_the_field() -> None:
    async with open_pair() as (device, standin):
        shown = Field(standin)
        shown.text = "old"
        await device.perform(fill("ann@example.com"))

        assert shown.text == "ann@example.com"
        assert standin.asked("POST /element/E1/value")[0]["frequency"] <= 60


async def test_filling_with_nothing_empties_the_field() -> None:
    async with open_pair() as (device, standin):
        shown = Field(standin)
        shown.text = "old"
        await device.perform(fill(""))

        assert shown.text == ""


async def test_a_dropped_character_is_corrected_once() -> None:
    async with open_pair() as (device, standin):
        shown = Field(standin)
        shown.drops = 1
        await device.perform(fill("ann"))
        assert shown.text == "ann"

        shown.drops = 2
        error = await failure_of(device, fill("ann"))
        assert (error.kind, error.reason) == ("product", "text_not_accepted")
        assert error.details == {
            "expectedLength": 3,
            "shownLength": 2,
            "expected": "ann",
            "shown": "an",
        }


async def test_a_long_text_that_is_not_taken_is_told_in_short() -> None:
    async with open_pair() as (device, standin):
        Field(standin).drops = 100
        error = await failure_of(device, fill("n" * 5_000))

        assert len(error.message) < 300
        assert (5_000, 2_000) == (error.details["expectedLength"], len(error.details["expected"]))


async def test_what_is_said_of_a_long_url_is_told_in_short() -> None:
    async with open_pair() as (device, standin):
        standin.answers["POST /url"] = refused(500, "unknown error")
        error = await failure_of(device, OpenApp(url="x://" + "y" * 10_000))

        assert "app_start_failed" == error.reason
        assert len(error.message) < 800
        assert all(len(str(value)) <= 2_000 for value in error.details.values())


async def test_a_secure_field_is_verified_by_length_and_its_text_is_never_told() -> None:
    async with open_pair() as (device, standin):
        shown = Field(standin, kind="SecureTextField")
        await device.perform(fill("secret-42"))
        assert shown.text == "secret-42"

        shown.drops = 2
        error = await failure_of(device, fill("secret-42"))
        assert error.reason == "text_not_accepted"
        assert "secret" not in f"{error} {error.details}"


async def test_a_secret_in_a_plain_field_is_never_told() -> None:
    async with open_pair() as (device, standin):
        Field(standin).drops = 2
        error = await failure_of(device, fill("secret-42", secret=True))

        assert "secret" not in f"{error} {error.details}"
        assert b"secret" not in await device.read_log()


async def test_a_field_that_is_drawn_anew_is_found_again_once() -> None:
    async with open_pair() as (device, standin):
        shown = Field(standin)
        shown.stale = 1
        await device.perform(fill("ann"))
        assert shown.text == "ann"

        shown.stale = 2
        assert (await failure_of(device, fill("ann"))).details["error"] == "stale element reference"


async def test_a_newline_at_the_end_is_the_return_key_after_the_check() -> None:
    async with open_pair() as (device, standin):
        shown = Field(standin)
        await device.perform(fill("ann\n"))

        assert shown.text == "ann\n"
        assert standin.seen[-1] == "POST /wda/keys"


async def test_a_delay_types_one_character_at_a_time() -> None:
    async with open_pair() as (device, standin):
        shown = Field(standin)
        await device.perform(fill("ann", delay_ms=1))

        assert shown.text == "ann"
        assert len(standin.asked("POST /wda/keys")) == 3


async def test_filling_what_takes_no_focus_is_a_product_failure(
    autojump_clock: MockClock,
) -> None:
    del autojump_clock
    async with open_pair() as (device, standin):
        shown = Field(standin)
        nothing = await failure_of(device, fill("ann", y=500))
        standin.answers["POST /wda/tap"] = None
        shown.focused = True
        other = await failure_of(device, fill("ann", y=500))

        assert nothing.reason == other.reason == "text_input_not_focused"
        assert "another element" in other.message
        assert shown.text == ""


async def test_the_keyboards_state_is_told() -> None:
    async with open_pair() as (device, standin):
        assert await device.perform(KeyboardStatus()) == "hidden"
        standin.answers["POST /elements"] = [{"ELEMENT": "K"}]
        assert await device.perform(KeyboardStatus()) == "shown"


async def test_hiding_no_keyboard_is_success_and_asks_for_nothing() -> None:
    async with open_pair() as (device, standin):
        await device.perform(HideKeyboard())

        assert "POST /wda/keyboard/dismiss" not in standin.seen


async def test_a_keyboard_without_a_closing_key_is_closed_by_done_beside_it() -> None:
    shown = [True]
    async with open_pair() as (device, standin):
        rect = {"x": 300, "y": 560, "width": 80, "height": 40}
        done = {"type": "Button", "label": "Done", "rect": rect}
        standin.answers["GET /source"] = tree({"type": "Toolbar", "children": [done]}, KEYBOARD)
        standin.answers["GET /element/active"] = NO_ELEMENT
        standin.answers["POST /elements"] = lambda _: [{"ELEMENT": "K"}] if shown else []
        standin.answers["POST /wda/keyboard/dismiss"] = refused(
            400, "invalid element state", "Did not know how to dismiss the keyboard."
        )
        standin.answers["POST /wda/tap"] = lambda _: shown.clear()
        await device.perform(HideKeyboard())

        assert standin.asked("POST /wda/tap") == [{"x": 340, "y": 580}]


async def test_a_keyboard_with_no_control_beside_it_is_dragged_away() -> None:
    shown = [True]
    async with open_pair() as (device, standin):
        standin.answers["GET /source"] = tree(KEYBOARD)
        standin.answers["GET /element/active"] = NO_ELEMENT
        standin.answers["POST /elements"] = lambda _: [{"ELEMENT": "K"}] if shown else []
        standin.answers["POST /wda/keyboard/dismiss"] = refused(400, "invalid element state")
        standin.answers["POST /actions"] = lambda _: shown.clear()
        await device.perform(HideKeyboard())

        steps = standin.asked("POST /actions")[0]["actions"][0]["actions"]
        assert [(step["x"], step["y"]) for step in steps if "x" in step] == [(200, 580), (200, 834)]


async def test_a_keyboard_that_stays_is_a_product_failure(
    autojump_clock: MockClock,
) -> None:
    del autojump_clock
    async with open_pair() as (device, standin):
        standin.answers["POST /elements"] = [{"ELEMENT": "K"}]
        error = await failure_of(device, HideKeyboard())

        assert (error.kind, error.reason) == ("product", "keyboard_not_hidden")


async def test_alerts_are_read_and_their_absence_is_a_product_failure() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /alert/text"] = "Allow?"
        assert await device.perform(ReadAlert()) == "Allow?"

        standin.answers["GET /alert/text"] = refused(404, "no such alert")
        standin.answers["POST /alert/accept"] = refused(404, "no such alert")
        assert await device.perform(ReadAlert()) == ""
        error = await failure_of(device, AcceptAlert())
        assert (error.kind, error.reason) == ("product", "alert_absent")


async def test_a_screenshot_is_a_complete_png_or_an_error() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /screenshot"] = base64.b64encode(PNG).decode()
        assert await device.screenshot() == PNG

        for bad in (PNG[:-2], b"JFIF" + PNG):
            standin.answers["GET /screenshot"] = base64.b64encode(bad).decode()
            with pytest.raises(DeviceError) as caught:
                await device.screenshot()
            assert (caught.value.kind, caught.value.reason) == (
                "device_busy",
                "screenshot_invalid",
            )
        for answer in ("not base64!", None):
            standin.answers["GET /screenshot"] = answer
            with pytest.raises(DeviceError) as caught:
                await device.screenshot()
            assert caught.value.reason == "screenshot_invalid"


async def test_the_log_is_the_drivers_exchanges_and_says_so() -> None:
    async with open_pair() as (device, _):
        await device.perform(Tap(x=1, y=2))
        lines = (await device.read_log()).decode().splitlines()

        assert "no device log" in lines[0]
        assert f"POST /session/{SESSION}/wda/tap -> 200" in lines[-1]
        assert device.capabilities == frozenset()


async def test_a_hostile_element_id_stays_inside_its_path() -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /source"] = tree(field("ann"), KEYBOARD)
        standin.answers["GET /element/active"] = {"ELEMENT": "../x y?\r\nDELETE /"}
        result = None
        with pytest.raises(DeviceError) as caught:
            result = await device.snapshot()

        assert result is None
        assert caught.value.reason == "wda_answer_invalid"
        assert standin.seen[-1].startswith("GET /element/..%2Fx%20y%3F%0D%0ADELETE%20%2F/rect")
