r"""Canonical JSON and SHA-256: one spelling of a value, and its name.

Pure. `canonical_json` writes RFC 8785 bytes: keys sorted by UTF-16 code unit, no spaces, numbers
as JavaScript spells a double, everything but `"`, `\` and control characters as itself. Beyond
the standard, a lone surrogate comes out as `\udXXX` instead of failing, as `JSON.stringify` does;
text that holds one is refused before it travels, but digests must still agree on it.

May be imported by: everyone. Imports: runner.model.ids.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from json.encoder import encode_basestring

import rfc8785

from runner.model.ids import Digest

_SURROGATE = re.compile("[\ud800-\udfff]")
_SAFE_INTEGER = 2**53 - 1


def utf16_key(key: object) -> bytes:
    """Return what to sort texts by for the order of canonical keys."""
    if not isinstance(key, str):
        raise TypeError(f"no JSON key: {type(key).__name__}")
    return key.encode("utf-16-be", "surrogatepass")


def quote_json(text: str) -> str:
    """Return `text` as a JSON string in canonical spelling; surrogates stand as they are."""
    return encode_basestring(text)


def render_canonical(value: object) -> str:
    """Return canonical JSON as text; `encode_canonical` makes bytes of it.

    A caller that writes canonical text by hand may embed the result.
    """
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _render_number(value)
    if isinstance(value, Mapping):
        keys = sorted(value, key=utf16_key)
        return (
            "{" + ",".join(f"{encode_basestring(k)}:{render_canonical(value[k])}" for k in keys)
        ) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(render_canonical, value)) + "]"
    raise TypeError(f"no JSON form: {type(value).__name__}")


def encode_canonical(text: str) -> bytes:
    """Return the bytes of canonical text, lone surrogates escaped."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Halves that stand side by side are one character. The others can only stand inside
        # strings, so an escape is right wherever one is found.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def canonical_json(value: object) -> bytes:
    """Return the canonical bytes of a JSON value (tuples are arrays)."""
    return encode_canonical(render_canonical(value))


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return sha256(data).hexdigest()


def digest_of(data: bytes) -> Digest:
    """Return the SHA-256 of `data` in the spelling of all digests but the flat plan digest."""
    return Digest(f"sha256:{sha256_hex(data)}")


def _render_number(value: float) -> str:
    if isinstance(value, int):
        if -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
            return str(int(value))
        value = float(value)  # A JavaScript reader holds nothing but doubles.
    return rfc8785.dumps(value).decode()
