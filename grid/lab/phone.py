"""A simulated phone: apps, what is in front, touch, keys, keyboard, dialogs and a screen.

Synchronous and free of I/O: time comes from the clock it is given, and both wire faces only
translate to and from it. All coordinates are logical points. Every public method first carries out
what the clock has made due, so a caller never sees a state of the past.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model.
"""

from collections.abc import Callable
from typing import Any, Final, final

from grid.lab.app import SimApp
from grid.lab.appfile import AppSpec
from grid.lab.appstack import AppStack, AppState
from grid.lab.fault import FaultBoard
from grid.lab.layout import HEIGHT, KEYBOARD, SCREEN, WIDTH, keyboard_node
from grid.lab.node import SimAlert, SimNode
from grid.lab.phonelog import LogLevel, LogLine, PhoneLog
from grid.lab.render import Renderer
from grid.lab.system import (
    SYSTEM_NAMES,
    button_label,
    describe_prompt,
    draw_app_window,
    draw_launcher,
    draw_lock_screen,
    draw_prompt,
    settings_app,
)
from grid.lab.touch import LONG_PRESS_MS, Glass
from grid.lab.trace import Trace
from runner.model.ids import Platform

_DEFAULT_SCALE: Final = {"android": 2.7, "ios": 3.0}
_DEFAULT_MODEL: Final = {"android": "Lab Phone", "ios": "iPhone 15"}
_DEFAULT_OS: Final = {"android": "14", "ios": "17.5"}
_CRASH_TAG: Final = {"android": "AndroidRuntime", "ios": "ReportCrash"}
_EDGE: Final = 20.0
_EDGE_TRAVEL: Final = 80.0
_EDIT_KEYS: Final = ("enter", "delete", "forward_delete", "move_home", "move_end", "tab", "paste")


