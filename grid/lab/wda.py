"""The iOS face: a WebDriverAgent over HTTP for one virtual phone.

Everything waits for the main queue, one request at a time in order of arrival, except /status,
/screenshot and the end of a session. A request stays in the queue when its client has gone, as on
a phone. The faults: `wda_hang` holds the queue, `stall` answers nothing, `slow` answers late,
`drop` and `wda_restart` reset the connections.

May be imported by: grid.lab, runner.cli, tests. Imports: grid.lab, trio, msgspec.
"""

import socket
import struct
from collections.abc import Mapping
from typing import Any, Final, final
from urllib.parse import unquote

import msgspec
import trio

from grid.lab import wda_routes_device, wda_routes_element, wda_routes_gesture, wda_routes_session
from grid.lab.httpd import HttpReply, HttpRequest, serve_http
from grid.lab.phone import SimPhone
from grid.lab.wda_call import Route, WdaCall
from grid.lab.wda_error import NO_SESSION, WdaError
from grid.lab.wda_session import WdaProcess

FACE: Final = "wda"
_POLL_S: Final = 0.02
_LINGER_RESET: Final = struct.pack("ii", 1, 0)
_METHODS: Final = frozenset({"GET", "POST", "PUT", "DELETE"})
_SIDES: Final[Mapping[str, tuple[bool, ...]]] = {
    "session": (True,),
    "outside": (False,),
    "either": (True, False),
}
_ENCODER: Final = msgspec.json.Encoder()


async def serve_wda(
    phone: SimPhone,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the phone's WebDriverAgent until cancelled; announces the port that it listens on."""
    face = _Face(phone)
    unsubscribe = phone.faults.subscribe(face.take_fault)
    try:
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(port, host=host)
            await nursery.start(trio.serve_listeners, face.serve_connection, listeners)
            task_status.started(int(listeners[0].socket.getsockname()[1]))
    finally:
        unsubscribe()


@final
class _Face:
    """The connections of one WebDriverAgent and what their requests do."""

    def __init__(self, phone: SimPhone) -> None:
        self._phone = phone
        self._process = WdaProcess(phone)
        self._router = Router()
        self._connections: set[trio.CancelScope] = set()

    async def serve_connection(self, stream: trio.SocketStream) -> None:
        """Serve one client until it leaves or a fault resets it."""
        with trio.CancelScope() as scope:
            self._connections.add(scope)
            try:
                if self._phone.faults.get("drop") is None:
                    await serve_http(stream, self._answer, self._count)
                else:
                    scope.cancel()
            finally:
                self._connections.discard(scope)
                if scope.cancel_called:
                    # A reset, not a tidy end: the client must see that something broke.
                    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)

    def take_fault(self, name: str) -> None:
        """Act on a fault that begins: resets happen at once."""
        if name == "wda_restart":
            self._process.restart()
        if name in {"wda_restart", "drop"}:
            for scope in tuple(self._connections):
                scope.cancel()

    def _count(self, size_bytes: int) -> None:
        self._phone.trace.count_received(FACE, size_bytes)

    async def _answer(self, request: HttpRequest) -> HttpReply:
        """Carry out one request and return its envelope, whatever happens."""
        if self._phone.faults.get("stall") is not None:
            await self._wait_while("stall")
        try:
            value = await self._carry_out(request)
            status = 200
        except WdaError as error:
            status = error.status
            value = {"error": error.error, "message": error.message, "traceback": ""}
        slow = self._phone.faults.get("slow")
        if slow is not None:
            await trio.sleep(slow["latency_ms"] / 1000)
        session = self._process.session
        envelope = {"value": value, "sessionId": session.id if session is not None else None}
        return HttpReply(status=status, body=_ENCODER.encode(envelope))

    async def _carry_out(self, request: HttpRequest) -> Any:
        segments, session_id = _split_path(request.path)
        self._phone.trace.record(FACE, _describe(request, segments, has_session=bool(session_id)))
        route, path = self._router.find(request.method, segments, has_session=bool(session_id))
        arguments = _arguments(request.body) if request.method in {"POST", "PUT"} else {}
        call = WdaCall(process=self._process, path=path, query=request.query, arguments=arguments)
        self._check_session(session_id)
        if route.off_queue:
            return await route.handler(call)
        with trio.CancelScope() as scope:
            session = self._process.session if session_id else None
            if session is not None:
                session.queued.add(scope)
            try:
                return await self._take_turn(route, call, session_id)
            finally:
                if session is not None:
                    session.queued.discard(scope)
        raise WdaError("invalid session id", NO_SESSION)

    async def _take_turn(self, route: Route, call: WdaCall, session_id: str) -> Any:
        queue = self._process.queue
        try:
            queue.acquire_nowait()  # A free queue needs no turn of the event loop.
        except trio.WouldBlock:
            await queue.acquire()
        try:
            if self._phone.faults.get("wda_hang") is not None:
                await self._wait_while("wda_hang")
            self._check_session(session_id)
            if session_id:
                self._process.check_app()
            self._process.answer_by_default()
            return await route.handler(call)
        finally:
            queue.release()

    def _check_session(self, session_id: str) -> None:
        session = self._process.session
        if session_id and (session is None or session.id != session_id):
            raise WdaError("invalid session id", NO_SESSION)

    async def _wait_while(self, fault: str) -> None:
        # A fault may end by the phone's clock, of which nobody tells.
        while self._phone.faults.get(fault) is not None:  # noqa: ASYNC110
            await trio.sleep(_POLL_S)


