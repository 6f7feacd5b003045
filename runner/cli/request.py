"""What the command line asked for, as values.

Pure. May be imported by: runner.cli, tests. Imports: runner.cli.durations, runner.errors.
"""

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from runner.cli.durations import parse_duration_ms
from runner.errors import InputError

Loudness: TypeAlias = Literal["quiet", "normal", "verbose"]


class PreflightRequest(Struct, frozen=True, kw_only=True):
    """Which flows, with which bindings, for which grid."""

    paths: tuple[str, ...]
    grid: Path | None = None
    root: Path | None = None
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    platform: str | None = None
    ad_level: str = "main"
    expect_digests: tuple[str, ...] = ()


class RunRequest(Struct, frozen=True, kw_only=True):
    """One sweep. Durations in milliseconds; `None` leaves the default."""

    preflight: PreflightRequest
    out: Path | None = None
    retries: int | None = None
    plan_ms: int | None = None
    step_ms: int | None = None
    run_ms: int | None = None
    max_fail: int | None = None
    fail_fast: bool = False
    junit: Path | None = None
    skip_invalid: bool = False
    flaky_fails: bool = False
    as_json: bool = False
    loudness: Loudness = "normal"


def duration_ms(text: str | None) -> int | None:
    """Return the milliseconds of an optional duration. Reasons: `duration_invalid`."""
    return None if text is None else parse_duration_ms(text)


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return `value` when it is allowed. Reasons: `option_invalid`."""
    if value not in allowed:
        raise InputError(
            reason="option_invalid",
            message=f"{option} is {value!r}; it must be one of {', '.join(allowed)}",
            details={"option": option, "value": value, "allowed": list(allowed)},
        )
    return value
