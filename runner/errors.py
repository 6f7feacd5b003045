"""The errors of the product: one base class, few subclasses by who must act.

`code` is the family, `reason` the machine-readable literal that callers branch on (an API,
listed with its meaning and fix in `runner.reasons` and `docs/reasons.md`), `details` JSON-ready
facts. `message` is for people: a lower-case fragment that fits behind "failed: ".

May be imported by: everyone. Imports: runner.reasons.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from runner.reasons import REASONS

MESSAGE_LIMIT: Final = 4_000
"""Characters of a message; what a device or a file said may be of any length."""


class RunnerError(Exception):
    """Base of every error that sweepgrid raises on purpose."""

    def __init__(
        self,
        *,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        hint: str = "",
    ) -> None:
        if len(message) > MESSAGE_LIMIT:
            message = f"{message[:MESSAGE_LIMIT]}… ({len(message)} characters)"
        super().__init__(message)
        if reason not in REASONS:
            raise LookupError(f"reason {reason!r} is not declared in runner.reasons")
        self.reason = reason
        self.code = REASONS[reason].code
        self.message = message
        self.details: Mapping[str, Any] = dict(details or {})
        self.hint = hint or REASONS[reason].fix

    def __str__(self) -> str:
        return f"{self.message} [{self.reason}]"


class InputError(RunnerError):
    """The caller's input or request is wrong; the author or caller acts."""


FailureKind: TypeAlias = Literal["product", "device_lost", "device_busy", "driver_fault", "misuse"]
"""Who is to blame, which decides the quota.

`product`: the app did not do what the flow says. `device_lost`: the device or the way to it is
gone. `device_busy`: it is there but cannot answer now. `driver_fault`: the driver or its agent on
the device broke. `misuse`: the request makes no sense there. Only `product` and `misuse` count
against the product.
"""


class DeviceError(RunnerError):
    """A device, its driver or the app on it answered badly; `kind` says who is to blame."""

    def __init__(
        self,
        *,
        kind: FailureKind,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(reason=reason, message=message, details=details, hint=hint)
        self.kind = kind


class GridError(RunnerError):
    """The grid (inventory, leases, adb server, workers) cannot serve the run."""


class EvidenceError(RunnerError):
    """The run's record could not be written or read."""


class InternalError(RunnerError):
    """A bug in sweepgrid."""
