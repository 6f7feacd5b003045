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
    {
        *("now", "utcnow", "today", "environ", "getenv"),
        *("read_text", "read_bytes", "write_text", "write_bytes", "open", "unlink", "mkdir"),
        *("rmdir", "touch", "iterdir", "glob", "rglob", "stat", "lstat", "is_file", "is_dir"),
        *("resolve", "samefile", "symlink_to", "hardlink_to", "chmod"),
    }
)
MUTATORS = frozenset(
    {
        *("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem"),
        *("remove", "discard", "clear", "appendleft"),
    }
)
CONTAINERS = frozenset({"list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict"})


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


def module_states(source: str) -> Iterator[str]:
    """Find what a module keeps and could change while the program runs.

    A container at module level is a constant: it is declared `Final`, and nothing in the module
    changes it.
    """
    tree = ast.parse(source)
    containers: set[str] = set()
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value, lineno=line):
                if _is_container(value):
                    containers.add(name)
                    if name != "__all__":
                        yield f"line {line}: {name} is not declared Final"
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=value) if value:
                if _is_container(value):
                    containers.add(name)
                    if "Final" not in ast.unparse(kind):
                        yield f"line {node.lineno}: {name} is not declared Final"
    for inner in ast.walk(tree):
        match inner:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), lineno=line):
                if name in containers and attr in MUTATORS:
                    yield f"line {line}: {name}.{attr}()"
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del(), lineno=line):
                if name in containers:
                    yield f"line {line}: {name}[...] is changed"


def _is_container(value: ast.expr) -> bool:
    match value:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in CONTAINERS
    return False


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


def made_strings(source: str) -> set[str]:
    """Return the string literals that a module makes, not those that it only compares with."""
    made: set[str] = set()
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            made.add(node.value)
        elif not isinstance(node, ast.Compare | ast.match_case | ast.Subscript):
            pending += ast.iter_child_nodes(node)
        elif isinstance(node, ast.match_case):
            pending += node.body
    return made


def unproduced_reasons(
    reasons: Iterable[str], product: Mapping[str, str], tests: Mapping[str, str]
) -> Iterator[str]:
    """Find reasons that no product module makes, or that no test names.

    Both maps are from path to source text.
    """
    made: set[str] = set().union(*(made_strings(text) for text in product.values()))
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
