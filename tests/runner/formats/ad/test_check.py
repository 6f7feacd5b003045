"""What is wrong with the steps of a script."""

import pytest
from hypothesis import given, strategies as st

from runner.formats.ad import request, touch
from runner.formats.ad.check import check_actions
from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.machine import play
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import Action
from runner.machine.playbook import Frame, play_screens
from runner.model.finding import Finding
from tests.runner.formats.ad.screens import EMPTY, program


def check(text: str) -> tuple[Finding, ...]:
    return check_actions(read_script(text.encode(), path="a.ad").script, path="a.ad")


@pytest.mark.parametrize(
    "line",
    [
        *("open A", 'open "x://y"', "open A x://y", "open --launch-url x://y", "close", "close A"),
        *("press id=a", "press 1 2.5", 'press "${X}"', 'press "id=${X:-a b}"', "click visible"),
        *("press id=a --count 3", "press ${X} ${Y}", 'press "enabled=${X}"'),
        *("longpress id=a label=b 500", "longpress 1 2 500", "longpress 1 2 ${X}"),
        *("fill id=a text", 'fill id=a ""', "fill 1 2 x", "fill 1 2", "type a b"),
        *("wait 500", "wait text Hi 5", "wait stable", "wait stable 5 ${X}", "wait absent id=a 5"),
        *("wait Hello", 'wait "Selected items"', "wait id=a ${MS}", "wait ${X}"),
        *(
            "get text id=a",
            "get ${WHAT} id=a",
            "is visible id=a",
            "is id=a hidden",
        ),
        *('is text id=a "Hi you"', "is exists ${X}", "is ${P} id=a", "is absent id=a || id=b"),
        *("scroll down", "scroll top", "scroll ${D} 0.5", "scroll up ${F}", "scroll left 3"),
        *(
            "swipe 1 2 3 4",
            "swipe ${A} 2 3 4 --count 200",
            "swipe 1 2 3 4 --count 6 --pause-ms 9999",
        ),
        *("keyboard dismiss", "keyboard get", "keyboard ${K}", "alert accept 5", "alert wait"),
        *("back", "home", "screenshot", "screenshot a.png", "snapshot -i", "back --system"),
        *("scroll down --until id=a", "scroll down 0.5 --pixels 20"),
    ],
)
def test_these_steps_are_fine(line: str) -> None:
    assert check(line) == ()


@pytest.mark.parametrize(
    "line",
    [
        *("open", "open A B C", 'open ""', "close A B", 'close ""', "press", 'press " "'),
        *("press -1 5", "press 5 Infinity", "press id=a --count 0", "longpress", "longpress 1 2 x"),
        *(
            "longpress id=a 0",
            "fill",
            "fill id=a",
            "type",
            'type ""',
            "wait",
            "wait -5",
            "wait text",
        ),
        *("wait text 500", "wait absent", "wait absent 5", "wait stable x", "wait stable 5 -1"),
        *("wait id=a -5", "wait absent id=a --depth 2", "get", "get text", "get value id=a"),
        *('get text " "', "is", "is nonsense id=x", "is visible", "is text id=a"),
        *("is visible id=a extra", "scroll", "scroll sideways", "scroll up x"),
        *("scroll up 0", "scroll up -1", "swipe", "swipe 1 2 3", "swipe 1 2 3 x", "swipe 1 2 3 -4"),
        *("swipe 1 2 3 4 --count 0", "swipe 1 2 3 4 --count 201", "swipe 1 2 3 4 --pause-ms 10001"),
        *("swipe 1 2 3 4 --count 8 --pause-ms 9999", "keyboard", "keyboard fly", "alert"),
        *("alert maybe", "alert accept x", "alert wait -1", "wait 1e300", "press 5 1e300"),
    ],
)
def test_operands_that_can_never_work_are_one_finding_with_the_usage(line: str) -> None:
    (finding,) = check(f"\n  {line}")

    assert finding.reason == "arguments_invalid"
    assert (finding.path, finding.line, finding.column) == ("a.ad", 2, 3)
    assert finding.details["usage"] == COMMANDS[line.split(maxsplit=1)[0]].usage
    assert finding.details["usage"] in finding.hint


