"""The writer of `.ad` scripts: a typed script in, its canonical text out.

Pure. What is written reads back equal at the same level, source lines apart, and one script has
one text. A script that no text says is refused: options are recognised after unquoting, so quotes
do not protect an operand that looks like one, and words that a command joins or drops do not come
back. Nothing is left out: a `snapshot` or a default that is stated stays.

    flat            context, env                             actions
    composition     context, env, composition-v1             actions and includes
    fragment        fragment-v1, context, env                actions and includes

The guard of a root stands last, so that a reader that does not know it still sees the header.

May be imported by: runner.formats.ad, runner.record, runner.cli, tests. Imports: runner.errors,
runner.model, runner.formats.ad.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from runner.errors import InputError
from runner.formats.ad.annotation import render_reference, render_target, render_targets
from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.digest import render_steps
from runner.formats.ad.lexer import Level, escape_surrogates
from runner.formats.ad.numbers import SPACES
from runner.formats.ad.options import Option
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import Action, AdNode, AdScript, Context, Include
from runner.model.digest import render_canonical

_WORD: Final = re.compile(r"(?!env\Z)[A-Za-z][A-Za-z0-9-]*\Z")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?\Z")
_PLAIN: Final = re.compile(rf"[^{SPACES}\"'\\\ud800-\udfff]+\Z")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LABEL_AT: Final = {"get": 2}
"""Where the display label of a ref stands among the operands; elsewhere it is the second."""
_SHOWN: Final = 80
_NO_FORM: Final = (TypeError, ValueError, KeyError, RecursionError)
"""What rendering raises for a value that is not JSON, or no record."""


def write_script(script: AdScript, *, level: Level = "main") -> str:
    """Return the canonical text of `script`, which reads back equal at `level`.

    Reason: `script_unwritable`, with the `step` (from 1, includes counted), the `part` of it and,
    for an operand, its number from 1 in the details.
    """
    lines = _write_header(script, level)
    for step, node in enumerate(script.nodes, 1):
        lines += _write_node(node, step, level)
    text = _join(lines)
    read = _read_back(text, level)
    if not isinstance(read, AdScript) or _identity(read) != _identity(script):
        # Every part was read back by itself, so it is the whole, such as its size.
        why = read if isinstance(read, str) else "the whole does not read back as its parts do"
        raise _unwritable(why, part="script")
    return text


class _Fault(NamedTuple):
    """Why a step does not come back, and which part of it."""

    why: str
    part: str
    operand: int | None = None
    option: str | None = None


def _write_header(script: AdScript, level: Level) -> list[str]:
    """Return the lines before the first step. Reason: `script_unwritable`."""
    if len(script.guards) > 1 or not script.guard_is_first:
        raise _unwritable("its guard is not alone, or not the first of its lines", part="guard")
    if any(guard.version != 1 for guard in script.guards):
        raise _unwritable("its guard is of a later version of the format", part="guard")
    guard = [f"{guard.kind}-v1" for guard in script.guards]
    rest = [
        *_context_lines(script.context),
        *(f"env {e.key}={_quote(e.value)}" for e in script.env),
    ]
    lines = [*guard, *rest] if guard == ["fragment-v1"] else [*rest, *guard]
    read = _read_back(_join(lines), level)
    if isinstance(read, str):
        raise _unwritable(f"its header is no header: {read}", part="header")
    if read.context != script.context:
        raise _unwritable("its context holds a value that the format has not", part="context")
    env = {each.key: each.value for each in read.env}
    for each in script.env:
        if env.get(each.key) != each.value:
            why = f"the value of the variable {each.key[:_SHOWN]} does not read back equal"
            raise _unwritable(why, part="env", key=each.key[:_SHOWN])
    return lines


def _context_lines(context: Context) -> Iterator[str]:
    stated = {
        "platform": context.platform,
        "target": context.target,
        "timeout": context.timeout_ms,
        "retries": context.retries,
    }
    words = [f"{key}={value}" for key, value in stated.items() if value is not None]
    if words:
        yield " ".join(("context", *words))


def _write_node(node: AdNode, step: int, level: Level) -> list[str]:
    """Return the lines of one step. Reason: `script_unwritable`."""
    faults: list[_Fault] = []
    try:
        identity = _node_identity(node)
        for lines in _spellings(node, level):
            found = _find_fault(node, identity, lines, level)
            if found is None:
                return lines
            faults.append(found)
    except _NO_FORM as error:
        faults.append(_Fault(f"it holds a value without a JSON form ({error})", "value"))
    raise _unwritable_step(node, step, faults[0])  # That of the usual spelling says most.


def _spellings(node: AdNode, level: Level) -> Iterator[list[str]]:
    """Yield the lines that may say `node`, the usual ones first."""
    if isinstance(node, Include):
        line = f"include {_quote(node.locator)}"
        is_pinned = node.reference_version == 1
        comment = [render_reference(node.call_site_id, node.digest)] if is_pinned else []
        yield [*comment, line]
        return
    comments = []
    if node.evidence is not None:
        comments.append(render_target(node.evidence))
    if node.evidences is not None:
        comments.append(render_targets(node.evidences))
    word = node.command if _WORD.match(node.command) else _quote(node.command)
    operands, options = list(_operand_words(node)), list(_option_words(node, level))
    yield [*comments, " ".join((word, *operands, *options))]
    if operands and options:
        # An option's name at the very end of a line, with no value behind it, is an operand.
        yield [*comments, " ".join((word, *options, *operands))]
    is_pair = len(operands) == len(node.positionals) == 2
    if node.command == "fill" and is_pair and node.positionals[1][:1] == " ":
        # Two numbers are a point, blanks included; an empty word is none, and a space is joined.
        parts = operands[0], '""', _spell(node.positionals[1][1:])
        yield [*comments, " ".join((word, *parts, *options))]


def _operand_words(action: Action) -> Iterator[str]:
    label_at = _LABEL_AT.get(action.command, 1)
    for at, text in enumerate(action.positionals):
        if at == label_at and action.label is not None:
            yield _spell(action.label)
        is_subcommand = action.command == "record" and at == 0
        yield _spell(text, is_bare=is_subcommand)
    if action.label is not None and label_at >= len(action.positionals):
        yield _spell(action.label)


def _option_words(action: Action, level: Level) -> Iterator[str]:
    """Yield the options of an action in their order; what no option says is not there."""
    command = COMMANDS.get(action.command)
    for option in command.options if command else ():
        values = action.flags if option.place == "flags" else action.runtime or {}
        value = values.get(option.key)
        is_known = level in ("main", option.since) and value is not None
        if is_known and (option.read or option.fixed is value):
            yield from _spell_option(option, value)


def _spell_option(option: Option, value: Any) -> Iterator[str]:
    yield option.names[0]
    if option.read is None:
        return
    text = value if isinstance(value, str) else render_canonical(value)
    yield _spell(text, is_bare=not option.is_prose)


def _spell(text: str, *, is_bare: bool = False) -> str:
    """Return one word as a token; `is_bare` where a word without quotes may stay so."""
    if _NUMBER.match(text) or ((is_bare or text[:1] == "@") and _PLAIN.match(text)):
        return text
    return _quote(text)


def _quote(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isascii() else _SURROGATE.sub(_escape, quoted)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _find_fault(node: AdNode, identity: object, lines: list[str], level: Level) -> _Fault | None:
    """Return what the lines of a step do not say, if anything."""
    read = _read_back(_join(lines), level)
    if isinstance(read, str):
        return _Fault(f"it reads back as an error: {read}", "line")
    if len(read.nodes) == 1 and _node_identity(read.nodes[0]) == identity:
        return None
    back = read.nodes[0] if len(read.nodes) == 1 else None
    if isinstance(node, Include):
        return _Fault("its reference or locator does not read back equal", "reference")
    if not isinstance(back, Action) or back.command != node.command:
        return _Fault(f"{node.command[:_SHOWN]!r} is no word of an action", "command")
    return _find_difference(node, back)


def _find_difference(node: Action, back: Action) -> _Fault:
    """Return the first part of an action that reads back as something else."""
    for stated, found in ((node.flags, back.flags), (node.runtime or {}, back.runtime or {})):
        for key, value in stated.items():
            if key not in found or render_canonical(found[key]) != render_canonical(value):
                why = f"its option {key[:_SHOWN]!r} does not read back equal"
                return _Fault(why, "option", option=key)
    for number, (word, other) in enumerate(zip_longest(node.positionals, back.positionals), 1):
        if word != other:
            shown = f"operand {number}" + ("" if word is None else f", {word[:_SHOWN]!r},")
            return _Fault(f"its {shown} does not read back equal", "operand", operand=number)
    if node.label != back.label:
        return _Fault("its display label does not read back equal", "label")
    if (node.flags, node.runtime) != (back.flags, back.runtime):
        return _Fault("its options do not read back equal", "option")
    return _Fault("its evidence does not read back equal", "evidence")


def _read_back(text: str, level: Level) -> AdScript | str:
    """Return what `text` says at `level`, or why it says nothing."""
    try:
        read = read_script(text.encode(), path="", level=level)
    except UnicodeEncodeError:
        return "it holds half of a character"
    return read.findings[0].message if read.findings else read.script


def _identity(script: AdScript) -> object:
    """Return what of a script counts: everything but where it stands."""
    return (
        script.context,
        [(each.key, each.value) for each in script.env],
        [(guard.kind, guard.version) for guard in script.guards],
        script.guard_is_first,
        [_node_identity(node) for node in script.nodes],
    )


def _node_identity(node: AdNode) -> object:
    # The canonical text tells true from 1, and 1 from no other spelling of it.
    own = (node.reference_version, node.problem) if isinstance(node, Include) else (node.label,)
    return type(node), own, render_steps([node])


def _join(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _unwritable_step(node: AdNode, step: int, fault: _Fault) -> InputError:
    command = "include" if isinstance(node, Include) else node.command
    return _unwritable(
        f"step {step} (`{command[:_SHOWN]}`): {fault.why}",
        part=fault.part,
        step=step,
        command=command[:_SHOWN],
        operand=fault.operand,
        option=fault.option,
    )


def _unwritable(why: str, **details: Any) -> InputError:
    return InputError(
        reason="script_unwritable",
        message=f"cannot write the script: {escape_surrogates(why)}",
        details={
            key: escape_surrogates(value) if isinstance(value, str) else value
            for key, value in details.items()
            if value is not None
        },
    )
