"""Steps that move the content: scroll and swipe.

`scroll down` shows what is further down, so the finger moves up. A pan lifts at rest; `scroll top`
and `scroll bottom` pan until the screen no longer changes.

May be imported by: runner.formats.ad, tests. Imports: runner.formats.ad, runner.model.
"""

from typing import Final

from runner.formats.ad.request import read_number, read_option, refuse_operands
from runner.formats.ad.resolve import find_matches
from runner.formats.ad.script import Action
from runner.formats.ad.selector import Selector, parse_selector
from runner.formats.ad.stage import Stage, Steps, step_error
from runner.formats.ad.target import Evidence
from runner.formats.ad.touch import COUNT_LIMIT, PAUSE_LIMIT_MS
from runner.formats.ad.tree import is_on_screen
from runner.model.action import Drag
from runner.model.ids import Platform

PAN_MS: Final = 300
FLING_MS: Final = 100
FRACTION_LIMIT: Final = 0.8
FRACTIONS: Final[dict[Platform, float]] = {"android": 0.6, "ios": 0.65}
EDGE_PANS: Final = 40
SWIPE_LIMIT_MS: Final = 60_000
# Where the finger goes, in parts of the way: content moves against it.
_DIRECTIONS: Final = {
    "down": (0.0, -1.0),
    "up": (0.0, 1.0),
    "right": (-1.0, 0.0),
    "left": (1.0, 0.0),
}
_EDGES: Final = {"bottom": "down", "top": "up"}
_SCROLL: Final = "scroll up|down|left|right|top|bottom [fraction]"
_SWIPE: Final = "swipe <x1> <y1> <x2> <y2>"


def scroll(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Pan once, to an edge, or until an element is on the screen."""
    del evidence  # A pan names no element.
    words = action.positionals
    if not words or words[0] not in {*_DIRECTIONS, *_EDGES}:
        given = repr(words[0]) if words else "nothing"
        refuse_operands("scroll", f"{given} is no direction", _SCROLL)
    fraction = FRACTIONS[stage.platform]
    if len(words) > 1:
        fraction = read_number("scroll", words[1], _SCROLL, low=0.001, high=1e6)
    fraction = min(fraction, FRACTION_LIMIT)
    until = action.flags.get("until")
    direction = _EDGES.get(words[0], words[0])
    if isinstance(until, str):
        return (yield from _pan_to(stage, direction, fraction, parse_selector(until)))
    if words[0] in _EDGES:
        return (yield from _pan_to_edge(stage, direction, fraction))
    yield from _pan(stage, direction, fraction)
    return ""


def swipe(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Fling from one point to another, once or several times."""
    del evidence  # A swipe names no element.
    words, flags = action.positionals, action.flags
    if len(words) != 4:
        refuse_operands("swipe", f"it has {len(words)} numbers", _SWIPE)
    x1, y1, x2, y2 = (read_number("swipe", word, _SWIPE, low=-1e6, high=1e6) for word in words)
    count = read_option("swipe", flags, "count", high=COUNT_LIMIT, default=1)
    pause_ms = read_option("swipe", flags, "pauseMs", high=PAUSE_LIMIT_MS)
    if count < 1:
        refuse_operands("swipe", "it would swipe no time at all", f"{_SWIPE} --count 1")
    if count * FLING_MS + (count - 1) * pause_ms > SWIPE_LIMIT_MS:
        refuse_operands("swipe", f"it would take more than {SWIPE_LIMIT_MS} ms", _SWIPE)
    is_pong = flags.get("pattern") == "ping-pong"
    forth = Drag(x1=x1, y1=y1, x2=x2, y2=y2, duration_ms=FLING_MS, profile="fling")
    back = Drag(x1=x2, y1=y2, x2=x1, y2=y1, duration_ms=FLING_MS, profile="fling")
    for turn in range(count):
        if turn and pause_ms:
            yield from stage.pause(pause_ms)
        yield from stage.act(back if is_pong and turn % 2 else forth)
    return ""


def _pan(stage: Stage, direction: str, fraction: float) -> Steps[None]:
    width, height = yield from stage.read_size()
    dx, dy = _DIRECTIONS[direction]
    half_x, half_y = dx * fraction * width / 2, dy * fraction * height / 2
    yield from stage.act(
        Drag(
            x1=width / 2 - half_x,
            y1=height / 2 - half_y,
            x2=width / 2 + half_x,
            y2=height / 2 + half_y,
            duration_ms=PAN_MS,
        )
    )


def _pan_to_edge(stage: Stage, direction: str, fraction: float) -> Steps[str]:
    before = yield from stage.read_screen()
    for pans in range(1, EDGE_PANS + 1):
        yield from _pan(stage, direction, fraction)
        after = yield from stage.read_screen()
        if after.nodes == before.nodes:
            return f"{pans} pans"
        before = after
    raise step_error(
        "scroll_edge_not_reached",
        f"the content still moved {direction} after {EDGE_PANS} pans",
        details={"direction": direction, "pans": EDGE_PANS},
    )


def _pan_to(stage: Stage, direction: str, fraction: float, selector: Selector) -> Steps[str]:
    before = None
    for pans in range(EDGE_PANS + 1):
        screen = yield from stage.read_screen()
        found = find_matches(selector, screen, level=stage.level)
        if any(is_on_screen(screen, screen.nodes[at]) for at in found):
            return f"{pans} pans"
        if pans == EDGE_PANS or (before is not None and screen.nodes == before.nodes):
            break
        before = screen
        yield from _pan(stage, direction, fraction)
    raise step_error(
        "selector_not_found",
        f"{selector.source[:120]} did not come onto the screen by scrolling {direction}",
        details={"selector": selector.source, "direction": direction},
    )
