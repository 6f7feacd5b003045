"""Places: the columns of what a finding is about.

Reading a script keeps no columns, because almost no script has findings. Whoever reports one asks
here, and the one line is read again. Inside a bare token every character of an operand has its own
column; a quoted token is spelled differently than it reads, so all of it has the column of its
quote. What cannot be found is where the line begins.

May be imported by: runner.formats.ad, runner.preflight. Imports: runner.errors,
runner.formats.ad.
"""

from collections.abc import Iterator
from typing import Final, final

from runner.errors import InputError
from runner.formats.ad.commands import readers
from runner.formats.ad.lexer import Level, Token, place_tokens, split_lines
from runner.formats.ad.numbers import SPACES
from runner.formats.ad.options import Option
from runner.formats.ad.script import Action
from runner.formats.ad.variables import find_reference

_LONGEST_LINE: Final = 32_768
"""Characters of a line that is read again; nobody counts columns in a longer one."""


@final
class Places:
    """Finds columns in one source, of which it keeps the lines once it was asked."""

    def __init__(self, data: bytes, *, level: Level = "main") -> None:
        self._data = data
        self._level = level
        self._lines: list[str] | None = None

    def start(self, line: int) -> int:
        """Return the column of the first character of a line that is no white space."""
        raw = self._line(line)
        return min(len(raw) - len(raw.lstrip(SPACES)), len(raw)) + 1

    def operand(self, action: Action, index: int) -> int:
        """Return the column of one of an action's operands."""
        tokens = self._operand_tokens(action)
        words = action.positionals
        start = 0
        # Words that were joined into one operand, or left out, move all operands behind them.
        for word in words[:index]:
            start = max((at for _, _, at in _align(word, tokens, start)), default=start) + 1
        found = next(_align(words[index], tokens, start), None) if index < len(words) else None
        if found is not None:
            return found[1].column
        return tokens[start].column if start < len(tokens) else action.column

    def option(self, action: Action, key: str) -> int:
        """Return the column of the value of the last option that is kept under `key`."""
        column = action.column
        for option, token, value in self._options(action):
            if option.key == key:
                column = (value or token).column
        return column

    def subject(self, action: Action, text: str, offset: int, *, option: str = "") -> int:
        """Return the column of a character of the selector or ref `text` of an action."""
        if option:
            tokens = [
                value or token
                for found, token, value in self._options(action)
                if found.key == option
            ][-1:]
        else:
            tokens = self._operand_tokens(action)
            forms = {"wait": ("text", "absent"), "get": ("text", "attrs")}
            if action.positionals[:1] and action.positionals[0] in forms.get(action.command, ()):
                tokens = tokens[1:]
        column = action.column
        for start, token, _ in _align(text, tokens):
            if start > offset:
                break
            column = token.column + (offset - start if token.is_bare else 0)
        return column

    def surrogate(self, line: int) -> int:
        """Return the column of the first token of a line that holds half of a surrogate pair."""
        for token in self._tokens(line):
            try:
                token.text.encode()
            except UnicodeEncodeError:
                return token.column
        return self.start(line)

    def value(self, line: int) -> int:
        """Return the column of the value of an `env` line."""
        return self._line(line).find("=") + 2

    def variable(self, line: int, name: str) -> int:
        """Return the column of the first reference on a line that needs `name` bound."""
        for token in self._tokens(line):
            at = find_reference(token.text, name)
            if at is not None:
                return token.column + (at if token.is_bare else 0)
        return self.start(line)

    def _line(self, line: int) -> str:
        if self._lines is None:
            self._lines = split_lines(self._data.decode(errors="replace"))
        return self._lines[line - 1] if 0 < line <= len(self._lines) else ""

    def _tokens(self, line: int) -> list[Token]:
        text = self._line(line)
        if len(text) > _LONGEST_LINE:
            return []
        try:
            return place_tokens(text, level=self._level)
        except InputError:
            return []  # The reader has reported what is wrong with the line.

    def _options(self, action: Action) -> Iterator[tuple[Option, Token, Token | None]]:
        """Yield the options of an action, each with its token and that of its value."""
        for kind, token, value in self._classified(action):
            if kind is not None:
                yield kind, token, value

    def _operand_tokens(self, action: Action) -> list[Token]:
        return [token for kind, token, _ in self._classified(action) if kind is None]

    def _classified(self, action: Action) -> Iterator[tuple[Option | None, Token, Token | None]]:
        """Yield the tokens behind the command word as the reader of options takes them."""
        known = readers(self._level)
        _, table = known.get(action.command, known[""])
        options = {**table.runtime, **table.flags}
        tokens = self._tokens(action.line)[1:]
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            option = options.get(token.text)
            if option is None or option.read is None:
                yield option, token, None
                continue
            following = tokens[at] if at < len(tokens) else None
            if following is None or (option.bad == "keep" and option.read(following.text) is None):
                yield None, token, None
            else:
                at += 1
                yield option, token, following


def _align(text: str, tokens: list[Token], first: int = 0) -> Iterator[tuple[int, Token, int]]:
    """Yield the tokens that `text` was made of: where each begins in it, itself, its position.

    The text is tokens joined by spaces, from the `first` on, some of which (a predicate, the tail
    of a ref) may be missing.
    """
    at = 0
    for position in range(first, len(tokens)):
        token = tokens[position]
        for word in (token.text, token.text.strip(SPACES), token.text.partition("~")[0]):
            end = at + len(word)
            if text.startswith(word, at) and (end == len(text) or text[end] in SPACES):
                yield at, token, position
                at = end
                break
        if at == len(text):
            return
        while at < len(text) and text[at] in SPACES:
            at += 1
