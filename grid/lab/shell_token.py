"""The spelling of the device's shell: names, breaks, reserved words, and how long a text may be.

Pure.

May be imported by: grid.lab, tests. Imports: nothing of ours.
"""

import re
from typing import Final

MAX_SCRIPT: Final = 1 << 18
MAX_DEPTH: Final = 20

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
FOR_IN: Final = re.compile(r"in(?=[\s;])")
BACKTICKS: Final = re.compile(r"`((?:[^`\\]|\\.)*+)`", re.DOTALL)
REDIRECT: Final = re.compile(r"(?:&>>?|(\d?)(>>|>&|>|<))")
BLANK: Final = " \t"
BREAKS: Final = frozenset(" \t\n;|&()<>")
OPENING: Final = frozenset(("if", "while", "until", "for", "{"))
RESERVED: Final = frozenset(
    (*OPENING, "then", "elif", "else", "fi", "do", "done", "case", "esac", "}", "function")
)
KEYWORD: Final = re.compile(r"(?:[a-z]+|[{}])(?=[\s;|&()<>]|$)")


class SyntaxFound(Exception):  # noqa: N818 -- the parser turns it into a value.
    """Carries a problem out of the parser's recursion."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
