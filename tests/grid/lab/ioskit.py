"""What the tests of the lab's iOS face share: a phone on the air and a bare HTTP client for it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import msgspec
import trio

from grid.lab.appfile import load_app
from grid.lab.phone import SimPhone
from grid.lab.wda import serve_wda
from grid.lab.wda_error import WdaError

SHOP = Path(__file__).parents[2] / "support" / "apps" / "keepsake.toml"
BUNDLE = "com.sweepgrid.shop"
UDID = "00008120-000A1B2C3D4E0001"


def make_shop_phone(clock: Callable[[], float], serial: str = UDID) -> SimPhone:
    """A fresh iPhone with the shop."""
    return SimPhone(platform="ios", serial=serial, app=load_app(SHOP), clock=clock, seed=7)


def make_phone(serial: str = UDID) -> SimPhone:
    """A fresh iPhone with the shop, on trio's clock."""
    return make_shop_phone(trio.current_time, serial)


class Answer(msgspec.Struct, frozen=True):
    """A status and the decoded body."""

    status: int
    body: Any

    @property
    def value(self) -> Any:
        return self.body["value"]

    @property
    def error(self) -> tuple[int, str]:
        return self.status, self.body["value"]["error"]


class Client:
    """One keep-alive connection, one request at a time."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.connection = h11.Connection(h11.CLIENT)
        self.prefix = ""

    async def ask(self, method: str, path: str, body: object = None) -> Answer:
        data = b"" if body is None else msgspec.json.encode(body)
        return await self.ask_raw(method, path, data)

    async def ask_raw(self, method: str, path: str, data: bytes) -> Answer:
        request = h11.Request(
            method=method,
            target=path,
            headers=[("Host", "phone"), ("Content-Length", str(len(data)))],
        )
        await self.stream.send_all(self.connection.send(request) or b"")
        await self.stream.send_all(self.connection.send(h11.Data(data=data)) or b"")
        await self.stream.send_all(self.connection.send(h11.EndOfMessage()) or b"")
        status, parts = 0, b""
        while True:
            event = self.connection.next_event()
            if event is h11.NEED_DATA:
                self.connection.receive_data(bytes(await self.stream.receive_some(65536)))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                parts += event.data
            elif isinstance(event, h11.EndOfMessage):
                self.connection.start_next_cycle()
                return Answer(status, msgspec.json.decode(parts))
            else:
                raise trio.BrokenResourceError("the server closed")

    async def open_session(self, **capabilities: object) -> str:
        body = {"capabilities": {"alwaysMatch": capabilities}}
        answer = await self.ask("POST", "/session", body)
        assert answer.status == 200, answer
        self.prefix = f"/session/{answer.value['sessionId']}"
        return str(answer.value["sessionId"])

    async def get(self, path: str) -> Answer:
        return await self.ask("GET", self.prefix + path)

    async def post(self, path: str, **body: object) -> Answer:
        return await self.ask("POST", self.prefix + path, body)

    async def find(self, value: str, using: str = "id") -> str:
        answer = await self.post("/element", using=using, value=value)
        assert answer.status == 200, answer
        return str(answer.value["ELEMENT"])

    async def wait_for(self, value: str) -> None:
        """Wait until an element is there."""
        found: list[object] = []
        with trio.fail_after(5):
            while not found:
                found = (await self.post("/elements", using="id", value=value)).value
                await trio.sleep(0.02)

    async def click(self, value: str) -> None:
        answer = await self.post(f"/element/{await self.find(value)}/click")
        assert answer.status == 200, answer

    async def log_in(self) -> None:
        for name, text in (("username", "ann@example.com"), ("password", "secret-42")):
            answer = await self.post(f"/element/{await self.find(name)}/value", value=text)
            assert answer.status == 200, answer
        await self.click("login_button")


def error_of(call: Callable[[], object]) -> str:
    """Return the name of the error that a call raises, else an empty text."""
    try:
        call()
    except WdaError as error:
        return error.error
    return ""


@asynccontextmanager
async def open_wda(phone: SimPhone) -> AsyncIterator[int]:
    """Serve a phone's WebDriverAgent; yields the port."""
    async with trio.open_nursery() as nursery:
        port: int = await nursery.start(serve_wda, phone)
        yield port
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_client(port: int) -> AsyncIterator[Client]:
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        yield Client(stream)