@final
class SimPhone:
    """One virtual phone. Used from one thread."""

    def __init__(
        self,
        *,
        platform: Platform,
        serial: str,
        app: AppSpec,
        clock: Callable[[], float],
        seed: int = 0,
        model: str = "",
        os_version: str = "",
        scale: float = 0,
    ) -> None:
        self.platform = platform
        self.serial = serial
        self.seed = seed
        self.model = model or _DEFAULT_MODEL[platform]
        self.os_version = os_version or _DEFAULT_OS[platform]
        self.scale = scale or _DEFAULT_SCALE[platform]
        self.clock = clock
        self.width = WIDTH
        self.height = HEIGHT
        self.names = SYSTEM_NAMES[platform]
        self.faults = FaultBoard(platform=platform, clock=clock)
        self.trace = Trace(clock)
        self.booted_at = clock()
        self.clipboard = ""
        self.locked = False
        self._log = PhoneLog(clock)
        self._renderer = Renderer()
        self._apps = AppStack(
            (app, settings_app(platform)),
            launcher=self.names.launcher,
            clock=clock,
            log=self._log,
            first_pid=3_000 + seed * 37 % 20_000,
            crash_tag=_CRASH_TAG[platform],
        )
        self._glass = Glass(
            self._apps, clock=clock, look=self.tree, press_system=self._press_system
        )

    # -- The screen ------------------------------------------------------------------------------

    def tree(self) -> SimNode:
        """Return all that is on the screen: a window, then keyboard and dialog above it.

        The root has the kind `screen`; its children are the windows in painting order.
        """
        self._apps.advance()
        windows = [self._draw_window()]
        if self.keyboard_shown:
            windows.append(keyboard_node(self.names.keyboard))
        app = self._prompt_app()
        if app is not None and app.prompt is not None:
            windows.append(draw_prompt(app.prompt, app_id=app.spec.id, platform=self.platform))
        return SimNode(
            kind="screen",
            rect=SCREEN,
            bundle=self._apps.front,
            ref="screen",
            children=tuple(windows),
        )

    def screenshot_png(self) -> bytes:
        """Return the screen as a PNG in pixels."""
        return self._renderer.render(self.tree(), self.scale)

    def settled_at(self) -> float:
        """Return when what moves now (a transition, a coasting list) will have come to rest."""
        self._apps.advance()
        app = self._apps.front_app()
        return app.settled_at(self.clock()) if app else self.clock()

    def truth(self) -> dict[str, Any]:
        """Return the whole state as JSON-ready values; for tests, never for drivers."""
        tree = self.tree()
        app = self._apps.front_app()
        alert = self.alert()
        return {
            "platform": self.platform,
            "serial": self.serial,
            "foreground": self._apps.front,
            "screen": app.screen if app else "",
            "fields": app.field_contents(tree) if app else {},
            "state": {each.spec.id: each.state() for each in self._apps.running()},
            "apps": {spec.id: self._apps.state(spec.id) for spec in self._apps.specs},
            "alert": alert
            and {"title": alert.title, "text": alert.text, "buttons": list(alert.buttons)},
            "keyboard": self.keyboard_shown,
            "locked": self.locked,
            "clipboard": self.clipboard,
            "faults": {name: dict(values) for name, values in self.faults.active().items()},
        }

    # -- Apps ------------------------------------------------------------------------------------

    @property
    def foreground(self) -> str:
        """The id of the app (or launcher) in front."""
        self._apps.advance()
        return self._apps.front

    @property
    def installed(self) -> tuple[AppSpec, ...]:
        """The apps on the phone, the one under test first."""
        return self._apps.specs

    @property
    def crashes(self) -> tuple[tuple[float, str], ...]:
        """When which app crashed, oldest first."""
        self._apps.advance()
        return tuple(self._apps.crashes)

    def pid_of(self, app_id: str) -> int | None:
        """Return the process id of a running app."""
        self._apps.advance()
        return self._apps.pids.get(app_id)

    def app_state(self, app_id: str) -> AppState:
        """Return an app's state."""
        self._apps.advance()
        return self._apps.state(app_id)

    def launch(self, app_id: str, *, relaunch: bool = False) -> bool:
        """Bring an app to the front, started if needed; False when it is not installed."""
        self._apps.advance()
        return self._apps.launch(app_id, relaunch=relaunch)

    def terminate(self, app_id: str) -> bool:
        """End an app's process; False when it had none."""
        self._apps.advance()
        return self._apps.terminate(app_id)

    def clear(self, app_id: str) -> bool:
        """End an app and forget its data; False when it is not installed."""
        self._apps.advance()
        return self._apps.clear(app_id)

    def crash(self, app_id: str) -> bool:
        """Let a running app crash; False when it does not run."""
        self._apps.advance()
        return self._apps.crash(app_id)

    def open_url(self, url: str, app_id: str | None = None) -> bool:
        """Open a deep link in the app that takes it; False when none does."""
        self._apps.advance()
        return self._apps.open_url(url, app_id)

    def reboot(self) -> None:
        """End all processes and show the launcher."""
        self._apps.stop_all()
        self._glass.lift()
        self.locked = False
        self.booted_at = self.clock()

    def set_clipboard(self, text: str) -> None:
        """Put a text on the clipboard."""
        self.clipboard = text

    # -- Touch -----------------------------------------------------------------------------------

    def tap(self, x: float, y: float) -> None:
        """Tap a point."""
        self._glass.press(x, y, is_long=False)

    def long_press(self, x: float, y: float, ms: float) -> None:
        """Hold a point for `ms` and lift; below half a second that is a tap."""
        self._glass.press(x, y, is_long=ms >= LONG_PRESS_MS)

    def swipe(
        self, x1: float, y1: float, x2: float, y2: float, ms: float, *, hold: bool = False
    ) -> None:
        """Move a finger evenly for `ms`, then lift: in motion (a fling), or at rest with `hold`.

        Within the touch slop it is a tap, or a long press when it lasts.
        """
        self._glass.swipe(x1, y1, x2, y2, ms, hold=hold)
        self._end_drag(x1, y1, x2, y2)

    def touch_down(self, x: float, y: float) -> None:
        """Put a finger down; a coasting list stops under it."""
        self._glass.down(x, y)

    def touch_move(self, x: float, y: float) -> None:
        """Move the finger; a list under it follows."""
        self._glass.move(x, y)

    def touch_up(self, x: float, y: float) -> None:
        """Lift the finger: a tap, a long press, a fling or the end of a drag."""
        finger = self._glass.up(x, y)
        if finger is not None:
            self._end_drag(finger.x, finger.y, x, y)

    def touch_cancel(self) -> None:
        """Take the finger away without any effect."""
        self._glass.lift()

    def _press_system(self, ref: str) -> bool:
        kind, _, rest = ref.partition(":")
        if kind == "type":
            self.type_text(rest)
        elif kind == "key":
            self.key(rest)
        elif kind == "alert" and rest:
            self._answer(rest)
        elif kind == "launch":
            self.launch(rest)
        else:
            return False
        return True

    def _end_drag(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """What iOS makes of a drag: back from the left edge, no keyboard when pulled down."""
        if self.platform == "ios" and x1 <= _EDGE and x2 - x1 >= _EDGE_TRAVEL:
            self.key("back")
        elif self.platform == "ios" and y1 < KEYBOARD.y < y2:
            self.hide_keyboard()

    # -- Keys and text ---------------------------------------------------------------------------

    @property
    def keyboard_shown(self) -> bool:
        """Whether the soft keyboard is on the screen."""
        self._apps.advance()
        app = self._apps.front_app()
        return (
            app is not None
            and bool(app.focus)
            and not (self._apps.keyboard_hidden or app.prompt or self.locked)
        )

    def hide_keyboard(self) -> bool:
        """Put the keyboard away; False when there was none. On iOS the field loses the focus."""
        if not self.keyboard_shown:
            return False
        self._apps.keyboard_hidden = True
        app = self._apps.front_app()
        if app is not None and self.platform == "ios":
            app.focus = ""
        return True

    def focused(self) -> SimNode | None:
        """Return the focused field."""
        return next((node for node in self.tree().walk() if node.focused), None)

    def type_text(self, text: str) -> bool:
        """Type into the focused field; a newline is return. False when no field is focused."""
        app = self._apps.front_app()
        if app is None or self.focused() is None:
            return False
        first, *rest = text.split("\n")
        taken = app.insert_text(first)
        for line in rest:
            self.key("enter")
            if line:
                taken = self.focused() is not None and app.insert_text(line)
        return taken

    def clear_focused(self) -> bool:
        """Empty the focused field; False when no field is focused."""
        app = self._apps.front_app()
        if app is None or self.focused() is None:
            return False
        app.clear_text()
        return True

    def key(self, name: str) -> bool:
        """Press a key by name; False for a name that this phone does not know."""
        self.tree()  # The app acts on what is drawn now.
        app = self._apps.front_app()
        match name:
            case "home" | "app_switch":
                self._apps.show_launcher()
            case "back":
                self._press_back(app)
            case "power":
                self.locked = not self.locked
            case "menu":
                self.locked = False
            case "escape":
                self.hide_keyboard()
            case _ if name in _EDIT_KEYS:
                if app is not None and not self.locked:
                    self._apps.grant(app, app.press_key(name, self.clipboard, self.clock()))
            case _:
                return False
        return True

    def _press_back(self, app: SimApp | None) -> None:
        alert = self.alert()
        if self.platform == "android" and alert is not None:
            self.press_alert(alert.dismiss)
        elif self.platform == "android" and self.hide_keyboard():
            return
        elif app is not None and alert is None:
            wish = app.back(self.clock())
            if self.platform == "android" or wish != "leave":
                self._apps.grant(app, wish)

    # -- Dialogs ---------------------------------------------------------------------------------

    def alert(self) -> SimAlert | None:
        """Return the dialog that is shown."""
        self._apps.advance()
        app = self._prompt_app()
        if app is None or app.prompt is None:
            return None
        return describe_prompt(app.prompt, app_id=app.spec.id, platform=self.platform)

    def press_alert(self, button: str) -> bool:
        """Press a dialog's button by its label; False when there is none such."""
        self._apps.advance()
        app = self._prompt_app()
        for spec in app.prompt.button if app is not None and app.prompt is not None else ():
            if button_label(spec, self.platform) == button:
                self._answer(spec.id)
                return True
        return False

    def _answer(self, button_id: str) -> None:
        app = self._prompt_app()
        if app is not None:
            self._apps.grant(app, app.answer_prompt(button_id, self.clock()))

    # -- The log ---------------------------------------------------------------------------------

    def log(self, tag: str, text: str, *, level: LogLevel = "I") -> None:
        """Write to the phone's log."""
        self._log.add(tag, text, level=level)

    def log_lines(self) -> tuple[LogLine, ...]:
        """Return the phone's log, oldest line first."""
        return self._log.lines()

    def clear_log(self) -> None:
        """Empty the phone's log."""
        self._log.clear()

    # -- Inside ----------------------------------------------------------------------------------

    def _prompt_app(self) -> SimApp | None:
        app = self._apps.front_app()
        return app if app is not None and app.prompt is not None and not self.locked else None

    def _draw_window(self) -> SimNode:
        if self.locked:
            return draw_lock_screen(self.platform)
        app = self._apps.front_app()
        if app is None:
            return draw_launcher(self.installed, self.platform)
        return draw_app_window(app.spec, app.draw(self.clock()))
