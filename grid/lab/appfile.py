"""Lab app files: a simulated app as data, read from TOML and checked whole before it runs.

An app is screens of node trees, variables (`saved` ones outlive the process, `memory` ones do
not), and rules. A list of rules is carried out by its first rule whose `when` holds. All names and
types are checked here, so a loaded app cannot fail while it runs.

May be imported by: grid.lab, runner.cli, tests. Imports: grid.lab, runner.errors.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from grid.lab.expression import (
    EMPTY_TEMPLATE,
    Expression,
    Template,
    Value,
    ValueType,
    check_expression,
    expressions_in,
    parse_expression,
    parse_template,
    type_of,
)
from grid.lab.node import NodeKind
from runner.errors import InputError

MAX_FILE_BYTES: Final = 1 << 20
ROW_VARIABLE: Final = "n"
_BUILT_KINDS: Final = ("screen", "window", "alert", "keyboard", "key")
_FIELD_KINDS: Final = ("field", "secure_field")


Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, le=600_000)]
Length: TypeAlias = Annotated[float, Meta(ge=0, le=1_000_000)]
Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
PackageId: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$", max_length=200)
]
"""What both platforms take as an app's id: parts of letters, digits and `_`, joined by dots."""


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens, if `when` holds: assignments in order, then at most one of the rest.

    `goto` opens a screen after the app's transition time; `prompt` shows a dialog; `focus` puts
    the caret into a field; `press` does what tapping a node does; `leave` shows the launcher;
    `crash` ends the process.
    """

    when: Expression | None = None
    set: dict[str, Expression] = msgspec.field(default_factory=dict)
    goto: str = ""
    prompt: str = ""
    focus: str = ""
    press: str = ""
    leave: bool = False
    crash: bool = False


class NodeSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One element of a screen, or the pattern of a list's rows (there, `n` is the row, from 1).

    `bind` names the variable that a field or switch shows and changes. `when` and `after_ms` (time
    since the screen opened) decide whether it is there. Without `rect` the layout stacks it.
    """

    kind: NodeKind
    id: Template = EMPTY_TEMPLATE
    text: Template = EMPTY_TEMPLATE
    label: Template = EMPTY_TEMPLATE
    placeholder: str = ""
    bind: str = ""
    accept: Literal["any", "digits"] = "any"
    max_length: Annotated[int, Meta(ge=0, le=100_000)] = 1_000
    when: Expression | None = None
    enabled: Expression | None = None
    after_ms: Milliseconds = 0
    rect: tuple[float, float, float, float] | None = None
    height: Length = 0
    tap: tuple[Rule, ...] = ()
    long_press: tuple[Rule, ...] = ()
    submit: tuple[Rule, ...] = ()
    rows: Expression | None = None
    row_height: Annotated[float, Meta(gt=0, le=10_000)] = 64
    row: "NodeSpec | None" = None
    node: "tuple[NodeSpec, ...]" = ()


class ButtonSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dialog's button. `ios_label` is how iOS spells it, where that differs."""

    id: str
    label: str
    ios_label: str = ""
    dismiss: bool = False
    do: tuple[Rule, ...] = ()


class PromptSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dialog over the app. The system shows a `permission`, the app itself a `dialog`."""

    text: str
    button: tuple[ButtonSpec, ...]
    kind: Literal["permission", "dialog"] = "dialog"
    title: str = ""


class LinkSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A deep link: a URL that starts with `prefix`; the number behind it goes to `number`."""

    prefix: str
    number: str = ""
    do: tuple[Rule, ...] = ()


class ScreenSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One screen: what it shows, what happens when it opens, and what the back key does."""

    id: Name
    node: tuple[NodeSpec, ...] = ()
    enter: tuple[Rule, ...] = ()
    back: tuple[Rule, ...] = ()


class AppSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole app. `start` says which screen a fresh process opens."""

    version: Literal[1]
    id: PackageId
    name: str
    screen: tuple[ScreenSpec, ...]
    start: tuple[Rule, ...]
    version_name: str = "1.0.0"
    version_code: Annotated[int, Meta(ge=1)] = 1
    activity: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.]{1,200}$")] = ".MainActivity"
    transition_ms: Milliseconds = 150
    saved: dict[str, str | bool | int | tuple[int, ...]] = msgspec.field(default_factory=dict)
    memory: dict[str, str | bool | int | tuple[int, ...]] = msgspec.field(default_factory=dict)
    prompt: dict[str, PromptSpec] = msgspec.field(default_factory=dict)
    link: tuple[LinkSpec, ...] = ()

    def initial(self) -> dict[str, Value]:
        """Return all variables with their first values."""
        return {**self.saved, **self.memory}


