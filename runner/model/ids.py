"""Identifiers: strings and numbers that must not be mixed up.

May be imported by: everyone. Imports: nothing.
"""

from typing import Literal, NewType, TypeAlias

RunId = NewType("RunId", str)
PlanId = NewType("PlanId", str)
AttemptId = NewType("AttemptId", str)
DeviceId = NewType("DeviceId", str)
Digest = NewType("Digest", str)
"""`sha256:` and 64 lower-case hex digits."""
Fence = NewType("Fence", int)
"""Grows with every lease of one device; an older one is refused."""

Platform: TypeAlias = Literal["android", "ios"]
PLATFORMS: tuple[Platform, ...] = ("android", "ios")
