"""Selectors: the text that names an element, read into terms.

    selector     = alternative *( "||" alternative )
    alternative  = term *( WS term )
    term         = boolkey [ "=" bool ] | textkey "=" value

Pure. Keys ignore case; a value that is quoted at both ends is unquoted, a quote inside a value
only protects spaces. Nothing but `InputError` (`selector_invalid`, and `text_unencodable` for half
of a surrogate pair) comes out of the reader, and its details name the offset of the mistake. Every
pass over a text is linear in its length.

May be imported by: runner.formats, runner.preflight, tests. Imports: runner.errors,
runner.formats.ad.lexer, runner.formats.ad.numbers.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, Literal, NoReturn, TypeAlias, cast

from msgspec import Struct

from runner.errors import InputError
from runner.formats.ad.lexer import escape_surrogates
from runner.formats.ad.numbers import SPACES

TextKey: TypeAlias = Literal["id", "role", "text", "label", "value", "appname", "windowtitle"]
BoolKey: TypeAlias = Literal[
    "visible", "hidden", "editable", "selected", "focused", "enabled", "hittable"
]

TEXT_KEYS: Final = frozenset({"id", "role", "text", "label", "value", "appname", "windowtitle"})
BOOL_KEYS: Final = frozenset(
    {"visible", "hidden", "editable", "selected", "focused", "enabled", "hittable"}
)

UNKNOWN: Final = "\ufdd0"
"""Stands for each character of a text that is not known yet; no text for people holds it."""

MAX_SELECTOR: Final = 16_384
"""Characters of a selector, of which real ones have a few hundred."""

_KEYS: Final = TEXT_KEYS | BOOL_KEYS
_SPACE_RUN: Final = re.compile(f"[{SPACES}]+")
_KEY_LIKE: Final = re.compile(rf"(?ai:{'|'.join(sorted(_KEYS))})[~*^$!|]?=")
_SHAPE: Final = re.compile(rf"[{SPACES}]*[A-Za-z][A-Za-z0-9_-]*[~*^$!|]?=[^{SPACES}]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
# Outside quotes a backslash protects a quote, inside them any character. A quote without its end
# is in no word, so it is what stands behind the words where they break off.
_WORD: Final = re.compile(
    rf"\|\||(?:[^{SPACES}\"'|\\]++|\\[\"'\\]?+|\|(?!\|)"
    r"|\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')++",
    re.DOTALL,
)
_ONE_SPACE: Final = frozenset(("", *SPACES))
_QUOTES: Final = frozenset("\"'")
_QUOTING: Final = re.compile(r"\\.|[\"']", re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
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
    """Read a selector. Reasons: `selector_invalid`, `text_unencodable`."""
    return Selector(_read(text, text), text)


def check_selector(text: str, masked: str) -> None:
    """Judge a selector of which not everything is known.

    In `masked` every character that may still become anything is `UNKNOWN`, the others stand where
    they stand in `text`, which errors quote. Reasons: `selector_invalid`, `text_unencodable`.
    """
    _read(text, masked)


def _read(text: str, masked: str) -> tuple[Alternative, ...]:
    if len(text) > MAX_SELECTOR:
        _refuse(text, 0, f"it has more than {MAX_SELECTOR} characters")
    if not masked.strip(SPACES):
        _refuse(text, 0, "it is empty")
    alternatives: list[Alternative] = []
    terms: list[Term] = []
    offset = 0
    for word, offset in _split_tokens(text, masked):
        if word != "||":
            terms.append(_read_term(text, word, offset))
            continue
        if not terms:
            _refuse(text, offset, "nothing stands before ||")
        alternatives.append(Alternative(tuple(terms)))
        terms = []
    if not terms:
        _refuse(text, offset, "nothing stands after ||")
    alternatives.append(Alternative(tuple(terms)))
    return tuple(alternatives)


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
    text = text.strip(SPACES)
    if _KEY_LIKE.match(text):
        return True
    return text != "" and all(
        word == "||" or word.lower() in BOOL_KEYS or _KEY_LIKE.match(word)
        for word in _SPACE_RUN.split(text)
    )


def is_selector_shaped(text: str) -> bool:
    """Tell whether `text` begins like a term, be its key known or not: `name=value`."""
    return _SHAPE.match(text) is not None or looks_like_selector(text)


def split_operand(tokens: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Split `tokens` into the selector that they begin with and what follows it.

    The first token always belongs to the selector; later ones do while they look like terms,
    stand beside a `||`, or stand inside a quote that is still open.
    """
    quote = _quote_after(tokens[0], "")
    size = len(tokens[0])
    end = 1
    while end < len(tokens) and size <= MAX_SELECTOR:  # One that is too long is refused anyway.
        word = tokens[end]
        if not (quote or word == "||" or tokens[end - 1] == "||" or looks_like_selector(word)):
            break
        if '"' in word or "'" in word:
            quote = _quote_after(word, quote)
        size += len(word) + 1
        end += 1
    return " ".join(tokens[:end]), tokens[end:]


