r"""Values as JSON text that every reader takes.

Pure. A lone surrogate has no place in UTF-8, so it is written as the visible text `\udXXX`.

May be imported by: runner.report, runner.cli, tests. Imports: nothing of ours.
"""

from typing import Any

import msgspec


def encode_value(value: object) -> bytes:
    """Return `value` as one line of JSON."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escape(msgspec.to_builtins(value)))


def render_value(value: object) -> str:
    """Return `value` as indented JSON with a final newline."""
    return msgspec.json.format(encode_value(value), indent=2).decode() + "\n"


def _escape(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escape(key): _escape(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escape(part) for part in value]
    return value
