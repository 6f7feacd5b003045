"""The reserved comments of `.ad`: target evidence and fragment references.

    # agent-device:target-v1 {...}          evidence of the action on the next line
    # agent-device:targets-v1 {...}         evidence of both ends of a drag
    # agent-device:fragment-ref-v1 {...}    identity and pin of the include on the next line

Pure. Evidence comes out in canonical form: known fields only, texts in NFC, labels collapsed,
defaults filled in, whole numbers as ints. A reference is read strictly, because its version gates
its schema. What is rendered here is one line to every reader, and reads back as it was.

May be imported by: runner.formats.ad. Imports: runner.errors, runner.model,
runner.formats.ad.numbers.
"""

import json
import re
import unicodedata
from typing import Any, Final, Literal, NoReturn, cast

from msgspec import Struct

from runner.errors import InputError
from runner.formats.ad.numbers import SPACES, shrink_number
from runner.model.digest import canonical_json, quote_json, render_canonical
from runner.model.ids import Digest

MAX_FIELD_BYTES: Final = 256
MAX_RECORD_BYTES: Final = 4096
MAX_PAIR_BYTES: Final = 8320
MAX_ANCESTRY: Final = 8
MAX_NESTING: Final = 64
"""Levels of a record, of which real ones have three. Only unknown fields could have more."""

_COMMENT = re.compile(
    rf"#[{SPACES}]*agent-device:(?P<kind>target|targets|fragment-ref)-v(?P<version>[0-9]+)"
    # A separator of lines elsewhere in Unicode makes the whole an ordinary comment.
    rf"(?:[{SPACES}]+(?P<payload>[^{SPACES}][^\n\r\u2028\u2029]*))?\Z"
)
_SPACE_RUN = re.compile(f"[{SPACES}]+")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_UNSEEMLY = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_UNSAFE = re.compile("[\u2028\u2029\ud800-\udfff]")
_ABSENT: Final = object()
_DEFAULTS: Final = {"ancestry": [], "sibling": 0, "viewportOrder": 0}
_RECORD: Final = (
    *("id", "role", "label", "ancestry", "sibling", "viewportOrder", "scrollRegion", "rect"),
    "verification",
)


class Annotation(Struct, frozen=True, kw_only=True):
    """A reserved comment that was recognised; `version` is capped at a thousand."""

    kind: Literal["target", "targets", "fragment-ref"]
    version: int
    payload: str


class Reference(Struct, frozen=True, kw_only=True):
    """What a reference comment says; `problem` says why it is not usable."""

    version: int
    call_site_id: str | None = None
    digest: Digest | None = None
    problem: str = ""


def find_annotation(comment: str) -> Annotation | None:
    """Return the reserved comment that a trimmed comment line is, else None."""
    found = _COMMENT.match(comment)
    if found is None:
        return None
    digits = found["version"].lstrip("0") or "0"
    return Annotation(
        kind=cast("Literal['target', 'targets', 'fragment-ref']", found["kind"]),
        version=int(digits) if len(digits) < 4 else 1000,
        payload=(found["payload"] or "").strip(SPACES),
    )


def parse_target(payload: str) -> dict[str, Any]:
    """Return one evidence record in canonical form. Reason: `parse_error`."""
    size = len(payload.encode("utf-8", "surrogatepass"))
    if size > MAX_RECORD_BYTES:
        _refuse(f"the record has {size} bytes, more than {MAX_RECORD_BYTES}")
    return _read_target(_decode_object(payload))


def parse_targets(payload: str) -> dict[str, Any]:
    """Return the evidence of a drag's source and destination. Reason: `parse_error`."""
    size = len(payload.encode("utf-8", "surrogatepass"))
    if size > MAX_PAIR_BYTES:
        _refuse(f"the record has {size} bytes, more than {MAX_PAIR_BYTES}")
    pair = _decode_object(payload)
    return {end: _read_end(pair, end) for end in ("source", "destination")}


