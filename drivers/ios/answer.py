"""What a WDA answers: the value inside the envelope, or the error that it names, as ours.

Pure. WDA names errors by the WebDriver error codes; two conditions that matter (a crashed app, an
absent keyboard) it tells only in the message, so these two are looked up there.

May be imported by: drivers.ios, tests. Imports: runner.errors, drivers.ios.http.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from drivers.ios.http import Reply
from runner.errors import DeviceError, FailureKind

T = TypeVar("T")


class WdaRefusedError(DeviceError):
    """WDA understood the request and refused it. `error` is the WebDriver error code."""

    def __init__(
        self,
        *,
        kind: FailureKind,
        reason: str,
        message: str,
        error: str,
        text: str,
        details: Mapping[str, Any],
    ) -> None:
        super().__init__(kind=kind, reason=reason, message=message, details=details)
        self.error = error
        self.text = text


class _Envelope(Struct, rename="camel"):
    value: msgspec.Raw = msgspec.Raw(b"null")
    session_id: str | None = None


class _Error(Struct):
    error: str
    message: str | None = None


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_ERROR: Final = msgspec.json.Decoder(_Error)

_BY_ERROR: Final[Mapping[str, tuple[FailureKind, str]]] = {
    "invalid session id": ("driver_fault", "wda_session_lost"),
    "no such alert": ("product", "alert_absent"),
    "unable to capture screen": ("device_busy", "screenshot_invalid"),
    "unknown command": ("misuse", "action_unsupported"),
    "unknown method": ("misuse", "action_unsupported"),
    "unsupported operation": ("misuse", "action_unsupported"),
}
_BY_MESSAGE: Final[tuple[tuple[str, FailureKind, str], ...]] = (
    ("possibly crashed", "product", "app_crashed"),
    ("keyboard must be present", "product", "text_input_not_focused"),
)


def read_value(reply: Reply, decoder: msgspec.json.Decoder[T], *, call: str) -> T:
    """Return the value that `reply` carries.

    Reasons: `wda_answer_invalid` (driver_fault) and those of `refusal_of`.
    """
    envelope = _open(reply, call)
    value = envelope.value
    if reply.status < 400:
        try:
            return decoder.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            # WDA of old answered errors with status 200.
            refusal = _find_refusal(envelope, reply.status, call)
            raise refusal or _invalid(reply, call, f"its value is odd: {error}") from error
    refusal = _find_refusal(envelope, reply.status, call)
    raise refusal or _invalid(reply, call, "it is an error without a name")


def read_session_id(reply: Reply, *, call: str) -> str | None:
    """Return the session that the envelope names. Reasons: `wda_answer_invalid`."""
    return _open(reply, call).session_id


def refusal_of(error: str, text: str, *, call: str, status: int = 0) -> WdaRefusedError:
    """Return the error that WDA's `error` code and message stand for.

    Reasons: `wda_session_lost`, `app_crashed`, `alert_absent`, `text_input_not_focused`,
    `screenshot_invalid`, `action_unsupported`, `wda_refused`.
    """
    kind, reason = _BY_ERROR.get(error, ("driver_fault", "wda_refused"))
    for mark, its_kind, its_reason in _BY_MESSAGE:
        if mark in text:
            kind, reason = its_kind, its_reason
    return WdaRefusedError(
        kind=kind,
        reason=reason,
        message=f"WebDriverAgent refused {call[:200]}: {error[:100]}: {text[:500]}",
        error=error,
        text=text,
        details={"call": call, "status": status, "error": error, "message": text[:2000]},
    )


def _open(reply: Reply, call: str) -> _Envelope:
    if not reply.body:
        raise _invalid(reply, call, "the body is empty")
    try:
        return _ENVELOPE.decode(reply.body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _invalid(reply, call, f"it is not the JSON envelope: {error}") from error


def _find_refusal(envelope: _Envelope, status: int, call: str) -> WdaRefusedError | None:
    try:
        found = _ERROR.decode(envelope.value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None  # The caller reports the answer as a whole.
    refusal = refusal_of(found.error, found.message or "", call=call, status=status)
    is_loss = refusal.reason == "wda_session_lost"
    return _explain_loss(refusal, envelope.session_id) if is_loss else refusal


def _explain_loss(refusal: WdaRefusedError, theirs: str | None) -> WdaRefusedError:
    """Return the loss of a session with its cause: every answer names the session that WDA has."""
    why = (
        f"another client has the session on WebDriverAgent now ({theirs:.80})"
        if theirs
        else "WebDriverAgent has no session now, as after a restart"
    )
    return WdaRefusedError(
        kind=refusal.kind,
        reason=refusal.reason,
        message=f"{refusal.message}: {why}",
        error=refusal.error,
        text=refusal.text,
        details={**refusal.details, "session": theirs[:200] if theirs else None},
    )


def _invalid(reply: Reply, call: str, why: str) -> DeviceError:
    return DeviceError(
        kind="driver_fault",
        reason="wda_answer_invalid",
        message=f"the answer to {call} (status {reply.status}) cannot be read: {why}",
        details={
            "call": call,
            "status": reply.status,
            "head": reply.body[:200].decode("utf-8", "replace"),
        },
    )
