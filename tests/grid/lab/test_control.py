from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio

from grid.lab.control import (
    lab_clear_fault,
    lab_fault,
    lab_shutdown,
    lab_status,
    lab_trace,
    lab_truth,
    serve_control,
)
from grid.lab.phone import SimPhone
from runner.errors import GridError, InputError
from tests.grid.lab.ioskit import UDID, make_phone, open_client


@asynccontextmanager
async def open_control(phone: SimPhone) -> AsyncIterator[tuple[str, trio.Event]]:
    stopped = trio.Event()
    async with trio.open_nursery() as nursery:
        serve = partial(serve_control, {"127.0.0.1:16001": phone}, shutdown=stopped.set)
        port: int = await nursery.start(serve)
        yield f"http://127.0.0.1:{port}", stopped
        nursery.cancel_scope.cancel()


async def test_the_truth_and_the_trace_of_a_phone_can_be_read() -> None:
    phone = make_phone()
    phone.trace.record("wda", "GET /status")
    phone.trace.count_received("wda", 40)
    async with open_control(phone) as (url, _):
        status = await lab_status(url)
        truth = await lab_truth(url, "127.0.0.1:16001")
        trace = await lab_trace(url, "127.0.0.1:16001")

    assert [(d.serial, d.platform) for d in status.devices] == [("127.0.0.1:16001", "ios")]
    assert (truth["serial"], truth["screen"]) == (UDID, "")
    assert trace["received"] == {"wda": 40}
    assert [entry["text"] for entry in trace["entries"]] == ["GET /status"]


async def test_faults_come_and_go() -> None:
    phone = make_phone()
    async with open_control(phone) as (url, _):
        active = await lab_fault(url, "127.0.0.1:16001", "slow", {"latency_ms": 5})
        seen = (await lab_status(url)).devices[0].faults
        left = await lab_clear_fault(url, "127.0.0.1:16001", "slow")

    assert active == {"slow": {"latency_ms": 5.0, "for_s": 0}} == seen
    assert left == {}


@pytest.mark.parametrize(
    ("serial", "name", "params", "reason"),
    [
        ("nobody", "slow", {}, "lab_device_unknown"),
        ("127.0.0.1:16001", "fire", {}, "lab_fault_unknown"),
        ("127.0.0.1:16001", "slow", {"heat": 1}, "lab_fault_unknown"),
        ("127.0.0.1:16001", "slow", {"name": 1}, "lab_fault_unknown"),
        ("127.0.0.1:16001", "slow", {"latency_ms": -1}, "lab_fault_unknown"),
    ],
)
async def test_what_does_not_exist_is_refused(
    serial: str, name: str, params: dict[str, float], reason: str
) -> None:
    async with open_control(make_phone()) as (url, _):
        with pytest.raises(InputError) as caught:
            await lab_fault(url, serial, name, params)

    assert reason == caught.value.reason


async def test_the_catalogue_and_strange_requests_are_answered() -> None:
    async with open_control(make_phone()) as (url, _):
        port = int(url.rpartition(":")[2])
        async with open_client(port) as client:
            catalogue = await client.ask("GET", "/faults")
            nothing = await client.ask("GET", "/secrets")
            wrong = await client.ask_raw("POST", "/devices/127.0.0.1%3A16001/faults", b"{]")
            name = await client.ask("DELETE", "/devices/127.0.0.1%3A16001/faults/fire")

    assert catalogue.body["wda_hang"]["platforms"] == ["ios"]
    assert [answer.status for answer in (nothing, wrong, name)] == [404, 400, 400]
    assert wrong.body["error"]["reason"] == "lab_control_refused"


async def test_a_shutdown_is_passed_on_and_answered() -> None:
    async with open_control(make_phone()) as (url, stopped):
        await lab_shutdown(url)

        assert stopped.is_set()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://127.0.0.1", "x", "http://[", "http://a:b"]
)
async def test_a_lab_that_is_not_there_is_unreachable(url: str) -> None:
    with pytest.raises(GridError) as caught:
        await lab_status(url)

    assert caught.value.reason == "lab_unreachable"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}",
        b'HTTP/1.1 404 No\r\nContent-Length: 42\r\n\r\n{"error":{"reason":"other","message":"?!"}}',
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
        b"",
    ],
)
async def test_something_else_that_listens_is_no_lab(answer: bytes) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        await stream.receive_some(1000)
        await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        await nursery.start(trio.serve_listeners, serve, listeners)
        with pytest.raises(GridError) as caught:
            await lab_status(f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}")
        nursery.cancel_scope.cancel()

    assert caught.value.reason == "lab_unreachable"
