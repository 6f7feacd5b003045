"""What can be done to a device: the closed union that interpreters ask for and drivers carry out.

Coordinates are in the unit of the device's snapshots (pixels on Android, points on iOS),
durations in milliseconds. An action is complete: a driver needs no session state to carry it out.

May be imported by: everyone. Imports: nothing of ours.
"""

from typing import Literal, TypeAlias

from msgspec import Struct


class OpenApp(Struct, frozen=True, kw_only=True, tag="open_app"):
    """Bring `app` to the foreground, or open `url` (with `app` when given).

    `relaunch` terminates the app first. Either may be absent, not both.
    """

    app: str | None = None
    url: str | None = None
    relaunch: bool = False


class CloseApp(Struct, frozen=True, kw_only=True, tag="close_app"):
    """Terminate `app` and wait until it has left the foreground (2 s at most)."""

    app: str


class Tap(Struct, frozen=True, kw_only=True, tag="tap"):
    """Tap a point `count` times, `interval_ms` apart; `double` makes each a double tap.

    `hold_ms` keeps the finger down that long at each tap.
    """

    x: float
    y: float
    count: int = 1
    interval_ms: int = 0
    hold_ms: int = 0
    double: bool = False


class LongPress(Struct, frozen=True, kw_only=True, tag="long_press"):
    """Hold a point for `duration_ms`."""

    x: float
    y: float
    duration_ms: int = 800


class Drag(Struct, frozen=True, kw_only=True, tag="drag"):
    """Move one finger from one point to another in `duration_ms`.

    `profile`: `pan` moves evenly and lifts at rest (no fling); `fling` lifts in motion.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    duration_ms: int
    profile: Literal["pan", "fling"] = "pan"


class TypeText(Struct, frozen=True, kw_only=True, tag="type_text"):
    """Type into the focused field. A newline is the ENTER key.

    `delay_ms` is the pause between characters, 0 for the driver's own speed. Nothing focused is
    the product failure `text_input_not_focused`.
    """

    text: str
    delay_ms: int = 0
    secret: bool = False


class FillText(Struct, frozen=True, kw_only=True, tag="fill_text"):
    """Tap the field at the point, clear it, type `text`, and verify what stands there.

    A secure field is verified by length. Reasons: `text_not_accepted` (product).
    """

    x: float
    y: float
    text: str
    delay_ms: int = 0
    secret: bool = False


class Back(Struct, frozen=True, kw_only=True, tag="back"):
    """Android: the back key. iOS: the visible in-app back control, else the edge gesture."""


class Home(Struct, frozen=True, kw_only=True, tag="home"):
    """Show the launcher."""


class HideKeyboard(Struct, frozen=True, kw_only=True, tag="hide_keyboard"):
    """Dismiss the keyboard when one is shown; nothing to do is success."""


class PressEnter(Struct, frozen=True, kw_only=True, tag="press_enter"):
    """Press the keyboard's return key."""


class KeyboardStatus(Struct, frozen=True, kw_only=True, tag="keyboard_status"):
    """Ask whether a keyboard is shown; the answer's text is `shown` or `hidden`."""


class AcceptAlert(Struct, frozen=True, kw_only=True, tag="accept_alert"):
    """Accept the system alert or permission dialog that is shown.

    None shown is the product failure `alert_absent`.
    """


class DismissAlert(Struct, frozen=True, kw_only=True, tag="dismiss_alert"):
    """Dismiss the alert that is shown. None shown is the product failure `alert_absent`."""


class ReadAlert(Struct, frozen=True, kw_only=True, tag="read_alert"):
    """Ask for the alert's text; the answer's text is empty when none is shown."""


Action: TypeAlias = (
    OpenApp
    | CloseApp
    | Tap
    | LongPress
    | Drag
    | TypeText
    | FillText
    | Back
    | Home
    | HideKeyboard
    | PressEnter
    | KeyboardStatus
    | AcceptAlert
    | DismissAlert
    | ReadAlert
)
