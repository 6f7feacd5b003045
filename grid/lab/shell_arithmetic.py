"""The value of `$((...))` in the device's shell: integers as C has them, variables by name.

Pure. Nothing of Python's evaluation is used: the text comes from clients.

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, final

MAX_DEPTH: Final = 50
_TOKEN: Final = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)|(\|\||&&|<<|>>|[<>=!]=|[-+*/%<>&|^!~()?:]))",
    re.ASCII,
)
_LEVELS: Final = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="),
    ("<<", ">>"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_SIMPLE: Final[Mapping[str, Callable[[int, int], int]]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << (b & 31),
    ">>": lambda a, b: a >> (b & 31),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


class ArithmeticProblem(Exception):  # noqa: N818 -- the shell prints it; nobody else sees it.
    """Why an expression has no value, as the shell prints it."""


def evaluate(text: str, variables: Mapping[str, str]) -> int:
    """Return the value of an expression; empty is 0. Raises `ArithmeticProblem`."""
    if not text.strip():
        return 0
    return _Evaluator(text, variables).read_all()


def _wrap(value: int) -> int:
    """Return a value as the shell's 32 bits hold it."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


@final
class _Evaluator:
    """Recursive descent; every level is one of C's precedences."""

    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self._text = text
        self._variables = variables
        self._tokens: list[str] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise ArithmeticProblem(f"{text}: unexpected '{text[at:].strip()[:1]}'")
            self._tokens.append(found[0].strip())
            at = found.end()
        self._tokens.reverse()

    def read_all(self) -> int:
        value = self._read_choice(0)
        if self._tokens:
            raise ArithmeticProblem(f"{self._text}: unexpected '{self._tokens[-1]}'")
        return value

    def _peek(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _take(self, token: str) -> None:
        if self._peek() != token:
            raise ArithmeticProblem(f"{self._text}: missing '{token}'")
        self._tokens.pop()

    def _read_choice(self, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise ArithmeticProblem("expression recursion level exceeded")
        value = self._read_level(0, depth)
        if self._peek() != "?":
            return value
        self._tokens.pop()
        first = self._read_choice(depth + 1)
        self._take(":")
        second = self._read_choice(depth + 1)
        return first if value else second

    def _read_level(self, level: int, depth: int) -> int:
        if level == len(_LEVELS):
            return self._read_unary(depth)
        value = self._read_level(level + 1, depth)
        while self._peek() in _LEVELS[level]:
            operator = self._tokens.pop()
            value = _wrap(self._apply(operator, value, self._read_level(level + 1, depth)))
        return value

    def _apply(self, operator: str, left: int, right: int) -> int:
        if operator not in {"/", "%"}:
            return _SIMPLE[operator](left, right)
        if right == 0:
            raise ArithmeticProblem(f"{self._text}: zero divisor")
        # C rounds towards zero, Python down.
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right

    def _read_unary(self, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise ArithmeticProblem("expression recursion level exceeded")
        token = self._tokens.pop() if self._tokens else ""
        match token:
            case "-":
                return _wrap(-self._read_unary(depth + 1))
            case "+":
                return self._read_unary(depth + 1)
            case "!":
                return int(not self._read_unary(depth + 1))
            case "~":
                return ~self._read_unary(depth + 1)
            case "(":
                value = self._read_choice(depth + 1)
                self._take(")")
                return value
            case _:
                return self._read_value(token)

    def _read_value(self, token: str) -> int:
        if token[:1].isalpha() or token[:1] == "_":
            text = self._variables.get(token, "").strip() or "0"
        elif token[:1].isdigit():
            text = token
        else:
            raise ArithmeticProblem(f"{self._text}: unexpected '{token or 'end of expression'}'")
        found = re.fullmatch(r"([-+]?)(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})", text)
        if found is None:
            raise ArithmeticProblem(f"{text}: bad number")
        digits = found[2]
        value = int(digits, 16) if digits[:2] in {"0x", "0X"} else int(digits)
        return _wrap(-value if found[1] == "-" else value)
