"""The device command `input`: touches, keys and text, in pixels.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

import string
from collections.abc import Mapping
from typing import Final

from grid.lab.shell_call import Call, DeviceCommand

_SOURCES: Final = ("touchscreen", "keyboard", "touchpad", "mouse", "stylus", "trackball")
_DEFAULT_SWIPE_MS: Final = 300.0
_MAX_MS: Final = 60_000.0
_LONG_PRESS_MS: Final = 550.0

_KEYS: Final[Mapping[int, str]] = {
    3: "home",
    4: "back",
    26: "power",
    61: "tab",
    66: "enter",
    67: "delete",
    82: "menu",
    111: "escape",
    112: "forward_delete",
    122: "move_home",
    123: "move_end",
    160: "enter",
    187: "app_switch",
    279: "paste",
}
_NAMES: Final[Mapping[str, int]] = {
    "HOME": 3,
    "BACK": 4,
    "POWER": 26,
    "TAB": 61,
    "SPACE": 62,
    "ENTER": 66,
    "DEL": 67,
    "MENU": 82,
    "ESCAPE": 111,
    "FORWARD_DEL": 112,
    "MOVE_HOME": 122,
    "MOVE_END": 123,
    "NUMPAD_ENTER": 160,
    "APP_SWITCH": 187,
    "SLEEP": 223,
    "WAKEUP": 224,
    "PASTE": 279,
    **{digit: 7 + index for index, digit in enumerate(string.digits)},
    **{letter: 29 + index for index, letter in enumerate(string.ascii_uppercase)},
}
_SILENT: Final = frozenset((0, 24, 25, 27, 164, 221, 220))
"""Known keys that change nothing here (volume, camera, brightness)."""

_TEXT_CRASH: Final = (
    "\nException occurred while executing 'text':\n"
    "java.lang.NullPointerException: Attempt to get length of null array\n"
    "\tat com.android.server.input.InputShellCommand.sendText(InputShellCommand.java:437)\n"
    "\tat com.android.server.input.InputShellCommand.runText(InputShellCommand.java:401)\n"
    "\tat com.android.modules.utils.BasicShellCommandHandler.exec"
    "(BasicShellCommandHandler.java:97)\n"
)


async def run_input(call: Call) -> int:
    """`input [source] tap|swipe|text|keyevent|motionevent|draganddrop|press|roll ...`."""
    words = list(call.args)
    if words and words[0] in _SOURCES:
        del words[0]
    if words[:1] == ["-d"]:
        del words[:2]
    match words:
        case ["tap", x, y]:
            return await _tap(call, x, y)
        case ["swipe" | "draganddrop", _, _, _, _, *rest] if len(rest) <= 1:
            return await _swipe(call, words[1:], is_drag=words[0] == "draganddrop")
        case ["text", text]:
            return _type(call, text)
        case ["keyevent", *codes] if codes:
            return await _press_keys(call, codes)
        case ["motionevent", kind, x, y]:
            return _move(call, kind.upper(), x, y)
        case ["press" | "roll", *_]:
            return 0
        case ["text" | "tap" | "swipe" | "keyevent" | "motionevent" | "draganddrop" as name, *_]:
            call.err(f"Error: Invalid arguments for command: {name}\n")
            return 255
        case [name, *_]:
            call.err(f"Error: Unknown command: {name}\n")
            return 255
        case _:
            call.err("Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]\n")
            return 255


def _points(call: Call, *texts: str) -> tuple[float, ...] | None:
    """Return pixel arguments as points; None (and an error) when one is no number."""
    found: list[float] = []
    for text in texts:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < 1e6:
            call.err(f'Error: java.lang.NumberFormatException: For input string: "{text}"\n')
            return None
        found.append(value / call.phone.scale)
    return tuple(found)


async def _tap(call: Call, x: str, y: str) -> int:
    at = _points(call, x, y)
    if at is None:
        return 255
    call.phone.tap(at[0], at[1])
    return 0


async def _swipe(call: Call, words: list[str], *, is_drag: bool) -> int:
    points = _points(call, *words[:4])
    if points is None:
        return 255
    try:
        ms = float(words[4]) if len(words) > 4 else _DEFAULT_SWIPE_MS
    except ValueError:
        ms = float("nan")
    if not 0 <= ms <= _MAX_MS:
        call.err("Error: Invalid duration\n")
        return 255
    await call.pause(ms)
    x1, y1, x2, y2 = points
    call.phone.swipe(x1, y1, x2, y2, max(ms, 1), hold=is_drag)
    return 0


def _move(call: Call, kind: str, x: str, y: str) -> int:
    at = _points(call, x, y)
    actions = {
        "DOWN": call.phone.touch_down,
        "MOVE": call.phone.touch_move,
        "UP": call.phone.touch_up,
    }
    if at is None or kind not in (*actions, "CANCEL"):
        call.err(f"Error: Invalid motionevent {kind}\n")
        return 255
    if kind == "CANCEL":
        call.phone.touch_cancel()
    else:
        actions[kind](at[0], at[1])
    return 0


def _type(call: Call, text: str) -> int:
    plain = text.replace("%s", " ")
    if not plain.isascii():
        # Nothing is typed: the key map has no events for the text as a whole.
        call.err(_TEXT_CRASH)
        return 255
    call.phone.type_text("".join(char for char in plain if char.isprintable()))
    return 0


async def _press_keys(call: Call, words: list[str]) -> int:
    codes: list[int] = []
    is_long = False
    for word in words:
        if word.startswith("--"):
            is_long = is_long or word == "--longpress"
            continue
        code = _key_code(word)
        if code is None:
            call.err(f"Error: Unknown keycode: {word}\n")
            return 255
        codes.append(code)
    if is_long:
        await call.pause(_LONG_PRESS_MS)
    for code in codes:
        _press_key(call, code)
    return 0


def _key_code(word: str) -> int | None:
    if word.isascii() and word.isdigit() and len(word) < 6:
        return int(word)
    return _NAMES.get(word.upper().removeprefix("KEYCODE_"))


def _press_key(call: Call, code: int) -> None:
    phone = call.phone
    if 7 <= code <= 16:
        phone.type_text(str(code - 7))
    elif 29 <= code <= 54:
        phone.type_text(string.ascii_lowercase[code - 29])
    elif code == 62:
        phone.type_text(" ")
    elif code == 223:
        phone.locked = True
    elif code == 224:
        phone.log("PowerManagerService", "Waking up from Asleep")
    elif code in _KEYS:
        phone.key(_KEYS[code])
    elif code not in _SILENT:
        phone.log("Input", f"key {code} does nothing on this device", level="W")


INPUT_COMMANDS: Final[Mapping[str, DeviceCommand]] = {"input": run_input}
