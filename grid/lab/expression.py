"""The small language of lab app files: conditions over state, and texts with holes.

Pure and total: `parse_expression` and `parse_template` refuse what is not in the grammar, and
`check_expression` refuses unknown names and wrong types, so `evaluate` cannot fail afterwards.

    or < and < not < == != < <= > >= < + - < * < -x, number, 'text', true, false, [], name, f(x)
    functions: len(list or text) sum(list) item(list, n) append(list, number)

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NoReturn, TypeAlias, final

from msgspec import Struct

Value: TypeAlias = str | int | tuple[int, ...]
"""A truth value is a bool, which is an int; lists hold numbers."""

ValueType: TypeAlias = Literal["text", "number", "truth", "list"]

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d{1,9})|'(?P<text>[^']*)'|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>==|!=|<=|>=|[-+*<>(),\[\]]))"
)
_COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=")
_FUNCTIONS: Final[Mapping[str, tuple[ValueType, ...]]] = {
    "len": ("list",),
    "sum": ("list",),
    "item": ("list", "number"),
    "append": ("list", "number"),
}
_MAX_DEPTH: Final = 40
_MAX_LENGTH: Final = 2_000


class Term(Struct, frozen=True):
    """One node of a parsed expression: a constant, a name, or an operation over terms."""

    op: str
    args: tuple["Term", ...] = ()
    value: Value = ""


@final
class Expression:
    """A parsed expression and the text it came from."""

    def __init__(self, text: str, root: Term) -> None:
        self.text = text
        self.root = root

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


@final
class Template:
    """A text with expressions in braces, as `Product {n}`."""

    def __init__(self, text: str, parts: tuple[str | Expression, ...]) -> None:
        self.text = text
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Template({self.text!r})"


EMPTY_TEMPLATE: Final = Template("", ())


def type_of(value: Value) -> ValueType:
    """Return the type of a value."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "number"
    return "text" if isinstance(value, str) else "list"


def parse_expression(text: str) -> Expression:
    """Parse an expression. Raises ValueError with what is wrong."""
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"the expression is longer than {_MAX_LENGTH} characters")
    parser = _Parser(text)
    root = parser.read_or(0)
    parser.expect_end()
    return Expression(text, root)


def parse_template(text: str) -> Template:
    """Parse a text with `{expression}` holes. Raises ValueError with what is wrong."""
    parts: list[str | Expression] = []
    rest = text
    while rest:
        before, opening, after = rest.partition("{")
        if "}" in before:
            raise ValueError("a '}' has no '{' before it")
        if before:
            parts.append(before)
        if not opening:
            break
        inside, closing, rest = after.partition("}")
        if not closing:
            raise ValueError("a '{' is not closed")
        parts.append(parse_expression(inside))
    return Template(text, tuple(parts))


def check_expression(expression: Expression, names: Mapping[str, ValueType]) -> ValueType:
    """Return the type of an expression. Raises ValueError on unknown names and wrong types."""
    return _check(expression.root, names)


def expressions_in(template: Template) -> Iterator[Expression]:
    """Yield the expressions of a template."""
    yield from (part for part in template.parts if isinstance(part, Expression))


def evaluate(expression: Expression, names: Mapping[str, Value]) -> Value:
    """Return the value of a checked expression."""
    return _evaluate(expression.root, names)


def is_true(expression: Expression, names: Mapping[str, Value]) -> bool:
    """Return the value of a checked condition."""
    return bool(evaluate(expression, names))


