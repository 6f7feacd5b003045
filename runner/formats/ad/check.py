"""Everything that can be said against the steps of one `.ad` script without a device.

Pure. Unknown and unsupported commands, operands that can never work, selectors that cannot be
read, refs, and texts that no device can carry. Nothing is raised.

May be imported by: runner.preflight, runner.cli. Imports: runner.errors, runner.model,
runner.formats.ad.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final, final

from msgspec.structs import replace

from runner.errors import InputError
from runner.formats.ad.commands import COMMANDS, target_operands
from runner.formats.ad.lexer import escape_surrogates
from runner.formats.ad.place import Places
from runner.formats.ad.script import Action, AdNode, AdScript, EnvLine, Include
from runner.formats.ad.selector import check_selector, looks_like_selector
from runner.formats.ad.spelling import UnknownWord, explain_unknown
from runner.formats.ad.usage import Misuse
from runner.formats.ad.variables import action_texts, mask_references, walk_texts
from runner.model.finding import Finding
from runner.reasons import REASONS

FINDING_LIMIT: Final = 1_000
"""Findings of one file; the last says that more may follow."""


def check_actions(
    script: AdScript, *, path: str, places: Places | None = None, is_encodable: bool = False
) -> tuple[Finding, ...]:
    """Return what is wrong with the steps of a script, in the order of its lines.

    With the `places` of its source, findings point at operands instead of at whole lines. A line
    that holds what cannot be encoded is not looked at further; `is_encodable` tells that there is
    none.

    Reasons: `command_unknown`, `command_unsupported`, `arguments_invalid`, `selector_invalid`,
    `ref_without_session`, `text_unencodable`.
    """
    check = _Check(path, places, is_encodable=is_encodable)
    findings = tuple(islice(check.findings(script), FINDING_LIMIT))
    if len(findings) < FINDING_LIMIT:
        return findings
    last = findings[-1]
    message = f"{last.message} (the problems of this file behind this one are not listed)"
    return (*findings[:-1], replace(last, message=message))


@final
class _Check:
    """The check of one script."""

    def __init__(self, path: str, places: Places | None, *, is_encodable: bool) -> None:
        self._path = path
        self._is_encodable = is_encodable
        self._places = places
        self._unknown: dict[str, UnknownWord] = {}

    def findings(self, script: AdScript) -> Iterator[Finding]:
        for line in script.env:
            yield from self._check_env(line)
        for node in script.nodes:
            if not (self._is_encodable or _is_encodable(node)):
                yield self._report_encoding(node)
            elif isinstance(node, Action):
                yield from self._check_action(node)

    def _check_action(self, action: Action) -> Iterator[Finding]:
        command = COMMANDS.get(action.command)
        if command is None:
            yield self._report_unknown(action)
            return
        if not command.supported:
            yield self._finding(
                action,
                "command_unsupported",
                f"this version does not run `{action.command}`",
                {"command": action.command},
            )
            return
        problems = list(command.judge(action)) if command.judge else []
        for problem in problems:
            yield self._finding(
                action,
                "arguments_invalid",
                problem.message,
                {"command": action.command, "usage": command.usage},
                column=self._misuse_column(action, problem),
                hint=f"Usage: {command.usage}.",
            )
        if not problems:
            yield from self._check_targets(action)

    def _misuse_column(self, action: Action, problem: Misuse) -> int:
        if self._places is None:
            return action.column
        if problem.option:
            return self._places.option(action, problem.option)
        if problem.operand is not None:
            return self._places.operand(action, problem.operand)
        return action.column

    def _check_targets(self, action: Action) -> Iterator[Finding]:
        targets = [(text, "") for text in target_operands(action)]
        if action.command == "scroll" and "until" in action.flags:
            targets.append((action.flags["until"], "until"))
        for text, option in targets:
            if text.startswith("@"):
                yield self._report_ref(action, text, option)
                continue
            try:
                check_selector(text, mask_references(text))
            except InputError as error:
                yield self._report_selector(action, text, option, error)

    def _report_ref(self, action: Action, text: str, option: str) -> Finding:
        return self._finding(
            action,
            "ref_without_session",
            f"{text[:80]} is a ref, which only the session that gave it can resolve",
            {"ref": text[:256]},
            column=self._subject_column(action, text, 0, option),
        )

    def _report_selector(
        self, action: Action, text: str, option: str, error: InputError
    ) -> Finding:
        hint = error.hint
        if action.command == "wait" and not looks_like_selector(text):
            hint = f"{REASONS[error.reason].fix} To wait for a text, write `wait text ...`."
        return self._finding(
            action,
            error.reason,
            error.message,
            {**error.details, "command": action.command},
            column=self._subject_column(action, text, error.details["offset"], option),
            hint=hint,
        )

    def _subject_column(self, action: Action, text: str, offset: int, option: str) -> int:
        if self._places is None:
            return action.column
        return self._places.subject(action, text, offset, option=option)

    def _report_unknown(self, action: Action) -> Finding:
        word = action.command
        if word not in self._unknown:  # The search for what was meant is slow.
            self._unknown[word] = explain_unknown(word)
        message, nearest = self._unknown[word]
        return self._finding(
            action, "command_unknown", message, {"command": word[:80], "nearest": nearest}
        )

    def _check_env(self, line: EnvLine) -> Iterator[Finding]:
        if (half := _find_half(line.value)) is not None:
            column = self._places.value(line.line) if self._places else 1
            yield self._encoding(line.line, column, half)

    def _report_encoding(self, node: AdNode) -> Finding:
        """Report half of a surrogate pair, which only an escape can have brought in."""
        half = _find_half("\n".join(_own_texts(node)))
        if half is not None:
            column = self._places.surrogate(node.line) if self._places else node.column
            return self._encoding(node.line, column, half)
        # It stands in the evidence, and that is the comment of the line before.
        half = _find_half("\n".join(_evidence_texts(node))) or ""
        line = node.line - 1
        return self._encoding(line, self._places.start(line) if self._places else 1, half)

    def _encoding(self, line: int, column: int, half: str) -> Finding:
        return Finding(
            reason="text_unencodable",
            path=self._path,
            line=line,
            column=column,
            message=f"the line holds {escape_surrogates(half)}, half of a character",
            hint=REASONS["text_unencodable"].fix,
        )

    def _finding(
        self,
        action: Action,
        reason: str,
        message: str,
        details: dict[str, Any],
        *,
        column: int = 0,
        hint: str = "",
    ) -> Finding:
        return Finding(
            reason=reason,
            path=self._path,
            line=action.line,
            column=column or action.column,
            message=message,
            details=details,
            hint=hint or REASONS[reason].fix,
        )


def _own_texts(node: AdNode) -> Iterator[str]:
    """Yield the texts that stand on the line of a node."""
    if isinstance(node, Include):
        yield node.locator
        return
    yield node.command
    yield from action_texts(node)
    if node.label:
        yield node.label


def _evidence_texts(node: AdNode) -> Iterator[str]:
    if isinstance(node, Action):
        for part in (node.evidence, node.evidences):
            if part:
                yield from walk_texts(part)


def _is_encodable(node: AdNode) -> bool:
    return _find_half("\n".join(chain(_own_texts(node), _evidence_texts(node)))) is None


def _find_half(text: str) -> str | None:
    """Return the first half of a surrogate pair in `text`."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return None
