"""The lab's control server: the truth about each phone, its trace, and its faults, over HTTP.

For tests and for `sweepgrid lab`; drivers never speak to it. It listens on loopback. The second
half is its client.

    GET    /devices                          serials, platforms, the process id, and each part
    GET    /faults                           the catalogue
    GET    /devices/<serial>/truth           the app's and the phone's state
    GET    /devices/<serial>/trace           what clients asked, and the bytes received
    POST   /devices/<serial>/faults          {"name": ..., "params": {...}}
    DELETE /devices/<serial>/faults/<name>
    POST   /shutdown

May be imported by: grid.lab, runner.cli, tests. Imports: grid.lab, runner.errors, h11, trio.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, final
from urllib.parse import quote, unquote, urlsplit

import h11
import msgspec
import trio
from msgspec import Meta, Struct

from grid.lab.fault import FAULTS
from grid.lab.httpd import HttpReply, HttpRequest, serve_http
from grid.lab.phone import SimPhone
from runner.errors import GridError, InputError, RunnerError

T = TypeVar("T")

CALL_LIMIT_S: Final = 5.0
_MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
_REFUSALS: Final = frozenset({"lab_control_refused", "lab_device_unknown", "lab_fault_unknown"})


class FaultRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body that starts a fault."""

    name: str
    params: dict[str, Annotated[float, Meta(le=1_000_000)]] = {}


class LabDevice(Struct, frozen=True, kw_only=True):
    """One phone, as `GET /devices` has it."""

    serial: str
    platform: str
    foreground: str
    faults: dict[str, dict[str, float]]


class LabPart(Struct, frozen=True, kw_only=True):
    """One part that clients reach, by its address; `note` says what is wrong when it is `down`."""

    name: str
    address: str
    state: Literal["up", "down"] = "up"
    note: str = ""


AskParts: TypeAlias = Callable[[], Awaitable[tuple[LabPart, ...]]]


class LabStatus(Struct, frozen=True, kw_only=True):
    """The whole lab, as `GET /devices` has it."""

    pid: int
    devices: tuple[LabDevice, ...]
    parts: tuple[LabPart, ...] = ()


