"""The device shell's grammar: text to a tree of lists, pipelines, commands and words.

Pure. Covers what clients send: quoting, `;`, newlines, `&&`, `||`, `|`, `!`, `( )`, redirects,
assignments, `$NAME`, `${NAME}`, `$?` and `$( )`. Anything else is a `SyntaxProblem`, never an
exception, as a shell prints an error and goes on living.

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

import re
from functools import lru_cache
from typing import Final, Literal, NoReturn, TypeAlias, final

from msgspec import Struct

MAX_SCRIPT: Final = 1 << 18
MAX_DEPTH: Final = 20
_SHORT: Final = 1_000

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_REDIRECT: Final = re.compile(r"(?:&>>?|(\d?)(>>|>&|>|<))")
_BLANK: Final = " \t"
_BREAKS: Final = frozenset(" \t\n;|&()<>")
_RESERVED: Final = frozenset(("if", "then", "for", "while", "do", "case", "{", "}", "function"))


class Text(Struct, frozen=True):
    """Literal characters. Quoted ones are never split or matched against files."""

    text: str
    is_quoted: bool


class Variable(Struct, frozen=True):
    """A variable; `?` is the last exit status."""

    name: str
    is_quoted: bool


class Substitution(Struct, frozen=True):
    """The output of a script."""

    script: "Script"
    is_quoted: bool


WordPart: TypeAlias = Text | Variable | Substitution


class Word(Struct, frozen=True):
    """One word before expansion."""

    parts: tuple[WordPart, ...]


class Redirect(Struct, frozen=True):
    """Where a descriptor goes: a file (`<`, `>`, `>>`) or, for `>&`, another descriptor."""

    descriptor: Literal[0, 1, 2]
    operator: Literal["<", ">", ">>", ">&"]
    target: Word


class Command(Struct, frozen=True):
    """A simple command, or a subshell when `body` is there."""

    assignments: tuple[tuple[str, Word], ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    body: "Script | None" = None


class Pipeline(Struct, frozen=True):
    """Commands joined by `|`. `is_negated` turns the status of the last one around."""

    commands: tuple[Command, ...]
    is_negated: bool = False


class Script(Struct, frozen=True):
    """Pipelines, each with when it runs: always, or by the status before it."""

    items: tuple[tuple[Literal["", "&&", "||"], Pipeline], ...]


class SyntaxProblem(Struct, frozen=True):
    """Why a text is no script."""

    message: str


def parse_script(text: str) -> Script | SyntaxProblem:
    """Parse the text of a shell command."""
    if len(text) > MAX_SCRIPT:
        return SyntaxProblem("syntax error: the command is too long")
    return _parse_short(text) if len(text) <= _SHORT else _parse(text)


@lru_cache(maxsize=256)
def _parse_short(text: str) -> Script | SyntaxProblem:
    """Parse what clients send again and again; a script never changes, so one serves all."""
    return _parse(text)


def _parse(text: str) -> Script | SyntaxProblem:
    parser = _Parser(text)
    try:
        script = parser.read_script(0, closing="")
    except _SyntaxFound as found:
        return SyntaxProblem(found.message)
    return script


class _SyntaxFound(Exception):  # noqa: N818 -- never leaves this module.
    """Carries a problem out of the recursion."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@final
