"""One Android device under command, through an adb server.

Implements `drivers.protocol.Device`. Calls take turns: one device, one command at a time. Nothing
is held open between calls, so leaving the context has nothing to undo but the dump's file, which
every dump removes itself.

May be imported by: grid, runner.cli, tests. Imports: drivers.android, drivers.protocol,
runner.model, runner.errors.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, assert_never, final

import trio

from drivers.android.alert import Alert, find_alert
from drivers.android.app import close_app, open_app, read_screen_facts
from drivers.android.client import AdbCalls
from drivers.android.crash import Watched, find_watched, require_alive
from drivers.android.dump import (
    RETRY_PAUSES_S,
    Dump,
    ScreenFacts,
    dump_command,
    dump_error,
    is_worth_retry,
    read_dump,
    read_head,
)
from drivers.android.entry import fill_text, hide_keyboard, type_text
from drivers.android.gesture import drag_command, drag_time_s, long_press_command, tap_commands
from drivers.android.health import (
    FACTS_COMMAND,
    HEALTH_COMMAND,
    IDENTITY_COMMAND,
    Build,
    is_asleep,
    judge_health,
    read_build,
    read_identity,
)
from drivers.android.hierarchy import read_hierarchy
from drivers.android.keystroke import KEY_ENTER, keys_command
from drivers.android.line import Deadlines, Line
from drivers.android.screenshot import find_png
from drivers.android.smartsocket import AdbEndpoint
from drivers.protocol import Capability, Device, ScreenRead
from runner.errors import DeviceError
from runner.model.action import (
    AcceptAlert,
    Action,
    Back,
    CloseApp,
    DismissAlert,
    Drag,
    FillText,
    HideKeyboard,
    Home,
    KeyboardStatus,
    LongPress,
    OpenApp,
    PressEnter,
    ReadAlert,
    Tap,
    TypeText,
)
from runner.model.device import DeviceFacts, HealthReport
from runner.model.ids import DeviceId
from runner.model.screen import Snapshot

KEY_HOME: Final = 3
KEY_BACK: Final = 4
KEY_WAKE_UP: Final = 224

LOG_LINES: Final = 3_000
LOG_BYTES: Final = 1024 * 1024

_CAPABILITIES: Final[frozenset[Capability]] = frozenset({"logs"})


@final
class AndroidDevice:
    """A device; made by `open_android_device`."""

    def __init__(self, line: Line, build: Build) -> None:
        self._line = line
        self._build = build
        self._turn = trio.Lock()
        self._size = (0, 0)
        self._watched: Watched | None = None  # The app that was opened and not closed.
        self._may_end = False  # It may have been left, and then may end by itself.
        self._dump_path = f"/data/local/tmp/sweepgrid-{os.getpid()}.xml"
        self.files = AdbCalls(line.endpoint, line.serial)

    @property
    def facts(self) -> DeviceFacts:
        """What the device reported when it was opened."""
        return self._build.facts

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The optional parts of the protocol that this driver has."""
        return _CAPABILITIES

    async def snapshot(self) -> ScreenRead:
        """Capture the UI tree.

        Reasons: `screen_busy`, `screen_unreadable`, `screen_reader_died`, `app_crashed`
        (product), the losses.
        """
        async with self._turn:
            return await self._capture()

    async def perform(self, action: Action) -> str:
        """Carry out one action; return what it read, else an empty string."""
        async with self._turn:
            return await self._perform(action)

    async def screenshot(self) -> bytes:
        """Return the screen as a complete PNG. Reasons: `screenshot_invalid`, the losses."""
        async with self._turn:
            raw = await self._line.read("screencap -p", limit_s=self._line.deadlines.screenshot_s)
            png = find_png(raw)
            if png is not None:
                return png
            # The second way keeps binary output whole where the first does not, and says why.
            answer = await self._line.run("screencap -p", limit_s=self._line.deadlines.screenshot_s)
            png = find_png(answer.stdout)
            if png is not None:
                return png
            raise DeviceError(
                kind="device_busy",
                reason="screenshot_invalid",
                message=f"device {self._line.serial!r} sent {len(answer.stdout)} bytes that are "
                "no complete PNG",
                details={
                    "sizeBytes": len(answer.stdout),
                    "start": answer.stdout[:64].decode("latin-1"),
                    "output": answer.error_text[:2000],
                },
            )

    async def read_log(self) -> bytes:
        """Return the recent log, newest last, at most 1 MiB of UTF-8. Reasons: the losses."""
        async with self._turn:
            answer = await self._line.expect(f"logcat -d -t {LOG_LINES}")
        text = answer.stdout.decode("utf-8", "replace").replace("\r\n", "\n").encode()
        if len(text) <= LOG_BYTES:
            return text
        # Whole lines: the cut would otherwise go through a character.
        return text[-LOG_BYTES:].partition(b"\n")[2]

    async def check_health(self) -> HealthReport:
        """Probe whether the device can take a plan now; never raises for an ill device."""
        try:
            async with self._turn:
                text = await self._read_health()
                if is_asleep(text):
                    await self._line.expect(keys_command(KEY_WAKE_UP))
                    await self._line.run("wm dismiss-keyguard")
                    text = await self._read_health()
        except DeviceError as error:
            return HealthReport(
                health="lost" if error.kind == "device_lost" else "unhealthy",
                reason=error.reason,
                message=error.message,
                facts=self.facts,
            )
        return judge_health(text, facts=self.facts)

    async def _read_health(self) -> str:
        return (await self._line.run(HEALTH_COMMAND)).stdout.decode("utf-8", "replace")

    async def _capture(self, *, may_hang: bool = False) -> ScreenRead:
        pauses = iter(RETRY_PAUSES_S)
        while True:
            app = self._watched.package if self._watched is not None else ""
            answer = await self._line.run(
                dump_command(self._dump_path, app=app), limit_s=self._line.deadlines.dump_s
            )
            dump = read_dump(answer)
            if isinstance(dump, Dump):
                await self._require_alive(dump.facts, may_hang=may_hang)
                display = dump.facts.to_display(self._size)
                self._size = (display.width, display.height)
                snapshot = read_hierarchy(dump.document, display)
                return ScreenRead(snapshot=snapshot, raw=dump.document, raw_kind="xml")
            pause = next(pauses, None)
            if pause is None or not is_worth_retry(dump):
                # A window that is going away cannot be read either: a crash is told as such.
                await self._require_alive(read_head(answer), may_hang=may_hang)
                raise dump_error(dump, answer, serial=self._line.serial)
            await trio.sleep(pause)

    async def _require_alive(self, facts: ScreenFacts, *, may_hang: bool) -> None:
        watched = self._watched
        if watched is None:
            return
        self._watched = await require_alive(
            self._line, watched, facts, may_hang=may_hang, may_end=self._may_end
        )
        if facts.foreground == watched.package:
            self._may_end = False

    async def _look(self) -> Snapshot:
        return (await self._capture()).snapshot

    async def _look_for_alert(self) -> Alert | None:
        # Waiting for an app that hangs is what its dialog offers.
        return find_alert((await self._capture(may_hang=True)).snapshot)

    async def _perform(self, action: Action) -> str:
        line = self._line
        match action:
            case OpenApp():
                await self._open(action)
            case CloseApp():
                self._watched = None
                await close_app(line, action)
            case Tap():
                await self._tap(action)
            case LongPress():
                limit_s = line.deadlines.shell_s + action.duration_ms / 1000
                await line.expect(long_press_command(action), limit_s=limit_s)
            case Drag():
                limit_s = line.deadlines.shell_s + drag_time_s(action)
                await line.expect(drag_command(action, sdk=self._build.sdk), limit_s=limit_s)
            case TypeText():
                await type_text(line, action, self._look)
            case FillText():
                await fill_text(line, action, self._look)
            case Back():
                await line.expect(keys_command(KEY_BACK))
                self._may_end = True
            case Home():
                # The system may end an app that nobody sees, and that is no crash.
                self._watched = None
                await line.expect(keys_command(KEY_HOME))
            case HideKeyboard():
                await hide_keyboard(line)
            case PressEnter():
                await line.expect(keys_command(KEY_ENTER))
            case KeyboardStatus():
                return "shown" if (await read_screen_facts(line)).keyboard_shown else "hidden"
            case AcceptAlert():
                await self._touch((await self._find_alert()).accept)
            case DismissAlert():
                await self._touch((await self._find_alert()).dismiss)
            case ReadAlert():
                alert = await self._look_for_alert()
                return alert.text if alert else ""
            case _:
                assert_never(action)
        return ""

    async def _open(self, action: OpenApp) -> None:
        watched, self._watched = self._watched, None
        await open_app(self._line, action)
        if action.app:
            self._watched = await find_watched(self._line, action.app.partition("/")[0])
            self._may_end = False
        else:
            # The app may answer its link by crashing; in the background the system may end it.
            self._watched, self._may_end = watched, True

    async def _tap(self, action: Tap) -> None:
        limit_s = self._line.deadlines.shell_s + action.count * action.hold_ms / 500
        for position, command in enumerate(tap_commands(action)):
            if position and action.interval_ms:
                await trio.sleep(action.interval_ms / 1000)
            await self._line.expect(command, limit_s=limit_s)

    async def _touch(self, point: tuple[float, float]) -> None:
        await self._tap(Tap(x=point[0], y=point[1]))

    async def _find_alert(self) -> Alert:
        alert = await self._look_for_alert()
        if alert is None:
            raise DeviceError(
                kind="product",
                reason="alert_absent",
                message="no alert is shown",
            )
        return alert


@asynccontextmanager
async def open_android_device(
    *,
    host: str,
    port: int,
    serial: str,
    device_id: str,
    deadlines: Deadlines | None = None,
) -> AsyncIterator[Device]:
    """Open the device that the adb server at `host` and `port` knows as `serial`.

    Reasons: `device_unreachable`, `device_unauthorized`, `device_lost`, `device_call_deadline`,
    `adb_server_lost`.
    """
    line = Line(AdbEndpoint(host, port), serial, deadlines or Deadlines())
    answer = await line.expect(FACTS_COMMAND)
    build = read_build(
        answer.stdout.decode("utf-8", "replace"), device_id=DeviceId(device_id), serial=serial
    )
    yield AndroidDevice(line, build)


async def identify_android_device(
    *, host: str, port: int, serial: str, deadlines: Deadlines | None = None
) -> str:
    """Return what the phone says that it is, empty where it tells nothing of its own.

    Reasons: those of `open_android_device`.
    """
    line = Line(AdbEndpoint(host, port), serial, deadlines or Deadlines())
    answer = await line.expect(IDENTITY_COMMAND)
    return read_identity(answer.stdout.decode("utf-8", "replace"))
