"""facebook-wda, unmodified, against the lab: over TCP and over usbmux."""

import base64
import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import wda
from wda.usbmux import pyusbmux

from grid.lab.usbmuxd import UsbDevice, serve_usbmuxd
from tests.grid.lab.ioskit import BUNDLE, UDID, make_phone, open_wda

pytestmark = [
    pytest.mark.slow,
    # The library leaves every connection to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def journey(url: str) -> dict[str, Any]:
    """What a user of facebook-wda writes: log in, answer the alert, find a product, put it in."""
    found: dict[str, Any] = {}
    client = wda.Client(url)
    client.unregister_callback()
    found["ready"] = client.status()["ready"]
    session = client.session(BUNDLE)
    found["bundle"] = session.bundle_id
    found["size"] = tuple(session.window_size())
    found["scale"] = session.scale
    session(id="username").get().set_text("ann@example.com")
    session(className="SecureTextField").get().set_text("secret-42")
    found["secret"] = session(id="password").get().value
    session(label="Log in", className="Button").get().click()
    assert session.alert.wait(5)
    found["alert"] = session.alert.text
    found["chosen"] = session.alert.click(["OK", "Allow"])
    session(text="open_catalogue").get(timeout=5).click()
    listing = session(id="product_list").get(timeout=5)
    for _ in range(30):
        if session(label="Product 15").exists:
            break
        listing.scroll("down", 0.5)
    session(predicate="label == 'Product 15' AND type == 'XCUIElementTypeCell'").get().click()
    found["product"] = session(name="product_title").get(timeout=5).text
    found["stock"] = session(nameContains="stock").get(timeout=5).label
    session.xpath("//Button[@name='add_to_cart']").get().click()
    session(classChain="**/NavigationBar/Button").get().click()
    session(id="product_list").get(timeout=5)
    session(id="nav_back").get().click()
    session(text="open_cart").get(timeout=5).click()
    found["total"] = session(id="cart_total").get(timeout=5).label
    found["app"] = session.app_current()["bundleId"]
    found["screenshot"] = session.screenshot(format="pillow").size
    found["source"] = "Total: 15.00 EUR" in session.source()
    found["json"] = session.source(format="json")["type"]
    found["gone"] = session(id="add_to_cart").wait_gone(timeout=2)
    session.home()
    found["state"] = session.app_state(BUNDLE).value
    session.app_terminate(BUNDLE)
    found["ended"] = session.app_state(BUNDLE).value
    session.close()
    return found


EXPECTED = {
    "ready": True,
    "bundle": BUNDLE,
    "size": (400, 860),
    "scale": 3.0,
    "secret": "•" * 9,
    "alert": "Allow Shop to send you notifications?",
    "chosen": "Allow",
    "product": "Product 15",
    "stock": "In stock",
    "total": "Total: 15.00 EUR",
    "app": BUNDLE,
    "screenshot": (1200, 2580),
    "source": True,
    "json": "Application",
    "gone": True,
    "state": 3,
    "ended": 1,
}


async def run_in_thread(work: Callable[[str], Any], url: str) -> Any:
    """Run blocking code; its connections are collected while their warnings are expected."""

    def run() -> Any:
        try:
            return work(url)
        finally:
            gc.collect()

    try:
        return await trio.to_thread.run_sync(run)
    finally:
        gc.collect()


async def test_the_journey_passes_over_tcp() -> None:
    phone = make_phone()
    async with open_wda(phone) as port:
        found = await run_in_thread(journey, f"http://127.0.0.1:{port}")

    assert found == EXPECTED
    assert phone.truth()["apps"][BUNDLE] == 1


async def test_the_journey_passes_over_usbmux(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone = make_phone()
    socket_path = tmp_path / "usbmuxd"
    # The library knows one place only; this is its own setting, not our code.
    monkeypatch.setattr(pyusbmux.MuxConnection, "USBMUXD_PIPE", str(socket_path))
    async with open_wda(phone) as port, trio.open_nursery() as nursery:
        device = UsbDevice(device_id=1, phone=phone, ports={8100: ("127.0.0.1", port)})
        await nursery.start(partial(serve_usbmuxd, [device], path=socket_path))
        listed = await trio.to_thread.run_sync(pyusbmux.list_devices)
        found = await run_in_thread(journey, f"http+usbmux://{UDID}:8100")
        nursery.cancel_scope.cancel()

    assert [(each.serial, each.connection_type) for each in listed] == [(UDID, "USB")]
    assert found == EXPECTED


async def in_session(work: Callable[[Any], Any]) -> Any:
    def run(url: str) -> Any:
        client = wda.Client(url)
        client.unregister_callback()
        return work(client.session(BUNDLE))

    phone = make_phone()
    async with open_wda(phone) as port:
        return await run_in_thread(run, f"http://127.0.0.1:{port}")


async def test_the_rest_of_its_interface_answers() -> None:
    def work(session: Any) -> dict[str, Any]:
        field = session(id="username").get()
        field.tap()
        session.send_keys("ab\b")
        typed = field.text
        field.clear_text()
        session.click(0.5, 0.5)
        session.double_tap(5, 5)
        session.tap_hold(5, 5, 0.1)
        session.swipe_up()
        session.set_clipboard("copied")
        info = session(id="login_button").get().info
        session.lock()
        locked = session.locked()
        session.unlock()
        session.press("volumeUp")
        session.press_duration("power", 0.01)
        session.press_duration("power", 0.01)
        return {
            "typed": typed,
            "cleared": session(id="username").get().value,
            "clipboard": base64.b64decode(session._session_http.post("/wda/getPasteboard").value),
            "info": info["className"],
            "accessible": info["accessible"],
            "locked": (locked, session.locked()),
            "orientation": session.orientation,
            "settings": session.appium_settings({"snapshotMaxDepth": 30})["snapshotMaxDepth"],
            "device": session.device_info()["model"],
            "bounds": tuple(session(id="login_button").get().bounds),
            "visible": session(id="login_button").get().visible,
            "count": session(className="TextField").count(),
            "child": session(className="Window").child(className="Button").count(),
        }

    assert await in_session(work) == {
        "typed": "a",
        "cleared": "User name",
        "clipboard": b"copied",
        "info": "XCUIElementTypeButton",
        "accessible": True,
        "locked": (True, False),
        "orientation": "PORTRAIT",
        "settings": 30,
        "device": "iPhone",
        "bounds": (16, 232, 368, 48),
        "visible": "true",
        "count": 1,
        "child": 1,
    }


async def test_its_error_classes_fit() -> None:
    def catch(call: Callable[[], object]) -> str:
        try:
            call()
        except wda.WDAError as error:
            return type(error).__name__
        return "no error"

    def work(session: Any) -> list[str]:
        field = session(id="username").get()
        found = [
            catch(lambda: session(id="nobody").get(timeout=0)),
            catch(session.alert.accept),
            catch(lambda: session(id="title_login").get().set_text("x")),
            catch(lambda: session.app_launch("no.such.app")),
        ]
        session.open_url("shop://crash")
        found.append(catch(lambda: field.text))
        session.session_id = "gone"
        found.append(catch(lambda: session(id="username").exists))
        return found

    assert await in_session(work) == [
        "WDAElementNotFoundError",
        "WDARequestError",
        "WDAKeyboardNotPresentError",
        "WDAUnknownError",
        "WDAPossiblyCrashedError",
        "WDAInvalidSessionIdError",
    ]
