"""Edits of `.ad` bytes: a new pin in a reference comment, and a new include.

Pure. An edit changes the bytes that it is about and no other: line ends, spacing, a byte order
mark, the other fields of a comment and their order stay as they are. Whether the result is a right
script is for the caller to see, by reading it.

May be imported by: runner.preflight, tests. Imports: runner.errors, runner.formats.ad,
runner.model.
"""

import json
import posixpath
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from runner.errors import InputError
from runner.formats.ad.annotation import find_annotation
from runner.formats.ad.numbers import SPACES
from runner.model.ids import Digest

_LINE_END: Final = re.compile(rb"\r?\n")
_JSON_SPACE: Final = " \t\n\r"
_LOOSE: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Finds where values end; what they are does not matter here."""


class _Line(NamedTuple):
    """Where a line begins, where its text ends, and what ends it."""

    start: int
    end: int
    mark: bytes


class _Member(NamedTuple):
    """A member of a JSON object: its name, and where its value stands."""

    name: str
    start: int
    end: int


def rewrite_pin(data: bytes, *, line: int, digest: Digest) -> bytes:
    """Return `data` with the pin of the include at `line` replaced, or given where it has none.

    Reasons: `fragment_call_site_invalid`.
    """
    lines = list(_lines(data))
    if not 2 <= line <= len(lines):
        raise _no_reference(line)
    start, end, _ = lines[line - 2]
    try:
        comment = data[start:end].decode()
    except UnicodeDecodeError as error:
        raise _no_reference(line) from error
    annotation = find_annotation(comment.strip(SPACES))
    if annotation is None or annotation.kind != "fragment-ref" or annotation.version != 1:
        raise _no_reference(line)
    try:
        edited = _set_member(comment, "digest", json.dumps(digest))
    except (ValueError, RecursionError) as error:
        raise _no_reference(line) from error
    return data[:start] + edited.encode() + data[end:]


def insert_include(
    data: bytes, *, after: int, locator: str, call_site_id: str, digest: Digest
) -> bytes:
    """Return `data` with a pinned include, and its reference comment, behind line `after`.

    Reasons: `option_invalid`.
    """
    lines = list(_lines(data))
    if lines and lines[-1].start == lines[-1].end and len(lines) > 1:
        lines.pop()  # Behind the last line end there is no line.
    if not 0 <= after <= len(lines):
        raise InputError(
            reason="option_invalid",
            message=f"--after is {after}; the file has lines 1 to {len(lines)}",
            details={"option": "--after", "value": after, "lines": len(lines)},
        )
    mark = _mark_of(lines, after)
    reference = _quote({"callSiteId": call_site_id, "digest": digest})
    added = [
        f"# agent-device:fragment-ref-v1 {reference}".encode(),
        f"include {_quote(locator)}".encode(),
    ]
    if after and not lines[after - 1].mark:
        return data + b"".join(mark + each for each in added)
    place = lines[after - 1].end + len(lines[after - 1].mark) if after else 0
    return data[:place] + b"".join(each + mark for each in added) + data[place:]


def relative_locator(parent: str, child: str) -> str:
    """Return the locator by which the source `parent` means the source `child`."""
    path = posixpath.relpath(f"/{child}", posixpath.dirname(f"/{parent}"))
    return path if path.startswith("../") else f"./{path}"


def _lines(data: bytes) -> Iterator[_Line]:
    start = 0
    for found in _LINE_END.finditer(data):
        yield _Line(start, found.start(), found[0])
        start = found.end()
    yield _Line(start, len(data), b"")


def _mark_of(lines: list[_Line], after: int) -> bytes:
    """Return what ends the lines around a place."""
    near = [*reversed(lines[:after]), *lines[after:]]
    return next((line.mark for line in near if line.mark), b"\n")


def _quote(value: object) -> str:
    """Return JSON that is one line to every reader, and can be encoded."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if any(char in "\u2028\u2029" or "\ud800" <= char <= "\udfff" for char in text):
        return json.dumps(value, separators=(",", ":"))
    return text


def _set_member(comment: str, name: str, value: str) -> str:
    """Return `comment` with one member of its JSON object set. Raises `ValueError`."""
    members = list(_members(comment, comment.index("{")))
    same = [member for member in members if member.name == name]
    if same:
        member = same[-1]  # Of two with one name, readers take the last.
        return comment[: member.start] + value + comment[member.end :]
    if not members:
        raise ValueError("the object is empty")
    last = members[-1]
    gap = " " if comment[members[0].start - 1] == " " else ""
    return f'{comment[: last.end]},{gap}"{name}":{gap}{value}{comment[last.end :]}'


def _members(text: str, start: int) -> Iterator[_Member]:
    """Yield the members of the object that begins at `start`. Raises `ValueError`."""
    place = _skip(text, start + 1)
    while text[place : place + 1] == '"':
        name, place = _LOOSE.raw_decode(text, place)
        place = _skip(text, _skip(text, place) + 1)  # Over the colon.
        _, end = _LOOSE.raw_decode(text, place)
        yield _Member(name, place, end)
        place = _skip(text, _skip(text, end) + 1)  # Over the comma.


def _skip(text: str, place: int) -> int:
    while text[place : place + 1] and text[place] in _JSON_SPACE:
        place += 1
    return place


def _no_reference(line: int) -> InputError:
    return InputError(
        reason="fragment_call_site_invalid",
        message=f"there is no usable fragment-ref-v1 comment on the line before line {line}",
        details={"line": line},
    )