def parse_reference(annotation: Annotation) -> Reference:
    """Return what a reference comment says; nothing is raised for a bad one."""
    version = annotation.version
    if version != 1:
        problem = f"reference version {version} is not supported, only version 1 is"
        return Reference(version=version, problem=problem)
    try:
        fields = _decode_object(annotation.payload)
    except InputError as error:
        return Reference(version=1, problem=error.message)
    call_site, digest = fields.get("callSiteId"), fields.get("digest")
    problem = wrong_call_site = _call_site_problem(call_site)
    if not isinstance(digest, str) or not _DIGEST.match(digest):
        problem = problem or "`digest` is not sha256: and 64 lower-case hex digits"
        digest = None
    unknown = sorted(fields.keys() - {"callSiteId", "digest"})
    if unknown:
        problem = problem or f"unknown field {unknown[0][:40]!r} in the reference"
    return Reference(
        version=1,
        call_site_id=None if wrong_call_site else call_site,
        digest=None if digest is None else Digest(digest),
        problem=problem,
    )


def render_target(evidence: dict[str, Any]) -> str:
    """Return the comment line of an evidence record, its fields in canonical order.

    Defaults are spelled out as long as the record then stays within its bound. What is no record
    raises `TypeError`, `ValueError` or `KeyError`.
    """
    payload = _render(_arrange_record(evidence))
    if len(payload.encode()) > MAX_RECORD_BYTES:
        payload = _render(_arrange_record(evidence, is_brief=True))
    return f"# agent-device:target-v1 {payload}"


def render_targets(evidences: dict[str, Any]) -> str:
    """Return the comment line of the evidence of both ends of a drag, as `render_target` does."""
    payload = _render(_arrange_pair(evidences, MAX_RECORD_BYTES))
    if len(payload.encode()) > MAX_PAIR_BYTES:
        payload = _render(_arrange_pair(evidences, 0))
    return f"# agent-device:targets-v1 {payload}"


def render_reference(call_site_id: str | None, digest: Digest | None) -> str:
    """Return the comment line that pins the include of the line after it."""
    fields = {"callSiteId": call_site_id, "digest": digest}
    known = {name: value for name, value in fields.items() if value is not None}
    return f"# agent-device:fragment-ref-v1 {_render(known)}"


def _arrange_pair(evidences: dict[str, Any], limit: int) -> dict[str, Any]:
    return {
        end: _arrange_record(evidences[end], is_brief=len(canonical_json(evidences[end])) > limit)
        for end in ("source", "destination")
    }


def _arrange_record(evidence: dict[str, Any], *, is_brief: bool = False) -> dict[str, Any]:
    """Return the known fields of a record in the order in which they are written."""
    record = _arrange(evidence, _RECORD)
    if "ancestry" in record:
        record["ancestry"] = [_arrange(each, ("role", "label")) for each in record["ancestry"]]
    if "scrollRegion" in record:
        record["scrollRegion"] = _arrange(record["scrollRegion"], ("role", "id", "label"))
    if "rect" in record:
        record["rect"] = _arrange(record["rect"], ("x", "y", "width", "height"))
    if is_brief:
        return {name: part for name, part in record.items() if part != _DEFAULTS.get(name, "")}
    return record


def _arrange(fields: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name] for name in names if name in fields}


