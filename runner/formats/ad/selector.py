"""Selectors: the text that names an element, read into terms.

    selector     = alternative *( "||" alternative )
    alternative  = term *( WS term )
    term         = boolkey [ "=" bool ] | textkey "=" value

Pure. Keys ignore case; a value that is quoted at both ends is unquoted, a quote inside a value
only protects spaces. Nothing but `InputError` (`selector_invalid`) comes out of the reader, and
its details name the offset of the mistake.

May be imported by: runner.formats, runner.preflight, tests. Imports: runner.errors,
runner.formats.ad.numbers.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, Literal, NoReturn, TypeAlias, cast

from msgspec import Struct

from runner.errors import InputError
from runner.formats.ad.numbers import SPACES

TextKey: TypeAlias = Literal["id", "role", "text", "label", "value", "appname", "windowtitle"]
BoolKey: TypeAlias = Literal[
    "visible", "hidden", "editable", "selected", "focused", "enabled", "hittable"
]

TEXT_KEYS: Final = frozenset({"id", "role", "text", "label", "value", "appname", "windowtitle"})
BOOL_KEYS: Final = frozenset(
    {"visible", "hidden", "editable", "selected", "focused", "enabled", "hittable"}
)

_SPACE_RUN: Final = re.compile(f"[{SPACES}]+")
_KEY_LIKE: Final = re.compile(r"([A-Za-z]+)[~*^$!|]?=")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_PLAIN_ESCAPES: Final = {
    '"': '"',
    "'": "'",
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}


class TextTerm(Struct, frozen=True, tag="text"):
    """A text key and the value that it must have; `folded` is the value as it is compared."""

    key: TextKey
    value: str
    folded: str


class BoolTerm(Struct, frozen=True, tag="bool"):
    """A boolean key and the state that it must have."""

    key: BoolKey
    expected: bool


Term: TypeAlias = TextTerm | BoolTerm


class Alternative(Struct, frozen=True):
    """Terms that must hold together."""

    terms: tuple[Term, ...]


class Selector(Struct, frozen=True):
    """Alternatives, tried from left to right; `source` is the text as written."""

    alternatives: tuple[Alternative, ...]
    source: str


class _Token(Struct, frozen=True):
    text: str
    offset: int


def collapse(text: str) -> str:
    """Return `text` trimmed, with every run of whitespace as one space."""
    # Of all whitespace only the space is printable, so most texts are seen to be collapsed.
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return _SPACE_RUN.sub(" ", text).strip(" ")


def fold(text: str) -> str:
    """Return `text` as selectors compare it: collapsed and lower-case."""
    return collapse(text).lower()


def parse_selector(text: str) -> Selector:
    """Read a selector. Reasons: `selector_invalid`."""
    if not text.strip(SPACES):
        _refuse(text, 0, "it is empty")
    alternatives: list[Alternative] = []
    terms: list[Term] = []
    offset = 0
    for token in _split_tokens(text):
        offset = token.offset
        if token.text != "||":
            terms.append(_read_term(text, token))
            continue
        if not terms:
            _refuse(text, offset, "nothing stands before ||")
        alternatives.append(Alternative(tuple(terms)))
        terms = []
    if not terms:
        _refuse(text, offset, "nothing stands after ||")
    alternatives.append(Alternative(tuple(terms)))
    return Selector(tuple(alternatives), text)


def render_selector(selector: Selector) -> str:
    """Return the canonical text of `selector`: values as JSON strings, booleans spelled out."""
    return " || ".join(render_alternative(part) for part in selector.alternatives)


def render_alternative(alternative: Alternative) -> str:
    """Return the canonical text of one alternative."""
    return " ".join(_render_term(term) for term in alternative.terms)


def looks_like_selector(text: str) -> bool:
    """Tell whether a bare operand of `wait` is meant as a selector rather than as a text.

    It is when its first word is a known key with a value, also one with a foreign operator such
    as `label~=`, or when it consists of nothing but terms. `Selected items` is a text.
    """
    words = [word for word in _SPACE_RUN.split(text) if word]
    if not words:
        return False
    return _has_known_key(words[0]) or all(
        word == "||" or word.lower() in BOOL_KEYS or _has_known_key(word) for word in words
    )


def split_operand(tokens: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Split `tokens` into the selector that they begin with and what follows it.

    The first token always belongs to the selector; later ones do while they look like terms,
    stand beside a `||`, or stand inside a quote that is still open.
    """
    end = 1
    while end < len(tokens) and (
        tokens[end] == "||"
        or tokens[end - 1] == "||"
        or looks_like_selector(tokens[end])
        or _has_open_quote(" ".join(tokens[:end]))
    ):
        end += 1
    return " ".join(tokens[:end]), tokens[end:]


