"""The line of a step as people see it: short spelling, and no typed text.

May be imported by: runner.formats.ad, tests. Imports: runner.formats.ad.script.
"""

import json
import re
from typing import Final

from runner.formats.ad.script import Action

TYPED: Final = "<text>"
_BARE: Final = re.compile(r"-?\d+(\.\d+)?|@[^\s\"\\]+|[A-Za-z][A-Za-z0-9_-]*")
_HUMP: Final = re.compile(r"(?<=[a-z])([A-Z])")


def render_step(action: Action) -> str:
    """Return the line of `action`; what is filled or typed stands as `<text>`."""
    words = [action.command, *(_spell(word) for word in _shown(action))]
    for key, value in {**action.flags, **(action.runtime or {})}.items():
        words.append(_option(key))
        if not isinstance(value, bool):
            words.append(_spell(str(value)))
    return " ".join(words)


def _shown(action: Action) -> tuple[str, ...]:
    words = action.positionals
    if action.command == "type":
        return (TYPED,)
    if action.command == "fill" and len(words) > 1:
        return (*words[:-1], TYPED)
    return words


def _spell(word: str) -> str:
    if word == TYPED or _BARE.fullmatch(word):
        return word
    return json.dumps(word, ensure_ascii=False)


def _option(key: str) -> str:
    name = key.removeprefix("snapshot").removeprefix("screenshot").removeprefix("click") or key
    return "--" + _HUMP.sub(r"-\1", name).lower()
