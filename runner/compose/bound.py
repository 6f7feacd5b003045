"""The bounds of a closure: constants of the composition format, version 1.

A closure over a bound is refused before anything runs; `details.bound` names the one that was hit.

May be imported by: runner.compose, runner.formats, runner.preflight, runner.cli. Imports: nothing
of ours.
"""

from typing import Literal, TypeAlias

BYTE_LIMIT = 2 * 1024 * 1024
"""Source bytes of a root and every distinct fragment under it."""

SOURCE_LIMIT = 256
"""Distinct sources, the root among them."""

DEPTH_LIMIT = 16
"""The longest acyclic chain of includes; the root stands at 0."""

STEP_LIMIT = 100_000
"""Steps of the whole expansion."""

Bound: TypeAlias = Literal["sources", "depth", "bytes", "steps"]
