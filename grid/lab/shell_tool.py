"""Device commands of scripts: printf seq uname df rmdir.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

import re
from collections.abc import Mapping
from typing import Final

from grid.lab.shell_call import Call, DeviceCommand, os_error_text

_CONVERSION: Final = re.compile(r"%(?:%|([-+ 0#]*)(\d{0,4})(?:\.(\d{0,4}))?([a-zA-Z]))")
_ESCAPES: Final[Mapping[str, str]] = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", "\\r": "\r"}
_MAX_ROUNDS: Final = 10_000
_MAX_NUMBERS: Final = 100_000
_UNAME: Final[Mapping[str, str]] = {
    "s": "Linux",
    "n": "localhost",
    "r": "5.10.0",
    "v": "#1 SMP PREEMPT",
    "m": "aarch64",
}


async def run_printf(call: Call) -> int:
    """`printf FORMAT [WORD...]`: the format is used again while there are words."""
    if not call.args:
        return call.fail("Needs 1 argument")
    words = list(call.args[1:])
    problems: list[str] = []

    def convert(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        flags, width, precision, kind = found.groups()
        word = words.pop(0) if words else ""
        how = f"%{flags}{width}" + (f".{precision}" if precision is not None else "")
        if kind in "sbc":
            text = {"b": _unescape(word), "c": word[:1]}.get(kind, word)
            return f"{how}s" % text
        if kind not in "diuxXofeEgG":
            problems.append(f"bad %{kind}")
            return ""
        number = _number(word, is_whole=kind in "diuxXo")
        if number is None:
            problems.append(f"bad number '{word}'")
        return f"{how}{kind}" % (number or 0)

    pattern = _unescape(call.args[0])
    for _ in range(_MAX_ROUNDS):
        before = len(words)
        call.out(_CONVERSION.sub(convert, pattern))
        if not words or len(words) == before:
            break
    for problem in problems[:1]:
        call.fail(problem)
    return 1 if problems else 0


def _unescape(text: str) -> str:
    return re.sub(r"\\[nt\\r]", lambda found: _ESCAPES[found[0]], text)


def _number(word: str, *, is_whole: bool) -> float | None:
    if re.fullmatch(r"[-+]?0[xX][0-9a-fA-F]{1,16}", word):
        return int(word, 16)
    if re.fullmatch(r"[-+]?[0-9]{1,18}", word):
        return int(word)
    if not word:
        return 0
    is_decimal = re.fullmatch(r"[-+]?[0-9]{1,18}\.[0-9]{0,18}", word) and not is_whole
    return float(word) if is_decimal else None


async def run_seq(call: Call) -> int:
    """`seq [FIRST [STEP]] LAST`, of whole numbers."""
    if not 1 <= len(call.args) <= 3:
        return call.fail("Needs 1 argument" if not call.args else "Max 3 arguments")
    numbers: list[int] = []
    for arg in call.args:
        if re.fullmatch("-?[0-9]{1,9}", arg) is None:
            return call.fail(f"bad number '{arg}'")
        numbers.append(int(arg))
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) == 3 else 1
    if step == 0:
        return call.fail("a step of 0 never ends")
    shown = range(first, numbers[-1] + (1 if step > 0 else -1), step)
    if len(shown) > _MAX_NUMBERS:
        return call.fail("too many numbers")
    call.out("".join(f"{number}\n" for number in shown))
    return 0


async def run_uname(call: Call) -> int:
    """`uname [-asnrvm]`."""
    letters = "".join(arg.removeprefix("-") for arg in call.args) or "s"
    if "a" in letters:
        letters = "snrvm"
    unknown = [letter for letter in letters if letter not in _UNAME]
    if unknown:
        return call.fail(f"Unknown option '{unknown[0]}'")
    call.out(" ".join(text for letter, text in _UNAME.items() if letter in letters) + "\n")
    return 0


async def run_df(call: Call) -> int:
    """`df [-h] [-k] [PATH...]`: one partition holds everything."""
    names = [arg for arg in call.args if not arg.startswith("-")]
    for name in names:
        if not call.system.disk.exists(call.path(name)):
            return call.fail(f"{name}: No such file or directory")
    is_human = "-h" in call.args
    sizes = ("110G", "20G", "90G") if is_human else ("115343360", "20971520", "94371840")
    head = ("Size", "Used", "Avail") if is_human else ("1K-blocks", "Used", "Available")
    call.out(f"{'Filesystem':<16}{head[0]:>10}{head[1]:>10}{head[2]:>10} Use% Mounted on\n")
    call.out(f"{'/dev/block/dm-5':<16}{sizes[0]:>10}{sizes[1]:>10}{sizes[2]:>10}  19% /data\n")
    return 0


async def run_rmdir(call: Call) -> int:
    """`rmdir FOLDER...`: only empty ones go."""
    disk = call.system.disk
    if not call.args:
        return call.fail("Needs 1 argument")
    status = 0
    for name in call.args:
        path = call.path(name)
        try:
            if not disk.stat(path).is_folder:
                status = call.fail(f"'{name}': Not a directory")
            elif disk.list_folder(path):
                status = call.fail(f"'{name}': Directory not empty")
            else:
                disk.remove(path, recursive=True)
        except OSError as error:
            status = call.fail(f"'{name}': {os_error_text(error)}")
    return status


TOOL_COMMANDS: Final[Mapping[str, DeviceCommand]] = {
    "printf": run_printf,
    "seq": run_seq,
    "uname": run_uname,
    "df": run_df,
    "rmdir": run_rmdir,
}
