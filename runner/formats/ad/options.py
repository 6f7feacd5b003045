"""The options of `.ad` commands: what each is called, what value it takes, where it is kept.

Pure. An option is recognised after unquoting, wherever it stands. What a bad value does differs
by option and is part of the format: the words stay operands (`keep`), vanish (`drop`), or make
the line wrong (`refuse`). The options of a command stand in the order in which they are written.

May be imported by: runner.formats.ad, runner.preflight, runner.cli. Imports: runner.errors,
runner.formats.ad.lexer, runner.formats.ad.numbers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NoReturn, TypeAlias

from msgspec import Struct

from runner.errors import InputError
from runner.formats.ad.lexer import Level
from runner.formats.ad.numbers import floor_number, shrink_number, to_finite

Value: TypeAlias = str | int | float | bool
BadValue: TypeAlias = Literal["keep", "drop", "refuse"]
RUNTIME_PLATFORMS: Final = ("ios", "android", "harmonyos")


class Option(Struct, frozen=True, kw_only=True):
    """One option. `key` names it in the plan; without a key it is read and forgotten.

    `read` returns the value of the word behind it, or None when that is unusable; without `read`
    the option takes no word and means `fixed`. `usage` is the value as a reader of help sees it;
    of a retired option, what to write instead. `is_prose`: the value is written quoted, as
    operands are, also where it could stand bare.
    """

    names: tuple[str, ...]
    key: str = ""
    usage: str = ""
    fixed: bool | None = None
    read: Callable[[str], Value | None] | None = None
    bad: BadValue = "drop"
    place: Literal["flags", "runtime"] = "flags"
    since: Level = "0.21"
    is_prose: bool = False

    @property
    def is_retired(self) -> bool:
        """Whether the option is known only to be refused."""
        return self.read is None and self.bad == "refuse"


class OptionTable(Struct, frozen=True, kw_only=True):
    """The options of one command by name: those of its flags, and those of its runtime hints."""

    flags: Mapping[str, Option] = {}
    runtime: Mapping[str, Option] = {}


def tabulate(options: Iterable[Option], *, level: Level) -> OptionTable:
    """Return the table of the options that exist at `level`."""
    known = [option for option in options if level == "main" or option.since == "0.21"]
    return OptionTable(
        flags={name: o for o in known if o.place == "flags" for name in o.names},
        runtime={name: o for o in known if o.place == "runtime" for name in o.names},
    )


def take_options(
    tokens: Sequence[str], table: Mapping[str, Option]
) -> tuple[list[str], dict[str, Any]]:
    """Return the tokens that are not options, and the values of those that are.

    Reason: `parse_error`.
    """
    rest: list[str] = []
    values: dict[str, Any] = {}
    skip = False
    for index, token in enumerate(tokens):
        if skip:
            skip = False
            continue
        option = table.get(token)
        if option is None:
            rest.append(token)
        elif option.read is None:
            if option.is_retired:
                _refuse(option)
            if option.fixed is not None and option.key:
                values[option.key] = option.fixed
        else:
            skip = _take_value(option, tokens[index + 1 : index + 2], rest, values, token)
    return rest, values


def _take_value(
    option: Option, following: Sequence[str], rest: list[str], values: dict[str, Any], token: str
) -> bool:
    """Take the word behind a value option; return whether it was used up."""
    value = option.read(following[0]) if option.read and following else None
    if value is None:
        if option.bad == "refuse":
            _refuse(option)
        if not following or option.bad == "keep":
            rest.append(token)
            return False
    elif option.key:
        values[option.key] = value
    return True


def _refuse(option: Option) -> NoReturn:
    name = option.names[0]
    if option.is_retired:
        raise InputError(
            reason="parse_error",
            message=f"{name} is no longer an option",
            hint=f"Use {option.usage} instead of {name}.",
        )
    raise InputError(
        reason="parse_error",
        message=f"{name} needs a value: {option.usage}",
        hint=f"Write `{name} {option.usage}`, or leave the option out.",
    )


def floor_count(text: str) -> Value | None:
    """Return a number that is not negative, rounded down."""
    number = to_finite(text)
    return floor_number(number) if number is not None and number >= 0 else None


def _floor_any(text: str) -> Value | None:
    number = to_finite(text or "0")
    return floor_number(number) if number is not None else None


def _floor_depth(text: str) -> Value | None:
    # Unlike the counts, an empty depth is zero.
    return floor_count(text or "0")


def _positive_integer(text: str) -> Value | None:
    number = to_finite(text)
    return int(number) if number is not None and number >= 1 and number.is_integer() else None


def _scale(text: str) -> Value | None:
    number = to_finite(text)
    return shrink_number(number) if number is not None and 0.01 <= number <= 1 else None


def _quality(text: str) -> Value | None:
    if text in {"medium", "high"}:
        return text
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    if digits in {"5", "6", "7"}:
        return "medium"
    return "high" if digits in {"8", "9", "10"} else None


def _text(text: str) -> Value | None:
    return text


def _some_text(text: str) -> Value | None:
    return text or None


def _one_of(*words: str) -> Callable[[str], Value | None]:
    return lambda text: text if text in words else None


def _number(name: str, key: str) -> Option:
    return Option(names=(name,), key=key, usage="N", read=floor_count, bad="keep")


def _flag(*names: str, key: str = "", since: Level = "0.21") -> Option:
    return Option(names=names, key=key, fixed=True, since=since)


DELAY: Final = (_number("--delay-ms", "delayMs"),)
PRESS: Final = (
    _number("--count", "count"),
    _number("--interval-ms", "intervalMs"),
    _number("--hold-ms", "holdMs"),
    _number("--jitter-px", "jitterPx"),
    _flag("--double-tap", key="doubleTap"),
    Option(
        names=("--button",),
        key="clickButton",
        usage="primary|secondary|middle",
        read=_one_of("primary", "secondary", "middle"),
    ),
)
SWIPE: Final = (
    _number("--count", "count"),
    _number("--pause-ms", "pauseMs"),
    Option(
        names=("--pattern",),
        key="pattern",
        usage="one-way|ping-pong",
        read=_one_of("one-way", "ping-pong"),
    ),
)
GESTURE: Final = (_number("--pointer-count", "pointerCount"),)
SNAPSHOT: Final = (
    _flag("-i", key="snapshotInteractiveOnly"),
    Option(names=("-d", "--depth"), key="snapshotDepth", usage="N", read=_floor_depth),
    Option(names=("-s", "--scope"), key="snapshotScope", usage="TEXT", read=_text, is_prose=True),
    _flag("--raw", key="snapshotRaw"),
    _flag("--force-full", key="snapshotForceFull"),
    _flag("-c"),
    Option(names=("--backend",), usage="NAME", read=_text),
)
WAIT: Final = (
    _flag("--raw", key="snapshotRaw", since="main"),
    Option(
        names=("--depth",),
        key="snapshotDepth",
        usage="N",
        read=floor_count,
        bad="keep",
        since="main",
    ),
    Option(
        names=("--scope",),
        key="snapshotScope",
        usage="TEXT",
        read=_text,
        since="main",
        is_prose=True,
    ),
)
SCROLL: Final = (
    Option(
        names=("--until",),
        key="until",
        usage="SELECTOR",
        read=_text,
        since="main",
        is_prose=True,
    ),
)
OPEN: Final = (
    _flag("--relaunch", key="relaunch"),
    _flag("--test-ime", key="testIme"),
    Option(names=("--no-test-ime",), key="testIme", fixed=False),
)


def _hints(place: Literal["flags", "runtime"]) -> tuple[Option, ...]:
    return (
        Option(
            names=("--platform",),
            key="platform",
            usage="|".join(RUNTIME_PLATFORMS),
            read=_one_of(*RUNTIME_PLATFORMS),
            place=place,
        ),
        Option(names=("--metro-host",), key="metroHost", usage="HOST", read=_text, place=place),
        Option(names=("--metro-port",), key="metroPort", usage="N", read=floor_count, place=place),
        Option(names=("--bundle-url",), key="bundleUrl", usage="URL", read=_text, place=place),
        Option(names=("--launch-url",), key="launchUrl", usage="URL", read=_text, place=place),
    )


OPEN_HINTS: Final = _hints("runtime")
RUNTIME: Final = _hints("flags")
RECORD: Final = (
    Option(names=("--fps",), key="fps", usage="N", read=_floor_any),
    Option(names=("--quality",), key="quality", usage="medium|high", read=_quality),
    _flag("--hide-touches", key="hideTouches"),
    Option(names=("--max-size",), usage="--quality", bad="refuse"),
)
SCREENSHOT: Final = (
    _flag("--fullscreen", "--full", "-f", key="screenshotFullscreen"),
    _flag("--no-stabilize", key="screenshotNoStabilize"),
    _flag("--normalize-status-bar", key="screenshotNormalizeStatusBar"),
    Option(
        names=("--pixel-density",),
        key="screenshotPixelDensity",
        usage="a whole number from 1",
        read=_positive_integer,
        bad="refuse",
    ),
    Option(
        names=("--scale",),
        key="screenshotScale",
        usage="a number from 0.01 to 1",
        read=_scale,
        bad="refuse",
    ),
    Option(
        names=("--crop-on",),
        key="screenshotCropOn",
        usage="a selector",
        read=_some_text,
        bad="refuse",
    ),
    Option(names=("--max-size",), usage="--scale", bad="refuse"),
)
