"""What is known about one `.ad` command word.

Pure values; the registry of all words is `runner.formats.ad.commands`. `fragment_safe` has no
default: a new command is refused in fragments until it says otherwise.

May be imported by: runner.formats.ad, runner.cli, tests. Imports: runner.formats.ad.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from runner.formats.ad import arguments
from runner.formats.ad.arguments import Reader
from runner.formats.ad.lexer import Level
from runner.formats.ad.options import Option
from runner.formats.ad.phrase import TargetReader
from runner.formats.ad.usage import UsageCheck

EvidenceTiming: TypeAlias = Literal["pre", "post", "dual"]
"""When recorded evidence is compared: before dispatch, while polling, or for two targets."""


class Command(Struct, frozen=True, kw_only=True):
    """One command word.

    `element`: it can act on an element. `lifecycle`: it owns a session, a device or an
    app's installation. `supported`: this version runs it. `recorded`: recorders write it.
    `targets` names the operands that are selectors or refs; `judge` says what is wrong with
    the operands of one action.
    """

    word: str
    operands: str
    help: str
    fragment_safe: bool
    recorded: bool = True
    supported: bool = False
    element: bool = False
    lifecycle: bool = False
    evidence: EvidenceTiming | None = None
    since: Level = "0.21"
    options: tuple[Option, ...] = ()
    read: Reader = arguments.read_verbatim
    targets: TargetReader | None = None
    judge: UsageCheck | None = None

    @property
    def usage(self) -> str:
        """The command as one line of help."""
        names = [
            f"[{option.names[0]} {option.usage}".rstrip() + "]"
            for option in self.options
            if not option.is_retired
        ]
        return " ".join(part for part in (self.word, self.operands, *names) if part)
