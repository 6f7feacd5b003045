"""Device commands about the system: properties, settings, log, time, identity.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from grid.lab.android import LATIN_IME
from grid.lab.phonelog import LogLine
from grid.lab.shell_call import Call, DeviceCommand

_FOLLOW_MS: Final = 100.0
_CRASH_TAGS: Final = frozenset({"AndroidRuntime", "DEBUG"})
_MAX_SLEEP_S: Final = 3_600.0


async def run_getprop(call: Call) -> int:
    """`getprop [NAME [DEFAULT]]`."""
    if call.args:
        default = call.args[1] if len(call.args) > 1 else ""
        call.out(f"{call.system.get_prop(call.args[0]) or default}\n")
        return 0
    for name, value in sorted(call.system.props().items()):
        call.out(f"[{name}]: [{value}]\n")
    return 0


async def run_setprop(call: Call) -> int:
    """`setprop NAME VALUE`."""
    if len(call.args) != 2:
        return call.fail("usage: setprop NAME VALUE")
    if not call.system.set_prop(*call.args):
        call.err(f"Failed to set property '{call.args[0]}' to '{call.args[1]}'.\n")
        return 1
    return 0


async def run_settings(call: Call) -> int:
    """`settings get|put|delete|list NAMESPACE ...`."""
    values = call.system.settings
    words = [word for word in call.args if word not in {"--user", "current"}]
    match words:
        case ["get", space, name]:
            call.out(f"{values.get((space, name), 'null')}\n")
        case ["put", space, name, value, *_]:
            values[space, name] = value
        case ["delete", space, name]:
            found = values.pop((space, name), None)
            call.out(f"Deleted {0 if found is None else 1} rows\n")
        case ["list", space]:
            for (each, name), value in sorted(values.items()):
                if each == space:
                    call.out(f"{name}={value}\n")
        case _:
            call.err("Invalid command of settings\n")
            return 255
    return 0


async def run_ime(call: Call) -> int:
    """`ime list|set|enable|disable|reset`."""
    match call.args:
        case ("list", *_):
            call.out(f"{LATIN_IME}\n")
        case ("set", name):
            call.system.settings["secure", "default_input_method"] = name
            call.out(f"Input method {name} selected for user #0\n")
        case ("enable" | "disable", name):
            call.out(f"Input method {name}: {call.args[0]}d for user #0\n")
        case ("reset",):
            call.system.settings["secure", "default_input_method"] = LATIN_IME
        case _:
            call.err("Unknown command of ime\n")
            return 255
    return 0


async def run_logcat(call: Call) -> int:
    """`logcat [-d] [-t N] [-c] [-g] [-s TAG...]`: without -d or -t it follows."""
    words = list(call.args)
    if "-c" in words:
        call.phone.clear_log()
        return 0
    if "-g" in words:
        call.out("main: ring buffer is 256 KiB (0 B consumed, 0 B readable)\n")
        return 0
    is_silent = "-s" in words
    # `-s TAG...` shows these tags only; a level behind a colon is no part of the name.
    shown = {word.partition(":")[0] for word in words if not word.startswith("-")}
    limit = _number_behind(words, "-t") or _number_behind(words, "-T")
    lines = call.phone.log_lines()
    is_crash = ("-b", "crash") in pairwise(words)
    if is_crash:
        lines = tuple(line for line in lines if line.tag in _CRASH_TAGS)
    if is_silent:
        lines = tuple(line for line in lines if line.tag in shown)
    if lines or limit:
        call.out(f"--------- beginning of {'crash' if is_crash else 'main'}\n")
    for line in lines[-limit:] if limit else lines:
        call.out(f"{line.render()}\n")
    if "-d" in words or "-t" in words:
        return 0
    newest = call.phone.log_lines()
    await _follow_log(call, newest[-1] if newest else None, shown if is_silent else None)
    return 0


async def _follow_log(call: Call, last: LogLine | None, shown: set[str] | None) -> None:
    while True:
        await call.pause(_FOLLOW_MS)
        lines = call.phone.log_lines()
        seen = next((i for i in range(len(lines) - 1, -1, -1) if lines[i] is last), -1)
        for line in lines[seen + 1 :]:
            if shown is None or line.tag in shown:
                call.out(f"{line.render()}\n")
            last = line


def _number_behind(words: list[str], option: str) -> int:
    if option in words[:-1]:
        text = words[words.index(option) + 1]
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    return 0


async def run_sleep(call: Call) -> int:
    """`sleep SECONDS`."""
    try:
        seconds = float(call.args[0]) if call.args else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _MAX_SLEEP_S:
        return call.fail("bad number")
    await call.pause(seconds * 1000)
    return 0


async def run_date(call: Call) -> int:
    """`date [+FORMAT]`, in UTC."""
    now = datetime.fromtimestamp(call.phone.clock(), UTC)
    pattern = next(
        (arg[1:] for arg in call.args if arg.startswith("+")), "%a %b %e %H:%M:%S UTC %Y"
    )
    call.out(f"{now.strftime(pattern)}\n")
    return 0


async def run_id(call: Call) -> int:
    """`id`."""
    if "-u" in call.args:
        call.out("2000\n")
    else:
        call.out("uid=2000(shell) gid=2000(shell) groups=2000(shell),1004(input)\n")
    return 0


async def run_uptime(call: Call) -> int:
    """`uptime`."""
    minutes = int(call.phone.clock() - call.phone.booted_at) // 60
    call.out(f" up {minutes} min,  0 users,  load average: 0.10, 0.10, 0.10\n")
    return 0


async def run_whoami(call: Call) -> int:
    """`whoami`."""
    call.out("shell\n")
    return 0


async def run_silent(call: Call) -> int:
    """`svc ...`: switches radios that this device does not have."""
    del call
    return 0


SYSTEM_COMMANDS: Final[Mapping[str, DeviceCommand]] = {
    "getprop": run_getprop,
    "setprop": run_setprop,
    "settings": run_settings,
    "ime": run_ime,
    "logcat": run_logcat,
    "sleep": run_sleep,
    "date": run_date,
    "id": run_id,
    "uptime": run_uptime,
    "whoami": run_whoami,
    "svc": run_silent,
}
