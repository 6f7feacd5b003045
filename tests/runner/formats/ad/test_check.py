"""What is wrong with the steps of a script."""

import pytest
from hypothesis import given, strategies as st

from runner.formats.ad import request
from runner.formats.ad.check import check_actions
from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import Action
from runner.model.finding import Finding


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


@pytest.mark.slow
@given(
    st.sampled_from(["press", "longpress", "fill", "wait", "is"]),
    st.lists(
        st.sampled_from(
            [
                *("id=a", "label=b", "5", "-1", '""', "text", "visible", "||", "down", "Hello"),
                *("absent", "stable", "enabled=maybe", "id=", "1e300", "Infinity", '"a b"', "0"),
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
        assert finding.message
        assert finding.hint
