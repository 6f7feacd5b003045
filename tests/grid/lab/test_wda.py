"""The iOS face over HTTP: routes, envelopes, errors, sessions."""

import base64
import io
from typing import Any

import pytest
import trio
from PIL import Image
from trio.testing import MockClock

from grid.lab.phone import SimPhone
from grid.lab.wda_error import WdaError
from grid.lab.wda_session import MAX_ELEMENTS, WdaSession
from grid.lab.wda_source import XcuiElement
from runner.model.screen import Rect
from tests.grid.lab.ioskit import BUNDLE, make_phone, make_shop_phone, open_client, open_wda

ALERT = "Allow Shop to send you notifications?"


def screen_of(phone: SimPhone) -> object:
    return phone.truth()["screen"]


async def test_status_tells_the_system_and_the_active_session() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        before = await client.ask("GET", "/status")
        session = await client.open_session()
        after = await client.ask("GET", "/status")

    assert (200, None, session) == (
        before.status,
        before.body["sessionId"],
        after.body["sessionId"],
    )
    assert after.value["os"]["version"] == "17.5"
    assert after.value["ready"] is True


async def test_a_user_can_walk_through_the_shop(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        await client.log_in()
        await trio.sleep(0.5)
        assert (await client.get("/alert/text")).value == ALERT
        assert (await client.get("/wda/alert/buttons")).value == ["Don’t Allow", "Allow"]
        assert (await client.post("/alert/accept")).status == 200
        await client.click("open_catalogue")
        await client.wait_for("product_list")
        listing = await client.find("product_list")
        for _ in range(30):
            if (await client.post("/elements", using="id", value="row_12")).value:
                break
            await client.post(f"/wda/element/{listing}/scroll", direction="down", distance=0.5)
        await client.click("row_12")
        await client.wait_for("add_to_cart")
        title = await client.find("product_title")
        assert (await client.get(f"/element/{title}/text")).value == "Product 12"
        await client.wait_for("stock_note")
        await client.click("add_to_cart")
        await client.click("nav_back")
        await client.wait_for("product_list")
        await client.click("nav_back")
        await client.wait_for("open_cart")
        await client.click("open_cart")
        await client.wait_for("cart_total")
        total = await client.find("cart_total")

        assert (await client.get(f"/element/{total}/attribute/label")).value == "Total: 12.00 EUR"

        await client.click("checkout")
        await client.wait_for("order_number")

    assert screen_of(phone) == "confirmation"


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/session", {}, (500, "session not created")),
        ("POST", "/session", {"capabilities": 1}, (500, "session not created")),
        (
            "POST",
            "/session",
            {"capabilities": {"alwaysMatch": {"bundleId": "no.such.app"}}},
            (500, "session not created"),
        ),
        ("GET", "/nothing", None, (404, "unknown command")),
        ("POST", "/status", {}, (404, "unknown command")),
        ("POST", "/wda/tap", {"x": 1, "y": 1}, (404, "unknown command")),
        ("PATCH", "/status", {}, (405, "unknown method")),
        ("GET", "/session/1/source", None, (404, "invalid session id")),
        ("GET", "/session/1", None, (404, "invalid session id")),
        ("GET", "/source?format=yaml", None, (400, "invalid argument")),
        ("GET", "/alert/text", None, (404, "no such alert")),
        ("POST", "/alert/accept", {}, (404, "no such alert")),
        ("POST", "/alert/text", {"value": "x"}, (404, "no such alert")),
        ("POST", "/orientation", {"orientation": "LANDSCAPE"}, (400, "invalid element state")),
        ("POST", "/orientation", {"orientation": "SIDEWAYS"}, (400, "invalid argument")),
        ("POST", "/wda/pressButton", {"name": "turbo"}, (400, "invalid argument")),
        ("POST", "/wda/setPasteboard", {"content": "*"}, (400, "invalid argument")),
    ],
)
async def test_errors_outside_a_session(
    method: str, path: str, body: object, expected: tuple[int, str]
) -> None:
    async with open_wda(make_phone()) as port, open_client(port) as client:
        answer = await client.ask(method, path, body)

    assert expected == answer.error
    assert set(answer.value) == {"error", "message", "traceback"}


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/element", {"using": "id", "value": "none"}, (404, "no such element")),
        ("POST", "/element", {"using": "css", "value": "a"}, (400, "invalid selector")),
        ("POST", "/element", {"using": "xpath", "value": "//["}, (400, "invalid selector")),
        ("POST", "/element", {"using": "id"}, (400, "invalid argument")),
        ("POST", "/element", {"using": "id", "value": 5}, (400, "invalid argument")),
        ("GET", "/element/1234/text", None, (404, "stale element reference")),
        ("GET", "/element/active", None, (404, "no such element")),
        ("POST", "/wda/keys", {"value": ["a"]}, (400, "invalid element state")),
        ("POST", "/wda/keys", {"value": 7}, (400, "invalid argument")),
        ("POST", "/wda/tap", {"x": 1}, (400, "invalid argument")),
        ("POST", "/wda/tap", {"x": 1, "y": "NaN"}, (400, "invalid argument")),
        ("POST", "/wda/touchAndHold", {"x": 1, "y": 1, "duration": 99}, (400, "invalid argument")),
        ("POST", "/wda/swipe", {"direction": "in"}, (400, "invalid argument")),
        ("POST", "/actions", {"actions": []}, (400, "invalid argument")),
        ("POST", "/wda/apps/launch", {"bundleId": "no.such"}, (500, "unknown error")),
        ("POST", "/url", {"url": "mailto:x"}, (500, "unknown error")),
        ("POST", "/appium/settings", {"settings": 1}, (400, "invalid argument")),
        (
            "POST",
            "/appium/settings",
            {"settings": {"waitForIdleTimeout": "x"}},
            (400, "invalid argument"),
        ),
        ("POST", "/session", {"capabilities": {}}, (404, "unknown command")),
    ],
)
async def test_errors_inside_a_session(
    method: str, path: str, body: object, expected: tuple[int, str]
) -> None:
    async with open_wda(make_phone()) as port, open_client(port) as client:
        session = await client.open_session()
        answer = await client.ask(method, client.prefix + path, body)

    assert expected == answer.error
    assert answer.body["sessionId"] == session


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'"x"', b"nul"])
async def test_a_body_that_is_no_json_object_is_an_invalid_argument(body: bytes) -> None:
    async with open_wda(make_phone()) as port, open_client(port) as client:
        answer = await client.ask_raw("POST", "/session", body)

    assert answer.error == (400, "invalid argument")


