"""The log of a virtual phone: the newest lines, as logcat or the device console show them.

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias, final

from msgspec import Struct

MAX_LINES: Final = 4_000

LogLevel: TypeAlias = Literal["D", "I", "W", "E", "F"]


class LogLine(Struct, frozen=True, kw_only=True):
    """One line. `at` is the phone's clock in seconds."""

    at: float
    level: LogLevel
    tag: str
    text: str
    pid: int

    def render(self) -> str:
        """Return it in logcat's `threadtime` form: each line of its text has the whole head."""
        when = datetime.fromtimestamp(self.at, UTC)
        head = (
            f"{when:%m-%d %H:%M:%S}.{when.microsecond // 1000:03d} "
            f"{self.pid:5d} {self.pid:5d} {self.level} {self.tag}: "
        )
        return "\n".join(head + line for line in self.text.split("\n"))


@final
class PhoneLog:
    """A bounded log."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lines: deque[LogLine] = deque(maxlen=MAX_LINES)

    def add(self, tag: str, text: str, *, level: LogLevel = "I", pid: int = 1_000) -> None:
        """Append the lines of `text`."""
        at = self._clock()
        for line in text.splitlines() or [""]:
            self._lines.append(LogLine(at=at, level=level, tag=tag, text=line, pid=pid))

    def clear(self) -> None:
        """Forget all lines."""
        self._lines.clear()

    def lines(self) -> tuple[LogLine, ...]:
        """Return the lines, oldest first."""
        return tuple(self._lines)
