"""A WebDriverAgent of a few lines for the driver's tests: answers from a table, over real HTTP."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import h11
import trio
from msgspec import Struct

SESSION = "0363BDC5-4335-47ED-A54E-F7CCB65C6A65"


class Raw(Struct, frozen=True):
    """A status and a body that are sent as they are."""

    status: int
    body: bytes


class Hang(Struct, frozen=True):
    """No answer, ever."""


class Late(Struct, frozen=True):
    """No value, after a while."""

    seconds: float


def refused(status: int, error: str, message: str = "") -> Raw:
    """Return WDA's error envelope."""
    value = {"error": error, "message": message, "traceback": ""}
    return Raw(status, json.dumps({"value": value, "sessionId": SESSION}).encode())


Answer: TypeAlias = Any
"""A value, a `Raw`, a `Hang`, or a function of the request's body that returns one of them."""


class StandIn:
    """The table of answers, by `METHOD /path` without the session part, and what was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[str] = []
        self.bodies: list[tuple[str, Any]] = []
        self.connections = 0
        self.answers: dict[str, Answer] = {
            "GET /status": {
                "ready": True,
                "os": {"name": "iOS", "version": "17.5"},
                "ios": {"ip": "10.0.0.2", "simulatorVersion": "17.5"},
                "device": "iphone",
            },
            "POST /session": {"sessionId": SESSION, "capabilities": {"device": "iphone"}},
            "GET /window/size": {"width": 400, "height": 860},
            "GET /wda/device/info": {"name": "phone", "uuid": "A-UUID"},
            "GET /wda/screen": {"scale": 3, "statusBarSize": {"width": 400, "height": 50}},
            "GET /wda/activeAppInfo": {"bundleId": "com.sweepgrid.shop", "name": "Shop", "pid": 7},
            "GET /wda/locked": False,
            "POST /wda/apps/state": 4,
            "POST /elements": [],
        }
        self.status_session: str | None = SESSION

    def asked(self, prefix: str) -> list[Any]:
        """Return the bodies of the requests whose route begins so."""
        return [body for route, body in self.bodies if route.startswith(prefix)]

    async def answer(self, route: str, body: Any) -> Raw:
        self.seen.append(route)
        self.bodies.append((route, body))
        answer = self.answers.get(route)
        if callable(answer):
            answer = answer(body)
        if isinstance(answer, Hang):
            await trio.sleep_forever()
        if isinstance(answer, Late):
            await trio.sleep(answer.seconds)
            answer = None
        if isinstance(answer, Raw):
            return answer
        session = self.status_session if route == "GET /status" else SESSION
        return Raw(200, json.dumps({"value": answer, "sessionId": session}).encode())

    async def serve(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        connection = h11.Connection(h11.SERVER)
        async with stream:
            try:
                while await self._serve_one(stream, connection):
                    connection.start_next_cycle()
            except trio.BrokenResourceError:
                return

    async def _serve_one(self, stream: trio.SocketStream, connection: h11.Connection) -> bool:
        request: h11.Request | None = None
        data = b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some())
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                data += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return False
        assert request is not None
        path = request.target.decode().partition("?")[0].replace(f"/session/{SESSION}", "")
        route = f"{request.method.decode()} {path or '/'}"
        reply = await self.answer(route, json.loads(data) if data else None)
        headers = [("Content-Length", str(len(reply.body)))]
        head = connection.send(h11.Response(status_code=reply.status, headers=headers))
        body = connection.send(h11.Data(data=reply.body))
        connection.send(h11.EndOfMessage())
        await stream.send_all((head or b"") + (body or b""))
        return True


@asynccontextmanager
async def open_standin() -> AsyncGenerator[StandIn]:
    """Serve a stand-in on a free port of the loopback."""
    standin = StandIn()
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, standin.serve, 0)
        port = listeners[0].socket.getsockname()[1]
        standin.url = f"http://127.0.0.1:{port}"
        yield standin
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_raw(
    *scripts: Callable[[trio.SocketStream], Any],
) -> AsyncGenerator[int]:
    """Serve each connection by the next script; yield the port."""
    pending = list(scripts)

    async def serve(stream: trio.SocketStream) -> None:
        script = pending.pop(0)
        async with stream:
            try:
                await script(stream)
            except trio.BrokenResourceError:
                return

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()
