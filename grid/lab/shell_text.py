"""Device commands on text: echo grep head tail wc base64, and true and false.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

from grid.lab.shell_call import Call, DeviceCommand, os_error_text

_GREP_LETTERS: Final = frozenset("ivcqEFonw")
_ESCAPES: Final[Mapping[str, str]] = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", "\\r": "\r"}


async def run_echo(call: Call) -> int:
    """`echo [-n] [-e] WORD...`."""
    words = list(call.args)
    letters = ""
    while words and re.fullmatch("-[neE]+", words[0]):
        letters += words.pop(0)[1:]
    text = " ".join(words)
    if "e" in letters:
        text = _unescape(text)
    call.out(text if "n" in letters else f"{text}\n")
    return 0


def _unescape(text: str) -> str:
    return re.sub(r"\\[nt\\r]", lambda found: _ESCAPES[found[0]], text)


async def run_true(call: Call) -> int:
    """`true` and `:`."""
    del call
    return 0


async def run_false(call: Call) -> int:
    """`false`."""
    del call
    return 1


async def run_grep(call: Call) -> int:
    """`grep [-ivcqEFonw] PATTERN [FILE...]`: 0 found, 1 not found, 2 wrong."""
    letters = ""
    words = list(call.args)
    while words and words[0].startswith("-") and len(words[0]) > 1:
        option = words.pop(0)
        if option == "-e":
            break
        if not set(option[1:]) <= _GREP_LETTERS:
            return call.fail(f"Unknown option '{option}'", 2)
        letters += option[1:]
    if not words:
        return call.fail("no pattern", 2)
    try:
        pattern = _compile(words[0], letters)
    except re.error as error:
        return call.fail(f"bad regex '{words[0]}': {error}", 2)
    lines = await _lines(call, words[1:])
    if lines is None:
        return 2
    found = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if bool(pattern.search(line)) != ("v" in letters)
    ]
    if "c" in letters:
        call.out(f"{len(found)}\n")
    elif "q" not in letters:
        for number, line in found:
            prefix = f"{number}:" if "n" in letters else ""
            if "o" in letters:
                for match in pattern.finditer(line):
                    call.out(f"{prefix}{match[0]}\n")
            else:
                call.out(f"{prefix}{line}\n")
    return 0 if found else 1


def _compile(pattern: str, letters: str) -> re.Pattern[str]:
    if "F" in letters:
        pattern = re.escape(pattern)
    elif "E" not in letters:
        # In basic patterns the operators are the escaped ones.
        pattern = re.sub(
            r"\\([|(){}+?])|([|(){}+?])",
            lambda found: found[1] or "\\" + found[2],
            pattern,
        )
    if "w" in letters:
        pattern = rf"\b(?:{pattern})\b"
    return re.compile(pattern, re.IGNORECASE if "i" in letters else 0)


async def run_head(call: Call) -> int:
    """`head [-n N | -N | -c N] [FILE...]`, and `tail`."""
    words = list(call.args)
    count, unit = 10, "n"
    if words and re.fullmatch(r"-[nc]?\d{0,9}", words[0]):
        option = words.pop(0)
        unit = "c" if option.startswith("-c") else "n"
        digits = option.lstrip("-nc") or (words.pop(0) if words else "")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            return call.fail("bad number")
        count = int(digits)
    if unit == "c":
        data = await _content(call, words)
        call.out_bytes((data or b"")[:count])
        return 0 if data is not None else 1
    lines = await _lines(call, words)
    if lines is None:
        return 1
    kept = lines[:count] if call.name == "head" else lines[max(0, len(lines) - count) :]
    call.out("".join(f"{line}\n" for line in kept))
    return 0


async def run_wc(call: Call) -> int:
    """`wc [-lwc] [FILE]`."""
    words = list(call.args)
    letters = words.pop(0)[1:] if words and words[0].startswith("-") else "lwc"
    data = await _content(call, words)
    if data is None:
        return 1
    counts = {"l": data.count(b"\n"), "w": len(data.split()), "c": len(data)}
    numbers = " ".join(str(counts[letter]) for letter in "lwc" if letter in letters)
    call.out(f"{numbers} {words[0]}\n" if words else f"{numbers}\n")
    return 0


async def run_base64(call: Call) -> int:
    """`base64 [-d] [FILE]`."""
    names = [arg for arg in call.args if arg not in ("-d", "-w", "0")]
    data = await _content(call, names)
    if data is None:
        return 1
    if "-d" not in call.args:
        call.out_bytes(base64.b64encode(data) + b"\n")
        return 0
    try:
        call.out_bytes(base64.b64decode(data))
    except binascii.Error:
        return call.fail("bad input")
    return 0


async def _content(call: Call, names: list[str]) -> bytes | None:
    """Return the files' content or the input; None (and an error) when one cannot be read."""
    if not names:
        return await call.read_all()
    parts: list[bytes] = []
    for name in names:
        try:
            parts.append(call.system.disk.read(call.path(name)))
        except OSError as error:
            call.fail(f"{name}: {os_error_text(error)}")
            return None
    return b"".join(parts)


async def _lines(call: Call, names: list[str]) -> list[str] | None:
    data = await _content(call, names)
    return None if data is None else data.decode("utf-8", "surrogateescape").splitlines()


TEXT_COMMANDS: Final[Mapping[str, DeviceCommand]] = {
    "echo": run_echo,
    "true": run_true,
    ":": run_true,
    "false": run_false,
    "grep": run_grep,
    "head": run_head,
    "tail": run_head,
    "wc": run_wc,
    "base64": run_base64,
}