def _quote_after(token: str, quote: str) -> str:
    """Return the quote that is open behind a word, given the one that is open before it."""
    for found in _QUOTING.finditer(token):
        char = found[0]
        if char in "\"'" and quote in {"", char}:
            quote = "" if quote else char
    return quote


def _split_tokens(text: str, masked: str) -> Iterator[tuple[str, int]]:
    """Yield words and `||`, each with its offset; a quote anywhere in a word protects spaces."""
    end = 0
    for found in _WORD.finditer(masked):
        start, last = found.span()
        if start > end + 1 or masked[end:start] not in _ONE_SPACE:
            _refuse_quote(text, masked, end, start)
        end = last
        word = found[0]
        if word != "||" and masked[end : end + 1] in _QUOTES:
            _refuse_quote(text, masked, end, end + 1)
        yield word, start
    if end < len(masked):
        _refuse_quote(text, masked, end, len(masked))


def _refuse_quote(text: str, masked: str, start: int, end: int) -> None:
    """Refuse a quote that stands between words: it has no end."""
    gap = masked[start:end]
    at = len(gap) - len(gap.lstrip(SPACES))
    if at < len(gap):
        _refuse(text, start + at, f"the quote {gap[at]} is not closed")


def _read_term(text: str, word: str, offset: int) -> Term:
    raw_key, equals, raw_value = word.partition("=")
    key = raw_key.lower()
    if key in TEXT_KEYS and raw_value:
        value = _unquote(text, raw_value, offset + len(raw_key) + 1)
        return TextTerm(cast("TextKey", key), value, fold(value))
    shown = text[offset : offset + len(raw_key)][:80]
    if not equals:
        if key in BOOL_KEYS:
            return BoolTerm(cast("BoolKey", key), expected=True)
        if UNKNOWN in key:
            return BoolTerm("visible", expected=True)
        _refuse(text, offset, f"{shown!r} is no term; write key=value")
    if key not in _KEYS and UNKNOWN not in key:
        known = ", ".join(sorted(_KEYS))
        _refuse(text, offset, f"{shown!r} is no key; the keys are {known}")
    value_offset = offset + len(raw_key) + 1
    if not raw_value:
        _refuse(text, value_offset, f"{shown} has no value")
    value = _unquote(text, raw_value, value_offset)
    if value.lower() not in {"true", "false"} and UNKNOWN not in word:
        _refuse(text, value_offset, f"{shown} takes true or false, not {value[:80]!r}")
    return BoolTerm(cast("BoolKey", key), expected=value.lower() == "true")


def _unquote(text: str, raw: str, offset: int) -> str:
    value = raw
    if len(raw) >= 2 and raw[0] in "\"'" and raw[-1] == raw[0]:
        value = _ESCAPE.sub(_unescape, raw[1:-1])
    if not value.isascii() and _SURROGATE.search(value):
        # Escapes above the basic plane come as two halves.
        try:
            value = value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            why = "it holds half of a surrogate pair, which no screen shows"
            _refuse(text, offset, why, reason="text_unencodable")
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


def _refuse(text: str, offset: int, why: str, *, reason: str = "selector_invalid") -> NoReturn:
    raise InputError(
        reason=reason,
        message=f"the selector {text[:200]!r} is wrong at character {offset + 1}: {why}",
        details={"selector": escape_surrogates(text[:2000]), "offset": offset},
    )
