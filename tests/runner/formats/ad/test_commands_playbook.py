"""One conversation for each command: exactly what it asks the device, in order."""

import json

import pytest

from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.machine import HANDLERS, play
from runner.machine.intent import Act, Acted, ActFailed, Look, Pause, Resumed, Seen, Shoot
from runner.machine.playbook import Frame, Line, Played, play_lines, play_screens
from runner.model.action import (
    AcceptAlert,
    Action,
    Back,
    CloseApp,
    DismissAlert,
    Drag,
    FillText,
    HideKeyboard,
    Home,
    KeyboardStatus,
    LongPress,
    OpenApp,
    PressEnter,
    ReadAlert,
    Tap,
    TypeText,
)
from runner.model.event import StepFinished
from runner.model.failure import Failure
from runner.model.ids import Platform
from tests.runner.formats.ad.screens import EMPTY, frames, node, program, screen

SHOP = screen(
    node("android.widget.Button", "Buy", rect=(100, 100, 200, 100), hittable=True),
    node("android.widget.EditText", "Mail", rect=(0, 400, 100, 50), focused=True),
    node("android.widget.EditText", "Pin", rect=(0, 500, 100, 50), secure=True),
    node("Text", "Far", rect=(0, 4000, 100, 50), identifier="far"),
    node("Text", "Sum", value="5 €", rect=(0, 700, 100, 50), selected=True, enabled=True),
)
ABSENT = Failure(kind="product", code="ALERT_ABSENT", reason="alert_absent", message="no alert")


def look() -> Line:
    return Look(), Seen(snapshot=SHOP, at_ms=0)


def act(action: Action, text: str = "") -> Line:
    return Act(action=action), Acted(text=text, at_ms=0)


def pause(ms: int) -> Line:
    return Pause(ms=ms), Resumed(at_ms=ms)


def run(line: str, *lines: Line, platform: Platform = "android") -> Played:
    return play_lines(play(program(f"{line}\n", platform=platform), scope={}), lines)


def drag(*points: float, profile: str = "pan", ms: int = 300) -> Drag:
    x1, y1, x2, y2 = points
    fling = profile == "fling"
    return Drag(x1=x1, y1=y1, x2=x2, y2=y2, duration_ms=ms, profile="fling" if fling else "pan")


def fling(*points: float) -> Drag:
    return drag(*points, profile="fling", ms=100)


