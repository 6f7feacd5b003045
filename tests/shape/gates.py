"""The structural gates as functions from source text to violations.

Each is run over the product by the tests beside it, and over a planted violation, so that a gate
that sees nothing cannot pass for a clean tree.
"""

import ast
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("runner", "drivers", "grid")

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60

IMPURE_MODULES = frozenset(
    {"trio", "os", "time", "random", "secrets", "socket", "subprocess", "threading", "io", "shutil"}
)
IMPURE_CALLS = frozenset({"open", "print", "input"})
IMPURE_ATTRIBUTES = frozenset(
    {"now", "utcnow", "today", "environ", "getenv", "read_text", "read_bytes"}
)


def product_modules() -> dict[str, Path]:
    """Return every product module by its path relative to the repository."""
    return {
        path.relative_to(ROOT).as_posix(): path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def impurities(source: str) -> Iterator[str]:
    """Find what a pure module must not do: wait, read, tell the time, or draw lots."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.AsyncFunctionDef(name=name, lineno=line):
                yield f"line {line}: async def {name}"
            case ast.Import(names=names, lineno=line):
                for alias in names:
                    if alias.name.split(".")[0] in IMPURE_MODULES:
                        yield f"line {line}: import {alias.name}"
            case ast.ImportFrom(module=str(module), lineno=line):
                if module.split(".")[0] in IMPURE_MODULES or module == "runner.clock":
                    yield f"line {line}: from {module} import"
            case ast.Call(func=ast.Name(id=name), lineno=line) if name in IMPURE_CALLS:
                yield f"line {line}: {name}()"
            case ast.Attribute(attr=attr, lineno=line) if attr in IMPURE_ATTRIBUTES:
                yield f"line {line}: .{attr}"
            case ast.Global(lineno=line):
                yield f"line {line}: global"


def oversizes(source: str, *, allowed: Container[str] = ()) -> Iterator[str]:
    """Find a module or function that is too long to hold one concept.

    `allowed` names functions that may be longer.
    """
    lines = source.count("\n")
    if lines > MAX_MODULE_LINES:
        yield f"module has {lines} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in allowed:
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield f"{node.name} has {length} lines"


def missing_docstring_lines(source: str) -> Iterator[str]:
    """Find a module that does not say who may import it."""
    text = ast.get_docstring(ast.parse(source)) or ""
    if not text:
        yield "no module docstring"
    elif "May be imported by:" not in text:
        yield "the docstring does not say who may import the module"


def string_constants(source: str) -> set[str]:
    """Return every string literal of a module."""
    return {
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def unproduced_reasons(
    reasons: Iterable[str], product: Mapping[str, str], tests: Mapping[str, str]
) -> Iterator[str]:
    """Find reasons that no product module names, or that no test names.

    Both maps are from path to source text.
    """
    made: set[str] = set().union(*(string_constants(text) for text in product.values()))
    tested = "\n".join(tests.values())
    for reason in sorted(reasons):
        if reason not in made:
            yield f"{reason}: no product module produces it"
        if not re.search(rf"\b{re.escape(reason)}\b", tested):
            yield f"{reason}: no test sees it"


def undeclared_reasons(reasons: Iterable[str], source: str) -> Iterator[str]:
    """Find `reason="..."` arguments that the table does not declare."""
    declared = set(reasons)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else name
        if not name.endswith("Error") and name not in {"Finding", "Failure"}:
            continue
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg != "reason" or not isinstance(value, ast.Constant):
                continue
            if value.value not in declared:
                yield f"line {node.lineno}: {value.value!r} is not declared"
