"""The registry of `.ad` commands: each word described once, with its traits.

Everything that depends on a command's kind asks here: the parser for the way of reading, the
check for operands and support, composition for fragment safety, help and docs for the text.

May be imported by: runner.formats.ad, runner.preflight, runner.cli, tests. Imports:
runner.formats.ad.
"""

from collections.abc import Mapping
from typing import Final

from runner.formats.ad import arguments, options, phrase, usage
from runner.formats.ad.arguments import Reader
from runner.formats.ad.command import Command
from runner.formats.ad.lexer import Level
from runner.formats.ad.options import OptionTable, tabulate
from runner.formats.ad.script import Action

_TARGET: Final = "<selector|@ref|x y>"

_RUNNING: Final = (
    Command(
        word="open",
        operands="[app|url] [url]",
        help="Start an app, bring it to the front, or open a link.",
        fragment_safe=False,
        supported=True,
        lifecycle=True,
        options=options.OPEN + options.OPEN_HINTS,
        read=arguments.read_open,
        judge=usage.check_open,
    ),
    Command(
        word="close",
        operands="[app]",
        help="End the app and the session.",
        fragment_safe=False,
        supported=True,
        lifecycle=True,
        judge=usage.check_close,
    ),
    *(
        Command(
            word=word,
            operands=_TARGET,
            help="Tap an element or a point, at most 200 times, 10,000 ms apart, 60,000 ms held.",
            fragment_safe=True,
            supported=True,
            element=True,
            evidence="pre",
            options=options.PRESS,
            read=arguments.read_press,
            targets=phrase.split_press,
            judge=usage.check_press,
        )
        for word in ("press", "click")
    ),
    Command(
        word="longpress",
        operands=f"{_TARGET} [ms]",
        help="Hold an element or a point, for 800 ms unless told otherwise.",
        fragment_safe=True,
        supported=True,
        element=True,
        evidence="pre",
        read=arguments.read_refs,
        targets=phrase.split_longpress,
        judge=usage.check_longpress,
    ),
    Command(
        word="fill",
        operands=f"{_TARGET} <text>",
        help="Replace the text of a field; 10,000 ms at most between characters.",
        fragment_safe=True,
        supported=True,
        element=True,
        evidence="pre",
        options=options.DELAY,
        read=arguments.read_fill,
        targets=phrase.split_fill,
        judge=usage.check_fill,
    ),
    Command(
        word="type",
        operands="<text...>",
        help="Type into the focused field; 10,000 ms at most between characters.",
        fragment_safe=True,
        supported=True,
        options=options.DELAY,
        judge=usage.check_type,
    ),
    Command(
        word="wait",
        operands="<ms>|text <text> [ms]|stable [quietMs] [ms]|absent <selector> [ms]"
        "|<selector|@ref|text> [ms]",
        help="Wait for time to pass or for the screen to show something, for 24 hours at most.",
        fragment_safe=True,
        supported=True,
        element=True,
        evidence="post",
        options=options.WAIT,
        read=arguments.read_refs,
        targets=phrase.split_wait,
        judge=usage.check_wait,
    ),
    Command(
        word="get",
        operands="text|attrs <selector|@ref>",
        help="Read an element.",
        fragment_safe=True,
        supported=True,
        element=True,
        evidence="pre",
        read=arguments.read_get,
        targets=phrase.split_get,
        judge=usage.check_get,
    ),
    Command(
        word="is",
        operands="visible|hidden|exists|absent|editable|selected|focused|text <selector> [value]",
        help="Assert a state of an element.",
        fragment_safe=True,
        supported=True,
        element=True,
        evidence="pre",
        targets=phrase.split_is,
        judge=usage.check_is,
    ),
    Command(
        word="scroll",
        operands="up|down|left|right|top|bottom [fraction]",
        help="Move the content by one controlled pan.",
        fragment_safe=True,
        supported=True,
        options=options.SCROLL,
        judge=usage.check_scroll,
    ),
    Command(
        word="swipe",
        operands="x1 y1 x2 y2",
        help="Fling from one point to another, 200 times and 60,000 ms at most.",
        fragment_safe=True,
        supported=True,
        options=options.SWIPE,
        read=arguments.read_swipe,
        judge=usage.check_swipe,
    ),
    Command(
        word="back", operands="", help="Go back one screen.", fragment_safe=True, supported=True
    ),
    Command(
        word="home",
        operands="",
        help="Show the home screen.",
        fragment_safe=False,
        supported=True,
    ),
    Command(
        word="keyboard",
        operands="dismiss|enter|return|status|get",
        help="Dismiss the keyboard, press its return key, or ask for it.",
        fragment_safe=True,
        supported=True,
        judge=usage.check_keyboard,
    ),
    Command(
        word="alert",
        operands="accept|dismiss|get|wait [ms]",
        help="Answer, read or await a system alert.",
        fragment_safe=True,
        supported=True,
        judge=usage.check_alert,
    ),
    Command(
        word="screenshot",
        operands="[path]",
        help="Take a screenshot.",
        fragment_safe=True,
        supported=True,
        options=options.SCREENSHOT,
        read=arguments.read_verbatim,
    ),
    Command(
        word="snapshot",
        operands="",
        help="Capture the tree of the screen.",
        fragment_safe=False,
        recorded=False,
        supported=True,
        options=options.SNAPSHOT,
        read=arguments.read_snapshot,
    ),
)