CASES: list[tuple[str, list[Line]]] = [
    ("open com.shop", [act(OpenApp(app="com.shop"))]),
    ("open com.shop --relaunch", [act(OpenApp(app="com.shop", relaunch=True))]),
    ("open shop://cart", [act(OpenApp(url="shop://cart"))]),
    ("open com.shop shop://cart", [act(OpenApp(app="com.shop", url="shop://cart"))]),
    ("open com.shop --launch-url shop://a", [act(OpenApp(app="com.shop", url="shop://a"))]),
    ("close com.shop", [act(CloseApp(app="com.shop"))]),
    ("close", []),
    ("press label=Buy", [look(), act(Tap(x=200, y=150))]),
    ("click label=Buy", [look(), act(Tap(x=200, y=150))]),
    ("press 3 4.5", [act(Tap(x=3, y=4.5))]),
    (
        "press label=Buy --count 3 --interval-ms 40 --hold-ms 5",
        [look(), act(Tap(x=200, y=150, count=3, interval_ms=40, hold_ms=5))],
    ),
    ("press label=Buy --double-tap", [look(), act(Tap(x=200, y=150, double=True))]),
    ("press label=Buy --button primary", [look(), act(Tap(x=200, y=150))]),
    (
        "press 10 10 --count 3 --jitter-px 2 --interval-ms 7",
        [
            act(Tap(x=10, y=10, interval_ms=7)),
            pause(7),
            act(Tap(x=12, y=10, interval_ms=7)),
            pause(7),
            act(Tap(x=10, y=12, interval_ms=7)),
        ],
    ),
    ("longpress label=Buy", [look(), act(LongPress(x=200, y=150, duration_ms=800))]),
    ("longpress label=Buy 1200", [look(), act(LongPress(x=200, y=150, duration_ms=1200))]),
    ("longpress 5 6 900", [act(LongPress(x=5, y=6, duration_ms=900))]),
    ("longpress 5 6", [act(LongPress(x=5, y=6, duration_ms=800))]),
    ("fill label=Mail a@b.c", [look(), act(FillText(x=50, y=425, text="a@b.c"))]),
    ("fill label=Mail two words", [look(), act(FillText(x=50, y=425, text="two words"))]),
    ("fill label=Pin 1234", [look(), act(FillText(x=50, y=525, text="1234", secret=True))]),
    ("fill 1 2 hi --delay-ms 9", [act(FillText(x=1, y=2, text="hi", delay_ms=9))]),
    ('type "a b" c --delay-ms 3', [act(TypeText(text="a b c", delay_ms=3))]),
    ("wait 250", [pause(250)]),
    ("wait label=Buy", [look()]),
    ("get text label=Sum", [look()]),
    ("get attrs id=far", [look()]),
    ("is visible label=Buy", [look()]),
    ("is label=Buy visible", [look()]),
    ("is hidden id=far", [look()]),
    ("is exists id=far", [look()]),
    ("is absent id=other", [look()]),
    ("is editable label=Mail", [look()]),
    ("is focused label=Mail", [look()]),
    ("is selected label=Sum", [look()]),
    ("is text label=Sum Sum", [look()]),
    ("scroll down", [look(), act(drag(500, 1600, 500, 400))]),
    ("scroll up 0.5", [look(), act(drag(500, 500, 500, 1500))]),
    ("scroll right 0.2", [look(), act(drag(600, 1000, 400, 1000))]),
    ("scroll left 7", [look(), act(drag(100, 1000, 900, 1000))]),
    ("swipe 1 2 3 4", [act(fling(1, 2, 3, 4))]),
    (
        "swipe 1 2 3 4 --count 3 --pause-ms 50 --pattern ping-pong",
        [
            act(fling(1, 2, 3, 4)),
            pause(50),
            act(fling(3, 4, 1, 2)),
            pause(50),
            act(fling(1, 2, 3, 4)),
        ],
    ),
    ("swipe 1 2 3 4 --count 2", [act(fling(1, 2, 3, 4)), act(fling(1, 2, 3, 4))]),
    ("back", [act(Back())]),
    ("home", [act(Home())]),
    ("screenshot", []),
    ("keyboard dismiss", [act(HideKeyboard())]),
    ("keyboard enter", [act(PressEnter())]),
    ("keyboard return", [act(PressEnter())]),
    ("keyboard status", [act(KeyboardStatus(), "shown")]),
    ("keyboard get", [act(KeyboardStatus(), "hidden")]),
    ("alert accept", [act(AcceptAlert())]),
    ("alert dismiss", [act(DismissAlert())]),
    ("alert get", [act(ReadAlert(), "Allow?")]),
    ("alert wait", [act(ReadAlert(), ""), pause(300), act(ReadAlert(), "Allow?")]),
    ("snapshot -i", [look()]),
]


@pytest.mark.parametrize(("line", "lines"), CASES, ids=[line for line, _ in CASES])
def test_a_command_asks_exactly_this(line: str, lines: list[Line]) -> None:
    machine = play(program(f"{line}\n"), scope={})
    if line == "screenshot":
        shot = next(iter(play_screens(machine, []).intents[1:]))
        assert isinstance(shot, Shoot)
        assert shot.address is not None
        return

    played = play_lines(machine, lines)

    assert played.outcome.failure is None
    assert len(lines) == sum(not hasattr(intent, "body") for intent in played.intents)


def test_every_supported_command_has_a_handler_and_a_case() -> None:
    supported = {word for word, command in COMMANDS.items() if command.supported}

    assert supported == set(HANDLERS)
    assert supported == {line.split()[0] for line, _ in CASES}


def test_ios_pans_a_little_further() -> None:
    played = run(
        "scroll down",
        (Look(), Seen(snapshot=SHOP, at_ms=0)),
        act(drag(500, 1650, 500, 350)),
        platform="ios",
    )

    assert played.outcome.failure is None


