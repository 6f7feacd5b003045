"""Whether the opened app still lives, and what the system wrote down when it died.

The process that was there after the start is remembered; a screen that is read without it leads to
the crash log. An app that was started again by itself has another process, and is alive. While the
system's own error dialog is in front the process still stands, so the dialog tells as well.

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


async def require_alive(
    line: Line,
    watched: Watched,
    facts: ScreenFacts,
    *,
    may_hang: bool = False,
    may_end: bool = False,
) -> Watched | None:
    """Return the app as it runs now, `None` when it ended as it may.

    An app that does not respond counts as crashed, unless it `may_hang` for the step that looks.
    One that `may_end` crashed only when the system wrote that down.

    Reasons: `app_crashed` (product), and those of `Line.run`.
    """
    pids, name = facts.app_pids, watched.package
    if facts.hung == name and not may_hang:
        raise _ended(watched, facts, "does not respond", await _read_hang(line, watched))
    has_dialog = facts.crashed == name
    if not has_dialog and (pids is None or watched.pid in pids):
        return watched
    record = crash_record(await _read_log(line, "crash"), watched)
    if not record and not has_dialog and pids:
        return Watched(name, pids[0])
    if not record and not has_dialog and may_end:
        return None
    raise _ended(watched, facts, "ended by itself", record)


def _ended(watched: Watched, facts: ScreenFacts, what: str, record: tuple[str, ...]) -> DeviceError:
    said = f": {record[1] if len(record) > 1 else record[0]}" if record else ""
    return DeviceError(
        kind="product",
        reason="app_crashed",
        message=f"{watched.package} {what}{said[:300]}",
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


async def _read_hang(line: Line, watched: Watched) -> tuple[str, ...]:
    """Return why the system thinks that the app hangs: the last such event of its process."""
    mark = re.compile(rf"\bam_anr\s*: \[.*\b{watched.pid},{re.escape(watched.package)}\b")
    lines = (await _read_log(line, "events")).splitlines()
    return tuple(line.strip() for line in lines if mark.search(line))[-1:]


async def _read_log(line: Line, buffer: str) -> str:
    return (await line.run(f"logcat -b {buffer} -d -t {_LOG_LINES}")).text
