"""`uiautomator dump` in one round trip, and what its answers mean.

Pure. One shell asks for the size, the focused window and the keyboard, removes the file, dumps,
and prints what it dumped: the tree comes last, so the head can be told from the texts of the
screen. A tree counts only when the tool says that it wrote one: its exit status is zero in every
failure that matters.

May be imported by: drivers.android, tests. Imports: drivers.android.hierarchy,
drivers.android.smartsocket, runner.errors.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from drivers.android.hierarchy import Display
from drivers.android.smartsocket import ShellAnswer
from runner.errors import DeviceError

RETRY_PAUSES_S: Final = (0.1, 0.2, 0.3)
"""A window that changes has no root for a moment; a dump that was killed may do better."""

_WRITTEN: Final = re.compile(rb"hier(?:archy|chary) dumped to", re.IGNORECASE)
_SIZE: Final = re.compile(r"(Physical|Override) size:\s*(\d{1,5})x(\d{1,5})")
_FOCUS: Final = re.compile(r"m(CurrentFocus|FocusedApp)=\S+\{[^\n]*?\s([\w.]+)/[\w.$]+")
_DIALOG: Final = re.compile(
    r"mCurrentFocus=\S+\{[^\n]*?\sApplication (Error|Not Responding): ([\w.]+)"
)
_PIDS_MARK: Final = "sweepgrid-app-pids="
_PIDS: Final = re.compile(rf"^{_PIDS_MARK}([\d ]*)$", re.MULTILINE)
_KEYBOARD: Final = re.compile(r"mInputShown=(true|false)")

SCREEN_FACTS: Final = (
    "wm size; "
    "dumpsys window | grep -E 'mCurrentFocus|mFocusedApp'; "
    "dumpsys input_method | grep mInputShown"
)

DumpProblem: TypeAlias = Literal["busy", "no_root", "taken", "died"]
"""`busy`: the screen never rested. `no_root`: no window to read at this moment. `taken`: another
tool holds the device's only accessibility connection. `died`: the tool ended without a tree."""


class ScreenFacts(Struct, frozen=True, kw_only=True):
    """What the head tells; `None` and the empty string mean that it does not.

    `app_pids` are the processes of the app that was asked about. `crashed` and `hung` name the app
    that the system's error dialog in front speaks of; its process stays while the dialog does.
    """

    size: tuple[int, int] | None = None
    foreground: str = ""
    keyboard_shown: bool | None = None
    app_pids: tuple[str, ...] | None = None
    crashed: str = ""
    hung: str = ""

    def to_display(self, fallback: tuple[int, int]) -> Display:
        """Return the display, its size taken from before where the head lacks it."""
        width, height = self.size or fallback
        return Display(
            width=width,
            height=height,
            foreground=self.foreground,
            keyboard_shown=self.keyboard_shown,
        )


class Dump(Struct, frozen=True, kw_only=True):
    """A document that was freshly written, and the facts beside it."""

    document: bytes
    facts: ScreenFacts


def dump_command(path: str, *, app: str = "") -> str:
    """Return the shell command that dumps by way of the file `path`, ours and safe to quote.

    It also asks for the processes of `app`, when one is named.
    """
    ask = f"echo {_PIDS_MARK}$(pidof {shlex.quote(app)}); " if app else ""
    return (
        f"{SCREEN_FACTS}; {ask}rm -f {path}; uiautomator dump {path}; E=$?; "
        f"cat {path}; rm -f {path}; exit $E"
    )


def read_dump(answer: ShellAnswer) -> Dump | DumpProblem:
    """Return the document of a dump, or why there is none."""
    start = _find_document(answer.stdout)
    head = answer.stdout[:start]
    said = head + b"\n" + answer.stderr
    if start < len(answer.stdout) and _WRITTEN.search(said):
        end = answer.stdout.rfind(b"</hierarchy>")
        document = answer.stdout[start:] if end < 0 else answer.stdout[start : end + 12]
        return Dump(document=document, facts=read_head(answer))
    if b"could not get idle state" in said:
        return "busy"
    if b"null root node" in said:
        return "no_root"
    if b"already registered" in said:
        return "taken"
    return "died"


def read_facts(text: str) -> ScreenFacts:
    """Read the output of `SCREEN_FACTS`; lines of other shape tell nothing."""
    sizes = {kind: (int(width), int(height)) for kind, width, height in _SIZE.findall(text)}
    # A dialog has the focus while its app has not; a popup's window names no package at all.
    focus: dict[str, str] = {}
    for kind, package in _FOCUS.findall(text):
        focus.setdefault(kind, package)
    keyboard = _KEYBOARD.search(text)
    pids = _PIDS.search(text)
    dialog = dict(_DIALOG.findall(text))
    return ScreenFacts(
        size=sizes.get("Override", sizes.get("Physical")),
        foreground=focus.get("CurrentFocus", focus.get("FocusedApp", "")),
        keyboard_shown=None if keyboard is None else keyboard[1] == "true",
        app_pids=None if pids is None else tuple(pids[1].split()),
        crashed=dialog.get("Error", ""),
        hung=dialog.get("Not Responding", ""),
    )


def read_head(answer: ShellAnswer) -> ScreenFacts:
    """Read the facts of a dump that may have failed; the texts of the screen are left out."""
    return read_facts(answer.stdout[: _find_document(answer.stdout)].decode("utf-8", "replace"))


def is_worth_retry(problem: DumpProblem) -> bool:
    """Tell whether a second try may help at once; each refusal of a busy screen costs 10 s."""
    return problem in {"no_root", "died"}


_REASONS: Final[Mapping[DumpProblem, str]] = {"busy": "screen_busy", "died": "screen_reader_died"}


def dump_error(problem: DumpProblem, answer: ShellAnswer, *, serial: str) -> DeviceError:
    """Return the error of a dump that stays without a tree."""
    said = {
        "busy": "the screen never came to rest, so its tree could not be read",
        "no_root": "the screen shows no window whose tree can be read",
        "taken": "another automation tool reads the screen, and only one may",
        "died": "the dump tool ended without a tree",
    }
    start = _find_document(answer.stdout)
    return DeviceError(
        kind="device_busy",
        reason=_REASONS.get(problem, "screen_unreadable"),
        message=f"{said[problem]} (device {serial!r})",
        details={
            "serial": serial,
            "problem": problem,
            "exitCode": answer.exit_code,
            "output": (answer.stdout[:start] + answer.stderr)[:2000].decode("utf-8", "replace"),
        },
        hint="stop uiautomator2, Appium or other tools on the device" if problem == "taken" else "",
    )


def _find_document(stdout: bytes) -> int:
    found = [at for at in (stdout.find(b"<?xml"), stdout.find(b"<hierarchy")) if at >= 0]
    return min(found, default=len(stdout))