def _has_open_quote(text: str) -> bool:
    quote = ""
    for position, char in enumerate(text):
        if char in "\"'" and quote in {"", char} and not _is_escaped(text, position):
            quote = "" if quote else char
    return bool(quote)


def _has_known_key(word: str) -> bool:
    found = _KEY_LIKE.match(word)
    return found is not None and found[1].lower() in TEXT_KEYS | BOOL_KEYS


def _split_tokens(text: str) -> Iterator[_Token]:
    """Yield words and `||` outside quotes; a quote anywhere in a word protects spaces."""
    start: int | None = None
    quote = ""
    opened = 0
    position = 0
    while position < len(text):
        char = text[position]
        if quote:
            if char == quote and not _is_escaped(text, position):
                quote = ""
        elif char in SPACES or text.startswith("||", position):
            if start is not None:
                yield _Token(text[start:position], start)
                start = None
            if char == "|":
                yield _Token("||", position)
                position += 1
        else:
            if start is None:
                start = position
            if char in "\"'" and not _is_escaped(text, position):
                quote, opened = char, position
        position += 1
    if quote:
        _refuse(text, opened, f"the quote {quote} is not closed")
    if start is not None:
        yield _Token(text[start:], start)


def _is_escaped(text: str, position: int) -> bool:
    start = position
    while start and text[start - 1] == "\\":
        start -= 1
    return (position - start) % 2 == 1


def _read_term(text: str, token: _Token) -> Term:
    raw_key, equals, raw_value = token.text.partition("=")
    key = raw_key.lower()
    if not equals:
        if key in BOOL_KEYS:
            return BoolTerm(cast("BoolKey", key), expected=True)
        _refuse(text, token.offset, f"{token.text[:80]!r} is no term; write key=value")
    value_offset = token.offset + len(raw_key) + 1
    if key not in TEXT_KEYS and key not in BOOL_KEYS:
        known = ", ".join(sorted(TEXT_KEYS | BOOL_KEYS))
        _refuse(text, token.offset, f"{raw_key[:80]!r} is no key; the keys are {known}")
    if not raw_value:
        _refuse(text, value_offset, f"{raw_key} has no value")
    value = _unquote(text, raw_value, value_offset)
    if key in TEXT_KEYS:
        return TextTerm(cast("TextKey", key), value, fold(value))
    if value.lower() not in {"true", "false"}:
        _refuse(text, value_offset, f"{raw_key} takes true or false, not {value[:80]!r}")
    return BoolTerm(cast("BoolKey", key), expected=value.lower() == "true")


def _unquote(text: str, raw: str, offset: int) -> str:
    value = raw
    if len(raw) >= 2 and raw[0] in "\"'" and raw[-1] == raw[0]:
        value = _ESCAPE.sub(_unescape, raw[1:-1])
    if any("\ud800" <= char <= "\udfff" for char in value):
        # Escapes above the basic plane come as two halves.
        try:
            value = value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            _refuse(text, offset, "it holds half of a surrogate pair, which no screen shows")
    return value


def _unescape(found: re.Match[str]) -> str:
    if found[1] is not None:
        return chr(int(found[1], 16))
    # An unknown escape keeps its backslash.
    return _PLAIN_ESCAPES.get(found[2], found[0])


def _render_term(term: Term) -> str:
    match term:
        case TextTerm(key=key, value=value):
            return f"{key}={json.dumps(value, ensure_ascii=False)}"
        case BoolTerm(key=key, expected=expected):
            return f"{key}={'true' if expected else 'false'}"


def _refuse(text: str, offset: int, why: str) -> NoReturn:
    shown = text[:2000].encode("utf-8", "replace").decode()
    raise InputError(
        reason="selector_invalid",
        message=f"the selector {shown[:200]!r} is wrong at character {offset + 1}: {why}",
        details={"selector": shown, "offset": offset},
    )
