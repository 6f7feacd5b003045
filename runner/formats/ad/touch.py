"""Steps that touch or type: press, click, longpress, fill, type.

May be imported by: runner.formats.ad, tests. Imports: runner.formats.ad, runner.model.
"""

from typing import Any, Final

from runner.formats.ad.aim import aim
from runner.formats.ad.request import (
    read_fill,
    read_long_press,
    read_option,
    read_place,
    refuse_operands,
)
from runner.formats.ad.script import Action
from runner.formats.ad.stage import Stage, Steps, step_error
from runner.formats.ad.target import Evidence
from runner.model.action import FillText, LongPress, Tap, TypeText

COUNT_LIMIT: Final = 200
PAUSE_LIMIT_MS: Final = 10_000
HOLD_LIMIT_MS: Final = 60_000
# Repeated presses with jitter visit these offsets in turn, so that a run repeats itself exactly.
_JITTER: Final = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))


def press(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Tap an element or a point."""
    word, flags = action.command, action.flags
    button = flags.get("clickButton", "primary")
    if button != "primary":
        raise step_error(
            "action_unsupported",
            f"a phone has no {button} button",
            details={"button": button},
            hint="use longpress for what a secondary button opens",
            kind="misuse",
        )
    place = read_place(word, action.positionals)
    tap = _read_tap(word, flags)
    jitter = read_option(word, flags, "jitterPx", high=1_000)
    target = yield from aim(stage, place, evidence)
    if not jitter or tap.count == 1:
        return (yield from stage.act(_tap_at(tap, target.x, target.y, tap.count)))
    for turn in range(tap.count):
        if turn and tap.interval_ms:
            yield from stage.pause(tap.interval_ms)
        dx, dy = _JITTER[turn % len(_JITTER)]
        yield from stage.act(_tap_at(tap, target.x + dx * jitter, target.y + dy * jitter, 1))
    return ""


def long_press(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Hold an element or a point."""
    place, duration_ms = read_long_press(action.positionals)
    target = yield from aim(stage, place, evidence)
    return (yield from stage.act(LongPress(x=target.x, y=target.y, duration_ms=duration_ms)))


def fill(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Replace what stands in a field. The target must be there already."""
    place, text = read_fill(action.positionals)
    delay_ms = read_option("fill", action.flags, "delayMs", high=PAUSE_LIMIT_MS)
    target = yield from aim(stage, place, evidence, purpose="fill", is_patient=False)
    is_secure = target.node is not None and target.node.secure
    yield from stage.act(
        FillText(
            x=target.x,
            y=target.y,
            text=text,
            delay_ms=delay_ms,
            secret=is_secure or stage.is_secret(text),
        )
    )
    return ""


def type_text(stage: Stage, action: Action, evidence: Evidence | None) -> Steps[str]:
    """Type into the focused field."""
    del evidence  # Typing names no element.
    text = " ".join(action.positionals)
    if not text:
        refuse_operands("type", "it has no text", "type <text>")
    delay_ms = read_option("type", action.flags, "delayMs", high=PAUSE_LIMIT_MS)
    yield from stage.act(TypeText(text=text, delay_ms=delay_ms, secret=stage.is_secret(text)))
    return ""


def _read_tap(word: str, flags: dict[str, Any]) -> Tap:
    count = read_option(word, flags, "count", high=COUNT_LIMIT, default=1)
    hold_ms = read_option(word, flags, "holdMs", high=HOLD_LIMIT_MS)
    is_double = flags.get("doubleTap") is True
    if count < 1:
        refuse_operands(word, "it would press no time at all", f"{word} ... --count 1")
    if is_double and hold_ms:
        refuse_operands(word, "a double tap cannot be held", f"{word} ... --double-tap")
    return Tap(
        x=0,
        y=0,
        count=count,
        interval_ms=read_option(word, flags, "intervalMs", high=PAUSE_LIMIT_MS),
        hold_ms=hold_ms,
        double=is_double,
    )


def _tap_at(tap: Tap, x: float, y: float, count: int) -> Tap:
    return Tap(
        x=x,
        y=y,
        count=count,
        interval_ms=tap.interval_ms,
        hold_ms=tap.hold_ms,
        double=tap.double,
    )
