"""The line to one device: every command with a deadline, and what a missed one means.

A command that misses its deadline is ended at once. Who is to blame then decides whether the plan
moves to another device, so the line asks the server about the device, within `PROBE_LIMIT_S`.

May be imported by: drivers.android. Imports: drivers.android.smartsocket, runner.errors.
"""

from typing import Final, final

import trio
from msgspec import Struct

from drivers.android.smartsocket import (
    AdbEndpoint,
    ShellAnswer,
    ask_server,
    run_exec,
    run_shell,
)
from runner.errors import DeviceError, FailureKind

PROBE_LIMIT_S: Final = 1.0


class Deadlines(Struct, frozen=True, kw_only=True):
    """How long the device may take, in seconds.

    A dump waits for a quiet screen for ten seconds by itself before it gives up.
    """

    shell_s: float = 20.0
    dump_s: float = 30.0
    screenshot_s: float = 20.0
    start_s: float = 15.0


@final
class Line:
    """Commands to one device."""

    def __init__(self, endpoint: AdbEndpoint, serial: str, deadlines: Deadlines) -> None:
        self.endpoint = endpoint
        self.serial = serial
        self.deadlines = deadlines

    async def run(
        self, command: str, *, limit_s: float | None = None, label: str = ""
    ) -> ShellAnswer:
        """Run a shell command; the caller judges its exit status.

        `label` stands for the command in errors when it may hold a secret.

        Reasons: `device_call_deadline`, `device_lost`, `device_unreachable`,
        `device_unauthorized`, `adb_refused`, `adb_server_lost`, `adb_answer_invalid`.
        """
        limit_s = limit_s or self.deadlines.shell_s
        with trio.move_on_after(limit_s):
            return await run_shell(self.endpoint, self.serial, command, label=label)
        raise await self._judge_silence(label or command, limit_s)

    async def read(self, command: str, *, limit_s: float) -> bytes:
        """Return the raw output of a command; see `run_exec`. Reasons as `run`."""
        with trio.move_on_after(limit_s):
            return await run_exec(self.endpoint, self.serial, command)
        raise await self._judge_silence(command, limit_s)

    async def expect(self, command: str, *, limit_s: float | None = None) -> ShellAnswer:
        """Run a shell command that must succeed.

        Reasons: `device_command_failed`, `input_denied`, and those of `run`.
        """
        answer = await self.run(command, limit_s=limit_s)
        self.check(answer, command)
        return answer

    def check(self, answer: ShellAnswer, command: str) -> None:
        """Raise unless the command succeeded. Reasons: `device_command_failed`, `input_denied`."""
        if answer.exit_code != 0 or _is_denied(answer):
            raise command_failed(command, answer, serial=self.serial)

    async def _judge_silence(self, command: str, limit_s: float) -> DeviceError:
        kind, why = await self._probe()
        return DeviceError(
            kind=kind,
            reason="device_call_deadline",
            message=(
                f"device {self.serial!r} did not finish {command[:80]!r} in {limit_s:g} s: {why}"
            ),
            details={"serial": self.serial, "command": command[:500], "limitS": limit_s},
        )

    async def _probe(self) -> tuple[FailureKind, str]:
        state = ""
        try:
            with trio.move_on_after(PROBE_LIMIT_S):
                state = await ask_server(self.endpoint, f"host-serial:{self.serial}:get-state")
                await run_shell(self.endpoint, self.serial, ":")
                return "driver_fault", "the device answers other commands"
        except DeviceError as error:
            return error.kind, error.message
        if not state:
            return "driver_fault", "the adb server does not answer either"
        return "device_lost", f"the device is listed as {state!r} but runs no command"


def command_failed(command: str, answer: ShellAnswer, *, serial: str) -> DeviceError:
    """Return the error for a command that the device did not carry out."""
    output = "\n".join(text for text in (answer.text, answer.error_text) if text)
    if _is_denied(answer):
        return DeviceError(
            kind="driver_fault",
            reason="input_denied",
            message=f"device {serial!r} forbids the shell to inject input",
            details={"serial": serial, "output": output[:2000]},
        )
    return DeviceError(
        kind="driver_fault",
        reason="device_command_failed",
        message=f"device {serial!r} ended {command[:80]!r} with status {answer.exit_code}",
        details={"serial": serial, "command": command[:500], "output": output[:2000]},
    )


def _is_denied(answer: ShellAnswer) -> bool:
    return b"INJECT_EVENTS" in answer.stderr or b"INJECT_EVENTS" in answer.stdout
