"""The lab in the background: a process of its own, known by the grid file that it belongs to.

`start_lab` starts it detached and waits until it says that it is ready; `serve_lab` is what that
process runs; `stop_lab` ends it and verifies that it is gone. The state is the `[lab]` table of the
grid file. No process is signalled before its command line shows the lab's own folder, whose name
is random: a process id alone may be somebody else's by now.

May be imported by: runner.cli, tests. Imports: grid.lab, runner.errors, trio.
"""

import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import trio
from msgspec import Struct
from msgspec.structs import replace

from grid.lab.attached import Connect, OpenAdbServer
from grid.lab.control import LabDevice, LabPart, LabStatus, lab_shutdown, lab_status
from grid.lab.fleet import FleetInfo, FleetSpec, raise_first_error, render_spec, run_fleet
from grid.lab.gridfile import LabTable, is_untouched, read_lab, render_grid
from runner.errors import GridError, InputError

FOLDER_PREFIX: Final = "sweepgrid-lab-"
STOP_LIMIT_S: Final = 8.0
_POLL_S: Final = 0.02
_LOG_NAME: Final = "lab.log"
_PID_NAME: Final = "lab.pid"
_MAX_LINE_BYTES: Final = 1 << 20
_OUTPUT_BYTES: Final = 8_000


class LabState(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether the lab of a grid file runs and answers, and what it says then.

    `parts` are those by which clients reach the devices.
    """

    running: bool
    answers: bool
    pid: int
    truth_url: str
    devices: tuple[LabDevice, ...] = ()
    parts: tuple[LabPart, ...] = ()


async def start_lab(
    command: Sequence[str], spec: FleetSpec, grid_out: Path, *, ready_timeout_s: float = 90.0
) -> FleetInfo:
    """Start `command` plus the specification as a detached process; write its grid file.

    The process must call `serve_lab`. Reasons: `lab_exists`, `output_unwritable`,
    `lab_start_failed`.
    """
    await _check_free(grid_out)
    _check_writable(grid_out)
    remove_leftovers(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    spec = replace(spec, runtime_dir=str(folder))
    pid = 0
    try:
        pid, ready = _spawn([*command, render_spec(spec)], folder / _LOG_NAME)
        (folder / _PID_NAME).write_text(str(pid), encoding="ascii")
        info = await _read_ready(ready, folder / _LOG_NAME, limit_s=ready_timeout_s)
        _write_atomically(grid_out, render_grid(info))
    except BaseException:
        # Started or not, nothing of it may stay behind.
        if pid:
            # Should it not end, the first error is still the one to tell.
            with trio.CancelScope(shield=True), suppress(GridError):
                await _end_process(pid, folder)
        _remove_folder(folder)
        raise
    return info


async def serve_lab(spec: FleetSpec, *, adb_server: OpenAdbServer, connect: Connect) -> None:
    """Run the fleet in this process; tell the starter on standard output when it is ready.

    Ends on SIGTERM, SIGINT or the control server's word. Reasons: those of `run_fleet`.
    """
    try:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with trio.open_nursery() as nursery:

                async def end_on_signal() -> None:
                    async for _ in signals:
                        nursery.cancel_scope.cancel()

                async def run(task_status: trio.TaskStatus[FleetInfo]) -> None:
                    await run_fleet(
                        spec, adb_server=adb_server, connect=connect, task_status=task_status
                    )
                    nursery.cancel_scope.cancel()

                nursery.start_soon(end_on_signal)
                _announce(await nursery.start(run))
    except BaseExceptionGroup as group:
        raise_first_error(group)


async def stop_lab(grid_file: Path, *, limit_s: float = STOP_LIMIT_S) -> bool:
    """End the lab of a grid file; False when it had ended before.

    The file is removed if it begins as it was written; somebody's own is kept.

    Reasons: `lab_grid_invalid`, `lab_stop_failed`.
    """
    table = read_lab(grid_file)
    answers = await _ask_status(table) is not None
    was_running = answers or _is_ours(table.pid, table.folder)
    if answers:
        with suppress(GridError):  # It may have ended in this moment.
            await lab_shutdown(table.truth_url)
        with trio.move_on_after(limit_s):
            await _wait_gone(table.pid)
    if was_running:
        await _end_process(table.pid, table.folder, limit_s=limit_s)
    _remove_folder(table.folder)
    if is_untouched(grid_file):
        _remove_file(grid_file)
    return was_running


async def lab_state(grid_file: Path) -> LabState:
    """Tell whether the lab of a grid file runs, and what its devices show when it answers.

    Reasons: `lab_grid_invalid`.
    """
    table = read_lab(grid_file)
    status = await _ask_status(table)
    return LabState(
        running=status is not None or _is_ours(table.pid, table.folder),
        answers=status is not None,
        pid=table.pid,
        truth_url=table.truth_url,
        devices=status.devices if status is not None else (),
        parts=status.parts if status is not None else (),
    )


async def _ask_status(table: LabTable) -> LabStatus | None:
    """Return what the lab says of itself; None when it does not answer, or another one does."""
    try:
        status = await lab_status(table.truth_url)
    except GridError:
        return None
    return status if status.pid == table.pid else None


def remove_leftovers(place: Path) -> None:
    """Remove the folders of labs that were killed."""
    for folder in place.glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError, ValueError):
            pid = int((folder / _PID_NAME).read_text(encoding="ascii"))
            if not _is_ours(pid, folder):
                _remove_folder(folder)


def _remove_folder(folder: Path) -> None:
    """Remove the lab's folder, if it is one: ours, private, in the place for temporary things."""
    with suppress(OSError):
        facts = folder.lstat()
        is_private = stat.S_ISDIR(facts.st_mode) and stat.S_IMODE(facts.st_mode) == stat.S_IRWXU
        is_named_so = folder.name.startswith(FOLDER_PREFIX)
        if is_named_so and is_private and facts.st_uid == os.getuid():
            shutil.rmtree(folder, ignore_errors=True)


def _remove_file(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


async def _check_free(grid_out: Path) -> None:
    """Raise unless the file can be written without losing anything."""
    if not os.path.lexists(grid_out):  # noqa: ASYNC240 - one look, before anything runs.
        return
    try:
        state = await lab_state(grid_out)
    except InputError as error:
        raise InputError(
            reason="lab_exists",
            message=f"{grid_out} exists and is not the grid file of a lab, so it is kept",
            details={"path": str(grid_out)},
        ) from error
    if state.running:
        raise InputError(
            reason="lab_exists",
            message=f"the lab of {grid_out} runs already (process {state.pid})",
            details={"path": str(grid_out), "pid": state.pid},
        )
    if not is_untouched(grid_out):
        raise InputError(
            reason="lab_exists",
            message=f"{grid_out} exists and is not as `sweepgrid lab up` wrote it, so it is kept",
            details={"path": str(grid_out)},
        )


def _check_writable(grid_out: Path) -> None:
    """Raise unless a file can be put there; asked before anything is started."""
    try:
        handle, name = tempfile.mkstemp(dir=grid_out.parent, prefix=f".{grid_out.name}.")
    except OSError as error:
        raise InputError(
            reason="output_unwritable",
            message=f"--grid-out {grid_out} cannot be written: {error.strerror}",
            details={"path": str(grid_out)},
        ) from error
    os.close(handle)
    Path(name).unlink()


def _spawn(words: Sequence[str], log: Path) -> tuple[int, int]:
    """Start a process in a session of its own; return its id and the end of its output to read."""
    reader, writer = os.pipe()
    try:
        pid = os.posix_spawnp(
            words[0],
            list(words),
            # Whatever it keeps for a while lies in its folder, which outlives nothing.
            {**os.environ, "TMPDIR": str(log.parent)},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writer, 1),
                (os.POSIX_SPAWN_OPEN, 2, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            ],
            setsid=True,
        )
    except OSError as error:
        os.close(reader)
        raise GridError(
            reason="lab_start_failed",
            message=f"the lab's process {words[0]!r} cannot be started: {error.strerror}",
        ) from error
    finally:
        os.close(writer)
    return pid, reader


async def _read_ready(reader: int, log: Path, *, limit_s: float) -> FleetInfo:
    """Wait for the line that says where everything is."""
    data = b""
    why = f"it was not ready in {limit_s:g} s"
    async with trio.lowlevel.FdStream(reader) as stream:
        with trio.move_on_after(limit_s):
            async for chunk in stream:
                data += chunk
                if b"\n" in data or len(data) > _MAX_LINE_BYTES:
                    break
            why = "it ended before it was ready"
    line, newline, _ = data.partition(b"\n")
    if newline:
        try:
            return msgspec.json.decode(line, type=FleetInfo)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            why = f"it said something unexpected: {error}"
    output = _tail(log)
    raise GridError(
        reason="lab_start_failed",
        message=f"the lab did not start: {why}" + (f"; it wrote: {output}" if output else ""),
        details={"output": output},
    )


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-_OUTPUT_BYTES:].decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""


