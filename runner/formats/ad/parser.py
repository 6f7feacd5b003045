"""The reader of `.ad` sources: bytes in, a typed script and every problem out.

Pure. Nothing is raised for a bad source: a line that cannot be read becomes a finding and the
reader goes on with the next, so that one run shows all mistakes. A script with findings must not
run; what could be read is returned for further checks and for display. Reading stops where a file
is beyond use: at too many problems, and at more steps than any composition may have.

Two readers of the header exist side by side. A flat script keeps the rule of the format's origin:
the header ends at the first line that is no comment, blank, `env` or `context `. A format guard
belongs to no action, so the header of a guarded script goes on behind it.

May be imported by: runner.formats.ad, runner.preflight, runner.cli. Imports:
runner.compose.bound, runner.errors, runner.model, runner.formats.ad.
"""

import re
from typing import Any, Final, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from runner.compose.bound import STEP_LIMIT
from runner.errors import InputError
from runner.formats.ad.annotation import (
    Reference,
    find_annotation,
    parse_reference,
    parse_target,
    parse_targets,
)
from runner.formats.ad.commands import readers
from runner.formats.ad.header import (
    CONTEXT_PREFIX,
    is_env,
    merge_context,
    parse_env,
    scan_context,
)
from runner.formats.ad.lexer import Level, escape_surrogates, split_lines, tokenize
from runner.formats.ad.numbers import SPACES
from runner.formats.ad.script import (
    Action,
    AdNode,
    AdScript,
    Context,
    EnvLine,
    Guard,
    GuardKind,
    Include,
)
from runner.model.finding import Finding

PROBLEM_LIMIT: Final = 1_000
"""Problems of one file; behind the last of them nothing is read."""
_GUARD = re.compile(r"(fragment|composition)-v(0|[1-9][0-9]{0,8})\Z")


class ReadScript(Struct, frozen=True, kw_only=True):
    """A source that was read: what it says, and every parse problem, by line.

    `platform_line` is the line whose context states the platform, 0 without any;
    `loose_references` are the reference comments that no include comes after, by line.
    """

    script: AdScript
    findings: tuple[Finding, ...] = ()
    platform_line: int = 0
    loose_references: tuple[tuple[int, Reference], ...] = ()


def read_script(data: bytes, *, path: str, level: Level = "main") -> ReadScript:
    """Read one source. Findings have the reason `parse_error`."""
    reading = _Reading(path=path, level=level)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        _report_bytes(reading, data)
        text = data.decode(errors="replace")
    start = text.lstrip(SPACES)[:1]
    if start in ("{", "["):
        before = text[: text.index(start)].split("\n")
        reading.report(
            len(before),
            len(before[-1]) + 1,
            "the file is JSON, not a script: the JSON form of `.ad` was retired",
            "Write one command a line, or record the flow anew.",
        )
        return reading.finish()
    for number, raw in enumerate(split_lines(text), 1):
        if reading.is_over:
            return reading.finish()
        line = raw.strip(SPACES)
        if line:
            reading.take(line, number, raw)
        elif reading.pending is not None:
            reading.drop_pending(f"line {number} is blank")
    reading.drop_pending("the file ends there")
    return reading.finish()


class _Pending(Struct, frozen=True, kw_only=True):
    """Evidence that waits for its action."""

    kind: Literal["target", "targets"]
    evidence: dict[str, Any]
    line: int
    column: int


