"""facebook-wda's own API (selectors, alerts, elements) on the connection of an open device.

`bridge_wda` lends the device to plain functions that take a `wda.Client`. They run in a thread;
each HTTP call of theirs goes through the driver's connection and deadlines. The client heals
nothing by itself and opens no session: a crash or a lost session must be seen. facebook-wda's
exceptions are raised inside, where its code expects them, and are translated where they leave.

May be imported by: runner.cli, tests. Imports: runner.errors, drivers.threads, drivers.ios, trio;
wda, lazily.
"""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeVar, final
from urllib.parse import quote

import trio

from drivers.ios.answer import refusal_of
from drivers.ios.device import IosDevice
from drivers.ios.http import Reply
from drivers.ios.library import load_wda
from drivers.ios.wda import Wda
from drivers.threads import run_blocking
from runner.errors import DeviceError

T = TypeVar("T")

_SPECIAL: Final = (
    "WDAInvalidSessionIdError",
    "WDAPossiblyCrashedError",
    "WDAKeyboardNotPresentError",
    "WDAUnknownError",
    "WDAStaleElementReferenceError",
)


class RunBridged(Protocol):
    """Runs a function on a `wda.Client`."""

    async def __call__(self, function: Callable[[Any], T]) -> T:
        """Return what `function` returns, run in a thread; the device is taken meanwhile.

        Reasons: those of the driver, and `wda_element_absent` (product). An exception of
        `function` itself passes through.
        """
        ...


@asynccontextmanager
async def bridge_wda(device: IosDevice) -> AsyncGenerator[RunBridged]:
    """Lend `device` to functions that use facebook-wda."""
    library = load_wda()
    limiter = trio.CapacityLimiter(1)
    token = trio.lowlevel.current_trio_token()

    async def run(function: Callable[[Any], T]) -> T:
        async with device.lock:
            line = _Line(device.wda, token)
            client = _client_class(library)(line, device.wda.require_session())
            try:
                return await run_blocking(function, client, limiter=limiter, on_cancel=line.close)
            except library.WDAError as error:
                raise _translate(library, device.wda, error) from error

    await trio.lowlevel.checkpoint()
    yield run


@final
class BridgeClosedError(BaseException):
    """Ends the thread of a cancelled call; no `except Exception` of facebook-wda may keep it."""


@final
class _Line:
    """Calls from the thread to the driver, one at a time, until the line is closed."""

    def __init__(self, wda: Wda, token: trio.lowlevel.TrioToken) -> None:
        self._wda = wda
        self._token = token
        self._scope = trio.CancelScope()
        self._is_closed = False

    def close(self) -> None:
        """End the present call and refuse later ones."""
        self._is_closed = True
        self._scope.cancel()

    def fetch(self, method: str, path: str, data: Any, timeout_s: float | None) -> Reply:
        """Make one request; called in the thread."""
        reply = trio.from_thread.run(
            self._fetch, method, path, data, timeout_s, trio_token=self._token
        )
        if reply is None:
            raise BridgeClosedError
        return reply

    async def _fetch(
        self, method: str, path: str, data: Any, timeout_s: float | None
    ) -> Reply | None:
        if self._is_closed:
            return None
        reply: Reply | None = None
        with trio.CancelScope() as self._scope:
            reply = await self._wda.fetch(method, path, data, limit_s=timeout_s)
        return reply  # noqa: RET504 - or none, when the scope was cancelled.


def _client_class(library: Any) -> Any:
    """Return the client; its base class is there only once the library is loaded."""

    class BridgedClient(library.Client):  # type: ignore[misc]  # The library is untyped.
        """A `wda.Client` on the driver's connection and session."""

        def __init__(self, line: _Line, session: str) -> None:
            # With a session id of its own, the base class registers none of its self-healing.
            super().__init__("http://wda", _session_id=session)
            self._line = line

        def _fetch(
            self,
            method: str,
            urlpath: str,
            data: Any = None,
            with_session: bool = False,  # noqa: FBT001, FBT002 - the signature of the base class.
            timeout: float | None = None,
        ) -> Any:
            parts = [urlpath.strip("/")]
            if with_session:
                parts = ["session", quote(self.session_id, safe=""), *parts]
            path = "/" + "/".join(part for part in parts if part)
            reply = self._line.fetch(method.upper(), path, data, timeout)
            return _open_reply(library, reply, f"{method.upper()} {path}")

        def tap(self, x: float, y: float) -> Any:
            """Tap once: the base class would tap again by an old route when that fails."""
            return self._session_http.post("/wda/tap", {"x": x, "y": y})

        def window_size(self) -> Any:
            """Return the size: the base class would accept an alert that is in the way."""
            return self._unsafe_window_size()

        def session(self, *_args: Any, **_options: Any) -> Any:
            """Refuse: the driver owns the one session."""
            raise _owned("open a session")

        def close(self) -> Any:
            """Refuse: the driver owns the one session."""
            raise _owned("close the session")

    return BridgedClient


def _open_reply(library: Any, reply: Reply, call: str) -> Any:
    """Return the envelope as facebook-wda does, or raise its exception for what is wrong."""
    if reply.status == 502:
        raise library.WDABadGateway(reply.status, reply.body[:200].decode("utf-8", "replace"))
    if not reply.body:
        raise library.WDAEmptyResponseError(call)
    try:
        envelope = json.loads(reply.body)
    except (ValueError, RecursionError) as error:
        raise library.WDAError(call, f"the answer is not JSON: {error}") from error
    if not isinstance(envelope, dict) or "value" not in envelope:
        raise library.WDAError(call, "the answer is not the WebDriver envelope")
    envelope.setdefault("status", 0)
    envelope.setdefault("sessionId", None)
    value = envelope["value"]
    if reply.status >= 400 and isinstance(value, dict) and value.get("error"):
        fault = {key: str(value.get(key) or "") for key in ("error", "message")}
        for name in _SPECIAL:
            kind = getattr(library, name)
            if kind.check(fault):
                raise kind(reply.status, fault)
        raise library.WDARequestError(reply.status, fault)
    return library.AttrDict(envelope)


def _translate(library: Any, wda: Wda, error: Exception) -> DeviceError:
    if isinstance(error, library.WDARequestError):
        value: dict[str, str] = error.value  # As _open_reply made it.
        refusal = refusal_of(value["error"], value["message"], call="a bridged call")
        wda.note_refusal(refusal)
        return refusal
    if isinstance(error, (library.WDAElementNotFoundError, library.WDAElementNotDisappearError)):
        return DeviceError(
            kind="product",
            reason="wda_element_absent",
            message=f"the selector did not come true: {error!s:.500}",
        )
    return DeviceError(
        kind="driver_fault",
        reason="wda_answer_invalid",
        message=f"a bridged call got an answer that cannot be read: {error!s:.500}",
    )


def _owned(what: str) -> DeviceError:
    return DeviceError(
        kind="misuse",
        reason="action_unsupported",
        message=f"a bridged client cannot {what}: the driver owns the session",
        hint="use app_launch and app_terminate on the client, or the actions of the device",
    )