class _Parser:
    """Recursive descent over the characters of one script."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read_script(self, depth: int, *, closing: str) -> Script:
        if depth > MAX_DEPTH:
            raise _SyntaxFound("syntax error: nested too deeply")
        items: list[tuple[Literal["", "&&", "||"], Pipeline]] = []
        operator: Literal["", "&&", "||"] = ""
        while True:
            self._skip_separators(between=not operator)
            if self._at >= len(self._text) or (closing and self._peek() == closing):
                break
            items.append((operator, self._read_pipeline(depth)))
            operator = self._read_operator(closing)
        if operator:
            self._fail()
        if closing:
            if self._peek() != closing:
                raise _SyntaxFound(f"syntax error: unmatched '{closing}'")
            self._at += 1
        return Script(tuple(items))

    def _skip_separators(self, *, between: bool) -> None:
        while self._at < len(self._text):
            char = self._peek()
            if char == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif char in _BLANK or char == "\n" or (between and char == ";"):
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._at += 2
            else:
                return

    def _read_operator(self, closing: str) -> Literal["", "&&", "||"]:
        self._skip_blanks()
        if self._take("&&"):
            return "&&"
        if self._take("||"):
            return "||"
        if self._at < len(self._text) and self._peek() not in ";\n#" and self._peek() != closing:
            self._fail()
        return ""

    def _read_pipeline(self, depth: int) -> Pipeline:
        is_negated = False
        while re.match(r"!\s", self._text[self._at : self._at + 2]):
            is_negated = not is_negated
            self._at += 1
            self._skip_blanks()
        commands = [self._read_command(depth)]
        while self._skip_blanks() and not self._text.startswith("||", self._at) and self._take("|"):
            self._skip_separators(between=False)
            commands.append(self._read_command(depth))
        return Pipeline(tuple(commands), is_negated)

    def _read_command(self, depth: int) -> Command:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        body: Script | None = None
        while self._skip_blanks() and self._at < len(self._text):
            redirect = self._read_redirects(depth)
            if redirect:
                redirects += redirect
                continue
            char = self._peek()
            if char == "(" and body is None and not words and not assignments:
                self._at += 1
                body = self.read_script(depth + 1, closing=")")
                continue
            if char in _BREAKS or char == "#" or body is not None:
                break
            named = _ASSIGNMENT.match(self._text, self._at) if not words else None
            if named is not None:
                self._at = named.end()
                assignments.append((named[1], self._read_word(depth)))
                continue
            words.append(self._read_word(depth))
            self._refuse_reserved(words)
        if not (words or assignments or redirects or body is not None):
            self._fail()
        return Command(tuple(assignments), tuple(words), tuple(redirects), body)

    def _refuse_reserved(self, words: list[Word]) -> None:
        match words:
            case [Word(parts=(Text(text=text, is_quoted=False),))] if text in _RESERVED:
                raise _SyntaxFound(f"syntax error: unexpected '{text}'")
            case _:
                pass

    def _read_redirects(self, depth: int) -> list[Redirect]:
        found = _REDIRECT.match(self._text, self._at)
        if found is None:
            return []
        self._at = found.end()
        self._skip_blanks()
        target = self._read_word(depth)
        if not target.parts:
            self._fail()
        if found[0].startswith("&"):
            to_file: Literal[">", ">>"] = ">>" if found[0] == "&>>" else ">"
            return [
                Redirect(1, to_file, target),
                Redirect(2, ">&", Word((Text("1", is_quoted=False),))),
            ]
        match found[2], found[1]:
            case "<", "" | "0":
                return [Redirect(0, "<", target)]
            case (">" | ">>" | ">&") as operator, "" | "1":
                return [Redirect(1, operator, target)]
            case (">" | ">>" | ">&") as operator, "2":
                return [Redirect(2, operator, target)]
            case _:
                raise _SyntaxFound(f"syntax error: unexpected '{found[0]}'")

    def _read_word(self, depth: int) -> Word:
        parts: list[WordPart] = []
        while self._at < len(self._text):
            char = self._peek()
            if char in _BREAKS:
                break
            if char == "'":
                end = self._text.find("'", self._at + 1)
                if end < 0:
                    raise _SyntaxFound("no closing quote")
                parts.append(Text(self._text[self._at + 1 : end], is_quoted=True))
                self._at = end + 1
            elif char == '"':
                self._at += 1
                parts += self._read_double_quoted(depth)
            elif char == "\\":
                if self._text[self._at + 1 : self._at + 2] != "\n":
                    parts.append(Text(self._text[self._at + 1 : self._at + 2], is_quoted=True))
                self._at += 2
            elif char == "$":
                parts.append(self._read_dollar(depth, is_quoted=False))
            elif char == "`":
                raise _SyntaxFound("syntax error: unexpected '`'")
            else:
                start = self._at
                while self._at < len(self._text) and self._peek() not in "'\"\\$`" + "".join(
                    _BREAKS
                ):
                    self._at += 1
                parts.append(Text(self._text[start : self._at], is_quoted=False))
        return Word(tuple(parts))

    def _read_double_quoted(self, depth: int) -> list[WordPart]:
        parts: list[WordPart] = []
        plain: list[str] = []

        def end_plain() -> None:
            if plain:
                parts.append(Text("".join(plain), is_quoted=True))
                plain.clear()

        while self._at < len(self._text):
            char = self._peek()
            if char == '"':
                self._at += 1
                end_plain()
                # An empty pair of quotes is still a word.
                return parts or [Text("", is_quoted=True)]
            if char == "$":
                end_plain()
                parts.append(self._read_dollar(depth, is_quoted=True))
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in ('"', "\\", "$", "`"):
                plain.append(self._text[self._at + 1])
                self._at += 2
            else:
                plain.append(char)
                self._at += 1
        raise _SyntaxFound("no closing quote")

    def _read_dollar(self, depth: int, *, is_quoted: bool) -> WordPart:
        self._at += 1
        if self._take("?"):
            return Variable("?", is_quoted)
        if self._take("("):
            return Substitution(self.read_script(depth + 1, closing=")"), is_quoted)
        in_braces = self._take("{")
        found = _NAME.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            if in_braces and not self._take("}"):
                raise _SyntaxFound("bad substitution")
            return Variable(found[0], is_quoted)
        if in_braces:
            raise _SyntaxFound("bad substitution")
        return Text("$", is_quoted)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _skip_blanks(self) -> bool:
        while self._at < len(self._text) and self._peek() in _BLANK:
            self._at += 1
        return True

    def _fail(self) -> NoReturn:
        what = self._peek() or "end of command"
        raise _SyntaxFound(f"syntax error: unexpected '{what if what != chr(10) else 'newline'}'")