async def serve_control(
    phones: Mapping[str, SimPhone],
    *,
    shutdown: Callable[[], None],
    ask_parts: AskParts | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled; announces the port. `phones` go by the serials that clients use."""
    desk = _Desk(phones, shutdown, ask_parts)

    async def serve_connection(stream: trio.SocketStream) -> None:
        await serve_http(stream, desk.answer, lambda _: None)

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(port, host=host)
        await nursery.start(trio.serve_listeners, serve_connection, listeners)
        task_status.started(int(listeners[0].socket.getsockname()[1]))


@final
class _Desk:
    """Answers the requests."""

    def __init__(
        self,
        phones: Mapping[str, SimPhone],
        shutdown: Callable[[], None],
        ask_parts: AskParts | None,
    ) -> None:
        self._phones = phones
        self._shutdown = shutdown
        self._ask_parts = ask_parts

    async def answer(self, request: HttpRequest) -> HttpReply:
        segments = [unquote(part) for part in request.path.split("/") if part]
        try:
            match request.method, segments:
                case "GET", ["devices"]:
                    value: Any = await self._status()
                case "GET", ["faults"]:
                    value = FAULTS
                case "GET", ["devices", serial, "truth"]:
                    value = self._phone(serial).truth()
                case "GET", ["devices", serial, "trace"]:
                    value = _trace(self._phone(serial))
                case "POST", ["devices", serial, "faults"]:
                    wanted = _fault_request(request.body)
                    self._phone(serial).faults.set(wanted.name, **wanted.params)
                    value = self._phone(serial).faults.active()
                case "DELETE", ["devices", serial, "faults", name]:
                    self._phone(serial).faults.clear(name)
                    value = self._phone(serial).faults.active()
                case "POST", ["shutdown"]:
                    self._shutdown()
                    value = None
                case _:
                    return _problem(404, "lab_control_refused", f"no route for {request.path!r}")
        except RunnerError as error:
            return _problem(400, error.reason, error.message)
        return HttpReply(body=msgspec.json.encode(value))

    async def _status(self) -> LabStatus:
        devices = tuple(
            LabDevice(
                serial=serial,
                platform=phone.platform,
                foreground=phone.foreground,
                faults={name: dict(row) for name, row in phone.faults.active().items()},
            )
            for serial, phone in self._phones.items()
        )
        parts = await self._ask_parts() if self._ask_parts is not None else ()
        return LabStatus(pid=os.getpid(), devices=devices, parts=parts)

    def _phone(self, serial: str) -> SimPhone:
        phone = self._phones.get(serial)
        if phone is None:
            raise InputError(
                reason="lab_device_unknown",
                message=f"the lab has no device {serial!r}; it has {', '.join(self._phones)}",
                details={"serial": serial},
            )
        return phone


def _trace(phone: SimPhone) -> dict[str, Any]:
    return {"entries": phone.trace.entries(), "received": phone.trace.received()}


def _fault_request(body: bytes) -> FaultRequest:
    try:
        wanted = msgspec.json.decode(body, type=FaultRequest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            reason="lab_control_refused",
            message=f"a fault is JSON with `name` and numeric `params`: {error}",
        ) from error
    info = FAULTS.get(wanted.name)
    strange = sorted(wanted.params.keys() - info.params.keys()) if info is not None else ()
    if strange:
        raise InputError(
            reason="lab_fault_unknown",
            message=f"lab fault {wanted.name!r} has no parameter {', '.join(strange)}",
            details={"fault": wanted.name, "param": strange[0]},
        )
    return wanted


def _problem(status: int, reason: str, message: str) -> HttpReply:
    body = msgspec.json.encode({"error": {"reason": reason, "message": message}})
    return HttpReply(status=status, body=body)


class _Problem(Struct, frozen=True):
    reason: str
    message: str


class _Refusal(Struct, frozen=True):
    error: _Problem


async def lab_status(truth_url: str) -> LabStatus:
    """Return the lab's devices. Reasons: `lab_unreachable`."""
    return _decode(truth_url, await _call(truth_url, "GET", "/devices"), LabStatus)


async def lab_truth(truth_url: str, serial: str) -> dict[str, Any]:
    """Return a phone's state. Reasons: `lab_unreachable`, `lab_device_unknown`."""
    data = await _call(truth_url, "GET", f"/devices/{quote(serial, safe='')}/truth")
    return _decode(truth_url, data, dict[str, Any])


async def lab_trace(truth_url: str, serial: str) -> dict[str, Any]:
    """Return `entries` and `received` of a phone. Reasons: as `lab_truth`."""
    data = await _call(truth_url, "GET", f"/devices/{quote(serial, safe='')}/trace")
    return _decode(truth_url, data, dict[str, Any])


async def lab_fault(
    truth_url: str, serial: str, name: str, params: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Start a fault; return those that are active then.

    Reasons: `lab_unreachable`, `lab_device_unknown`, `lab_fault_unknown`.
    """
    body = msgspec.json.encode(FaultRequest(name=name, params=dict(params or {})))
    path = f"/devices/{quote(serial, safe='')}/faults"
    return _decode(truth_url, await _call(truth_url, "POST", path, body), dict[str, Any])


async def lab_clear_fault(truth_url: str, serial: str, name: str) -> dict[str, Any]:
    """End a fault; return those that are still active. Reasons: as `lab_fault`."""
    path = f"/devices/{quote(serial, safe='')}/faults/{quote(name, safe='')}"
    return _decode(truth_url, await _call(truth_url, "DELETE", path), dict[str, Any])


async def lab_shutdown(truth_url: str) -> None:
    """Ask the lab to end. Reasons: `lab_unreachable`."""
    await _call(truth_url, "POST", "/shutdown")


def _decode(truth_url: str, data: bytes, wanted: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreachable(truth_url, f"what answers there is no lab: {error}") from error


async def _call(truth_url: str, method: str, path: str, body: bytes = b"") -> bytes:
    """Make one request of one connection; return the body of a success."""
    host, port = _address(truth_url)
    status, data = 0, b""
    try:
        with trio.fail_after(CALL_LIMIT_S):
            async with await trio.open_tcp_stream(host, port) as stream:
                status, data = await _exchange(stream, method, path, body)
    except trio.TooSlowError as error:
        raise _unreachable(truth_url, f"no answer in {CALL_LIMIT_S:g} s") from error
    except (OSError, trio.BrokenResourceError, h11.ProtocolError) as error:
        raise _unreachable(truth_url, str(error) or type(error).__name__) from error
    if status == 200:
        return data
    try:
        refused = msgspec.json.decode(data, type=_Refusal).error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreachable(truth_url, f"it answers {status} and is no lab") from error
    if refused.reason not in _REFUSALS:
        raise _unreachable(truth_url, f"it answers {status}: {refused.message}")
    raise InputError(reason=refused.reason, message=refused.message)


def _address(truth_url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(truth_url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _unreachable(truth_url, str(error)) from error
    if not host or not port:
        raise _unreachable(truth_url, "that is no http URL with a port")
    return host, port


async def _exchange(
    stream: trio.SocketStream, method: str, path: str, body: bytes
) -> tuple[int, bytes]:
    connection = h11.Connection(h11.CLIENT)
    headers = [
        ("Host", "lab"),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    request = h11.Request(method=method, target=path, headers=headers)
    for event in (request, h11.Data(data=body), h11.EndOfMessage()):
        await stream.send_all(connection.send(event) or b"")
    status, data = 0, b""
    while True:
        answer = connection.next_event()
        if answer is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(64 * 1024)))
        elif isinstance(answer, h11.Response):
            status = answer.status_code
        elif isinstance(answer, h11.Data):
            data += answer.data
            if len(data) > _MAX_ANSWER_BYTES:
                raise h11.RemoteProtocolError("the answer is too large")
        elif isinstance(answer, h11.EndOfMessage):
            return status, data
        else:
            raise h11.RemoteProtocolError("the connection closed before an answer")


def _unreachable(truth_url: str, why: str) -> GridError:
    return GridError(
        reason="lab_unreachable",
        message=f"the lab at {truth_url} cannot be reached: {why}",
        details={"truthUrl": truth_url, "cause": why},
    )
