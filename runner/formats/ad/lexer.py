"""Lines and tokens of an `.ad` source.

Pure. Only LF and CRLF end a line; every other separator is white space inside one. A token is a
JSON string when it begins with `"` (the closing quote ends it at once), a literal when it begins
with `'` at level `main`, else a run of characters that are not white space, quotes and
backslashes included.

May be imported by: runner.formats.ad. Imports: runner.formats.ad.numbers, runner.errors.
"""

import json
import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, NoReturn, TypeAlias

from runner.errors import InputError
from runner.formats.ad.numbers import SPACES

Level: TypeAlias = Literal["main", "0.21"]
"""Which generation of the format: `0.21` has no single-quoted tokens and fewer options."""

_LINE_END = re.compile(r"\r?\n")
_JSON_STRING = r'"(?P<json>[^"\\]*+(?:\\.[^"\\]*+)*+)"'
_LITERAL = r"'(?P<literal>(?:\\'|[^'])*+)'"
_BARE = rf"(?P<bare>[^{SPACES}]++)"
_TOKEN: Final[Mapping[Level, re.Pattern[str]]] = {
    "0.21": re.compile(rf'{_JSON_STRING}|(?P<open>")|{_BARE}', re.DOTALL),
    "main": re.compile(rf"{_JSON_STRING}|{_LITERAL}|(?P<open>[\"'])|{_BARE}", re.DOTALL),
}
_PLAIN = re.compile(r"[^\\\x00-\x1f]*+\Z")


class Token(NamedTuple):
    """A token and its place; the characters of a bare one stand in the line as they are."""

    text: str
    column: int
    is_bare: bool


def split_lines(text: str) -> list[str]:
    """Return the physical lines of a source."""
    return _LINE_END.split(text)


def trim(line: str) -> str:
    """Return `line` without the format's white space at both ends."""
    return line.strip(SPACES)


def tokenize(line: str, *, level: Level = "main") -> list[str]:
    """Return the tokens of one line, decoded.

    Reason: `parse_error`, with the 1-based `column` of the bad token in the details.
    """
    tokens: list[str] = []
    for found in _TOKEN[level].finditer(line):
        kind = found.lastgroup
        if kind == "bare":
            tokens.append(found["bare"])
        elif kind == "json":
            body = found["json"]
            tokens.append(body if _PLAIN.match(body) else _decode(found, line))
        elif kind == "literal":
            tokens.append(found["literal"].replace("\\'", "'"))
        else:
            raise_at(
                found.start() + 1,
                f"unclosed {found['open']} quote",
                f"Close the quote on the same line, or write {found['open']} inside a quoted text.",
            )
    return tokens


def place_tokens(line: str, *, level: Level = "main") -> list[Token]:
    """Return the tokens of one line with their 1-based columns. Reason: `parse_error`."""
    starts = [
        (found.start() + 1, found.lastgroup == "bare") for found in _TOKEN[level].finditer(line)
    ]
    return [
        Token(text, *start) for text, start in zip(tokenize(line, level=level), starts, strict=True)
    ]


def escape_surrogates(text: str) -> str:
    r"""Return `text` for people and files: halves of surrogate pairs as `\udXXX`."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def raise_at(column: int, message: str, hint: str) -> NoReturn:
    """Raise the parse error of one place of a line."""
    raise InputError(reason="parse_error", message=message, details={"column": column}, hint=hint)


def _decode(found: re.Match[str], line: str) -> str:
    try:
        return str(json.loads(found[0]))
    except json.JSONDecodeError as error:
        column = found.start() + error.pos + 1
        shown = line[column - 1 : column + 1]
        raise InputError(
            reason="parse_error",
            message=f"bad escape or control character in a quoted text (at {shown!r})",
            details={"column": min(column, found.end())},
            hint='A quoted text is a JSON string: write \\\\, \\", \\n, \\t or \\uXXXX.',
        ) from error