async def test_what_can_be_read_without_touching_is_answered() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        found = {
            path: (await client.get(path)).value
            for path in (
                "",
                "/window/size",
                "/window/rect",
                "/wda/screen",
                "/orientation",
                "/wda/locked",
                "/wda/activeAppInfo",
                "/wda/apps/list",
                "/appium/settings",
                "/wda/healthcheck",
                "/wda/device/info",
                "/wda/batteryInfo",
            )
        }

    assert found[""]["capabilities"]["CFBundleIdentifier"] == BUNDLE
    assert found["/window/size"] == {"width": 400, "height": 860}
    assert found["/window/rect"] == {"x": 0, "y": 0, "width": 400, "height": 860}
    assert found["/wda/screen"]["scale"] == 3.0
    assert found["/orientation"] == "PORTRAIT"
    assert found["/wda/locked"] is False
    assert found["/wda/activeAppInfo"]["bundleId"] == BUNDLE
    assert found["/wda/activeAppInfo"]["name"] == "Shop"
    assert found["/wda/activeAppInfo"]["pid"] == phone.pid_of(BUNDLE)
    assert found["/wda/apps/list"] == [{"pid": phone.pid_of(BUNDLE), "bundleId": BUNDLE}]
    assert found["/appium/settings"]["snapshotMaxDepth"] == 50
    assert found["/wda/healthcheck"] == "I-AM-ALIVE"
    # The id that WDA has for itself on this phone, which is not the UDID.
    assert found["/wda/device/info"]["uuid"] not in {"", phone.serial}
    assert found["/wda/batteryInfo"]["state"] == 2


async def test_an_element_tells_its_attributes() -> None:
    async with open_wda(make_phone()) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        button = await client.find("login_button")
        parts = ("text", "name", "rect", "enabled", "displayed", "selected", "attribute/value")
        found = [(await client.get(f"/element/{button}/{part}")).value for part in parts]
        visible = (await client.get(f"/element/{button}/attribute/visible")).value
        unknown = await client.get(f"/element/{button}/attribute/colour")

    rect = {"x": 16, "y": 232, "width": 368, "height": 48}
    assert found == ["Log in", "XCUIElementTypeButton", rect, True, True, False, None]
    assert visible == "true"
    assert unknown.error == (400, "invalid selector")


