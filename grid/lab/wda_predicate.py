"""NSPredicate strings as WebDriverAgent's clients write them: parsed once, applied to elements.

The subset: comparisons (`== != < <= > >= CONTAINS BEGINSWITH ENDSWITH LIKE MATCHES IN BETWEEN`,
with `[c]` and `[d]`), `AND OR NOT`, parentheses, quoted strings, numbers, booleans, `nil`.
Anything else is the error *invalid selector*, as on a phone.

May be imported by: grid.lab, tests. Imports: grid.lab.wda_error.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final, TypeAlias, assert_never, final

from msgspec import Struct

from grid.lab.wda_error import WdaError

Scalar: TypeAlias = str | float | bool | None
Read: TypeAlias = Callable[[str], Scalar]
"""Reads one attribute of an element; raises `WdaError` for an unknown name."""

MAX_LENGTH: Final = 10_000
MAX_DEPTH: Final = 40

_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>-?\d+(?:\.\d+)?)
    |(?P<word>[A-Za-z_][\w.]*)
    |(?P<symbol>==|!=|<>|<=|=<|>=|=>|<|>|=|&&|\|\||!|\(|\)|\{|\}|,|\[[cdCD]{1,2}\])
    )""",
    re.VERBOSE | re.DOTALL,
)
_SYMBOLS: Final = {"=": "==", "<>": "!=", "=<": "<=", "=>": ">="}
_ORDERINGS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_WORD_OPERATORS: Final = frozenset(
    {"CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "IN", "BETWEEN"}
)
_CONSTANTS: Final[dict[str, Scalar]] = {
    "TRUE": True,
    "YES": True,
    "FALSE": False,
    "NO": False,
    "NIL": None,
    "NULL": None,
}


class Attribute(Struct, frozen=True):
    """The attribute of that name."""

    name: str


class Value(Struct, frozen=True):
    """A literal, or the literals of a `{...}` list."""

    value: Scalar | tuple[Scalar, ...]


class Compare(Struct, frozen=True):
    """One comparison; `flags` holds `c` and `d`."""

    left: "Attribute | Value"
    operator: str
    right: "Attribute | Value"
    flags: str


class Every(Struct, frozen=True):
    """AND; flat, so that a long one is not a deep one."""

    parts: tuple["Predicate", ...]


class Some(Struct, frozen=True):
    """OR; flat as well."""

    parts: tuple["Predicate", ...]


class Not(Struct, frozen=True):
    """NOT."""

    inner: "Predicate"


class Constant(Struct, frozen=True):
    """TRUEPREDICATE, FALSEPREDICATE, or a bare boolean."""

    value: bool


Predicate: TypeAlias = Compare | Every | Some | Not | Constant


def parse_predicate(text: str) -> Predicate:
    """Return the predicate that `text` says. Raises *invalid selector*."""
    if len(text) > MAX_LENGTH:
        raise WdaError("invalid selector", f"the predicate is longer than {MAX_LENGTH} characters")
    parser = _Parser(text)
    found = parser.read_some(0)
    parser.expect_end()
    return found


def matches(predicate: Predicate, read: Read) -> bool:
    """Tell whether the element whose attributes `read` gives fulfils the predicate."""
    match predicate:
        case Constant(value=value):
            return value
        case Not(inner=inner):
            return not matches(inner, read)
        case Every(parts=parts):
            return all(matches(part, read) for part in parts)
        case Some(parts=parts):
            return any(matches(part, read) for part in parts)
        case Compare():
            return _compare(predicate, read)
        case _:
            assert_never(predicate)


def _compare(row: Compare, read: Read) -> bool:
    left, right = _operand(row.left, read), _operand(row.right, read)
    if row.operator in {"IN", "BETWEEN"}:
        return _among(_fold(left, row.flags), row.operator, _fold(right, row.flags))
    return _relates(_fold(left, row.flags), row.operator, _fold(right, row.flags))


def _operand(operand: Attribute | Value, read: Read) -> Scalar | tuple[Scalar, ...]:
    return read(operand.name) if isinstance(operand, Attribute) else operand.value


def _fold(value: Scalar | tuple[Scalar, ...], flags: str) -> Scalar | tuple[Scalar, ...]:
    if isinstance(value, tuple):
        return tuple(_fold_text(item, flags) for item in value)
    return _fold_text(value, flags)


def _fold_text(value: Scalar, flags: str) -> Scalar:
    if not isinstance(value, str):
        return value
    if "d" in flags:
        plain = unicodedata.normalize("NFD", value)
        value = "".join(char for char in plain if not unicodedata.combining(char))
    return value.casefold() if "c" in flags else value


def _among(
    left: Scalar | tuple[Scalar, ...], operator: str, right: Scalar | tuple[Scalar, ...]
) -> bool:
    if isinstance(left, tuple):
        return False
    if operator == "IN":
        # `'a' IN label` is the old spelling of CONTAINS.
        return left in right if isinstance(right, tuple) else _relates(right, "CONTAINS", left)
    if not isinstance(right, tuple) or len(right) != 2:
        raise WdaError("invalid selector", "BETWEEN needs a list of two numbers")
    low, high = right
    return _relates(left, ">=", low) and _relates(left, "<=", high)


def _relates(
    left: Scalar | tuple[Scalar, ...], operator: str, right: Scalar | tuple[Scalar, ...]
) -> bool:
    if operator in {"==", "!="}:
        return (left == right) is (operator == "==")
    if isinstance(left, str) and isinstance(right, str):
        return _relates_text(left, operator, right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _ordered(left, operator, right)
    return False


def _relates_text(left: str, operator: str, right: str) -> bool:
    match operator:
        case "CONTAINS":
            return right in left
        case "BEGINSWITH":
            return left.startswith(right)
        case "ENDSWITH":
            return left.endswith(right)
        case "LIKE":
            pattern = re.escape(right).replace(r"\*", ".*").replace(r"\?", ".")
            return re.fullmatch(pattern, left, re.DOTALL) is not None
        case "MATCHES":
            try:
                return re.fullmatch(right, left, re.DOTALL) is not None
            except (re.error, OverflowError, RecursionError) as error:
                raise WdaError(
                    "invalid selector", f"cannot use {right!r} as a regular expression: {error}"
                ) from error
        case _:
            return _ordered(left, operator, right)


def _ordered(left: str | float, operator: str, right: str | float) -> bool:
    if isinstance(left, str) != isinstance(right, str):
        return False
    above = left > right  # type: ignore[operator]  # Both are strings, or both are numbers.
    return {"<": not above and left != right, "<=": not above, ">": above}.get(
        operator, above or left == right
    )


@final
class _Parser:
    """A recursive descent over the tokens; `depth` bounds it against hostile nesting."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tuple(_tokens(text))
        self._at = 0

    def read_some(self, depth: int) -> Predicate:
        parts = [self._read_every(depth)]
        while self._take("OR") or self._take("||"):
            parts.append(self._read_every(depth))
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _read_every(self, depth: int) -> Predicate:
        parts = [self._read_one(depth)]
        while self._take("AND") or self._take("&&"):
            parts.append(self._read_one(depth))
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _read_one(self, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            raise self._error("is nested too deeply")
        if self._take("NOT") or self._take("!"):
            return Not(self._read_one(depth + 1))
        if self._take("("):
            inner = self.read_some(depth + 1)
            if not self._take(")"):
                raise self._error("lacks a closing parenthesis")
            return inner
        if self._take("TRUEPREDICATE"):
            return Constant(value=True)
        if self._take("FALSEPREDICATE"):
            return Constant(value=False)
        return self._read_comparison()

    def _read_comparison(self) -> Predicate:
        left = self._read_operand()
        operator = self._peek().upper()
        operator = _SYMBOLS.get(operator, operator)
        if operator not in _ORDERINGS and operator not in _WORD_OPERATORS:
            if isinstance(left, Value) and isinstance(left.value, bool):
                return Constant(value=left.value)
            raise self._error("lacks an operator")
        self._at += 1
        flags = ""
        if self._peek().startswith("["):
            flags = self._peek().strip("[]").lower()
            self._at += 1
        return Compare(left, operator, self._read_operand(), flags)

    def _read_operand(self) -> Attribute | Value:
        if self._take("{"):
            return Value(self._read_list())
        kind, token = self._next()
        if kind == "string":
            return Value(_unquote(token))
        if kind == "number":
            return Value(float(token))
        if kind == "word":
            constant = token.upper()
            return Value(_CONSTANTS[constant]) if constant in _CONSTANTS else Attribute(token)
        raise self._error(f"has {token!r} where a value should stand")

    def _read_list(self) -> tuple[Scalar, ...]:
        found: list[Scalar] = []
        while not self._take("}"):
            item = self._read_operand()
            if not isinstance(item, Value) or isinstance(item.value, tuple):
                raise self._error("has a list of something else than literals")
            found.append(item.value)
            if not self._take(",") and self._peek() != "}":
                raise self._error("has a list that does not end")
        return tuple(found)

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise self._error("ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, token: str) -> bool:
        if self._at >= len(self._tokens):
            return False
        kind, text = self._tokens[self._at]
        found = kind != "string" and text.upper() == token
        self._at += found
        return found

    def expect_end(self) -> None:
        if self._at < len(self._tokens):
            raise self._error(f"goes on with {self._peek()!r} after its end")

    def _error(self, what: str) -> WdaError:
        return WdaError("invalid selector", f"the predicate {self._text!r} {what}")


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise WdaError("invalid selector", f"cannot read the predicate {text!r} at {at}")
        found.append((match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return found


def _unquote(token: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), token[1:-1])


_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
