"""Durations on the command line: `500ms`, `30s`, `2m`, `1h`; a bare number is milliseconds.

Pure. May be imported by: runner.cli, tests. Imports: runner.errors.
"""

import re
from typing import Final

from runner.errors import InputError

_UNITS: Final = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|)", re.ASCII)
_LIMIT_MS: Final = 7 * 24 * 3_600_000


def parse_duration_ms(text: str) -> int:
    """Return milliseconds, from 1 to seven days. Reasons: `duration_invalid`."""
    found = _DURATION.fullmatch(text.strip())
    value = 0 if found is None else round(float(found[1]) * _UNITS[found[2]])
    if not 1 <= value <= _LIMIT_MS:
        raise InputError(
            reason="duration_invalid",
            message=f"{text!r} is not a duration between 1ms and 168h",
            details={"text": text},
        )
    return value
