"""The device's shell: runs parsed scripts with expansion, pipes, redirects and exit statuses.

A pipe runs its commands one after the other, each with the output of the one before: enough for
commands that end. What a command does stands in the `shell_*` tables.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

import fnmatch
import posixpath
from collections.abc import Mapping
from itertools import count
from typing import Final, Literal, assert_never, final

import trio

from grid.lab.android import AndroidSystem
from grid.lab.shell_arithmetic import ArithmeticProblem, evaluate
from grid.lab.shell_call import (
    Call,
    DeviceCommand,
    FixedInput,
    Put,
    ShellStreams,
    os_error_text,
)
from grid.lab.shell_grammar import SyntaxProblem, parse_script
from grid.lab.shell_tree import (
    Arithmetic,
    Branch,
    Command,
    Compound,
    ForEach,
    Group,
    Loop,
    Pipeline,
    Redirect,
    Script,
    Substitution,
    Text,
    Variable,
    Word,
    WordPart,
)

SHELL_NAME: Final = "/system/bin/sh"
NOT_FOUND: Final = 127
_SYNTAX_STATUS: Final = 1
_BINARIES: Final = ("/system/bin/", "/system/xbin/", "/vendor/bin/")
_WRAPPERS: Final = ("exec", "toybox", "command", "builtin")
_MAX_NESTED: Final = 20
_MAX_ROUNDS: Final = 10_000
# No loop may run for ever; shells within a shell share it.
_PROCESS: Final = "4242"
_GLOB: Final = frozenset("*?[")


@final
class Shell:
    """One shell process: its variables, folder and last status."""

    def __init__(
        self, system: AndroidSystem, commands: Mapping[str, DeviceCommand], *, depth: int = 0
    ) -> None:
        self._system = system
        self._commands = commands
        self._depth = depth
        self._variables: dict[str, str] = {
            "HOME": "/",
            "PATH": "/system/bin",
            "TMPDIR": "/data/local/tmp",
            "EXTERNAL_STORAGE": "/sdcard",
            "ANDROID_DATA": "/data",
            "USER": "shell",
        }
        self._cwd = "/"
        self._status = 0
        self._rounds = count(1)
        self._leaving: Literal["", "break", "continue"] = ""
        self._loops = 0
        self.has_exited = False

    async def run(self, text: str, streams: ShellStreams) -> int:
        """Run a command text; return its exit status."""
        await self._pause(streams)
        script = parse_script(text)
        if isinstance(script, SyntaxProblem):
            streams.err(f"{SHELL_NAME}: {script.message}\n".encode())
            return _SYNTAX_STATUS
        return await self._run_script(script, streams)

    async def _pause(self, streams: ShellStreams) -> None:
        latency_ms = self._system.profile.shell_ms
        if self._depth == 0 and latency_ms > 0:
            await streams.flush()
            await trio.sleep(latency_ms / 1000)

    async def _run_script(self, script: Script, streams: ShellStreams) -> int:
        for operator, pipeline in script.items:
            if self.has_exited or self._leaving:
                break
            if (operator == "&&" and self._status) or (operator == "||" and not self._status):
                continue
            self._status = await self._run_pipeline(pipeline, streams)
        return self._status

    async def _run_pipeline(self, pipeline: Pipeline, streams: ShellStreams) -> int:
        stdin = streams.stdin
        for command in pipeline.commands[:-1]:
            piped = bytearray()
            inner = ShellStreams(stdin, piped.extend, streams.err, streams.flush)
            await self._run_command(command, inner)
            stdin = FixedInput(bytes(piped))
        if stdin is not streams.stdin:
            streams = ShellStreams(stdin, streams.out, streams.err, streams.flush)
        status = await self._run_command(pipeline.commands[-1], streams)
        return int(status == 0) if pipeline.is_negated else status

    async def _run_command(self, command: Command, streams: ShellStreams) -> int:
        if not command.redirects and command.body is None and command.compound is None:
            return await self._run_simple(command, streams)
        files: list[tuple[str, bytearray]] = []
        try:
            redirected = await self._redirect(command.redirects, streams, files)
        except OSError as error:
            streams.err(
                f"{SHELL_NAME}: can't create {error.filename}: {os_error_text(error)}\n".encode()
            )
            return 1
        try:
            if command.body is not None:
                status = await self._run_subshell(command.body, redirected)
            elif command.compound is not None:
                status = await self._run_compound(command.compound, redirected)
            else:
                status = await self._run_simple(command, redirected)
        finally:
            for path, data in files:
                self._save(path, data, streams)
        return status

    async def _run_compound(self, compound: Compound, streams: ShellStreams) -> int:
        match compound:
            case Group(body=body):
                return await self._run_script(body, streams)
            case Branch(arms=arms, otherwise=otherwise):
                for condition, body in arms:
                    if await self._run_script(condition, streams) == 0:
                        return await self._run_script(body, streams)
                return await self._run_script(otherwise, streams) if otherwise is not None else 0
            case Loop(condition=condition, body=body, is_until=is_until):
                status = 0
                self._loops += 1
                while await self._begin_round(streams):
                    is_done = (await self._run_script(condition, streams) == 0) == is_until
                    if is_done or self.has_exited or self._leaving:
                        break
                    status = await self._run_script(body, streams)
                    if self._has_left():
                        break
                return self._end_loop(status)
            case ForEach(name=name, words=words, body=body):
                status = 0
                values = [value for word in words for value in await self._expand(word, streams)]
                self._loops += 1
                for value in values:
                    if not await self._begin_round(streams):
                        break
                    self._variables[name] = value
                    status = await self._run_script(body, streams)
                    if self._has_left():
                        break
                return self._end_loop(status)
            case _:
                assert_never(compound)

    async def _begin_round(self, streams: ShellStreams) -> bool:
        """Tell whether one more round may run; others get their turn, and a cancel is seen."""
        await trio.lowlevel.checkpoint()
        if next(self._rounds) <= _MAX_ROUNDS:
            return not self.has_exited
        streams.err(f"{SHELL_NAME}: too many rounds of loops\n".encode())
        self.has_exited = True
        self._status = 1
        return False

    def _has_left(self) -> bool:
        is_over = self._leaving == "break" or self.has_exited
        self._leaving = ""
        return is_over

    def _end_loop(self, status: int) -> int:
        self._loops -= 1
        self._leaving = ""
        return self._status if self.has_exited else status

    def _save(self, path: str, data: bytearray, streams: ShellStreams) -> None:
        try:
            self._system.disk.append(path, bytes(data))
        except OSError as error:
            streams.err(f"{SHELL_NAME}: {path}: {os_error_text(error)}\n".encode())

    async def _run_subshell(self, body: Script, streams: ShellStreams) -> int:
        inner = self._nested()
        return await inner._run_script(body, streams)  # noqa: SLF001 -- another shell of this class.

    def _nested(self) -> "Shell":
        inner = Shell(self._system, self._commands, depth=self._depth + 1)
        inner._variables = dict(self._variables)
        inner._cwd = self._cwd
        inner._status = self._status
        inner._rounds = self._rounds  # One budget for all.
        return inner

    async def _run_simple(self, command: Command, streams: ShellStreams) -> int:
        words: list[str] = []
        for word in command.words:
            words += await self._expand(word, streams)
        assigned: dict[str, str] = {}
        for key, word in command.assignments:
            assigned[key] = "".join(await self._expand(word, streams, is_split=False))
        if self.has_exited:
            return self._status  # An expansion failed: the command does not run.
        while words and words[0] in _WRAPPERS:
            del words[0]
        if not words:
            self._variables.update(assigned)
            return 0
        name, *args = words
        if name.startswith("/"):
            for folder in _BINARIES:
                name = name.removeprefix(folder)
        if self._depth >= _MAX_NESTED:
            streams.err(f"{SHELL_NAME}: nested too deeply\n".encode())
            return 1
        built_in = await self._run_built_in(name, args, streams)
        if built_in is not None:
            return built_in
        action = self._commands.get(name)
        if action is None:
            self._system.phone.log("sh", f"no such command: {name}", level="W")
            streams.err(f"{SHELL_NAME}: {name}: inaccessible or not found\n".encode())
            return NOT_FOUND
        variables = {**self._variables, **assigned}
        return await action(
            Call(self._system, name, tuple(args), streams, variables=variables, cwd=self._cwd)
        )

    async def _run_built_in(self, name: str, args: list[str], streams: ShellStreams) -> int | None:
        """Run what changes the shell itself; None when `name` is no such command."""
        match name:
            case "exit":
                self.has_exited = True
                is_number = bool(args) and args[0].isascii() and args[0].isdigit()
                return int(args[0]) % 256 if is_number else self._status
            case "break" | "continue" as word:
                if self._loops:
                    self._leaving = word
                return 0
            case "export":
                for arg in args:
                    key, equals, value = arg.partition("=")
                    if equals:
                        self._variables[key] = value
                return 0
            case "cd":
                return self._change_folder(args[0] if args else "/", streams)
            case "pwd":
                streams.out(f"{self._cwd}\n".encode())
                return 0
            case "sh" if len(args) >= 2 and args[0] == "-c":
                return await self._nested().run(args[1], streams)
            case "sh":
                text = b""
                while data := await streams.stdin.read():
                    text += data
                return await self._nested().run(text.decode("utf-8", "replace"), streams)
            case _:
                return None

    def _change_folder(self, name: str, streams: ShellStreams) -> int:
        path = posixpath.normpath(posixpath.join(self._cwd, name))
        disk = self._system.disk
        if not disk.exists(path) or not disk.stat(path).is_folder:
            streams.err(f"{SHELL_NAME}: cd: {name}: No such file or directory\n".encode())
            return 2
        self._cwd = path
        return 0

    # -- Redirects -------------------------------------------------------------------------------

    async def _redirect(
        self,
        redirects: tuple[Redirect, ...],
        streams: ShellStreams,
        files: list[tuple[str, bytearray]],
    ) -> ShellStreams:
        stdin = streams.stdin
        puts: dict[int, Put] = {1: streams.out, 2: streams.err}
        for redirect in redirects:
            target = "".join(await self._expand(redirect.target, streams, is_split=False))
            if redirect.operator == "<":
                path = posixpath.join(self._cwd, target)
                stdin = FixedInput(b"" if path == "/dev/null" else self._system.disk.read(path))
            elif redirect.operator == ">&":
                puts[redirect.descriptor] = puts[2 if target == "2" else 1]
            else:
                puts[redirect.descriptor] = self._open(target, redirect.operator, files)
        return ShellStreams(stdin, puts[1], puts[2], streams.flush)

    def _open(self, target: str, operator: str, files: list[tuple[str, bytearray]]) -> Put:
        path = posixpath.join(self._cwd, target)
        if path == "/dev/null":
            return lambda _: None
        if operator == ">":
            self._system.disk.write(path, b"")
        else:
            self._system.disk.append(path, b"")
        data = bytearray()
        files.append((path, data))
        return data.extend

    # -- Expansion -------------------------------------------------------------------------------

    async def _expand(
        self, word: Word, streams: ShellStreams, *, is_split: bool = True
    ) -> list[str]:
        """Return the fields of a word: variables and outputs split at blanks, files matched."""
        match word.parts:
            case (Text(text=text),) if _GLOB.isdisjoint(text):
                return [text]
            case _:
                pass
        fields: list[list[tuple[str, bool]]] = [[]]
        for part in word.parts:
            text = await self._value(part, streams)
            if part.is_quoted or isinstance(part, Text) or not is_split:
                fields[-1].append((text, part.is_quoted))
                continue
            pieces = text.split()
            if text[:1].isspace() and fields[-1]:
                fields.append([])
            for index, piece in enumerate(pieces):
                if index:
                    fields.append([])
                fields[-1].append((piece, False))
            if pieces and text[-1:].isspace():
                fields.append([])
        return [name for field in fields if field for name in self._match_files(field, is_split)]

    async def _value(self, part: WordPart, streams: ShellStreams) -> str:
        if isinstance(part, Text):
            return part.text
        if isinstance(part, Substitution):
            captured = bytearray()
            inner = ShellStreams(FixedInput(), captured.extend, streams.err, streams.flush)
            await self._run_subshell(part.script, inner)
            return captured.decode("utf-8", "surrogateescape").rstrip("\n")
        if isinstance(part, Arithmetic):
            text = "".join([await self._value(inner, streams) for inner in part.parts])
            try:
                return str(evaluate(text, self._variables))
            except ArithmeticProblem as problem:
                streams.err(f"{SHELL_NAME}: {problem}\n".encode())
                self.has_exited = True
                self._status = 1
                return ""
        return self._variable(part)

    def _variable(self, part: Variable) -> str:
        match part.name:
            case "?":
                return str(self._status)
            case "$":
                return _PROCESS
            case "#":
                return "0"
            case "0":
                return SHELL_NAME
            case name:
                return self._variables.get(name, "")

    def _match_files(self, field: list[tuple[str, bool]], is_split: bool) -> list[str]:  # noqa: FBT001 -- private, one caller.
        plain = "".join(text for text, _ in field)
        has_glob = any(not quoted and _GLOB & set(text) for text, quoted in field)
        if not (has_glob and is_split):
            return [plain]
        # Quoted characters of a pattern stand for themselves.
        pattern = "".join(_escape_glob(text) if quoted else text for text, quoted in field)
        folder, name = posixpath.split(pattern)
        try:
            names = self._system.disk.list_folder(posixpath.join(self._cwd, folder))
        except OSError:
            return [plain]
        found = [posixpath.join(folder, each) for each in fnmatch.filter(names, name)]
        return found or [plain]


def _escape_glob(text: str) -> str:
    return "".join(f"[{char}]" if char in _GLOB else char for char in text)
