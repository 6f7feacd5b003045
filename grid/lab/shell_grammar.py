"""The device shell's grammar: text to a tree of lists, pipelines, commands and words.

Pure. Covers what clients send: quoting, `;`, newlines, `&&`, `||`, `|`, `!`, `( )`, redirects,
assignments, `$NAME`, `${NAME}`, `$?`, `$( )`, backticks, `$(( ))`, `{ }`, `if`, `while`, `until`
and `for`. Anything else is a `SyntaxProblem`, never an
exception, as a shell prints an error and goes on living.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

import re
from functools import lru_cache
from typing import Final, Literal, NoReturn, final

from msgspec import Struct

from grid.lab.shell_token import (
    ASSIGNMENT,
    BACKTICKS,
    BLANK,
    BREAKS,
    FOR_IN,
    KEYWORD,
    MAX_DEPTH,
    MAX_SCRIPT,
    NAME,
    REDIRECT,
    RESERVED,
    SyntaxFound,
)
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

_SHORT: Final = 1_000


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
    try:
        return _Parser(text).read_script(0, closing="")
    except SyntaxFound as found:
        return SyntaxProblem(found.message)


@final
class _Parser:
    """Recursive descent over the characters of one script."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read_script(
        self, depth: int, *, closing: str, ends: frozenset[str] = frozenset()
    ) -> Script:
        """Read up to `closing`, which is taken, or to one of the words `ends`, which is not."""
        if depth > MAX_DEPTH:
            raise SyntaxFound("syntax error: nested too deeply")
        items: list[tuple[Literal["", "&&", "||"], Pipeline]] = []
        operator: Literal["", "&&", "||"] = ""
        while True:
            self._skip_separators(between=not operator)
            if self._at >= len(self._text) or (closing and self._peek() == closing):
                break
            if ends and not operator and self._peek_keyword() in ends:
                break
            items.append((operator, self._read_pipeline(depth)))
            operator = self._read_operator(closing)
        if operator:
            self._fail()
        if closing:
            if self._peek() != closing:
                raise SyntaxFound(f"syntax error: unmatched '{closing}'")
            self._at += 1
        return Script(tuple(items))

    def _peek_keyword(self) -> str:
        found = KEYWORD.match(self._text, self._at)
        return found[0] if found is not None and found[0] in RESERVED else ""

    def _take_keyword(self, *words: str) -> str:
        """Take the reserved word that must come now."""
        word = self._peek_keyword()
        if word not in words:
            if word:
                raise SyntaxFound(f"syntax error: unexpected '{word}'")
            self._fail()
        self._at += len(word)
        return word

    def _read_block(self, depth: int, *ends: str) -> Script:
        """Read a script that is not empty, up to one of the words."""
        script = self.read_script(depth + 1, closing="", ends=frozenset(ends))
        if not script.items:
            self._take_keyword()
        return script

    def _read_compound(self, depth: int) -> Compound | None:
        match self._peek_keyword():
            case "{":
                self._at += 1
                body = self._read_block(depth, "}")
                self._take_keyword("}")
                return Group(body)
            case "if":
                return self._read_branch(depth)
            case "while" | "until" as word:
                self._at += len(word)
                condition = self._read_block(depth, "do")
                return Loop(condition, self._read_loop_body(depth), is_until=word == "until")
            case "for":
                self._at += len("for")
                return self._read_for(depth)
            case "":
                return None
            case word:
                raise SyntaxFound(f"syntax error: unexpected '{word}'")

    def _read_loop_body(self, depth: int) -> Script:
        self._take_keyword("do")
        body = self._read_block(depth, "done")
        self._take_keyword("done")
        return body

    def _read_branch(self, depth: int) -> Branch:
        arms: list[tuple[Script, Script]] = []
        otherwise: Script | None = None
        word = self._take_keyword("if")
        while word in {"if", "elif"}:
            condition = self._read_block(depth, "then")
            self._take_keyword("then")
            arms.append((condition, self._read_block(depth, "elif", "else", "fi")))
            word = self._take_keyword("elif", "else", "fi")
        if word == "else":
            otherwise = self._read_block(depth, "fi")
            self._take_keyword("fi")
        return Branch(tuple(arms), otherwise)

    def _read_for(self, depth: int) -> ForEach:
        self._skip_blanks()
        found = NAME.match(self._text, self._at)
        if found is None:
            self._fail()
        self._at = found.end()
        self._skip_blanks()
        words: list[Word] = []
        if FOR_IN.match(self._text, self._at):
            self._at += len("in")
            while self._skip_blanks() and self._peek() not in BREAKS | {""}:
                words.append(self._read_word(depth))
        self._skip_separators(between=True)
        return ForEach(found[0], tuple(words), self._read_loop_body(depth))

    def _skip_separators(self, *, between: bool) -> None:
        while self._at < len(self._text):
            char = self._peek()
            if char == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif char in BLANK or char == "\n" or (between and char == ";"):
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
        compound = self._read_compound(depth) if self._skip_blanks() else None
        while self._skip_blanks() and self._at < len(self._text):
            redirect = self._read_redirects(depth)
            if redirect:
                redirects += redirect
                continue
            char = self._peek()
            if char == "(" and not (body or compound or words or assignments):
                self._at += 1
                body = self.read_script(depth + 1, closing=")")
                continue
            if char in BREAKS or char == "#" or body is not None or compound is not None:
                break
            named = ASSIGNMENT.match(self._text, self._at) if not words else None
            if named is not None:
                self._at = named.end()
                assignments.append((named[1], self._read_word(depth)))
                continue
            words.append(self._read_word(depth))
        if not (words or assignments or redirects or body is not None or compound is not None):
            self._fail()
        return Command(tuple(assignments), tuple(words), tuple(redirects), body, compound)

    def _read_redirects(self, depth: int) -> list[Redirect]:
        found = REDIRECT.match(self._text, self._at)
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
                raise SyntaxFound(f"syntax error: unexpected '{found[0]}'")

    def _read_word(self, depth: int) -> Word:
        parts: list[WordPart] = []
        while self._at < len(self._text):
            char = self._peek()
            if char in BREAKS:
                break
            if char == "'":
                end = self._text.find("'", self._at + 1)
                if end < 0:
                    raise SyntaxFound("no closing quote")
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
                parts.append(self._read_backticks(depth, is_quoted=False))
            else:
                start = self._at
                while self._at < len(self._text) and self._peek() not in "'\"\\$`" + "".join(
                    BREAKS
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
            elif char == "`":
                end_plain()
                parts.append(self._read_backticks(depth, is_quoted=True))
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in ('"', "\\", "$", "`"):
                plain.append(self._text[self._at + 1])
                self._at += 2
            else:
                plain.append(char)
                self._at += 1
        raise SyntaxFound("no closing quote")

    def _read_dollar(self, depth: int, *, is_quoted: bool) -> WordPart:
        self._at += 1
        if self._peek() and self._peek() in "?$#0123456789":
            self._at += 1
            return Variable(self._text[self._at - 1], is_quoted)
        if self._take("(("):
            return self._read_arithmetic(depth, is_quoted=is_quoted)
        if self._take("("):
            return Substitution(self.read_script(depth + 1, closing=")"), is_quoted)
        in_braces = self._take("{")
        found = NAME.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            if in_braces and not self._take("}"):
                raise SyntaxFound("bad substitution")
            return Variable(found[0], is_quoted)
        if in_braces:
            raise SyntaxFound("bad substitution")
        return Text("$", is_quoted)

    def _read_arithmetic(self, depth: int, *, is_quoted: bool) -> Arithmetic:
        parts: list[WordPart] = []
        level = 0
        while self._at < len(self._text):
            char = self._peek()
            if char == "$":
                if depth >= MAX_DEPTH:
                    raise SyntaxFound("syntax error: nested too deeply")
                parts.append(self._read_dollar(depth + 1, is_quoted=True))
                continue
            if level == 0 and self._take("))"):
                return Arithmetic(tuple(parts), is_quoted)
            level += (char == "(") - (char == ")")
            if level < 0:
                break
            parts.append(Text(char, is_quoted=True))
            self._at += 1
        raise SyntaxFound("syntax error: unmatched '))'")

    def _read_backticks(self, depth: int, *, is_quoted: bool) -> Substitution:
        found = BACKTICKS.match(self._text, self._at)
        if found is None:
            raise SyntaxFound("no closing quote")
        self._at = found.end()
        inner = _Parser(re.sub(r"\\([`$\\])", r"\1", found[1]))
        return Substitution(inner.read_script(depth + 1, closing=""), is_quoted)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _skip_blanks(self) -> bool:
        while self._at < len(self._text) and self._peek() in BLANK:
            self._at += 1
        return True

    def _fail(self) -> NoReturn:
        what = self._peek() or "end of command"
        raise SyntaxFound(f"syntax error: unexpected '{what if what != chr(10) else 'newline'}'")
