"""Masks: what must not be shown, and how much of a text is.

Pure. A value is masked before a text is cut, so a cut cannot expose half of it; the longest value
goes first, so a value that begins another cannot expose the rest of it.

May be imported by: runner.formats.ad, tests. Imports: runner.model.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from runner.model.secret import spellings

TEXT_BYTES: Final = 256
CUT: Final = "…<truncated>"

Mask: TypeAlias = Callable[[str], str]


def build_mask(values: Mapping[str, str]) -> Mask:
    """Return a function that replaces each value, however it is quoted, by `<var:NAME>`.

    Empty values hide nothing. What cannot be written as UTF-8 is replaced as well, because masked
    texts travel.
    """
    names: dict[str, str] = {}
    for name in sorted(values):
        for form in spellings(values[name]):
            names.setdefault(form, name)
    hidden = sorted(names, key=lambda form: (-len(form), form))
    if not hidden:
        return make_encodable
    pattern = re.compile("|".join(map(re.escape, hidden)))

    def mask(text: str) -> str:
        return make_encodable(pattern.sub(lambda found: f"<var:{names[found[0]]}>", text))

    return mask


def make_encodable(text: str) -> str:
    """Return `text` without halves of surrogate pairs."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def clip(text: str, limit: int = TEXT_BYTES) -> str:
    """Return `text` within `limit` bytes, its end marker included, cut between characters."""
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: limit - len(CUT.encode())].decode("utf-8", "ignore") + CUT


def mask_value(value: Any, mask: Mask, *, limit: int | None = None) -> Any:
    """Return a JSON-like value with every text in it masked, and clipped when a limit is given."""
    match value:
        case str():
            masked = mask(value)
            return masked if limit is None else clip(masked, limit)
        case dict():
            return {key: mask_value(part, mask, limit=limit) for key, part in value.items()}
        case list() | tuple():
            return [mask_value(part, mask, limit=limit) for part in value]
        case _:
            return value