def _announce(info: FleetInfo) -> None:
    """Write the ready line and let go of the starter's pipe."""
    os.write(1, msgspec.json.encode(info) + b"\n")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


def _write_atomically(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


async def _end_process(pid: int, folder: Path, *, limit_s: float = STOP_LIMIT_S) -> None:
    """End a lab's process by its id, gently first. Reasons: `lab_stop_failed`."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _is_ours(pid, folder):
            break
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        with trio.move_on_after(limit_s):
            await _wait_gone(pid)
    # A process that is just ending has no command line any more, but is not gone yet.
    with trio.move_on_after(limit_s):
        await _wait_gone(pid)
    if not _is_gone(pid):
        raise GridError(
            reason="lab_stop_failed",
            message=f"the lab's process {pid} does not end, or is not the lab's",
            details={"pid": pid},
        )


async def _wait_gone(pid: int) -> None:
    # Nothing wakes a process that waits for one that is not its child.
    while not _is_gone(pid):  # noqa: ASYNC110
        await trio.sleep(_POLL_S)


def _is_gone(pid: int) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # A child of this process wants reaping.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False  # A system without /proc: it runs, as far as can be told.
    return text.rpartition(")")[2].strip()[:1] in {"Z", "X"}


def _is_ours(pid: int, folder: Path) -> bool:
    """Tell whether the process runs and its command line names the lab's folder."""
    if pid <= 1 or not folder.name.startswith(FOLDER_PREFIX) or _is_gone(pid):
        return False
    try:
        return os.fsencode(folder) in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
