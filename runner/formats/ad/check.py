"""Everything that can be said against the steps of one `.ad` script without a device.

Pure. Unknown and unsupported commands, operands that can never work, selectors that cannot be
read, refs, and texts that no device can carry. Nothing is raised.

May be imported by: runner.preflight, runner.cli. Imports: runner.errors, runner.model,
runner.formats.ad.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from runner.errors import InputError
from runner.formats.ad.commands import COMMANDS, RENAMED, target_operands
from runner.formats.ad.script import Action, AdNode, AdScript, EnvLine, Include
from runner.formats.ad.selector import parse_selector
from runner.formats.ad.variables import neutralize, walk_texts
from runner.model.finding import Finding
from runner.reasons import REASONS


def check_actions(script: AdScript, *, path: str) -> tuple[Finding, ...]:
    """Return what is wrong with the steps of a script, in the order of its lines.

    Reasons: `command_unknown`, `command_unsupported`, `arguments_invalid`, `selector_invalid`,
    `ref_without_session`, `text_unencodable`.
    """
    found = [finding for line in script.env for finding in _check_encoding(line, path)]
    for node in script.nodes:
        found += _check_encoding(node, path)
        if isinstance(node, Action):
            found += _check_action(node, path)
    return tuple(found)


def _check_action(action: Action, path: str) -> Iterator[Finding]:
    command = COMMANDS.get(action.command)
    if command is None:
        yield _report_unknown(action, path)
        return
    if not command.supported:
        yield _finding(
            action,
            path,
            "command_unsupported",
            f"this version does not run `{action.command}`",
            {"command": action.command},
        )
        return
    problems = list(command.check(action)) if command.check else []
    for problem in problems:
        yield _finding(
            action,
            path,
            "arguments_invalid",
            problem,
            {"command": action.command, "usage": command.usage},
            hint=f"Usage: {command.usage}.",
        )
    if not problems:
        yield from _check_targets(action, path)


def _check_targets(action: Action, path: str) -> Iterator[Finding]:
    texts = []
    for text in target_operands(action):
        if not text.startswith("@"):
            texts.append(text)
            continue
        message = f"{text[:80]} is a ref, which only the session that gave it can resolve"
        yield _finding(action, path, "ref_without_session", message, {"ref": text[:256]})
    texts += [action.flags["until"]] if "until" in action.flags else []
    for text in texts:
        try:
            parse_selector(neutralize(text))
        except InputError as error:
            details = {**error.details, "selector": text[:2000], "command": action.command}
            if "${" in text:
                details.pop("offset", None)  # It counts in the text with words for variables.
            yield _finding(action, path, error.reason, error.message, details, hint=error.hint)


def _report_unknown(action: Action, path: str) -> Finding:
    word = action.command
    nearest = RENAMED.get(word) or next(
        iter(get_close_matches(word.lower()[:80], COMMANDS, n=1, cutoff=0.6)), None
    )
    return _finding(
        action,
        path,
        "command_unknown",
        f"there is no command {word[:80]!r}" + (f"; the closest is `{nearest}`" if nearest else ""),
        {"command": word[:80], "nearest": nearest},
    )


def _check_encoding(node: AdNode | EnvLine, path: str) -> Iterator[Finding]:
    """Report a text with half of a surrogate pair: only an escape can have brought it in."""
    match node:
        case EnvLine(value=value):
            text = value
        case Include(locator=locator):
            text = locator
        case _:
            parts = (node.flags, node.runtime, node.evidence, node.evidences, node.label)
            more = [inner for part in parts if part for inner in walk_texts(part)]
            text = "\n".join((node.command, *node.positionals, *more))
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        yield Finding(
            reason="text_unencodable",
            path=path,
            line=node.line,
            column=1 if isinstance(node, EnvLine) else node.column,
            message=f"the line holds \\u{ord(text[error.start]):04x}, half of a character",
            hint=REASONS["text_unencodable"].fix,
        )


def _finding(
    action: Action,
    path: str,
    reason: str,
    message: str,
    details: dict[str, Any],
    *,
    hint: str = "",
) -> Finding:
    return Finding(
        reason=reason,
        path=path,
        line=action.line,
        column=action.column,
        message=message,
        details=details,
        hint=hint or REASONS[reason].fix,
    )