def render_template(template: Template, names: Mapping[str, Value]) -> str:
    """Fill a checked template."""
    return "".join(
        part if isinstance(part, str) else str(evaluate(part, names)) for part in template.parts
    )


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            found = _TOKEN.match(stripped, at)
            if found is None:
                raise ValueError(f"{stripped[at:].strip()[:10]!r} is not understood")
            self._tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            at = found.end()

    def read_or(self, depth: int) -> Term:
        if depth > _MAX_DEPTH:
            raise ValueError("the expression is nested too deeply")
        term = self._read_and(depth + 1)
        while self._take("or"):
            term = Term("or", (term, self._read_and(depth + 1)))
        return term

    def expect_end(self) -> None:
        if self._at < len(self._tokens):
            self._fail()

    def _read_and(self, depth: int) -> Term:
        term = self._read_not(depth)
        while self._take("and"):
            term = Term("and", (term, self._read_not(depth)))
        return term

    def _read_not(self, depth: int) -> Term:
        count = 0
        while self._take("not"):
            count += 1
        term = self._read_comparison(depth)
        return Term("not", (term,)) if count % 2 else term

    def _read_comparison(self, depth: int) -> Term:
        term = self._read_sum(depth)
        for operator in _COMPARISONS:
            if self._take(operator):
                return Term(operator, (term, self._read_sum(depth)))
        return term

    def _read_sum(self, depth: int) -> Term:
        term = self._read_product(depth)
        while True:
            if self._take("+"):
                term = Term("+", (term, self._read_product(depth)))
            elif self._take("-"):
                term = Term("-", (term, self._read_product(depth)))
            else:
                return term

    def _read_product(self, depth: int) -> Term:
        term = self._read_atom(depth)
        while self._take("*"):
            term = Term("*", (term, self._read_atom(depth)))
        return term

    def _read_atom(self, depth: int) -> Term:
        if self._at >= len(self._tokens):
            raise ValueError("the expression ends too early")
        group, text = self._tokens[self._at]
        self._at += 1
        if group == "number":
            return Term("value", value=int(text))
        if group == "text":
            return Term("value", value=text)
        if text in ("true", "false"):
            return Term("value", value=text == "true")
        if group == "name" and text not in ("and", "or", "not"):
            return self._read_call(text, depth) if self._take("(") else Term("name", value=text)
        if text == "(":
            term = self.read_or(depth)
            self._expect(")")
            return term
        if text == "[":
            self._expect("]")
            return Term("value", value=())
        self._at -= 1
        return self._fail()

    def _read_call(self, name: str, depth: int) -> Term:
        if name not in _FUNCTIONS:
            raise ValueError(f"there is no function {name!r} (there are: {', '.join(_FUNCTIONS)})")
        args: list[Term] = []
        while not self._take(")"):
            if args:
                self._expect(",")
            args.append(self.read_or(depth))
        if len(args) != len(_FUNCTIONS[name]):
            raise ValueError(f"{name} takes {len(_FUNCTIONS[name])} arguments, not {len(args)}")
        return Term(name, tuple(args))

    def _take(self, text: str) -> bool:
        if self._at < len(self._tokens):
            group, found = self._tokens[self._at]
            if group != "text" and found == text:
                self._at += 1
                return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise ValueError(f"a {text!r} is missing")

    def _fail(self) -> NoReturn:
        raise ValueError(f"{self._tokens[self._at][1]!r} does not fit there")


def _check(term: Term, names: Mapping[str, ValueType]) -> ValueType:
    op = term.op
    if op == "value":
        return type_of(term.value)
    if op == "name":
        name = str(term.value)
        if name not in names:
            raise ValueError(f"there is no variable {name!r} (there are: {', '.join(names)})")
        return names[name]
    types = tuple(_check(arg, names) for arg in term.args)
    if op in ("and", "or", "not"):
        _require(op, types, tuple("truth" for _ in types))
        return "truth"
    if op in ("==", "!="):
        _require(op, types, (types[0], types[0]))
        return "truth"
    if op in _COMPARISONS:
        _require(op, types, ("number", "number"))
        return "truth"
    if op == "+" and types == ("text", "text"):
        return "text"
    if op == "len" and types == ("text",):
        return "number"
    if op in _FUNCTIONS:
        _require(op, types, _FUNCTIONS[op])
        return "list" if op == "append" else "number"
    _require(op, types, ("number", "number"))
    return "number"


def _require(op: str, found: Sequence[str], wanted: Sequence[str]) -> None:
    if tuple(found) != tuple(wanted):
        raise ValueError(f"{op!r} takes {' and '.join(wanted)}, not {' and '.join(found)}")


def _evaluate(term: Term, names: Mapping[str, Value]) -> Value:
    op = term.op
    if op == "value":
        return term.value
    if op == "name":
        return names[str(term.value)]
    if op in ("and", "or"):
        first = bool(_evaluate(term.args[0], names))
        return bool(_evaluate(term.args[1], names)) if first == (op == "and") else first
    args = tuple(_evaluate(arg, names) for arg in term.args)
    if op == "not":
        return not args[0]
    if op in ("==", "!="):
        return (args[0] == args[1]) == (op == "==")
    if op == "+" and isinstance(args[0], str):
        return args[0] + str(args[1])
    if op == "len":
        return len(args[0]) if isinstance(args[0], str | tuple) else 0
    if op in _FUNCTIONS:
        return _apply(op, args)
    return _compute(op, _number(args[0]), _number(args[1]))


def _apply(op: str, args: tuple[Value, ...]) -> Value:
    items = args[0] if isinstance(args[0], tuple) else ()
    if op == "sum":
        return sum(items)
    number = _number(args[1])
    if op == "append":
        return (*items, number)
    return items[number - 1] if 1 <= number <= len(items) else 0


def _compute(op: str, left: int, right: int) -> Value:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            # Numbers stay small whatever an app file multiplies.
            return max(-(10**12), min(10**12, left * right))
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
