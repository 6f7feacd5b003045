"""How much is measured: enough for steady medians, or little for a look."""

from msgspec import Struct


class Scale(Struct, frozen=True, kw_only=True):
    """The sizes of all topics."""

    devices: int = 64
    rounds: int = 3
    turn_s: float = 1.0
    flows: tuple[int, ...] = (1_000, 10_000)
    starts: int = 15
    events: int = 100_000
    plays: int = 10
    misses: int = 8


QUICK = Scale(
    devices=8,
    rounds=1,
    turn_s=0.3,
    flows=(200,),
    starts=3,
    events=10_000,
    plays=2,
    misses=2,
)
