"""Findings: what is wrong with the input, as values. Preflight returns all of them.

May be imported by: everyone. Imports: nothing of ours.
"""

from typing import Any

from msgspec import Struct


class Finding(Struct, frozen=True, kw_only=True):
    """One problem. `path` is relative to the source root; `line` and `column` count from 1.

    `flows` lists the root flows that the problem blocks, sorted.
    """

    reason: str
    path: str
    line: int = 1
    column: int = 1
    message: str
    details: dict[str, Any] = {}
    hint: str = ""
    flows: tuple[str, ...] = ()