def test_a_pan_reuses_the_size_that_an_earlier_look_told() -> None:
    played = play_lines(
        play(program("wait label=Buy\nscroll down\n"), scope={}),
        [look(), act(drag(500, 1600, 500, 400))],
    )

    assert played.outcome.failure is None


def test_close_without_an_app_closes_the_one_that_was_opened_last() -> None:
    played = play_lines(
        play(program("open com.a\nopen com.b\nclose\n"), scope={}),
        [act(OpenApp(app="com.a")), act(OpenApp(app="com.b")), act(CloseApp(app="com.b"))],
    )

    assert played.outcome.failure is None


def test_scrolling_to_the_bottom_ends_when_the_screen_no_longer_changes() -> None:
    first, last = screen(node(label="1")), screen(node(label="2"))

    played = play_screens(play(program("scroll bottom\n"), scope={}), frames(first, last, last))

    assert played.outcome.failure is None
    assert len(played.actions) == 2
    assert isinstance(played.events[-1], StepFinished)
    assert played.events[-1].detail == "2 pans"


def test_scrolling_an_endless_list_ends_after_a_bound() -> None:
    endless = frames(*(screen(node(label=str(at))) for at in range(100)))

    played = play_screens(play(program("scroll bottom\n"), scope={}), endless)

    assert played.outcome.failure is not None
    assert played.outcome.failure.reason == "scroll_edge_not_reached"
    assert len(played.actions) == 40


def test_scrolling_until_an_element_ends_at_it_or_at_the_edge() -> None:
    shown = frames(
        screen(node(label="1"), node(label="Goal", rect=(0, 5000, 1, 1))),
        screen(node(label="2"), node(label="Goal")),
    )

    found = play_screens(play(program("scroll down --until label=Goal\n"), scope={}), shown)
    missed = play_screens(play(program("scroll down --until label=No\n"), scope={}), shown)

    assert found.outcome.failure is None
    assert len(found.actions) == 1
    assert missed.outcome.failure is not None
    assert missed.outcome.failure.reason == "selector_not_found"
    assert len(missed.actions) == 2


def test_answering_an_alert_waits_for_it_when_told_to() -> None:
    answers: dict[type[Action], list[str | Failure]] = {AcceptAlert: [ABSENT, ABSENT, ""]}

    patient = play_screens(play(program("alert accept 900\n"), scope={}), [], answers=answers)
    hasty = play_lines(
        play(program("alert accept\n"), scope={}),
        [
            (Act(action=AcceptAlert()), ActFailed(failure=ABSENT, at_ms=0)),
            (Look(), Seen(snapshot=SHOP, at_ms=0)),
        ],
    )

    assert patient.outcome.failure is None
    assert patient.pauses == (300, 300)
    assert hasty.outcome.failure == ABSENT


def test_an_alert_that_does_not_come_is_told() -> None:
    answers: dict[type[Action], list[str | Failure]] = {ReadAlert: [""]}

    for line, waited in (("alert get", 0), ("alert wait 700", 700), ("alert wait", 10_000)):
        played = play_screens(
            play(program(f"{line}\n"), scope={}), [Frame(screen=SHOP)], answers=answers
        )
        assert played.outcome.failure is not None
        assert played.outcome.failure.reason == "wait_alert_absent"
        assert played.ended_ms == waited


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("get text label=Sum", "Sum"),
        ("get text id=far", "Far"),
        ("keyboard status", "shown"),
        ("snapshot", "6 elements"),
    ],
)
def test_what_a_step_reads_is_its_detail(line: str, detail: str) -> None:
    answers: dict[type[Action], list[str | Failure]] = {KeyboardStatus: ["shown"]}

    played = play_screens(
        play(program(f"{line}\n"), scope={}), [Frame(screen=SHOP)], answers=answers
    )

    assert isinstance(played.events[-1], StepFinished)
    assert detail == played.events[-1].detail


def test_attributes_are_read_as_json() -> None:
    played = run("get attrs label=Sum", look())

    assert isinstance(played.events[-1], StepFinished)
    assert json.loads(played.events[-1].detail) == {
        "ref": "e6",
        "role": "Text",
        "label": "Sum",
        "rect": {"x": 0, "y": 700, "width": 100, "height": 50},
        "enabled": True,
        "selected": True,
        "value": "5 €",
    }