@pytest.mark.parametrize(
    ("line", "offset"),
    [
        ('press "label~=a"', 0),
        ("press text=Sign in", 10),
        ("click id=", 3),
        ("fill name=a text", 0),
        ("longpress id=a Label 500", 5),
        ('get text "id=a ||"', 5),
        ("is visible enabled=maybe", 8),
        ("wait nope=a", 0),
        ('wait "label=\\"x"', 6),
        ("wait absent Hello", 0),
        ("scroll down --until Hello", 0),
    ],
)
def test_a_selector_that_cannot_be_read_is_a_finding(line: str, offset: int) -> None:
    (finding,) = check(line)

    assert finding.reason == "selector_invalid"
    assert finding.details["offset"] == offset
    assert finding.line == 1


def test_the_offset_is_that_in_the_authored_text_also_with_variables() -> None:
    (finding,) = check('press "id=${LONG_NAME} nope=a"')

    assert finding.reason == "selector_invalid"
    assert finding.details["selector"] == "id=${LONG_NAME} nope=a"
    assert 16 == finding.details["offset"]


@pytest.mark.parametrize(
    "line",
    [
        "press @e1 Go",
        "longpress @e1 5",
        "fill @e1~s2 x",
        "wait @e1 5",
        "get attrs @e1",
        "is visible @e1",
    ],
)
def test_a_ref_is_a_finding_because_no_session_is_there_to_resolve_it(line: str) -> None:
    (finding,) = check(line)

    assert finding.reason == "ref_without_session"
    assert finding.details == {"ref": "@e1"}


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        ("OPEN", "open"),
        ("opne", "open"),
        ("pres", "press"),
        ("tap", "press"),
        ("rotate", "orientation"),
        ("pinch", "gesture pinch"),
        ("long-press", "longpress"),
        ("qqqqqqq", None),
        ('""', None),
    ],
)
def test_an_unknown_command_names_the_nearest(word: str, nearest: str | None) -> None:
    (finding,) = check(f"{word} id=a")

    assert finding.reason == "command_unknown"
    assert finding.details["nearest"] == nearest
    assert nearest is None or f"`{nearest}`" in finding.message


@pytest.mark.parametrize("line", ["find x", "settings wifi on", "replay a.ad", "devices", "fold"])
def test_a_known_command_that_does_not_run_here_says_so(line: str) -> None:
    (finding,) = check(line)

    assert finding.reason == "command_unsupported"
    assert finding.details == {"command": line.split(maxsplit=1)[0]}


@pytest.mark.parametrize(
    "text",
    [
        'type "\\ud800"',
        'env A="\\udfff"',
        'frobnicate "\\ud83d" "\\ude00"',
        'open A --launch-url "\\ud800"',
        'include "\\ud800"',
        '# agent-device:target-v1 {"role":"\\ud800","verification":"verified"}\nback',
        'press @e1 "\\ud800"',
    ],
)
def test_half_a_surrogate_pair_is_a_finding_wherever_it_stands(text: str) -> None:
    found = [f for f in check(text) if f.reason == "text_unencodable"]

    assert len(found) == 1
    assert found[0].line == 1


def test_whole_characters_are_fine_however_they_are_written() -> None:
    assert check('type "\\ud83d\\ude00 é 😀"\nenv A=é') == ()


def test_all_findings_come_in_the_order_of_lines() -> None:
    found = check("opne A\nfind x\nscroll sideways\npress nope=a\nback\n")

    assert [(f.line, f.reason) for f in found] == [
        (1, "command_unknown"),
        (2, "command_unsupported"),
        (3, "arguments_invalid"),
        (4, "selector_invalid"),
    ]


BLANK_POINTS = ['press " " 7', 'longpress " " 7', 'press 7 " "', 'fill " " 7 x', 'swipe " " 1 2 3']