class _Reading:
    """The state of one reading, from the first line to `finish`."""

    def __init__(self, *, path: str, level: Level) -> None:
        self.path = path
        self.level = level
        self.readers = readers(level)
        self.findings: list[Finding] = []
        self.is_over = False
        self.nodes: list[AdNode] = []
        self.guards: list[Guard] = []
        self.guard_is_first = True
        self.env: dict[str, EnvLine] = {}
        self.context = Context()
        self.in_header = True
        # Whether a line was met that counts as executable, also when it could not be read.
        self.has_action = False
        self.pending: _Pending | None = None
        self.reference: Reference | None = None
        self.reference_line = 0
        self.loose: list[tuple[int, Reference]] = []
        self.platform_line = 0

    def finish(self) -> ReadScript:
        """Return what was read."""
        self.drop_reference()
        return ReadScript(
            script=AdScript(
                context=self.context,
                env=tuple(self.env.values()),
                guards=tuple(self.guards),
                guard_is_first=self.guard_is_first,
                nodes=tuple(self.nodes),
            ),
            findings=tuple(sorted(self.findings, key=lambda f: (f.line, f.column))),
            platform_line=self.platform_line,
            loose_references=tuple(self.loose),
        )

    def report(
        self,
        line: int,
        column: int,
        message: str,
        hint: str,
        details: dict[str, Any] | None = None,
    ) -> None:
        """Note one problem, unless there are too many."""
        if self.is_over:
            return
        if len(self.findings) == PROBLEM_LIMIT - 1:
            self.is_over = True
            message = f"{message} (the reading stops here, at {PROBLEM_LIMIT} problems)"
        self.findings.append(
            Finding(
                reason="parse_error",
                path=self.path,
                line=line,
                column=column,
                message=escape_surrogates(message),
                details=details or {},
                hint=escape_surrogates(hint),
            )
        )

    def add_node(self, node: AdNode) -> None:
        """Keep a step or an include, unless there are more than a composition may have."""
        self.nodes.append(node)
        if len(self.nodes) > STEP_LIMIT:
            # Steps alone are refused where closures are bounded; includes are steps only later.
            if any(isinstance(each, Include) for each in self.nodes):
                self.report(
                    node.line,
                    node.column,
                    f"the file has more than {STEP_LIMIT} steps and includes",
                    "Split the file.",
                )
            self.is_over = True

    def take(self, line: str, number: int, raw: str) -> None:
        """Read one line that is not blank."""
        indent = 0 if raw[0] == line[0] else len(raw) - len(raw.lstrip(SPACES))
        try:
            if line[0] == "#":
                self.take_comment(line, number, indent + 1)
            elif is_env(line):
                self.take_env(line, number, indent + 1)
            else:
                self.take_command(line, number, indent + 1)
        except InputError as error:
            details = dict(error.details)
            column = indent + details.pop("column", 1)
            self.report(number, column, error.message, error.hint, details)
            if line[0] != "#" and not is_env(line):
                self.pending = None  # Its action is this very line, and wrong by itself.
                if self.reference_line == number - 1:
                    self.reference = None  # So may be its include.
                if not line.startswith(CONTEXT_PREFIX):
                    self.has_action, self.in_header = True, False

    def drop_pending(self, why: str) -> None:
        """Report the evidence that waits: it is not followed by its action."""
        if self.pending is None:
            return
        pending, self.pending = self.pending, None
        self.report(
            pending.line,
            pending.column,
            f"the {pending.kind}-v1 comment is not directly followed by its action: {why}",
            "Move the comment to the line before its action, or delete it.",
        )

    def drop_reference(self) -> None:
        """Note the reference that waits: no include has come after it."""
        if self.reference is not None:
            self.loose.append((self.reference_line, self.reference))
            self.reference = None

    def take_comment(self, line: str, number: int, column: int) -> None:
        """Read a comment; a reserved one waits for the next line."""
        if self.pending is None and "agent-device:" not in line:
            return
        annotation = find_annotation(line)
        if annotation is None or (annotation.kind != "fragment-ref" and annotation.version != 1):
            self.drop_pending(f"line {number} is a comment")
        elif annotation.kind == "fragment-ref":
            self.drop_pending(f"line {number} is a comment")
            self.drop_reference()
            self.reference, self.reference_line = parse_reference(annotation), number
        else:
            self.drop_pending(f"line {number} is another target comment")
            kind = annotation.kind
            try:
                parse = parse_target if kind == "target" else parse_targets
                evidence = parse(annotation.payload)
            except InputError as error:
                message = f"the {kind}-v1 comment is wrong: {error.message}"
                self.report(number, column, message, error.hint)
                return
            self.pending = _Pending(kind=kind, evidence=evidence, line=number, column=column)

    def take_env(self, line: str, number: int, column: int) -> None:
        """Read an `env` directive. Reason: `parse_error`."""
        self.drop_pending(f"line {number} is an env line")
        if self.has_action or (self.guards and self.guards[-1].kind == "composition"):
            what = "the first action" if self.has_action else "the composition guard"
            self.report(
                number,
                column,
                f"env stands behind {what}",
                "Move all env lines to the top of the file.",
            )
            return
        if not self.in_header:
            return  # The header has ended, so the line says nothing to any reader.
        key, value = parse_env(line)
        if key in self.env:
            first = self.env[key].line
            self.report(
                number,
                column,
                f"env {key} is set again (first on line {first})",
                "Keep one of the two lines.",
            )
            return
        self.env[key] = EnvLine(key, value, number)

    def take_command(self, line: str, number: int, column: int) -> None:
        """Read a line of words. Reason: `parse_error`."""
        word, *rest = tokenize(line, level=self.level)
        if word == "context":
            self.drop_pending(f"line {number} is a context line")
            self.take_context(line, number, column)
            return
        guard = _GUARD.match(word) if "-v" in word else None
        if guard:
            self.take_guard(guard, rest, number, column)
            return
        self.has_action, self.in_header = True, False
        if word == "include":
            self.drop_pending(f"line {number} is an include, which has no target")
            self.take_include(rest, number, column)
            return
        reader, table = self.readers.get(word, self.readers[""])
        positionals, flags, runtime, label = reader(rest, table)
        evidence = evidences = None
        if self.pending is not None:
            if self.pending.kind == "target":
                evidence = self.pending.evidence
            else:
                evidences = self.pending.evidence
            self.pending = None
        self.add_node(
            Action(
                command=word,
                positionals=positionals,
                flags=flags,
                runtime=runtime,
                evidence=evidence,
                evidences=evidences,
                label=label,
                line=number,
                column=column,
            )
        )

    def take_context(self, line: str, number: int, column: int) -> None:
        """Read a `context` line if it still counts; else it says nothing."""
        if not self.in_header:
            return
        if not self.guards and not line.startswith(CONTEXT_PREFIX):
            self.in_header = False
            return
        had_platform = self.context.platform is not None
        self.context, problems = merge_context(self.context, scan_context(line))
        if not had_platform and self.context.platform is not None:
            self.platform_line = number
        for problem in problems:
            self.report(number, column, problem, "Keep one of the two statements.")

    def take_guard(self, found: re.Match[str], rest: list[str], number: int, column: int) -> None:
        """Read a format guard, which is no action."""
        self.drop_pending(f"line {number} is a format guard")
        if not self.guards:
            self.guard_is_first = not self.has_action
        self.guards.append(
            Guard(kind=cast("GuardKind", found[1]), version=int(found[2]), line=number)
        )
        # The first executable line opens the header again, which a bare `context` may have ended.
        self.in_header = not self.has_action
        if rest:
            self.report(
                number,
                column,
                f"{found[0]} takes no operands",
                f"Leave {found[0]} alone on its line.",
            )

    def take_include(self, rest: list[str], number: int, column: int) -> None:
        """Read an include and bind the reference comment of the line before."""
        reference, self.reference = self.reference, None
        if len(rest) != 1 or not rest[0]:
            self.report(
                number,
                column,
                f"include takes one locator, got {len(rest)}"
                if len(rest) != 1
                else "the locator of the include is empty",
                'Write `include "./path/to/fragment.ad"`.',
            )
            return
        include = Include(locator=rest[0], line=number, column=column)
        if reference is None:
            problem = "there is no fragment-ref-v1 comment on the line before"
            self.add_node(replace(include, problem=problem))
        elif self.reference_line != number - 1:
            problem = f"the reference comment on line {self.reference_line} is not directly before"
            self.add_node(replace(include, problem=problem))
        else:
            self.add_node(
                replace(
                    include,
                    call_site_id=reference.call_site_id,
                    digest=reference.digest,
                    reference_version=reference.version,
                    problem=reference.problem,
                )
            )


def _report_bytes(reading: _Reading, data: bytes) -> None:
    """Report the first byte of each line that is not UTF-8."""
    for number, raw in enumerate(data.split(b"\n"), 1):
        if reading.is_over:
            return
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            reading.report(
                number,
                len(raw[: error.start].decode()) + 1,
                f"byte 0x{raw[error.start]:02x} is not UTF-8",
                "Save the file as UTF-8.",
            )
