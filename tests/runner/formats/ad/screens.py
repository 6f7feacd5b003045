"""Screens and programs for the interpreter's tests: short spellings of long values."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from runner.formats.ad.digest import fragment_digest
from runner.formats.ad.parser import read_script
from runner.formats.ad.program import AdFragment, AdProgram
from runner.machine.playbook import Frame
from runner.model.failure import Failure
from runner.model.ids import Platform
from runner.model.screen import Node, Rect, Snapshot

WIDTH, HEIGHT = 1000.0, 2000.0


def node(
    type_: str = "Button",
    label: str = "",
    *,
    parent: int | None = 0,
    rect: tuple[float, float, float, float] | None = (100, 100, 200, 100),
    **facts: Any,
) -> dict[str, Any]:
    return {
        "type": type_,
        "label": label,
        "parent": parent,
        "rect": None if rect is None else Rect(*rect),
        **facts,
    }


def screen(
    *nodes: dict[str, Any],
    platform: Platform = "android",
    root: dict[str, Any] | None = None,
    **facts: Any,
) -> Snapshot:
    """Return a screen whose node 0 is a root that fills it; the given nodes follow."""
    top = root or {"type": "Window", "rect": Rect(0, 0, WIDTH, HEIGHT), "parent": None}
    return Snapshot(
        platform=platform,
        nodes=tuple(Node(index=at, **fields) for at, fields in enumerate((top, *nodes))),
        width=WIDTH,
        height=HEIGHT,
        **facts,
    )


def frames(*screens: Snapshot | Failure) -> list[Frame]:
    """Return a timetable in which each screen follows one action."""
    return [
        Frame(screen=shown, after_acts=at)
        if isinstance(shown, Snapshot)
        else Frame(failure=shown, after_acts=at)
        for at, shown in enumerate(screens)
    ]


def program(text: str, *, platform: Platform = "android") -> AdProgram:
    read = read_script(text.encode(), path="flow.ad")
    if read.findings:
        raise AssertionError(read.findings)
    return AdProgram(path="flow.ad", platform=platform, root=read.script)


def script(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


BUSY = Failure(
    kind="device_busy", code="SCREEN_BUSY", reason="screen_busy", message="the screen never rests"
)
LOST = Failure(kind="device_lost", code="DEVICE_LOST", reason="device_lost", message="it is gone")
EMPTY = Snapshot(platform="android", nodes=(), width=WIDTH, height=HEIGHT, quality="sparse")


GUARD = (
    '# agent-device:target-v1 {"id":"home","role":"button","label":"Home","ancestry":[],'
    '"sibling":0,"viewportOrder":0,"verification":"verified"}\nwait id=home 1000\n'
)


def composed(body: str, *, before: str = "", after: str = "") -> AdProgram:
    """Return a root that includes one fragment: its entry guard, then `body`."""
    text = f"fragment-v1\ncontext platform=android target=mobile\n{GUARD}{body}"
    child = read_script(text.encode(), path="parts/login.ad")
    if child.findings:
        raise AssertionError(child.findings)
    digest = fragment_digest(child.script, platform="android", target="mobile")
    root = program(
        "context platform=android target=mobile\ncomposition-v1\n"
        f'{before}# agent-device:fragment-ref-v1 {{"callSiteId":"login","digest":"{digest}"}}\n'
        f'include "./parts/login.ad"\n{after}'
    )
    fragment = AdFragment(path="parts/login.ad", script=child.script)
    return replace(root, fragments={digest: fragment})
