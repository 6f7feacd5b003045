"""Steps on the app and the system: open, close, back, home, keyboard, alert.

May be imported by: runner.formats.ad, tests. Imports: runner.machine, runner.formats.ad,
runner.model.
"""

import re
from collections.abc import Sequence
from typing import Final

from runner.formats.ad.request import DURATION_LIMIT_MS, WAIT_MS, read_number, refuse_operands
from runner.formats.ad.script import Action
from runner.formats.ad.stage import Stage, StepError, Steps, step_error
from runner.formats.ad.target import Evidence
from runner.formats.ad.wait import POLL_MS
from runner.machine.polling import Deadline
from runner.model.action import (
    AcceptAlert,
    Back,
    CloseApp,
    DismissAlert,
    HideKeyboard,
    Home,
    KeyboardStatus,
    OpenApp,
    PressEnter,
    ReadAlert,
)

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_OPEN: Final = "open <app|url> [url] [--relaunch]"
_KEYBOARD: Final = "keyboard dismiss|enter|return|status|get"
_ALERT: Final = "alert accept|dismiss|get|wait [ms]"


def open_app(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Open an app, a link, or a link in an app."""
    del evidence  # An app is no element.
    words = action.positionals
    app, url = _read_open(words)
    hint = (action.runtime or {}).get("launchUrl")
    if url is None and isinstance(hint, str) and hint:
        url = hint
    if app is None and url is None:
        refuse_operands("open", "it names neither an app nor a link", _OPEN)
    is_relaunch = action.flags.get("relaunch") is True
    if is_relaunch and app is None:
        refuse_operands("open", "a relaunch needs the app", _OPEN)
    yield from stage.act(OpenApp(app=app, url=url, relaunch=is_relaunch))
    if app is not None:
        stage.app = app
    return ""


def close_app(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Terminate the named app, else the one that the plan opened last."""
    del evidence  # An app is no element.
    app = action.positionals[0] if action.positionals else stage.app
    if not app:
        # Only links were opened: which app took them is the device's choice, not the plan's.
        return "no app was opened by name"
    yield from stage.act(CloseApp(app=app))
    return ""


def go_back(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Go back."""
    del action, evidence  # It takes nothing.
    yield from stage.act(Back())
    return ""


def go_home(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Show the launcher."""
    del action, evidence  # It takes nothing.
    yield from stage.act(Home())
    return ""


def keyboard(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Dismiss the keyboard, press its return key, or ask whether it is shown."""
    del evidence  # A keyboard is no recorded element.
    match action.positionals[:1]:
        case ("dismiss",):
            yield from stage.act(HideKeyboard())
            return ""
        case ("enter",) | ("return",):
            yield from stage.act(PressEnter())
            return ""
        case ("status",) | ("get",):
            return (yield from stage.act(KeyboardStatus()))
    refuse_operands("keyboard", "it does not say what to do", _KEYBOARD)


def alert(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Answer, read or await a system alert."""
    del evidence  # Alerts are the system's.
    words = action.positionals
    wait_ms = 0
    if len(words) > 1:
        wait_ms = int(read_number("alert", words[1], _ALERT, low=0, high=DURATION_LIMIT_MS))
    match words[:1]:
        case ("accept",):
            return (yield from _answer_alert(stage, AcceptAlert(), wait_ms))
        case ("dismiss",):
            return (yield from _answer_alert(stage, DismissAlert(), wait_ms))
        case ("get",):
            return (yield from _await_alert(stage, wait_ms))
        case ("wait",):
            return (yield from _await_alert(stage, wait_ms if len(words) > 1 else WAIT_MS))
    refuse_operands("alert", "it does not say what to do", _ALERT)


def _read_open(words: Sequence[str]) -> tuple[str | None, str | None]:
    if not words:
        return None, None
    if _URL.match(words[0]):
        return None, words[0]
    return words[0] or None, words[1] if len(words) > 1 else None


def _answer_alert(stage: Stage, answer: AcceptAlert | DismissAlert, wait_ms: int) -> Steps[str]:
    """Answer the alert, with patience for one that is still to come."""
    deadline = Deadline(stage.now_ms, wait_ms)
    while True:
        try:
            return (yield from stage.act(answer))
        except StepError as error:
            if error.failure.reason != "alert_absent" or deadline.is_over(stage.now_ms):
                raise
        yield from stage.pause(deadline.pause_ms(stage.now_ms, POLL_MS))


def _await_alert(stage: Stage, wait_ms: int) -> Steps[str]:
    deadline = Deadline(stage.now_ms, wait_ms)
    while True:
        text = yield from stage.act(ReadAlert())
        if text:
            return text
        if deadline.is_over(stage.now_ms):
            raise step_error(
                "wait_alert_absent",
                f"no alert was shown within {wait_ms} ms",
                details={"waitedMs": deadline.waited_ms(stage.now_ms)},
            )
        yield from stage.pause(deadline.pause_ms(stage.now_ms, POLL_MS))
