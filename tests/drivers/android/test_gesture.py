"""Touches as shell commands."""

from drivers.android.gesture import drag_command, drag_time_s, long_press_command, tap_commands
from runner.model.action import Drag, LongPress, Tap


def test_a_tap_rounds_to_pixels() -> None:
    assert list(tap_commands(Tap(x=10.6, y=-0.4))) == ["input tap 11 0"]


def test_taps_without_a_pause_share_commands() -> None:
    commands = list(tap_commands(Tap(x=1, y=2, count=12)))

    assert [command.count("input tap 1 2") for command in commands] == [10, 2]


def test_taps_with_a_pause_are_commands_of_their_own() -> None:
    assert list(tap_commands(Tap(x=1, y=2, count=3, interval_ms=50))) == ["input tap 1 2"] * 3


def test_a_double_tap_is_one_command() -> None:
    assert list(tap_commands(Tap(x=1, y=2, double=True))) == ["input tap 1 2 && input tap 1 2"]


def test_a_held_tap_and_a_long_press_stay_where_they_are() -> None:
    assert list(tap_commands(Tap(x=1, y=2, hold_ms=300))) == ["input swipe 1 2 1 2 300"]
    assert long_press_command(LongPress(x=1, y=2)) == "input swipe 1 2 1 2 800"


def test_a_fling_lifts_in_motion() -> None:
    drag = Drag(x1=1, y1=2, x2=3, y2=4, duration_ms=100, profile="fling")

    assert drag_command(drag, sdk=34) == "input swipe 1 2 3 4 100"


def test_a_pan_moves_evenly_rests_and_always_lifts() -> None:
    drag = Drag(x1=0, y1=100, x2=0, y2=20, duration_ms=160)

    assert drag_command(drag, sdk=34).split("; ") == [
        "input motionevent DOWN 0 100",
        "sleep 0.040",
        "input motionevent MOVE 0 80",
        "sleep 0.040",
        "input motionevent MOVE 0 60",
        "sleep 0.040",
        "input motionevent MOVE 0 40",
        "sleep 0.040",
        "input motionevent MOVE 0 20",
        "sleep 0.1",
        "input motionevent MOVE 0 20",
        "input motionevent UP 0 20",
    ]
    assert drag_time_s(drag) == 0.26


def test_an_old_release_swipes_instead_and_an_unknown_one_is_taken_for_new() -> None:
    drag = Drag(x1=0, y1=0, x2=0, y2=9, duration_ms=80)

    assert drag_command(drag, sdk=26).startswith("input swipe")
    assert drag_command(drag, sdk=0).startswith("input motionevent")
