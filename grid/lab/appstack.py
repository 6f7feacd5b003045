"""The apps of a virtual phone: which are installed, which run, which one is in front.

Synchronous and free of I/O. Carries out what apps ask of the phone (leave, crash).

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias, final

from grid.lab.app import AppWish, SimApp
from grid.lab.appfile import AppSpec
from grid.lab.phonelog import PhoneLog

AppState: TypeAlias = Literal[0, 1, 2, 3, 4]
"""As WebDriverAgent counts: unknown, not running, suspended, in the background, in front."""

_MAX_CHAIN: Final = 16
_PID_STEP: Final = 13


@final
class AppStack:
    """Installed apps and their processes. `front` is the launcher or an app that runs."""

    def __init__(
        self,
        specs: Sequence[AppSpec],
        *,
        launcher: str,
        clock: Callable[[], float],
        log: PhoneLog,
        first_pid: int,
        crash_tag: str,
    ) -> None:
        self.launcher = launcher
        self.front = launcher
        self.keyboard_hidden = False
        self.pids: dict[str, int] = {}
        self.crashes: list[tuple[float, str]] = []
        self._apps = {spec.id: SimApp(spec) for spec in specs}
        self._clock = clock
        self._log = log
        self._next_pid = first_pid
        self._crash_tag = crash_tag

    @property
    def specs(self) -> tuple[AppSpec, ...]:
        """The installed apps, the one under test first."""
        return tuple(app.spec for app in self._apps.values())

    def running(self) -> tuple[SimApp, ...]:
        """Return the apps that have a process."""
        return tuple(app for app in self._apps.values() if app.running)

    def front_app(self) -> SimApp | None:
        """Return the app in front; None at the launcher."""
        return self._apps.get(self.front)

    def state(self, app_id: str) -> AppState:
        """Return an app's state."""
        if app_id == self.front:
            return 4
        if app_id == self.launcher:
            return 3
        app = self._apps.get(app_id)
        if app is None:
            return 0
        return 3 if app.running else 1

    def advance(self) -> None:
        """Carry out the transitions that are due, in the background too."""
        for app in self._apps.values():
            for _ in range(_MAX_CHAIN):
                # An app may go on to a next screen as soon as one opens.
                if not app.is_due(self._clock()):
                    break
                self.grant(app, app.advance(self._clock()))

    def launch(self, app_id: str, *, relaunch: bool) -> bool:
        """Bring an app to the front, started if needed; False when it is not installed."""
        if app_id == self.launcher:
            self.show_launcher()
            return True
        app = self._apps.get(app_id)
        if app is None:
            return False
        if relaunch:
            self.terminate(app_id)
        self.front = app_id
        self.keyboard_hidden = True
        if not app.running:
            self.pids[app_id] = self._next_pid
            self._next_pid += _PID_STEP
            self._log.add("ActivityTaskManager", f"START {app_id} pid {self.pids[app_id]}")
            self.grant(app, app.start(self._clock()))
        return True

    def terminate(self, app_id: str) -> bool:
        """End an app's process; False when it had none."""
        app = self._apps.get(app_id)
        if app is None or not app.running:
            return False
        app.stop()
        self._log.add("ActivityManager", f"Killing {self.pids.pop(app_id, 0)}:{app_id}")
        if self.front == app_id:
            self.show_launcher()
        return True

    def clear(self, app_id: str) -> bool:
        """End an app and forget its data; False when it is not installed."""
        app = self._apps.get(app_id)
        if app is None:
            return False
        self.terminate(app_id)
        app.clear()
        return True

    def crash(self, app_id: str) -> bool:
        """Let a running app crash; False when it does not run."""
        pid = self.pids.get(app_id)
        if pid is None:
            return False
        self.crashes.append((self._clock(), app_id))
        self._log.add(
            self._crash_tag,
            f"FATAL EXCEPTION: main\nProcess: {app_id}, PID: {pid}\n"
            "java.lang.IllegalStateException: crash asked for by the lab",
            level="E",
            pid=pid,
        )
        return self.terminate(app_id)

    def open_url(self, url: str, app_id: str | None) -> bool:
        """Open a deep link in the first app (or in `app_id`) that takes it."""
        for name, app in self._apps.items():
            if app_id in (None, name) and app.takes_link(url):
                self.launch(name, relaunch=False)
                self.grant(app, app.open_link(url, self._clock()))
                return True
        return False

    def stop_all(self) -> None:
        """End all processes, as a reboot does."""
        for app_id in self._apps:
            self.terminate(app_id)
        self.show_launcher()

    def show_launcher(self) -> None:
        """Leave what is in front; its process goes on."""
        self.front = self.launcher
        self.keyboard_hidden = True

    def grant(self, app: SimApp, wish: AppWish | None) -> None:
        """Carry out what an app asks for."""
        if wish == "crash":
            self.crash(app.spec.id)
        elif wish == "leave" and self.front == app.spec.id:
            self.show_launcher()