@final
class Router:
    """The table of routes, indexed by method and length."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], list[tuple[tuple[str, ...], Route]]] = {}
        # Paths without a parameter, by method and whether they stand under a session.
        self._fixed: dict[tuple[str, bool, tuple[str, ...]], Route] = {}
        for table in (
            wda_routes_session.ROUTES,
            wda_routes_device.ROUTES,
            wda_routes_element.ROUTES,
            wda_routes_gesture.ROUTES,
        ):
            for route in table:
                pattern = tuple(part for part in route.path.split("/") if part)
                self._rows.setdefault((route.method, len(pattern)), []).append((pattern, route))
                if ":" not in route.path:
                    for has_session in _SIDES[route.scope]:
                        self._fixed.setdefault((route.method, has_session, pattern), route)

    def find(
        self, method: str, segments: tuple[str, ...], *, has_session: bool
    ) -> tuple[Route, Mapping[str, str]]:
        """Return the route and its parameters. Raises *unknown command* or *unknown method*."""
        fixed = self._fixed.get((method, has_session, segments))
        if fixed is not None:
            return fixed, {}
        if method not in _METHODS:
            raise WdaError("unknown method", f"no route answers the method {method}")
        barred = "outside" if has_session else "session"
        best: tuple[int, Route, Mapping[str, str]] | None = None
        for pattern, route in self._rows.get((method, len(segments)), ()):
            if route.scope == barred:
                continue
            path = _match(pattern, segments)
            # `/element/active` before `/element/:e`: fewer parameters win.
            if path is not None and (best is None or len(path) < best[0]):
                best = len(path), route, path
        if best is None:
            raise WdaError(
                "unknown command",
                f"Unhandled endpoint: {method} /{'/'.join(segments)} -- "
                f"{'with' if has_session else 'without'} a session",
            )
        return best[1], best[2]


def _match(pattern: tuple[str, ...], segments: tuple[str, ...]) -> Mapping[str, str] | None:
    found: dict[str, str] = {}
    for part, segment in zip(pattern, segments, strict=True):
        if part.startswith(":"):
            found[part[1:]] = segment
        elif part != segment:
            return None
    return found


def _split_path(path: str) -> tuple[tuple[str, ...], str]:
    """Return the path below the session, and the session's id."""
    parts = [part for part in path.split("/") if part]
    segments = tuple(map(unquote, parts) if "%" in path else parts)
    if len(segments) >= 2 and segments[0] == "session":
        return segments[2:], segments[1]
    return segments, ""


def _arguments(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WdaError("invalid argument", f"the request body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise WdaError("invalid argument", "the request body must be a JSON object")
    return found


def _describe(request: HttpRequest, segments: tuple[str, ...], *, has_session: bool) -> str:
    """Return a request as the trace keeps it, with the session's id left out."""
    path = "/".join(("", "session", ":s", *segments) if has_session else ("", *segments)) or "/"
    text = f"{request.method} {path}"
    if request.query:
        text += " " + "&".join(f"{key}={value}" for key, value in request.query.items())
    body = request.body.decode("utf-8", "replace").strip()
    return f"{text} {body}" if body else text
