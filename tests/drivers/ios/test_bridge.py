import subprocess
import sys
import threading
from typing import Any

import pytest
import trio

from drivers.ios.bridge import bridge_wda
from drivers.ios.wda import Limits
from runner.errors import DeviceError
from runner.model.action import OpenApp
from tests.drivers.ios.labkit import SHOP, LabPhone, open_lab_phone
from tests.drivers.ios.standin import Raw
from tests.drivers.ios.test_device import open_pair

pytestmark = pytest.mark.slow


async def failure_of(lab: LabPhone, function: Any) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        async with bridge_wda(lab.device) as run:
            await run(function)
    return caught.value


async def test_the_librarys_selectors_and_elements_work_on_the_drivers_session() -> None:
    def log_in(client: Any) -> tuple[str, bool]:
        client(id="username").get().set_text("ann@example.com")
        client(id="password").get().set_text("secret-42")
        client(label="Log in", className="Button").click()
        assert client.alert.wait(3)
        client.alert.accept()
        return client(id="greeting").get(timeout=3).label, client(id="absent").exists

    async with open_lab_phone() as lab:
        await lab.device.perform(OpenApp(app=SHOP))
        async with bridge_wda(lab.device) as run:
            assert await run(log_in) == ("Hello, Ann", False)
            assert await run(lambda client: client.session_id) == lab.device.wda.session
            assert await run(lambda client: tuple(client.window_size())) == (400, 860)


async def test_the_librarys_errors_are_translated_where_they_leave() -> None:
    async with open_lab_phone() as lab:
        absent = await failure_of(lab, lambda client: client(id="absent").get(timeout=0.1))
        alert = await failure_of(lab, lambda client: client.alert.text)
        session = await failure_of(lab, lambda client: client.session(SHOP))
        closed = await failure_of(lab, lambda client: client.close())

        assert (absent.kind, absent.reason) == ("product", "wda_element_absent")
        assert (alert.kind, alert.reason) == ("product", "alert_absent")
        assert session.reason == closed.reason == "action_unsupported"


async def test_an_error_of_the_function_itself_passes_through() -> None:
    async with open_lab_phone() as lab:
        with pytest.raises(ZeroDivisionError):
            async with bridge_wda(lab.device) as run:
                await run(lambda _: 1 // 0)


async def test_a_lost_session_is_seen_and_not_healed() -> None:
    async with open_lab_phone() as lab:
        lab.phone.faults.set("wda_restart")
        error = await failure_of(lab, lambda client: client.app_current() and client.scale)
        again = await failure_of(lab, lambda client: client.scale)

        assert error.reason == again.reason == "wda_session_lost"
        assert "POST /session {" not in str(lab.phone.trace.entries()[-4:])


@pytest.mark.parametrize(
    "answer", [Raw(502, b"<html>"), Raw(200, b""), Raw(200, b"{"), Raw(200, b"[]")]
)
async def test_an_answer_that_is_none_is_a_fault_of_the_driver(answer: Raw) -> None:
    async with open_pair() as (device, standin):
        standin.answers["GET /orientation"] = answer
        with pytest.raises(DeviceError) as caught:
            async with bridge_wda(device) as run:
                await run(lambda client: client.orientation)

    assert (caught.value.kind, caught.value.reason) == ("driver_fault", "wda_answer_invalid")


async def test_a_cancelled_function_ends_at_once_even_when_it_catches_everything() -> None:
    ended = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def stubborn(client: Any) -> None:
        try:
            while True:
                try:
                    client.window_size()
                except Exception:  # noqa: BLE001, S112 - as code of users does.
                    continue
        finally:
            token.run_sync_soon(ended.set)

    async with open_lab_phone() as lab:
        lab.phone.faults.set("wda_hang")
        async with bridge_wda(lab.device) as run:
            began = trio.current_time()
            with trio.move_on_after(0.1):
                await run(stubborn)
            took = trio.current_time() - began
            with trio.fail_after(1):
                await ended.wait()

        assert took < 0.4


async def test_a_cancelled_function_reaches_the_phone_no_more() -> None:
    ended = trio.Event()
    token = trio.lowlevel.current_trio_token()
    gate = threading.Event()

    def late(client: Any) -> None:
        try:
            gate.wait(5)
            client.window_size()
        finally:
            token.run_sync_soon(ended.set)

    async with open_pair() as (device, standin):
        asked = standin.seen.count("GET /window/size")
        async with bridge_wda(device) as run:
            with trio.move_on_after(0.05):
                await run(late)
            gate.set()
            with trio.fail_after(2):
                await ended.wait()

        assert standin.seen.count("GET /window/size") == asked


async def test_a_deadline_of_the_driver_holds_for_bridged_calls() -> None:
    async with open_lab_phone(limits=Limits(call_s=0.1)) as lab:
        lab.phone.faults.set("wda_hang")
        error = await failure_of(lab, lambda client: client.window_size())

        assert error.reason == "device_call_deadline"


def test_the_driver_does_not_import_the_library_and_its_import_warns_of_nothing() -> None:
    program = (
        "import sys, drivers.ios.bridge, drivers.ios.device\n"
        "assert not {'wda', 'construct', 'PIL'} & set(sys.modules), 'imported early'\n"
        "from drivers.ios.library import load_wda\n"
        "load_wda()\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-X", "pycache_prefix=/nonexistent", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