async def test_text_is_appended_cleared_and_sent_by_keys() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        field = await client.find("username")
        await client.post(f"/element/{field}/value", value=["a", "b"])
        await client.post(f"/element/{field}/value", text="c")
        await client.post("/wda/keys", value=["d", "\b", "e"])
        typed = (await client.get(f"/element/{field}/text")).value
        active = (await client.get("/element/active")).value["ELEMENT"]
        await client.post(f"/element/{field}/clear")
        cleared = (await client.get(f"/element/{field}/attribute/value")).value

    assert ("abce", field, "User name") == (typed, active, cleared)


async def test_typing_into_what_is_no_field_is_an_invalid_element_state() -> None:
    async with open_wda(make_phone()) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        title = await client.find("title_login")
        answer = await client.post(f"/element/{title}/value", value="x")

    assert answer.error == (400, "invalid element state")
    assert "keyboard must be present" in answer.value["message"]


async def test_the_keyboard_goes_away_by_a_named_key_alone() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        await client.click("password")
        refused = await client.post("/wda/keyboard/dismiss")
        assert phone.keyboard_shown
        done = await client.post("/wda/keyboard/dismiss", keyNames=["return"])

    assert (refused.error, done.status) == ((400, "invalid element state"), 200)
    assert not phone.keyboard_shown