def _render(value: object) -> str:
    """Return JSON of one line that can be encoded, numbers as JavaScript spells them."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote_json(k)}:{_render(part)}" for k, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_render, value)) + "]"
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", render_canonical(value))


def _call_site_problem(call_site: object) -> str:
    if not isinstance(call_site, str) or not call_site:
        return "`callSiteId` is missing or no text"
    if len(call_site.encode("utf-8", "surrogatepass")) > MAX_FIELD_BYTES:
        return f"`callSiteId` has more than {MAX_FIELD_BYTES} bytes"
    if _UNSEEMLY.search(call_site):
        return "`callSiteId` holds a control character or half of a surrogate pair"
    return ""


def _read_end(pair: dict[str, Any], end: str) -> dict[str, Any]:
    if end not in pair:
        _refuse(f"`{end}` is missing")
    record = pair[end]
    if not isinstance(record, dict):
        _refuse(f"`{end}` is not an object")
    if len(canonical_json(record)) > MAX_RECORD_BYTES:
        _refuse(f"`{end}` has more than {MAX_RECORD_BYTES} bytes")
    return _read_target(record)


def _read_target(record: dict[str, Any]) -> dict[str, Any]:
    evidence: dict[str, Any] = {"role": _text(record, "role", required=True)}
    _add_text(evidence, record, "id")
    _add_label(evidence, record)
    ancestry = record.get("ancestry", [])
    if not isinstance(ancestry, list):
        _refuse("`ancestry` is not a list")
    if len(ancestry) > MAX_ANCESTRY:
        _refuse(f"`ancestry` has {len(ancestry)} entries, more than {MAX_ANCESTRY}")
    evidence["ancestry"] = [_read_ancestor(entry) for entry in ancestry]
    evidence["sibling"] = _count(record, "sibling")
    evidence["viewportOrder"] = _count(record, "viewportOrder")
    if "scrollRegion" in record:
        evidence["scrollRegion"] = _read_region(record["scrollRegion"])
    if "rect" in record:
        evidence["rect"] = _read_rect(record["rect"])
    verification = record.get("verification")
    if verification not in ("verified", "unverifiable"):
        _refuse("`verification` is neither `verified` nor `unverifiable`")
    evidence["verification"] = verification
    return evidence


def _read_ancestor(entry: object) -> dict[str, Any]:
    fields = _object(entry, "ancestry entry")
    ancestor: dict[str, Any] = {"role": _text(fields, "role", required=True)}
    _add_label(ancestor, fields)
    return ancestor


def _read_region(value: object) -> dict[str, Any]:
    fields = _object(value, "scrollRegion")
    region: dict[str, Any] = {"role": _text(fields, "role", required=True)}
    _add_text(region, fields, "id")
    _add_label(region, fields)
    return region


def _read_rect(value: object) -> dict[str, Any]:
    fields = _object(value, "rect")
    rect = {name: fields.get(name) for name in ("x", "y", "width", "height")}
    for name, number in rect.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            _refuse(f"`rect.{name}` is not a number")
    return rect


def _object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"`{name}` is not an object")
    return value


def _text(record: dict[str, Any], name: str, *, required: bool = False) -> str | None:
    """Return a text field in NFC, or None where it is absent."""
    value = record.get(name, _ABSENT)
    if value is _ABSENT:
        if required:
            _refuse(f"`{name}` is missing")
        return None
    if not isinstance(value, str):
        _refuse(f"`{name}` is not a text")
    text = value if value.isascii() else unicodedata.normalize("NFC", value)
    if name == "label":
        text = _SPACE_RUN.sub(" ", text).strip(" ")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_FIELD_BYTES:
        _refuse(f"`{name}` has more than {MAX_FIELD_BYTES} bytes")
    return text


def _add_text(target: dict[str, Any], record: dict[str, Any], name: str) -> None:
    # An empty text says nothing, so it counts as absent.
    if text := _text(record, name):
        target[name] = text


def _add_label(target: dict[str, Any], record: dict[str, Any]) -> None:
    _add_text(target, record, "label")


def _count(record: dict[str, Any], name: str) -> int:
    value = record.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        _refuse(f"`{name}` is not a whole number from 0")
    return value


def _decode_object(payload: str) -> dict[str, Any]:
    if not payload:
        _refuse("the JSON object is missing")
    try:
        value = _DECODER.decode(payload)
        if payload.count("{") + payload.count("[") > MAX_NESTING:
            _require_shallow(value)
    except json.JSONDecodeError as error:
        _refuse(f"not valid JSON at its character {error.pos + 1} ({error.msg})")
    except RecursionError:
        _refuse("the JSON is nested too deeply")
    return _object(value, "record")


def _require_shallow(value: object) -> None:
    """Refuse what is nested too deeply; how deep does not depend on who calls."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    _refuse("the JSON is nested too deeply")


def _read_integer(digits: str) -> int | float | None:
    # Longer ones are beyond what a double holds, and beyond what `int` may be asked to read.
    return int(digits) if len(digits) < 16 else _read_float(digits)


def _read_float(digits: str) -> int | float | None:
    number = float(digits)
    # An overflow is no number to anyone, and prints as null where the format came from.
    return shrink_number(number) if abs(number) != float("inf") else None


def _refuse_constant(word: str) -> NoReturn:
    raise json.JSONDecodeError(f"{word} is no JSON", word, 0)


def _refuse(problem: str) -> NoReturn:
    raise InputError(
        reason="parse_error",
        message=problem,
        hint="Record the step anew; evidence and references are written by tools, not by hand.",
    )


_DECODER: Final = json.JSONDecoder(
    parse_int=_read_integer, parse_float=_read_float, parse_constant=_refuse_constant
)