def load_app(path: Path) -> AppSpec:
    """Read an app file. Reasons: `lab_app_invalid`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            reason="lab_app_invalid",
            message=f"lab app file {path} cannot be read: {error.strerror or error}",
            details={"path": str(path)},
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise _invalid(f"the file is larger than {MAX_FILE_BYTES} bytes", source=str(path))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _invalid(f"byte {error.start} is not UTF-8", source=str(path)) from error
    return parse_app(text, source=str(path))


def parse_app(text: str, *, source: str = "<text>") -> AppSpec:
    """Read an app from TOML text and check it whole. Reasons: `lab_app_invalid`."""
    try:
        app = msgspec.toml.decode(text, type=AppSpec, dec_hook=_decode_hook)
    except msgspec.DecodeError as error:
        raise _invalid(str(error), source=source) from error
    except RecursionError as error:
        raise _invalid("the file is nested too deeply", source=source) from error
    for where, problem in _check_app(app):
        raise _invalid(problem, source=source, where=where)
    return app


def _invalid(problem: str, *, source: str, where: str = "") -> InputError:
    place = f"{source}: {where}" if where else source
    return InputError(
        reason="lab_app_invalid",
        message=f"lab app {place}: {problem}",
        details={"source": source, "key": where, "problem": problem},
    )


def _decode_hook(wanted: type, value: Any) -> Any:
    # msgspec adds the path of the key to a ValueError raised here.
    if not isinstance(value, str):
        raise ValueError(f"expected a text, found {type(value).__name__}")  # noqa: TRY004 -- msgspec translates ValueError only.
    return parse_expression(value) if wanted is Expression else parse_template(value)


def _check_app(app: AppSpec) -> Iterator[tuple[str, str]]:
    """Yield (key, problem) of everything that decoding could not see."""
    names = {name: type_of(value) for name, value in app.initial().items()}
    shared = set(app.saved) & set(app.memory)
    if shared:
        yield "memory", f"{', '.join(sorted(shared))} is in `saved` too"
    if ROW_VARIABLE in names:
        yield "saved", f"{ROW_VARIABLE!r} is the row number and cannot be a variable"
    ids = [screen.id for screen in app.screen]
    if len(ids) != len(set(ids)):
        yield "screen", "two screens have the same id"
    if not any(rule.when is None and rule.goto for rule in app.start):
        yield "start", "the last rule must be a `goto` without `when`"
    yield from _check_rules(app, app.start, names, "start")
    for screen in app.screen:
        where = f"screen {screen.id}"
        yield from _check_rules(app, screen.enter, names, f"{where}: enter")
        yield from _check_rules(app, screen.back, names, f"{where}: back")
        for node in screen.node:
            yield from _check_node(app, node, names, where)
    for name, prompt in app.prompt.items():
        if sum(button.dismiss for button in prompt.button) != 1:
            yield f"prompt {name}", "exactly one button must say `dismiss = true`"
        for button in prompt.button:
            yield from _check_rules(app, button.do, names, f"prompt {name}: {button.id}")
    for link in app.link:
        if link.number and names.get(link.number) != "number":
            yield f"link {link.prefix}", f"{link.number!r} is not a number variable"
        yield from _check_rules(app, link.do, names, f"link {link.prefix}")


def _check_node(
    app: AppSpec, node: NodeSpec, names: Mapping[str, ValueType], where: str
) -> Iterator[tuple[str, str]]:
    where = f"{where}: {node.kind} {node.id.text}".rstrip()
    if node.kind in _BUILT_KINDS:
        yield where, f"the phone itself makes the kind {node.kind!r}"
    if node.kind in _FIELD_KINDS and names.get(node.bind) != "text":
        yield where, f"`bind` {node.bind!r} is not a text variable"
    if node.kind == "switch" and names.get(node.bind) != "truth":
        yield where, f"`bind` {node.bind!r} is not a truth variable"
    if node.kind == "list" and (node.rows is None or node.row is None or node.row_height <= 0):
        yield where, "a list needs `rows`, `row` and a positive `row_height`"
    for key, condition in (("when", node.when), ("enabled", node.enabled)):
        yield from _check_type(condition, names, "truth", f"{where}: {key}")
    yield from _check_type(node.rows, names, "number", f"{where}: rows")
    for template in (node.id, node.text, node.label):
        for expression in expressions_in(template):
            yield from _check_type(expression, names, None, where)
    for key, rules in (("tap", node.tap), ("press", node.long_press), ("submit", node.submit)):
        yield from _check_rules(app, rules, names, f"{where}: {key}")
    for child in node.node:
        yield from _check_node(app, child, names, where)
    if node.row is not None:
        yield from _check_node(app, node.row, {**names, ROW_VARIABLE: "number"}, where)


def _check_rules(
    app: AppSpec, rules: tuple[Rule, ...], names: Mapping[str, ValueType], where: str
) -> Iterator[tuple[str, str]]:
    node_ids = {spec.id.text for screen in app.screen for spec in _nodes_of(screen.node)}
    for rule in rules:
        yield from _check_type(rule.when, names, "truth", f"{where}: when")
        for name, expression in rule.set.items():
            if name not in names or name == ROW_VARIABLE:
                yield where, f"`set` names {name!r}, which is no variable"
            else:
                yield from _check_type(expression, names, names[name], f"{where}: set {name}")
        if rule.goto and rule.goto not in {screen.id for screen in app.screen}:
            yield where, f"there is no screen {rule.goto!r}"
        if rule.prompt and rule.prompt not in app.prompt:
            yield where, f"there is no prompt {rule.prompt!r}"
        for target in (rule.focus, rule.press):
            if target and target not in node_ids:
                yield where, f"there is no node {target!r}"


def _nodes_of(nodes: tuple[NodeSpec, ...]) -> Iterator[NodeSpec]:
    for node in nodes:
        yield node
        yield from _nodes_of(node.node)


def _check_type(
    expression: Expression | None,
    names: Mapping[str, ValueType],
    wanted: ValueType | None,
    where: str,
) -> Iterator[tuple[str, str]]:
    if expression is None:
        return
    try:
        found = check_expression(expression, names)
    except ValueError as error:
        yield where, f"in {expression.text!r}: {error}"
        return
    if wanted is not None and found != wanted:
        yield where, f"{expression.text!r} is a {found}, not a {wanted}"