async def test_an_element_is_stale_when_the_screen_has_gone(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        field = await client.find("username")
        await client.log_in()
        await trio.sleep(1)
        answer = await client.get(f"/element/{field}/text")

    assert answer.error == (404, "stale element reference")


def test_a_session_forgets_the_oldest_of_more_than_1024_elements() -> None:
    kids = tuple(
        XcuiElement(kind="Button", rect=Rect(0, 0, 1, 1), ref=str(number))
        for number in range(MAX_ELEMENTS + 1)
    )
    root = XcuiElement(kind="Application", rect=Rect(0, 0, 1, 1), children=kids)
    session = WdaSession("s", bundle="", capabilities={})
    ids = [session.remember(kid) for kid in kids[:-1]]
    # Used again, so it is not the oldest any more.
    assert ids[0] == session.remember(kids[0])
    ids.append(session.remember(kids[-1]))

    assert kids[0] == session.recall(ids[0], root)
    assert kids[-1] == session.recall(ids[-1], root)
    with pytest.raises(WdaError, match="expired"):
        session.recall(ids[1], root)


async def test_a_new_session_ends_the_old_one_and_resets_the_settings() -> None:
    async with open_wda(make_phone()) as port, open_client(port) as client:
        old = await client.open_session()
        await client.post("/appium/settings", settings={"snapshotMaxDepth": 20, "unknown": 1})
        new = await client.open_session()
        stale = await client.ask("GET", f"/session/{old}/wda/screen")
        settings = (await client.get("/appium/settings")).value

    assert old != new
    assert stale.error == (404, "invalid session id")
    assert settings["snapshotMaxDepth"] == 50
    assert "unknown" not in settings


async def test_the_end_of_a_session_ends_its_app() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        session = await client.open_session(bundleId=BUNDLE)
        assert phone.foreground == BUNDLE
        answer = await client.ask("DELETE", f"/session/{session}")

    assert (200, None, None) == (answer.status, answer.value, answer.body["sessionId"])
    assert phone.app_state(BUNDLE) == 1


async def test_launch_of_a_running_app_only_brings_it_to_the_front() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session()
        await client.post("/wda/apps/launch", bundleId=BUNDLE)
        pid = phone.pid_of(BUNDLE)
        await client.ask("POST", "/wda/homescreen")
        background = (await client.post("/wda/apps/state", bundleId=BUNDLE)).value
        await client.post("/wda/apps/activate", bundleId=BUNDLE)
        again = phone.pid_of(BUNDLE)
        ended = (await client.post("/wda/apps/terminate", bundleId=BUNDLE)).value
        twice = (await client.post("/wda/apps/terminate", bundleId=BUNDLE)).value
        unknown = (await client.post("/wda/apps/state", bundleId="no.such")).value

    assert (3, pid, True, False, 0) == (background, again, ended, twice, unknown)


async def test_a_crash_of_the_sessions_app_is_an_invalid_element_state() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        await client.post("/url", url="shop://crash")
        answer = await client.get("/source?format=json")
        await client.post("/wda/apps/terminate", bundleId=BUNDLE)

    assert answer.error == (400, "invalid element state")
    assert "possibly crashed" in answer.value["message"]


async def test_a_deep_link_opens_its_screen(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE, defaultAlertAction="accept")
        await client.log_in()
        await trio.sleep(0.5)
        assert (await client.post("/url", url="shop://product/7")).status == 200
        await client.wait_for("product_title")

    assert screen_of(phone) == "product"
    assert phone.alert() is None


async def test_an_open_alert_blocks_a_click_and_is_dismissed_by_its_name(
    autojump_clock: MockClock,
) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        await client.log_in()
        await trio.sleep(0.5)
        blocked = await client.post(f"/element/{await client.find('open_cart')}/click")
        wrong = await client.post("/alert/dismiss", name="Perhaps")
        await client.post("/appium/settings", settings={"respectSystemAlerts": True})
        seen = (await client.get("/source")).value
        await client.click("Don’t Allow")

    assert blocked.error == (500, "unexpected alert open")
    assert wrong.error == (400, "invalid element state")
    assert 'bundleId="com.apple.springboard"' in seen
    assert phone.alert() is None


async def test_a_locked_phone_launches_nothing() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session()
        await client.ask("POST", "/wda/lock")
        assert (await client.ask("GET", "/wda/locked")).value is True
        refused = await client.post("/wda/apps/launch", bundleId=BUNDLE)
        await client.ask("POST", "/wda/unlock")
        allowed = await client.post("/wda/apps/launch", bundleId=BUNDLE)

    assert refused.error == (500, "unknown error")
    assert allowed.status == 200


async def test_a_screenshot_is_a_png_of_the_screen_in_pixels() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        whole = Image.open(io.BytesIO(base64.b64decode((await client.get("/screenshot")).value)))
        button = await client.find("login_button")
        data = (await client.get(f"/element/{button}/screenshot")).value
        part = Image.open(io.BytesIO(base64.b64decode(data)))

    assert (whole.format, whole.size) == ("PNG", (1200, 2580))
    assert part.size == (368 * 3, 48 * 3)


async def test_the_pasteboard_keeps_text() -> None:
    phone = make_phone()
    content = base64.b64encode("grüß".encode()).decode()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.ask("POST", "/wda/setPasteboard", {"content": content})
        back = (await client.ask("POST", "/wda/getPasteboard")).value

    assert (content, "grüß") == (back, phone.clipboard)


async def test_w3c_actions_tap_drag_and_type(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    finger: list[dict[str, Any]] = [
        {"type": "pointerMove", "duration": 0, "x": 200, "y": 136},
        {"type": "pointerDown"},
        {"type": "pause", "duration": 40},
        {"type": "pointerUp"},
    ]
    keys = [{"type": kind, "value": char} for char in "Hi" for kind in ("keyDown", "keyUp")]
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        await client.post("/actions", actions=[{"type": "pointer", "id": "1", "actions": finger}])
        await client.post("/actions", actions=[{"type": "key", "id": "2", "actions": keys}])
        field = await client.find("username")
        typed = (await client.get(f"/element/{field}/text")).value

    assert typed == "Hi"


async def test_a_drag_follows_the_finger_and_a_swipe_coasts(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE, defaultAlertAction="dismiss")
        await client.log_in()
        await trio.sleep(0.5)
        await client.click("open_catalogue")
        await client.wait_for("row_3")
        row = await client.find("row_3")
        before = (await client.get(f"/element/{row}/rect")).value["y"]
        drag = {"fromX": 200, "fromY": 600, "toX": 200, "toY": 536, "duration": 0.1}
        await client.post("/wda/dragfromtoforduration", **drag)
        after = (await client.get(f"/element/{row}/rect")).value["y"]
        listing = await client.find("product_list")
        await client.post(f"/wda/element/{listing}/swipe", direction="up")
        await trio.sleep(3)
        gone = await client.get(f"/element/{row}/rect")

    assert before - after == 64
    assert gone.error == (404, "stale element reference")


async def test_the_left_edge_leads_back(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE, defaultAlertAction="accept")
        await client.log_in()
        await trio.sleep(0.5)
        await client.click("open_cart")
        await client.wait_for("cart_empty")
        drag = {"fromX": 2, "fromY": 400, "toX": 300, "toY": 400, "duration": 0}
        await client.post("/wda/dragfromtoforduration", **drag)
        await trio.sleep(0.5)

    assert screen_of(phone) == "home"


async def test_the_trace_shows_each_request_and_the_bytes() -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.ask("GET", "/status")
        await client.open_session()
        await client.get("/source?format=json")
        await client.post("/wda/tap", x=1, y=2)

    assert [entry.text for entry in phone.trace.entries()] == [
        "GET /status",
        'POST /session {"capabilities":{"alwaysMatch":{}}}',
        "GET /session/:s/source format=json",
        'POST /session/:s/wda/tap {"x":1,"y":2}',
    ]
    assert phone.trace.received()["wda"] > 200
