"""What went wrong in a step or attempt, as a value that travels and is stored.

May be imported by: everyone. Imports: runner.errors.
"""

from typing import Any

from msgspec import Struct

from runner.errors import DeviceError, FailureKind, RunnerError


class Failure(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """One error, JSON-ready; the fields of `RunnerError` and who is to blame."""

    kind: FailureKind
    code: str
    reason: str
    message: str
    details: dict[str, Any] = {}
    hint: str = ""


def failure_of(error: RunnerError) -> Failure:
    """Return the value of `error`; an error with no kind of its own is a driver fault."""
    return Failure(
        kind=error.kind if isinstance(error, DeviceError) else "driver_fault",
        code=error.code,
        reason=error.reason,
        message=error.message,
        details=dict(error.details),
        hint=error.hint,
    )


def is_infrastructure(kind: FailureKind) -> bool:
    """Tell whether the failure says nothing about the product."""
    return kind in {"device_lost", "device_busy", "driver_fault"}
