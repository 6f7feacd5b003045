"""The routes of WebDriverAgent that the driver needs, typed, with a deadline on each call.

Invariant: one session, owned by one driver. A session that WDA no longer knows is never replaced
behind the caller's back: every later call fails until `open_session` is called, because whoever
took the session away may have changed what the phone shows. Only method, path, status and time
are traced: bodies hold what users type.

May be imported by: drivers.ios, tests. Imports: runner.errors, drivers.ios.{http,answer,source},
trio.
"""

import re
from collections import deque
from typing import Any, Final, TypeVar, final
from urllib.parse import quote

import msgspec
import trio
from msgspec import Struct

from drivers.ios.answer import WdaRefusedError, read_session_id, read_value
from drivers.ios.http import HttpConnection, Reply
from drivers.ios.source import SourceNode, SourceRect, text_of
from runner.errors import DeviceError

T = TypeVar("T")

ELEMENT_KEY: Final = "element-6066-11e4-a52e-4f735466cecf"
DEPTHS: Final = (50, 40, 30, 20)
"""`snapshotMaxDepth`, from the usual one down: iOS fails on trees that are deeper than it likes."""


class Limits(Struct, frozen=True, kw_only=True):
    """Deadlines in seconds. `probe_s` is that of a health probe, `release_s` of a release."""

    call_s: float = 30.0
    source_s: float = 60.0
    probe_s: float = 5.0
    release_s: float = 2.0


class Os(Struct, frozen=True):
    """The system, as `/status` tells."""

    name: str = ""
    version: str = ""


class Status(Struct, frozen=True):
    """What `/status` tells of the phone. `ios` has `simulatorVersion` on a simulator."""

    ready: bool = True
    os: Os = Os()
    ios: dict[str, Any] = {}
    device: str = ""


class Info(Struct, frozen=True):
    """What `/wda/device/info` tells: `uuid` stays with a phone, whichever way it is reached."""

    uuid: str = ""


class Size(Struct, frozen=True):
    """A size in points."""

    width: float
    height: float


class Screen(Struct, frozen=True):
    """What `/wda/screen` tells: screenshot pixels per point."""

    scale: float = 1.0


class ActiveApp(Struct, frozen=True, rename="camel"):
    """The app in the foreground."""

    bundle_id: str = ""
    name: str = ""
    pid: int = 0


class ElementRef(Struct, frozen=True):
    """An element id; both spellings are sent, old ones have only the second."""

    w3c: str = msgspec.field(default="", name=ELEMENT_KEY)
    old: str = msgspec.field(default="", name="ELEMENT")


class _Exchange(Struct, frozen=True):
    """One request that was made; written as text only when somebody asks."""

    began: float
    ended: float
    method: str
    path: str
    result: int | str


class _Session(Struct, frozen=True, rename="camel"):
    session_id: str


_UNRESERVED: Final = re.compile(r"[A-Za-z0-9_.~-]+")
_ANY: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(Any)
_TEXT: Final[msgspec.json.Decoder[str | None]] = msgspec.json.Decoder(str | None)
_BOOL: Final = msgspec.json.Decoder(bool)
_INT: Final = msgspec.json.Decoder(int)
_SIZE: Final = msgspec.json.Decoder(Size)
_RECT: Final = msgspec.json.Decoder(SourceRect)
_SCREEN: Final = msgspec.json.Decoder(Screen)
_STATUS: Final = msgspec.json.Decoder(Status)
_INFO: Final = msgspec.json.Decoder(Info)
_SESSION: Final = msgspec.json.Decoder(_Session)
_ACTIVE: Final = msgspec.json.Decoder(ActiveApp)
_SOURCE: Final = msgspec.json.Decoder(SourceNode)
_ELEMENT: Final = msgspec.json.Decoder(ElementRef)
_ELEMENTS: Final = msgspec.json.Decoder(list[ElementRef])

_CAPABILITIES: Final = {
    "shouldWaitForQuiescence": False,
    "waitForIdleTimeout": 0,
    "maxTypingFrequency": 60,
}
_SETTINGS: Final = {
    # The caller settles the screen by looking at it; WDA waits up to a minute for idleness.
    "waitForIdleTimeout": 0,
    "animationCoolOffTimeout": 0,
    # A system alert is what the user sees, so it is what a snapshot shows.
    "respectSystemAlerts": True,
    "maxTypingFrequency": 60,
}


class SourceRead(Struct, frozen=True):
    """A tree, the answer that it came in, and the depth that it was read with."""

    root: SourceNode
    raw: bytes
    max_depth: int


