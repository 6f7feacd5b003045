"""Live progress of a run: a picture on a terminal, plain lines elsewhere.

A journal listener: it sees committed events only, and is quick. Failures are printed as they come
in both forms; the picture is redrawn a few times a second at most.

May be imported by: runner.cli. Imports: runner.model, runner.report, runner.cli.output.
"""

import sys
from collections.abc import Sequence
from typing import Final, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from runner.cli.output import write_people
from runner.cli.request import Loudness
from runner.model.event import (
    AttemptFinished,
    AttemptStarted,
    DeviceStateChanged,
    Event,
    Logged,
    PlanAdmitted,
    StepFinished,
    StepStarted,
    VerdictReached,
    WaitProgress,
)
from runner.model.verdict import GREEN
from runner.report.words import plural, render_duration, render_place

_SHOWN_DEVICES: Final = 24
_COLOURS: Final = {"passed": "green", "flaky": "yellow", "cancelled": "yellow", "not_run": "yellow"}


class _Board:
    """What is known of the run so far; `lines` are the news since they were last taken."""

    def __init__(self, loudness: Loudness) -> None:
        self.loudness = loudness
        self.total = 0
        self.verdicts: dict[str, int] = {}
        self.plans: dict[str, str] = {}
        self.devices: dict[str, str] = {}
        self.started_ms: int | None = None
        self.last_ms = 0
        self.lines: list[tuple[str, str]] = []

    @property
    def done(self) -> int:
        """How many plans have a verdict."""
        return sum(self.verdicts.values())

    def take(self, event: Event, *, stored: bool) -> None:
        """Note one event."""
        self.last_ms = event.offset_ms
        mark = "" if stored else " (not stored)"
        device = event.device_id or ""
        plan = self.plans.get(event.plan_id or "", event.plan_id or "")
        match event.body:
            case PlanAdmitted(path=path, platform=platform) if event.plan_id is not None:
                self.total += 1
                self.plans[event.plan_id] = f"{path} [{platform}]" if platform else path
            case AttemptStarted(number=number):
                self.devices[device] = f"{plan} attempt {number}"
                if self.loudness == "verbose":
                    self.lines.append(("dim", f"started   {plan} on {device} attempt {number}"))
            case AttemptFinished() as body:
                self.devices[device] = "idle"
                self._note_attempt(event, body, plan)
            case VerdictReached(verdict=verdict, reason=reason):
                self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
                tail = f" ({reason})" if reason and verdict not in GREEN else ""
                line = f"{verdict:<9} {plan}{tail} {self.done}/{self.total}{mark}"
                self.lines.append((_COLOURS.get(verdict, "red"), line))
            case StepStarted(text=text):
                self.devices[device] = f"{plan} · {text}"
            case StepFinished(passed=passed, command=command, duration_ms=ms):
                if self.loudness == "verbose":
                    word = "ok" if passed else "FAILED"
                    place = render_place(event.provenance)
                    line = f"  {device}: {word} {command} {render_duration(ms)} {place}"
                    self.lines.append(("dim" if passed else "red", line))
            case WaitProgress(waited_ms=waited, timeout_ms=timeout):
                waiting = f"{render_duration(waited)} of {render_duration(timeout)}"
                self.devices[device] = f"{plan} · waiting {waiting}"
            case DeviceStateChanged(state=state, reason=reason, message=message):
                self._note_device(device, state, message or reason)
            case Logged(level="warning" | "error" as level, message=message):
                self.lines.append(("yellow", f"{level}: {message}"))
            case _:
                pass

    def _note_attempt(self, event: Event, body: AttemptFinished, plan: str) -> None:
        if body.failure is None or body.outcome == "passed":
            return
        where = render_place(event.provenance)
        text = f"{body.failure.message} [{body.failure.reason}]"
        tail = f"\n            at {where}" if where else ""
        self.lines.append(("red", f"  {body.outcome}: {plan} on {event.device_id}: {text}{tail}"))

    def _note_device(self, device: str, state: str, why: str) -> None:
        self.devices[device] = "idle" if state == "ready" else state
        if state == "released":
            self.devices.pop(device, None)
        if state in {"lost", "unhealthy", "quarantined"}:
            self.lines.append(("yellow", f"device {device} is {state}: {why}"))
        elif self.loudness == "verbose":
            self.lines.append(("dim", f"device {device} is {state}"))

    def take_lines(self) -> list[tuple[str, str]]:
        """Return the news and forget them."""
        lines, self.lines = self.lines, []
        return lines

    def summary(self) -> str:
        """Return one line of where the run is."""
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        eta = ""
        if 0 < self.done < self.total:
            left = self.last_ms * (self.total - self.done) // self.done
            eta = f", about {render_duration(left)} left"
        return f"{self.done}/{plural(self.total, 'plan')} {counts}{eta}"


class Progress(Protocol):
    """A journal listener that shows a run; a context manager around the whole run."""

    def __call__(self, events: Sequence[Event], stored: bool, /) -> None:  # noqa: FBT001  # Port.
        """Show `events`."""
        ...

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(self, *_: object) -> None:
        """Stop showing."""
        ...


class PlainProgress:
    """One line for each verdict and each trouble."""

    def __init__(self, loudness: Loudness) -> None:
        self._board = _Board(loudness)

    def __call__(self, events: Sequence[Event], stored: bool, /) -> None:  # noqa: FBT001  # Port.
        """Print what is new."""
        for event in events:
            self._board.take(event, stored=stored)
        lines = self._board.take_lines()
        if lines and self._board.loudness != "quiet":
            write_people("\n".join(line for _, line in lines))

    def __enter__(self) -> Self:
        """Begin to show."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left on the screen."""


class LiveProgress:
    """A redrawn picture: the devices with what they do, and the plans with what became of them."""

    def __init__(self, loudness: Loudness) -> None:
        self._board = _Board(loudness)
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, refresh_per_second=5, transient=True)

    def __call__(self, events: Sequence[Event], stored: bool, /) -> None:  # noqa: FBT001  # Port.
        """Print what is new above the picture and redraw it."""
        for event in events:
            self._board.take(event, stored=stored)
        for style, line in self._board.take_lines():
            self._console.print(Text(line, style=style))
        self._live.update(self._picture())

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the picture away."""
        self._live.stop()

    def _picture(self) -> Group:
        table = Table.grid(padding=(0, 2))
        shown = list(self._board.devices.items())[:_SHOWN_DEVICES]
        for device, state in shown:
            table.add_row(
                Text(device, style="cyan"), Text(state, overflow="ellipsis", no_wrap=True)
            )
        if len(self._board.devices) > len(shown):
            table.add_row(Text(f"and {len(self._board.devices) - len(shown)} more devices"))
        bar = ProgressBar(total=max(1, self._board.total), completed=self._board.done, width=40)
        return Group(table, bar, Text(self._board.summary()))


def open_progress(loudness: Loudness) -> Progress:
    """Return the form that fits: a picture for a terminal, lines for anything else."""
    if loudness != "quiet" and sys.stderr.isatty():
        return LiveProgress(loudness)
    return PlainProgress(loudness)
