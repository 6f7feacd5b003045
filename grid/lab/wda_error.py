"""The errors that WebDriverAgent answers: the W3C error names with their HTTP statuses.

May be imported by: grid.lab, tests. Imports: runner.errors.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, final

from runner.errors import RunnerError

WdaErrorName: TypeAlias = Literal[
    "invalid session id",
    "no such element",
    "stale element reference",
    "no such alert",
    "unknown command",
    "invalid argument",
    "invalid selector",
    "invalid element state",
    "element not visible",
    "invalid coordinates",
    "timeout",
    "unknown method",
    "unknown error",
    "session not created",
    "unsupported operation",
    "unexpected alert open",
    "unable to capture screen",
]

STATUSES: Final[Mapping[WdaErrorName, int]] = {
    "invalid session id": 404,
    "no such element": 404,
    "stale element reference": 404,
    "no such alert": 404,
    "unknown command": 404,
    "invalid argument": 400,
    "invalid selector": 400,
    "invalid element state": 400,
    "element not visible": 400,
    "invalid coordinates": 400,
    "timeout": 408,
    "unknown method": 405,
    "unknown error": 500,
    "session not created": 500,
    "unsupported operation": 500,
    "unexpected alert open": 500,
    "unable to capture screen": 500,
}

NO_SESSION: Final = "Session does not exist"
NO_ALERT: Final = "An attempt was made to operate on a modal dialog when one was not open"
NO_KEYBOARD: Final = (
    "Error Domain=com.facebook.WebDriverAgent Code=1 "
    '"The on-screen keyboard must be present to send keys" '
    "UserInfo={NSLocalizedDescription=The on-screen keyboard must be present to send keys}"
)


@final
class WdaError(RunnerError):
    """A request that the virtual WebDriverAgent refuses; it becomes the error envelope."""

    def __init__(self, error: WdaErrorName, message: str) -> None:
        super().__init__(
            reason="lab_request_refused",
            message=message,
            details={"error": error, "status": STATUSES[error]},
        )
        self.error = error

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return STATUSES[self.error]
