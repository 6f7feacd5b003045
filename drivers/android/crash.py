"""Whether the opened app still lives, and what the system wrote down when it died.

The process that was there after the start is remembered; a screen that is read without it leads to
the crash log. An app that was started again by itself has another process, and is alive.

May be imported by: drivers.android. Imports: drivers.android, runner.errors.
"""

import re
import shlex
from typing import Final

from msgspec import Struct

from drivers.android.dump import ScreenFacts
from drivers.android.line import Line
from runner.errors import DeviceError

_LOG_LINES: Final = 400
_SHOWN_LINES: Final = 12
_SHOWN_BYTES: Final = 2_000
_MESSAGE: Final = re.compile(r"^(?:\d\d-\d\d .*? [VDIWEFA] [^:]+: )?(.*)$")


class Watched(Struct, frozen=True):
    """The opened app and the process that it had then."""

    package: str
    pid: str


async def find_watched(line: Line, package: str) -> Watched | None:
    """Return the app as it runs now; None where its process cannot be told."""
    pids = (await line.run(f"pidof {shlex.quote(package)}")).text.split()
    return Watched(package, pids[0]) if pids and pids[0].isdigit() else None


async def require_alive(line: Line, watched: Watched, facts: ScreenFacts) -> Watched:
    """Return the app as it runs now. Reasons: `app_crashed` (product), and those of `Line.run`."""
    pids = facts.app_pids
    if pids is None or watched.pid in pids:
        return watched
    record = crash_record(await _read_crash_log(line), watched)
    if not record and pids:
        return Watched(watched.package, pids[0])
    said = f": {record[1] if len(record) > 1 else record[0]}" if record else ""
    raise DeviceError(
        kind="product",
        reason="app_crashed",
        message=f"{watched.package} ended by itself{said[:300]}",
        details={
            "app": watched.package,
            "pid": watched.pid,
            "foreground": facts.foreground,
            "log": "\n".join(record)[:_SHOWN_BYTES],
        },
    )


def crash_record(log: str, watched: Watched) -> tuple[str, ...]:
    """Return the last record of the app's crash in a log, without its header; empty for none.

    Java crashes name `Process: NAME, PID: N`, native ones `pid: N, ... >>> NAME <<<`.
    """
    lines = [_MESSAGE.sub(r"\1", line).strip() for line in log.splitlines()]
    name, pid = re.escape(watched.package), re.escape(watched.pid)
    mark = re.compile(rf"Process: {name}(:\S+)?, PID: {pid}\b|\bpid: {pid}\b.*>>> {name}")
    at = next((at for at in range(len(lines) - 1, -1, -1) if mark.search(lines[at])), None)
    return () if at is None else tuple(lines[at : at + _SHOWN_LINES])


async def _read_crash_log(line: Line) -> str:
    return (await line.run(f"logcat -b crash -d -t {_LOG_LINES}")).text