@final
class Wda:
    """A client of one WDA and the owner of one session on it."""

    def __init__(self, http: HttpConnection, limits: Limits) -> None:
        self._http = http
        self.limits = limits
        self.session: str | None = None
        self._max_depth = DEPTHS[0]
        self._opened_at = trio.current_time()
        self._trace: deque[_Exchange] = deque(maxlen=2_000)

    # Calls

    async def fetch(
        self, method: str, path: str, body: object = None, *, limit_s: float | None = None
    ) -> Reply:
        """Make one request and return the answer as it is.

        Reasons: `device_call_deadline` (driver_fault) and those of `HttpConnection.request`.
        """
        limit = self.limits.call_s if limit_s is None else limit_s
        data = msgspec.json.encode(body if body is not None else {}) if method == "POST" else None
        began = trio.current_time()
        result: int | str = "cancelled"
        try:
            with trio.CancelScope(deadline=began + limit):
                reply = await self._http.request(method, path, data)
                result = reply.status
                return reply
            result = "deadline"
        except DeviceError as error:
            result = error.reason
            raise
        finally:
            self._trace.append(_Exchange(began, trio.current_time(), method, path, result))
        raise DeviceError(
            kind="driver_fault",
            reason="device_call_deadline",
            message=f"WebDriverAgent did not answer {method} {path} within {limit:g} s",
            details={"call": f"{method} {path}", "limit_ms": round(limit * 1000)},
        )

    async def call(
        self,
        method: str,
        route: str,
        body: object = None,
        *,
        decoder: msgspec.json.Decoder[T],
        limit_s: float | None = None,
    ) -> T:
        """Call a route of the session and return its value.

        Reasons: those of `fetch`, of `read_value`, and `wda_session_lost` (driver_fault).
        """
        reply = await self.fetch(method, self._path(route), body, limit_s=limit_s)
        return self._read(reply, decoder, call=f"{method} {route}")

    async def post(self, route: str, body: object = None, *, limit_s: float | None = None) -> None:
        """Post to a route of the session whose value means nothing."""
        await self.call("POST", route, body, decoder=_ANY, limit_s=limit_s)

    def require_session(self) -> str:
        """Return the session's id. Reasons: `wda_session_lost` (driver_fault)."""
        if self.session is None:
            raise DeviceError(
                kind="driver_fault",
                reason="wda_session_lost",
                message="the session on WebDriverAgent was lost earlier and was not opened again",
            )
        return self.session

    def _path(self, route: str) -> str:
        return f"/session/{_quote(self.require_session())}{route}"

    def note_refusal(self, refusal: WdaRefusedError) -> None:
        """Forget the session when `refusal` says that WDA does not know it."""
        if refusal.reason == "wda_session_lost":
            self.session = None

    def _read(self, reply: Reply, decoder: msgspec.json.Decoder[T], *, call: str) -> T:
        try:
            return read_value(reply, decoder, call=call)
        except WdaRefusedError as refusal:
            self.note_refusal(refusal)
            raise

    @property
    def trace(self) -> tuple[str, ...]:
        """The last exchanges, oldest first, without bodies."""
        return tuple(
            f"{each.ended - self._opened_at:10.3f}s {each.method} {each.path} -> {each.result}"
            f" in {(each.ended - each.began) * 1000:.0f} ms"
            for each in self._trace
        )

    # The agent and its session

    async def read_status(self) -> tuple[Status, str | None]:
        """Return what `/status` tells, and the session that WDA has. It is off the main queue."""
        reply = await self.fetch("GET", "/status", limit_s=self.limits.probe_s)
        call = "GET /status"
        return self._read(reply, _STATUS, call=call), read_session_id(reply, call=call)

    async def read_info(self) -> Info:
        """Return what `/wda/device/info` tells, without a session; old agents tell nothing."""
        reply = await self.fetch("GET", "/wda/device/info", limit_s=self.limits.probe_s)
        try:
            return self._read(reply, _INFO, call="GET /wda/device/info")
        except WdaRefusedError:
            return Info()

    async def open_session(self, *, limit_s: float | None = None) -> None:
        """Create the session, which ends any other that WDA has, and set it up."""
        body = {"capabilities": {"alwaysMatch": _CAPABILITIES}}
        reply = await self.fetch("POST", "/session", body, limit_s=limit_s)
        self.session = self._read(reply, _SESSION, call="POST /session").session_id
        self._max_depth = DEPTHS[0]
        await self._set({**_SETTINGS, "snapshotMaxDepth": self._max_depth}, limit_s=limit_s)

    async def delete_session(self) -> None:
        """End the session; WDA drops the calls that it has queued for it."""
        if self.session is not None:
            path = self._path("")
            self.session = None
            reply = await self.fetch("DELETE", path, limit_s=self.limits.release_s)
            self._read(reply, _ANY, call="DELETE /session")

    async def _set(self, settings: dict[str, object], *, limit_s: float | None = None) -> None:
        await self.post("/appium/settings", {"settings": settings}, limit_s=limit_s)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    # The screen

    async def read_source(self) -> SourceRead:
        """Return the tree of the screen.

        Reasons: `screen_unreadable` (device_busy) when it stays too deep, and those of `call`.
        """
        route = "/source?format=json&excluded_attributes=visible,accessible"
        for depth in DEPTHS:
            if depth > self._max_depth:
                continue
            if depth < self._max_depth:
                await self._set({"snapshotMaxDepth": depth})
                self._max_depth = depth
            reply = await self.fetch("GET", self._path(route), limit_s=self.limits.source_s)
            try:
                root = self._read(reply, _SOURCE, call="GET /source")
            except WdaRefusedError as refusal:
                if "kAXErrorIllegalArgument" not in refusal.text:
                    raise
            else:
                return SourceRead(root, reply.body, depth)
        raise DeviceError(
            kind="device_busy",
            reason="screen_unreadable",
            message=f"the tree of the screen is too deep for iOS, even cut at {DEPTHS[-1]} levels",
            details={"depths": list(DEPTHS)},
        )

    async def window_size(self, *, limit_s: float | None = None) -> Size:
        """Return the size of the screen in points."""
        return await self.call("GET", "/window/size", decoder=_SIZE, limit_s=limit_s)

    async def screen_scale(self) -> float:
        """Return screenshot pixels per point."""
        return (await self.call("GET", "/wda/screen", decoder=_SCREEN)).scale

    async def active_app(self) -> ActiveApp:
        """Return the app in the foreground."""
        return await self.call("GET", "/wda/activeAppInfo", decoder=_ACTIVE)

    async def screenshot(self) -> str:
        """Return the screen as a PNG in base64."""
        return await self.call("GET", "/screenshot", decoder=_TEXT) or ""

    async def is_locked(self, *, limit_s: float | None = None) -> bool:
        """Tell whether the phone is locked."""
        return await self.call("GET", "/wda/locked", decoder=_BOOL, limit_s=limit_s)

    async def alert_text(self) -> str:
        """Return the text of the alert that is shown, empty when none is."""
        try:
            return await self.call("GET", "/alert/text", decoder=_TEXT) or ""
        except WdaRefusedError as refusal:
            if refusal.reason == "alert_absent":
                return ""
            raise

    async def press_home(self) -> None:
        """Show the launcher."""
        reply = await self.fetch("POST", "/wda/homescreen")
        try:
            self._read(reply, _ANY, call="POST /wda/homescreen")
        except WdaRefusedError as refusal:
            # It is shown, only later than WDA waits for it.
            if "until SpringBoard is visible" not in refusal.text:
                raise

    # Elements

    async def find_all(self, using: str, value: str) -> tuple[str, ...]:
        """Return the ids of all elements that match, in document order."""
        body = {"using": using, "value": value}
        found = await self.call("POST", "/elements", body, decoder=_ELEMENTS)
        return tuple(each.w3c or each.old for each in found)

    async def find_active(self) -> str | None:
        """Return the id of the element with the keyboard's focus, if any."""
        try:
            found = await self.call("GET", "/element/active", decoder=_ELEMENT)
        except WdaRefusedError as refusal:
            if refusal.error == "no such element":
                return None
            raise
        return found.w3c or found.old or None

    async def element_rect(self, element: str) -> SourceRect:
        """Return where an element is."""
        return await self.call("GET", f"/element/{_quote(element)}/rect", decoder=_RECT)

    async def element_text(self, element: str, attribute: str) -> str:
        """Return an attribute of an element as text."""
        route = f"/element/{_quote(element)}/attribute/{attribute}"
        return text_of(await self.call("GET", route, decoder=_ANY))

    async def element_type(self, element: str) -> str:
        """Return the XCUI type of an element, which WDA calls its name."""
        return await self.call("GET", f"/element/{_quote(element)}/name", decoder=_TEXT) or ""

    async def clear_element(self, element: str) -> None:
        """Empty a text field."""
        await self.post(f"/element/{_quote(element)}/clear")

    async def type_into(self, element: str, text: str, *, frequency: int) -> None:
        """Focus a text field and append `text`, `frequency` characters a second."""
        body = {"value": list(text), "text": text, "frequency": frequency}
        await self.post(f"/element/{_quote(element)}/value", body)

    # Apps

    async def app_state(self, bundle: str) -> int:
        """Return 1 for not running, 2 and 3 for background, 4 for foreground, 0 for unknown."""
        return await self.call("POST", "/wda/apps/state", {"bundleId": bundle}, decoder=_INT)


def _quote(element: str) -> str:
    return element if _UNRESERVED.fullmatch(element) else quote(element, safe="")