@pytest.mark.parametrize("line", [*BLANK_POINTS, 'longpress " " 7 500', 'click "\ufeff" " "'])
def test_a_quoted_blank_is_the_number_zero(line: str) -> None:
    played = play_screens(play(program(f"{line}\n"), scope={}), [Frame(screen=EMPTY)])

    assert check(line) == ()
    assert len(played.actions) == 1


@pytest.mark.parametrize(
    "line",
    [
        *("wait Infinity", "wait 1e999", "wait 86400001", "wait id=a Infinity", "wait a 1e999"),
        *(
            "wait stable Infinity",
            "wait stable 5 1e300",
            "wait absent id=a 1e300",
            "wait -Infinity",
        ),
        *("press id=a --count 1e308", "press id=a --count 201", "click id=a --interval-ms 10001"),
        *("press id=a --hold-ms 60001", "press id=a --jitter-px 1001", "type a --delay-ms 1e300"),
        *("fill id=a x --delay-ms 10001", "press id=a --double-tap --hold-ms 5"),
        *("scroll up 1e300", "scroll up 1e-9", "scroll up Infinity", "longpress id=a Infinity"),
        *("alert wait Infinity", "longpress 1 2 1e300"),
        *("wait id=a --depth 2", "wait id=a 500 --scope Box", "wait absent id=a --depth 2"),
        *("wait text Hi --depth 2", "wait stable --scope Box", "wait 5 --depth 2"),
    ],
)
def test_options_and_numbers_have_bounds_and_the_interpreter_has_the_same(line: str) -> None:
    (finding,) = check(line)
    played = play_screens(play(program(f"{line}\n"), scope={}), [Frame(screen=EMPTY)])

    assert finding.reason == "arguments_invalid"
    assert played.outcome.failure is not None
    assert played.outcome.failure.reason == "arguments_invalid"


@pytest.mark.parametrize(
    "line",
    [
        *("wait 86400000", "press id=a --count 200 --interval-ms 10000", "type a --delay-ms 10000"),
        *("press id=a --hold-ms 60000 --jitter-px 1000", "wait stable 0 86400000", "wait 0"),
    ],
)
def test_the_bounds_themselves_are_fine(line: str) -> None:
    assert check(line) == ()


def test_the_check_and_the_interpreter_share_their_bounds() -> None:
    for name in ("COUNT_LIMIT", "PAUSE_LIMIT_MS", "HOLD_LIMIT_MS"):
        assert getattr(request, name) == getattr(touch, name)


@pytest.mark.parametrize(
    "line", ["wait foo=bar", "wait resource-id=a 5", "wait a~=b", "wait x=y z"]
)
def test_a_wait_for_what_looks_like_a_selector_names_the_way_to_wait_for_a_text(line: str) -> None:
    (finding,) = check(line)

    assert finding.reason == "selector_invalid"
    assert "`wait text ...`" in finding.hint


@pytest.mark.parametrize(
    "line", ['wait "Total = 5"', "wait 2+2=4", "wait Sum x=y", "wait text a=b"]
)
def test_other_texts_stay_texts(line: str) -> None:
    assert check(line) == ()


@pytest.mark.parametrize(
    "line",
    ["is @e1 visible", "is text @e1 Hi", "is visible @e1 label", "scroll down --until @e1"],
)
def test_a_ref_is_a_ref_whatever_names_it(line: str) -> None:
    assert [finding.reason for finding in check(line)] == ["ref_without_session"]


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        ("press id=a --count ${N}", "'id=a --count ${N}'"),
        ("press nope=${N}", "'nope=${N}' is wrong at character 1: 'nope' is no key"),
        ("press id=${A:-a\\}b} ||", "'id=${A:-a\\\\}b} ||' is wrong at character 15"),
        ("press ${A} Buy", "'${A} Buy' is wrong at character 6: 'Buy' is no term"),
    ],
)
def test_what_is_quoted_is_what_was_written(line: str, quoted: str) -> None:
    (finding,) = check(line)

    assert quoted in finding.message


