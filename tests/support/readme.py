"""The README's commands, as tests read them."""

import re
from pathlib import Path

_README = Path(__file__).resolve().parents[2] / "README.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def console_lines() -> tuple[str, ...]:
    """Return what a reader of the README pastes, in order."""
    return tuple(
        line.removeprefix("$ ")
        for block in _BLOCK.findall(_README.read_text())
        for line in block.splitlines()
        if line.startswith("$ ")
    )
