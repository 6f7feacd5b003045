"""The header of an `.ad` script: `context` lines and `env` directives.

Pure. A `context` line is scanned, not tokenised: the first match of each key on a line counts,
wherever it stands, and a value outside the accepted ones is dropped. That is how the format has
always been read, so it stays.

May be imported by: runner.formats.ad. Imports: runner.errors, runner.formats.ad.script,
runner.formats.ad.lexer, runner.formats.ad.numbers, runner.formats.ad.variables.
"""

import json
import re
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from runner.formats.ad.lexer import raise_at
from runner.formats.ad.numbers import SPACES, to_finite
from runner.formats.ad.script import Context
from runner.formats.ad.variables import key_problem

PLATFORMS: Final = frozenset({"ios", "macos", "linux", "android", "vega", "apple", "harmonyos"})
TARGETS: Final = frozenset({"mobile", "tv", "desktop"})
CONTEXT_PREFIX: Final = "context "
"""What a header line begins with, to the letter; a TAB after the word does not do."""

_START = rf"(?:^|[{SPACES}])"
_WORDS: Final = {
    "platform": (re.compile(rf"{_START}platform=([^{SPACES}]+)"), PLATFORMS),
    "target": (re.compile(rf"{_START}target=([^{SPACES}]+)"), TARGETS),
}
_NUMBERS: Final = {
    "timeout_ms": (re.compile(rf"{_START}timeout=([0-9]+)"), 1),
    "retries": (re.compile(rf"{_START}retries=([0-9]+)"), 0),
}
_WIRE_NAMES: Final = {
    "platform": "platform",
    "target": "target",
    "timeout_ms": "timeoutMs",
    "retries": "retries",
}


def scan_context(line: str) -> dict[str, Any]:
    """Return the fields of `Context` that a trimmed `context` line states."""
    stated: dict[str, Any] = {}
    for field, (pattern, accepted) in _WORDS.items():
        found = pattern.search(line)
        if found and found[1] in accepted:
            stated[field] = found[1]
    for field, (pattern, least) in _NUMBERS.items():
        found = pattern.search(line)
        number = to_finite(found[1]) if found else None
        if number is not None and number >= least:
            stated[field] = int(number)
    return stated


def merge_context(context: Context, stated: dict[str, Any]) -> tuple[Context, tuple[str, ...]]:
    """Return the context with what a further line states, and the problems of that line.

    A key that was stated before keeps its first value.
    """
    known = asdict(context)
    problems = []
    for field, value in stated.items():
        if known[field] is None:
            context = replace(context, **{field: value})
        else:
            how = "twice" if known[field] == value else f"as {known[field]} and as {value}"
            problems.append(f"the header states {_WIRE_NAMES[field]} {how}")
    return context, tuple(problems)


def is_env(line: str) -> bool:
    """Tell whether a trimmed line is an `env` directive."""
    return line == "env" or line.startswith(("env ", "env\t"))


def parse_env(line: str) -> tuple[str, str]:
    """Return key and value of a trimmed `env` line. Reason: `parse_error`."""
    body = line[3:].lstrip(SPACES)
    start = len(line) - len(body) + 1
    key, equals, raw = body.partition("=")
    if not equals or not key:
        raise_at(start, "an env line needs KEY=VALUE", "Write `env NAME=VALUE`.")
    if problem := key_problem(key):
        raise_at(start, problem, "Write the key in A-Z, 0-9 and _, directly before the `=`.")
    if not raw.startswith('"'):
        return key, raw
    value = _decode(raw)
    if isinstance(value, UnsetType):
        raise_at(
            start + len(key) + 1,
            "the quoted value of an env line is not one JSON string",
            'Quote the whole value and escape quotes in it as \\", or leave the quotes out.',
        )
    return key, value


def _decode(raw: str) -> str | UnsetType:
    try:
        value = json.loads(raw)
    except json.JSONDecodeError:
        return UNSET
    return value if isinstance(value, str) else UNSET
