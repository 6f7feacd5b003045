"""What a script of the device's shell is: a tree of lists, pipelines, commands and words.

Pure values; a tree never changes, so one that was parsed serves every run.

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

from typing import Literal, TypeAlias

from msgspec import Struct


class Text(Struct, frozen=True):
    """Literal characters. Quoted ones are never split or matched against files."""

    text: str
    is_quoted: bool


class Variable(Struct, frozen=True):
    """A variable; `?`, `$`, `#` and digits are the shell's own."""

    name: str
    is_quoted: bool


class Substitution(Struct, frozen=True):
    """The output of a script."""

    script: "Script"
    is_quoted: bool


class Arithmetic(Struct, frozen=True):
    """The value of an expression, whose own variables are expanded first."""

    parts: "tuple[WordPart, ...]"
    is_quoted: bool


WordPart: TypeAlias = Text | Variable | Substitution | Arithmetic


class Word(Struct, frozen=True):
    """One word before expansion."""

    parts: tuple[WordPart, ...]


class Redirect(Struct, frozen=True):
    """Where a descriptor goes: a file (`<`, `>`, `>>`) or, for `>&`, another descriptor."""

    descriptor: Literal[0, 1, 2]
    operator: Literal["<", ">", ">>", ">&"]
    target: Word


class Group(Struct, frozen=True):
    """`{ ...; }`: a script in the same shell."""

    body: "Script"


class Branch(Struct, frozen=True):
    """`if`: the body of the first condition that succeeds, else `otherwise`."""

    arms: "tuple[tuple[Script, Script], ...]"
    otherwise: "Script | None"


class Loop(Struct, frozen=True):
    """`while`, or `until` when `is_until`."""

    condition: "Script"
    body: "Script"
    is_until: bool


class ForEach(Struct, frozen=True):
    """`for NAME in WORD...`."""

    name: str
    words: tuple[Word, ...]
    body: "Script"


Compound: TypeAlias = Group | Branch | Loop | ForEach


class Command(Struct, frozen=True):
    """A simple command, a subshell when `body` is there, or a `compound` in this shell."""

    assignments: tuple[tuple[str, Word], ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    body: "Script | None" = None
    compound: Compound | None = None


class Pipeline(Struct, frozen=True):
    """Commands joined by `|`. `is_negated` turns the status of the last one around."""

    commands: tuple[Command, ...]
    is_negated: bool = False


class Script(Struct, frozen=True):
    """Pipelines, each with when it runs: always, or by the status before it."""

    items: tuple[tuple[Literal["", "&&", "||"], Pipeline], ...]