def test_a_screenshot_keeps_its_name() -> None:
    played = play_screens(play(program("screenshot cart.png\n"), scope={}), [])

    shots = [intent for intent in played.intents if isinstance(intent, Shoot)]
    assert ["cart.png"] == [shot.name for shot in shots]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("press label=Nope", "selector_not_found"),
        ("press label=Far", "target_off_screen"),
        ("press role=edittext", "selector_ambiguous"),
        ("press label=Buy --button secondary", "action_unsupported"),
        ("press label=Buy --double-tap --hold-ms 5", "arguments_invalid"),
        ("press label=Buy --count 201", "arguments_invalid"),
        ("press @e3", "ref_without_session"),
        ("fill @e3 text", "ref_without_session"),
        ("wait @e3", "ref_without_session"),
        ("get text @e3", "ref_without_session"),
        ("longpress @e3", "ref_without_session"),
        ("press Buy now", "selector_invalid"),
        ("fill label=Nope x", "selector_not_found"),
        ("get text label=Nope", "selector_not_found"),
        ("get attrs role=edittext", "selector_ambiguous"),
        ("get text role=edittext", "selector_ambiguous"),
        ("is visible label=Nope", "selector_not_found"),
        ("is visible role=edittext", "selector_ambiguous"),
        ("is visible label=Far", "predicate_false"),
        ("is hidden label=Buy", "predicate_false"),
        ("is exists label=Nope", "predicate_false"),
        ("is absent label=Buy", "predicate_false"),
        ("is editable label=Buy", "predicate_false"),
        ("is selected label=Buy", "predicate_false"),
        ("is focused label=Buy", "predicate_false"),
        ("is text label=Sum sum", "predicate_false"),
        ("is nonsense label=Sum", "arguments_invalid"),
        ("open", "arguments_invalid"),
        ("open shop://a --relaunch", "arguments_invalid"),
        ("scroll sideways", "arguments_invalid"),
        ("scroll down 0", "arguments_invalid"),
        ("swipe 1 2 3", "arguments_invalid"),
        ("swipe 1 2 3 x", "arguments_invalid"),
        ("swipe 1 2 3 4 --count 200 --pause-ms 10000", "arguments_invalid"),
        ("swipe 1 2 3 4 --count 0", "arguments_invalid"),
        ("keyboard fly", "arguments_invalid"),
        ("alert maybe", "arguments_invalid"),
        ("alert wait soon", "arguments_invalid"),
        ("type", "arguments_invalid"),
        ("wait", "arguments_invalid"),
        ("wait stable x", "arguments_invalid"),
        ("wait label=Buy --depth 3", "arguments_invalid"),
        ("longpress label=Buy 0", "arguments_invalid"),
        ("app-switcher", "command_unsupported"),
        ("frobnicate 1", "command_unknown"),
        ("press ${X} ${Y}", "variable_unbound"),
    ],
)
def test_a_step_that_cannot_work_says_why(line: str, reason: str) -> None:
    played = play_screens(play(program(f"{line}\n"), scope={}), [Frame(screen=SHOP)])

    assert played.outcome.failure is not None
    assert reason == played.outcome.failure.reason
    assert played.outcome.failure.kind in {"product", "misuse"}
    assert played.actions == ()


def test_expanded_coordinates_stay_a_selector() -> None:
    played = play_screens(
        play(program("press ${X} ${Y}\n"), scope={"X": "1", "Y": "2"}), [Frame(screen=SHOP)]
    )

    assert played.outcome.failure is not None
    assert played.outcome.failure.reason == "selector_invalid"


def test_absence_is_not_proved_by_a_cut_or_empty_capture() -> None:
    cut = screen(node(label="x"), truncated=True)

    for shown, reason in ((cut, "predicate_false"), (EMPTY, "capture_sparse")):
        played = play_screens(
            play(program("is absent label=Buy\n"), scope={}), [Frame(screen=shown)]
        )
        assert played.outcome.failure is not None
        assert reason == played.outcome.failure.reason