HALF = '"\\ud800"'
# `snapshot` has no operands; what `get` and others have behind theirs is a display label.
POSITIONS = [
    *((word, at) for word in COMMANDS if word not in {"snapshot", "swipe"} for at in (0, 1)),
    *(("swipe", at) for at in range(4)),
    *((word, at) for word in ("frobnicate", HALF) for at in (0, 1)),
]


@pytest.mark.parametrize(("word", "at"), POSITIONS)
@pytest.mark.parametrize("other", ["id=a", "text", "visible", "@e1"])
def test_half_a_character_in_an_operand_is_all_that_is_said(word: str, at: int, other: str) -> None:
    words = [other] * (4 if word == "swipe" else 2)
    words[at] = HALF
    (finding,) = check(f"back\n{word} {' '.join(words)}\nback")

    assert (finding.reason, finding.line) == ("text_unencodable", 2)
    assert "\\ud800" in finding.message


@pytest.mark.parametrize(
    "line",
    [
        *("open A --launch-url {}", "open A --metro-host {}", "scroll down --until {}"),
        *("snapshot --scope {}", "wait id=a --scope {}", "press id=a --count {}", "fill id=a x {}"),
        *("type a b {}", "wait absent id=a {}", "is text id=a {}", "gesture drag {} id=a"),
        *("include {}", "env A={}", 'press "label=\\"\\\\ud800\\""', "screenshot --crop-on {}"),
        *("longpress id=a {} 5", "is {} id=a", "runtime --metro-host {}", "press @e1 {}"),
    ],
)
def test_half_a_character_is_found_in_every_other_place(line: str) -> None:
    (finding,) = check(line.format(HALF))

    assert (finding.reason, finding.line) == ("text_unencodable", 1)
    (finding.message + finding.hint).encode()
    assert "\\ud800" in finding.message


@pytest.mark.parametrize("line", ["swipe {} 2 3 4 5", "fragment-v1 {}", "swipe {} {} {} {} {}"])
def test_no_message_of_the_reader_holds_half_a_character(line: str) -> None:
    (finding,) = read_script(line.replace("{}", HALF).encode(), path="a").findings

    (finding.message + finding.hint).encode()


@pytest.mark.slow
@given(
    st.sampled_from(["press", "longpress", "fill", "wait", "is"]),
    st.lists(
        st.sampled_from(
            [
                *("id=a", "label=b", "5", "-1", '""', "text", "visible", "||", "down", "Hello"),
                *("absent", "stable", "enabled=maybe", "id=", "1e300", "Infinity", '"a b"', "0"),
                *('" "', "a=b", "label~=x", "\u0085", "\ufeff"),
            ]
        ),
        max_size=5,
    ),
)
def test_what_passes_the_check_can_be_requested(word: str, words: list[str]) -> None:
    line = " ".join((word, *words))
    (action,) = read_script(line.encode(), path="a.ad").script.nodes
    assert isinstance(action, Action)
    if check(line):
        return

    match word:
        case "press":
            request.read_place(word, action.positionals)
        case "longpress":
            request.read_long_press(action.positionals)
        case "fill":
            request.read_fill(action.positionals)
        case "wait":
            request.read_wait(action.positionals)
        case _:
            request.read_question(action.positionals)


WORDS = st.sampled_from(
    [
        "id=a",
        "@e1",
        "5",
        "-1",
        "",
        "text",
        "visible",
        "${A}",
        "||",
        '"',
        "down",
        "\\ud800",
        "absent",
    ]
) | st.text(max_size=4)


@pytest.mark.slow
@given(st.sampled_from(sorted(COMMANDS)), st.lists(WORDS, max_size=6))
def test_no_script_raises(word: str, words: list[str]) -> None:
    for finding in check(" ".join((word, *words))):
        (finding.message + finding.hint).encode()
        assert finding.message
        assert finding.hint
