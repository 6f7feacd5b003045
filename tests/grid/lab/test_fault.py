import math

import pytest

from grid.lab.fault import FAULTS, FaultBoard
from runner.errors import InputError
from tests.grid.lab.labkit import HandClock


def make_board() -> tuple[FaultBoard, HandClock]:
    clock = HandClock()
    return FaultBoard(platform="android", clock=clock), clock


def test_a_fault_stays_until_it_is_cleared() -> None:
    board, clock = make_board()
    board.set("slow", latency_ms=5)
    clock.now += 1_000

    assert board.get("slow") == {"latency_ms": 5, "for_s": 0}
    assert board.remaining_s("slow") == math.inf
    board.clear("slow")
    assert board.get("slow") is None
    assert board.active() == {}


def test_a_fault_with_a_length_ends_by_itself() -> None:
    board, clock = make_board()
    board.set("stall", for_s=3)

    clock.now += 2
    assert board.remaining_s("stall") == 1
    clock.now += 1
    assert board.active() == {}
    assert board.remaining_s("stall") == 0


def test_a_momentary_fault_tells_and_is_over() -> None:
    board, _ = make_board()
    told: list[str] = []
    stop = board.subscribe(told.append)

    board.set("drop")
    assert board.active() == {}
    board.set("drop", for_s=2)
    assert "drop" in board.active()
    stop()
    board.clear("drop")

    assert told == ["drop", "drop"]


@pytest.mark.parametrize(
    ("name", "params"), [("nonsense", {}), ("wda_hang", {}), ("drop", {"speed": 1.0})]
)
def test_what_a_phone_does_not_have_is_refused(name: str, params: dict[str, float]) -> None:
    board, _ = make_board()

    with pytest.raises(InputError) as caught:
        board.set(name, **params)

    assert caught.value.reason == "lab_fault_unknown"
    assert board.active() == {}


def test_every_fault_says_what_it_does() -> None:
    for info in FAULTS.values():
        assert info.help
        assert info.platforms