_DESCRIBED: Final = (
    Command(
        word="hover",
        operands="<selector|x y>",
        help="Move the pointer over an element (web).",
        fragment_safe=False,
        element=True,
        evidence="pre",
        read=arguments.read_refs,
        targets=phrase.split_press,
    ),
    Command(word="focus", operands="<x y>", help="Focus what is at a point.", fragment_safe=True),
    Command(
        word="gesture",
        operands="pan|fling|swipe|pinch|rotate|transform|drag ...",
        help="Perform a gesture of one or two fingers.",
        fragment_safe=True,
        element=True,
        evidence="dual",
        options=options.GESTURE,
        read=arguments.read_gesture,
        targets=phrase.split_gesture,
    ),
    Command(
        word="find",
        operands="[any|text|label|value|role|id] <query> [action]",
        help="Find an element by likeness, and act on it or read it.",
        fragment_safe=True,
        element=True,
    ),
    Command(
        word="orientation",
        operands="portrait|portrait-upside-down|landscape-left|landscape-right",
        help="Turn the screen.",
        fragment_safe=True,
    ),
    Command(
        word="clipboard",
        operands="read|write <text>",
        help="Read or set the clipboard.",
        fragment_safe=True,
    ),
    Command(
        word="record",
        operands="start [path]|stop",
        help="Record the screen as a video.",
        fragment_safe=False,
        options=options.RECORD,
    ),
    Command(
        word="runtime",
        operands="",
        help="State runtime hints ahead of `open`.",
        fragment_safe=False,
        recorded=False,
        lifecycle=True,
        options=options.RUNTIME,
    ),
    Command(
        word="replay",
        operands="<path>",
        help="Name another script; never run from within one.",
        fragment_safe=False,
        recorded=False,
        lifecycle=True,
    ),
    Command(
        word="fold",
        operands="...",
        help="Fold or unfold a foldable device.",
        fragment_safe=False,
        since="main",
    ),
)

# Word, operands, help, and whether it owns a life cycle. None is safe in fragments.
_RECORDED_ONLY: Final = (
    ("app-switcher", "", "Show the recent apps.", False),
    ("tv-remote", "[press|longpress] <key>", "Press a key of a remote control.", False),
    ("settings", "<setting> <value>", "Change a setting of the device.", False),
    ("push", "<bundle> <file|json>", "Deliver a push notification.", False),
    ("trigger-app-event", "<name> [json]", "Send an event to the app by a link.", False),
    ("install", "<app> <path>", "Install an app.", True),
    ("reinstall", "<app> <path>", "Remove and install an app.", True),
    ("install-from-source", "<source>", "Install an app from where it is published.", True),
    ("react-native", "dismiss-overlay", "Close a developer overlay.", False),
    ("viewport", "<w> <h>", "Set the size of the page (web).", False),
    ("diff", "snapshot", "Compare the screen with an earlier one.", False),
    ("trace", "start|stop <path>", "Record a trace.", False),
    ("perf", "...", "Measure the app.", False),
)
_NOT_RECORDED: Final = (
    ("devices", "", "List devices.", False),
    ("capabilities", "", "List what the device can do.", False),
    ("apps", "", "List apps.", False),
    ("boot", "", "Start a device.", True),
    ("shutdown", "", "Stop a device.", True),
    ("appstate", "", "Tell which app is in front.", False),
    ("logs", "...", "Read the log.", False),
    ("events", "...", "Read the events of the session.", False),
    ("network", "...", "Read the network traffic.", False),
    ("audio", "...", "Probe the sound.", False),
    ("test", "<path...>", "Run a suite.", True),
    ("batch", "<json>", "Run several requests.", True),
    ("prepare", "...", "Prepare a device.", True),
    ("doctor", "", "Examine the installation.", False),
    ("session", "...", "Manage sessions.", True),
    ("lease", "...", "Manage leases of devices.", True),
    ("connect", "...", "Connect to a device.", True),
    ("disconnect", "...", "Disconnect from a device.", True),
)

COMMANDS: Final[Mapping[str, Command]] = {
    command.word: command
    for command in (
        *_RUNNING,
        *_DESCRIBED,
        *(
            Command(
                word=word,
                operands=shape,
                help=text,
                lifecycle=lifecycle,
                fragment_safe=False,
                recorded=table is _RECORDED_ONLY,
            )
            for table in (_RECORDED_ONLY, _NOT_RECORDED)
            for word, shape, text, lifecycle in table
        ),
    )
}
"""Every command word of the format."""

RENAMED: Final[Mapping[str, str]] = {
    "rotate": "orientation",
    "pinch": "gesture pinch",
    "trigger": "trigger-app-event",
    "long-press": "longpress",
    "tap": "press",
    "launch": "open",
    "assert": "is",
}
"""Words that are no commands, but are often written for one."""

_READERS: Final[Mapping[Level, Mapping[str, tuple[Reader, OptionTable]]]] = {
    level: {
        "": (arguments.read_verbatim, OptionTable()),
        **{
            word: (command.read, tabulate(command.options, level=level))
            for word, command in COMMANDS.items()
        },
    }
    for level in ("main", "0.21")
}


def readers(level: Level) -> Mapping[str, tuple[Reader, OptionTable]]:
    """Return how each word is read at `level`; the empty word stands for all unknown ones."""
    return _READERS[level]


def target_operands(action: Action) -> tuple[str, ...]:
    """Return the operands of `action` that name elements: selectors and refs."""
    command = COMMANDS.get(action.command)
    return command.targets(action.positionals) if command and command.targets else ()


def has_ref(action: Action) -> bool:
    """Tell whether an action names an element by a ref, which only its own session knows."""
    return any(target.startswith("@") for target in target_operands(action))


def is_fragment_safe(action: Action) -> bool:
    """Tell whether an action may stand in a fragment.

    Its command must say so, no operand may be a ref, and a `find` may only read. A nested
    `replay` is never safe.
    """
    command = COMMANDS.get(action.command)
    if command is None or not command.fragment_safe or has_ref(action):
        return False
    return action.command != "find" or phrase.is_reading_find(action.positionals)
