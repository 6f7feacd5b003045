"""Numbers and white space as the `.ad` format means them, which is as JavaScript means them.

Pure. Python's own `float` and `str.strip` differ in both directions (underscores, `nan`, hex;
U+FEFF, U+0085), so the grammar is written out here and nowhere else.

May be imported by: runner.formats.ad. Imports: nothing of ours.
"""

import math
import re
from typing import Final

SPACES: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""Every character that separates tokens."""

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_BASES: Final = {
    "0x": (16, re.compile(r"[0-9a-fA-F]+\Z")),
    "0o": (8, re.compile(r"[0-7]+\Z")),
    "0b": (2, re.compile(r"[01]+\Z")),
}
_SAFE_INTEGER: Final = 2**53 - 1


def to_number(text: str) -> float | None:
    """Return the value of `text` as a number, or None where JavaScript has NaN.

    Blank text is 0, `Infinity` is a number.
    """
    text = text.strip(SPACES)
    if not text:
        return 0.0
    if _DECIMAL.match(text):
        return float(text)
    if text.lstrip("+-") == "Infinity" and len(text) <= len("-Infinity"):
        return -math.inf if text[0] == "-" else math.inf
    base, digits = _BASES.get(text[:2].lower(), (0, None))
    if digits is None or not digits.match(text, 2):
        return None
    try:
        return float(int(text[2:], base))
    except OverflowError:
        return math.inf


def is_numeric(text: str) -> bool:
    """Tell whether a token counts as a number: not empty, and a number to JavaScript."""
    return text != "" and to_number(text) is not None


def to_finite(text: str) -> float | None:
    """Return the finite number that a non-empty token spells, else None."""
    number = to_number(text) if text else None
    return number if number is not None and math.isfinite(number) else None


def floor_number(number: float) -> int | float:
    """Return `number` rounded down: an int where a double is exact, else the float itself."""
    return math.floor(number) if abs(number) <= _SAFE_INTEGER else number


def shrink_number(number: float) -> int | float:
    """Return an integral double as an int, so that equal numbers are equal values."""
    return int(number) if number.is_integer() and abs(number) <= _SAFE_INTEGER else number
