"""Starting and stopping apps, and which one is in front.

`am start` says `Error` on standard error or output while its exit status is zero on many
releases, and "started" means little: an app counts as open when it has the focus. An app may hand
over to a screen of another package (a log-in page); what `am start -W` names counts then.

May be imported by: drivers.android, tests. Imports: drivers.android, runner.model.action,
runner.errors.
"""

import re
import shlex
from typing import Final

import trio
from msgspec import Struct

from drivers.android.dump import SCREEN_FACTS, ScreenFacts, read_facts
from drivers.android.line import Line
from drivers.android.smartsocket import ShellAnswer
from runner.errors import DeviceError
from runner.model.action import CloseApp, OpenApp

FOCUS_LIMIT_S: Final = 5.0
FOCUS_LOOKS: Final = 3
"""Looks without the app before it counts as not started: time alone may be a slow phone's."""
CLOSE_LIMIT_S: Final = 2.0
_POLL_S: Final = 0.1

_COMPONENT: Final = re.compile(r"^[\w.]+/[\w.$]+$")
_STARTED: Final = re.compile(r"^Activity:\s*([\w.]+)/", re.MULTILINE)
_REFUSED: Final = re.compile(
    r"^(?:Error\b|Error:|Exception occurred|java\.lang\.\w+|Security exception|"
    r"\*\* No activities found|.*monkey aborted).*$",
    re.MULTILINE | re.IGNORECASE,
)
_MISSING: Final = re.compile(
    r"does not exist|unable to resolve Intent|Error type 3|No activities found", re.IGNORECASE
)


class Launch(Struct, frozen=True):
    """What `am start` was told: `package` is empty when any app may answer."""

    package: str
    command: str


async def open_app(line: Line, action: OpenApp) -> None:
    """Bring the app to the front, or open the URL.

    Reasons: `app_not_installed`, `app_start_failed`, `app_crashed`, `action_unsupported`, and
    those of `Line.run`.
    """
    package = (action.app or "").partition("/")[0]
    if action.relaunch and package:
        await line.run(f"am force-stop {shlex.quote(package)}")
    launch = await _plan_launch(line, action, package)
    answer = await _start(line, launch)
    problem = start_problem(answer)
    if problem is not None:
        raise _refused(action, answer, problem)
    if package:
        started = _STARTED.search(answer.text)
        await _wait_in_front(line, action, {package, started[1] if started else package})


async def close_app(line: Line, action: CloseApp) -> None:
    """Stop the app, and wait a little until another is in front. Reasons: those of `Line.run`."""
    package = action.app.partition("/")[0]
    await line.expect(f"am force-stop {shlex.quote(package)}")
    limit = trio.current_time() + CLOSE_LIMIT_S
    while trio.current_time() < limit:
        if (await read_screen_facts(line)).foreground != package:
            return
        await trio.sleep(_POLL_S)


async def read_screen_facts(line: Line) -> ScreenFacts:
    """Return size, focused app and keyboard. Reasons: those of `Line.run`."""
    # The last of the three is a search that may find nothing: its status says nothing.
    return read_facts((await line.run(SCREEN_FACTS)).text)


def start_problem(answer: ShellAnswer) -> str | None:
    """Return what `am start` or `monkey` complained of, None when it started something."""
    for text in (answer.error_text, answer.text):
        found = _REFUSED.search(text)
        if found is not None:
            return found[0].strip()
    if answer.exit_code != 0:
        return f"exit status {answer.exit_code}"
    return None


def pick_component(text: str) -> str | None:
    """Return the component that `resolve-activity --brief` names.

    None when there is none, or when the system would ask the user to choose.
    """
    for part in reversed(text.splitlines()):
        name = part.strip()
        if _COMPONENT.match(name):
            return None if name.startswith("android/") else name
    return None


async def _plan_launch(line: Line, action: OpenApp, package: str) -> Launch:
    if action.url is not None:
        to = f" -p {shlex.quote(package)}" if package else ""
        view = f"am start -W -a android.intent.action.VIEW -d {shlex.quote(action.url)}{to}"
        return Launch(package, view)
    if action.app is None:
        raise DeviceError(
            kind="misuse",
            reason="action_unsupported",
            message="to open needs an app or a URL",
        )
    component = action.app if "/" in action.app else await _resolve(line, package)
    if component is None:
        quoted = shlex.quote(package)
        return Launch(package, f"monkey -p {quoted} -c android.intent.category.LAUNCHER 1")
    main = "-a android.intent.action.MAIN -c android.intent.category.LAUNCHER"
    return Launch(package, f"am start -W {main} -n {shlex.quote(component)}")


async def _resolve(line: Line, package: str) -> str | None:
    """Return the app's launcher component, None when the launcher itself must choose."""
    quoted = shlex.quote(package)
    answer = await line.run(f"cmd package resolve-activity --brief {quoted}; pm path {quoted}")
    component = pick_component(answer.text)
    if component is None and "package:" not in answer.text:
        raise _not_installed(package, answer)
    return component


async def _start(line: Line, launch: Launch) -> ShellAnswer:
    try:
        return await line.run(launch.command, limit_s=line.deadlines.start_s)
    except DeviceError as error:
        # `-W` waits for a first frame that some apps never draw; the focus decides then.
        if error.reason == "device_call_deadline" and error.kind == "driver_fault":
            return ShellAnswer(stdout=b"", stderr=b"", exit_code=0)
        raise


async def _wait_in_front(line: Line, action: OpenApp, packages: set[str]) -> None:
    """Look until the app is in front. Each look has the time that the line gives to a command."""
    limit = trio.current_time() + FOCUS_LIMIT_S
    looks = 0
    while True:
        answer = await line.run(SCREEN_FACTS)
        looks += 1
        # The focused app's own line counts too: a permission prompt may stand before it.
        if any(f" {package}/" in answer.text for package in packages):
            return
        if looks >= FOCUS_LOOKS and trio.current_time() >= limit:
            break
        await trio.sleep(_POLL_S)
    foreground = read_facts(answer.text).foreground
    package = (action.app or "").partition("/")[0]
    alive = (await line.run(f"pidof {shlex.quote(package)}")).text
    raise DeviceError(
        kind="product",
        reason="app_start_failed" if alive else "app_crashed",
        message=(
            f"{package!r} was started but is not in front: {foreground or 'nothing'} is"
            if alive
            else f"{package!r} ended right after its start"
        ),
        details={"app": action.app, "foreground": foreground},
    )


def _refused(action: OpenApp, answer: ShellAnswer, problem: str) -> DeviceError:
    output = f"{answer.text}\n{answer.error_text}".strip()
    target = action.url or action.app or ""
    if action.url is None and _MISSING.search(output):
        return _not_installed(target, answer)
    return DeviceError(
        kind="product",
        reason="app_start_failed",
        message=f"the device did not open {target[:200]!r}: {problem[:500]}",
        details={
            "app": action.app,
            "url": (action.url or "")[:2000] or None,
            "output": output[:2000],
        },
    )


def _not_installed(app: str, answer: ShellAnswer) -> DeviceError:
    return DeviceError(
        kind="misuse",
        reason="app_not_installed",
        message=f"{app!r} is not installed on the device, or has no screen to start",
        details={"app": app, "output": f"{answer.text}\n{answer.error_text}".strip()[:2000]},
    )
