"""How each command reads its words."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from runner.errors import InputError
from runner.formats.ad.arguments import Arguments, strip_generation
from runner.formats.ad.commands import COMMANDS, readers
from runner.formats.ad.lexer import Level, tokenize


def read(line: str, level: Level = "main") -> Arguments:
    word, *rest = tokenize(line, level=level)
    reader, table = readers(level)[word]
    return reader(rest, table)


@pytest.mark.parametrize(
    ("line", "positionals", "flags"),
    [
        ('press id="a" label=b', ['id="a" label=b'], {}),
        ('press "id=\\"go\\""', ['id="go"'], {}),
        ('press "a""b"', ["a b"], {}),
        ("press 1 2 3", ["1", "2"], {}),
        ('press 0x10 " " x', ["0x10", " "], {}),
        ("press ${X} ${Y}", ["${X} ${Y}"], {}),
        ("press 5px 5", ["5px 5"], {}),
        ("press 1", ["1"], {}),
        ("press", [], {}),
        ("press @e12~s3", ["@e12"], {}),
        ("press id=a --count 2.9 --double-tap", ["id=a"], {"count": 2, "doubleTap": True}),
        ("press id=a --count x", ["id=a --count x"], {}),
        ("press id=a --hold-ms -1", ["id=a --hold-ms -1"], {}),
        ("press id=a --count --double-tap", ["id=a --count"], {"doubleTap": True}),
        ("press id=a --button secondary", ["id=a"], {"clickButton": "secondary"}),
        ("press id=a --button third", ["id=a"], {}),
        ("press id=a --button", ["id=a --button"], {}),
        ('click "--double-tap"', [], {"doubleTap": True}),
        ("fill id=a one two", ["id=a", "one two"], {}),
        ("fill 1 2", ["1", "2", ""], {}),
        ("fill 1 2 a b", ["1", "2", "a b"], {}),
        ("fill id=a", ["id=a"], {}),
        ("fill @e1~s2 text", ["@e1", "text"], {}),
        ("fill @e1 label text more", ["@e1", "text more"], {}),
        ("fill id=a b --delay-ms 5", ["id=a", "b"], {"delayMs": 5}),
        ("get text id=a label=b", ["text", "id=a label=b"], {}),
        ("get attrs @e1~s4 shown", ["attrs", "@e1"], {}),
        ("get text", ["text"], {}),
        (
            "swipe 1 2 3 4 --count 2 --pause-ms 5 --pattern ping-pong",
            ["1", "2", "3", "4"],
            {"count": 2, "pauseMs": 5, "pattern": "ping-pong"},
        ),
        ("swipe 1 2 3 4 --pattern round", ["1", "2", "3", "4"], {}),
        ("type a b", ["a", "b"], {}),
        ('type "--delay-ms" "5"', [], {"delayMs": 5}),
        ("gesture pan 1 2 3 4 --pointer-count 2", ["pan", "1", "2", "3", "4"], {"pointerCount": 2}),
        ("gesture unknown 1 2 3 4 5 6 7 8 9", ["unknown", *"123456789"], {}),
        (
            "snapshot a -i -c --raw --force-full -d 2.5 -s X --backend b z",
            [],
            {
                "snapshotInteractiveOnly": True,
                "snapshotRaw": True,
                "snapshotForceFull": True,
                "snapshotDepth": 2,
                "snapshotScope": "X",
            },
        ),
        ("snapshot --depth x", [], {}),
        ("scroll down 0.5 --pixels 20", ["down", "0.5", "--pixels", "20"], {}),
        (
            "record start a --fps -2.5 --quality 7 --hide-touches",
            ["start", "a"],
            {
                "fps": -3,
                "quality": "medium",
                "hideTouches": True,
            },
        ),
        ("record start --quality 10", ["start"], {"quality": "high"}),
        ("record start --quality 11", ["start"], {}),
        (
            "screenshot a -f --no-stabilize --normalize-status-bar",
            ["a"],
            {
                "screenshotFullscreen": True,
                "screenshotNoStabilize": True,
                "screenshotNormalizeStatusBar": True,
            },
        ),
        (
            "screenshot --scale .5 --pixel-density 2 --crop-on id=a",
            [],
            {
                "screenshotScale": 0.5,
                "screenshotPixelDensity": 2,
                "screenshotCropOn": "id=a",
            },
        ),
        ("wait @e1~s2 500", ["@e1", "500"], {}),
        ("longpress id=a 500", ["id=a", "500"], {}),
        ("hover @e1~x", ["@e1~x"], {}),
        ("runtime --platform ios --metro-port 80.5", [], {"platform": "ios", "metroPort": 80}),
        ("close a --b", ["a", "--b"], {}),
    ],
)
def test_words_become_operands_and_flags(
    line: str, positionals: list[str], flags: dict[str, Any]
) -> None:
    arguments = read(line)

    assert list(arguments.positionals) == positionals
    assert arguments.flags == flags


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("press @e1 shown rest", "shown"),
        ("press @e1", None),
        ('press @e1 ""', None),
        ("fill @e1 shown text", "shown"),
        ("get text @e1 shown", "shown"),
    ],
)
def test_the_word_behind_a_ref_is_a_display_label(line: str, label: str | None) -> None:
    assert read(line).label == label


@pytest.mark.parametrize(
    ("line", "positionals", "flags", "runtime"),
    [
        ("open A --relaunch --no-test-ime", ["A"], {"relaunch": True, "testIme": False}, None),
        (
            "open A --platform ios --metro-port 8081.9",
            ["A"],
            {},
            {
                "platform": "ios",
                "metroPort": 8081,
            },
        ),
        ("open A --platform web", ["A"], {}, None),
        ('open A --bundle-url ""', ["A"], {}, None),
        ("open --platform --relaunch ios A", ["A"], {"relaunch": True}, {"platform": "ios"}),
        ("open A --metro-port x", ["A"], {}, None),
        ("open A --launch-url", ["A", "--launch-url"], {}, None),
        ("open A --nothing", ["A", "--nothing"], {}, None),
        (
            "open A --launch-url a://b --metro-host h --bundle-url u",
            ["A"],
            {},
            {
                "launchUrl": "a://b",
                "metroHost": "h",
                "bundleUrl": "u",
            },
        ),
    ],
)
def test_open_keeps_runtime_hints_apart(
    line: str, positionals: list[str], flags: dict[str, Any], runtime: dict[str, Any] | None
) -> None:
    arguments = read(line)

    assert list(arguments.positionals) == positionals
    assert arguments.flags == flags
    assert arguments.runtime == runtime


@pytest.mark.parametrize(
    "line",
    [
        "swipe 1 2 3 4 5 6",
        "gesture pan 1 2 3 4 5 6",
        "gesture fling up 1 2 3 4 5",
        "gesture swipe left 1 2",
        "gesture pinch 1 2 3 4",
        "gesture rotate 1 2 3 4 5",
        "gesture transform 1 2 3 4 5 6 7 8",
        "gesture drag a b 1 2 3 4",
        "record start --max-size 5",
        "screenshot --max-size 5",
        "screenshot --scale 2",
        "screenshot --scale",
        "screenshot --pixel-density 0",
        "screenshot --crop-on",
        'screenshot --crop-on ""',
    ],
)
def test_these_lines_are_parse_errors(line: str) -> None:
    with pytest.raises(InputError) as caught:
        read(line)

    assert caught.value.reason == "parse_error"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("swipe 10 20 30 50 400", "gesture pan 10 20 20 30 400"),
        ("swipe ${A} 2 3 4 400", "`swipe ${A} 2 3 4`"),
        ("swipe 1 2 3 4 ${MS}", "`gesture pan 1 2 2 2 ${MS}`"),
        ("swipe ${A} ${B} 3 4 ${MS:-5}", "`swipe ${A} ${B} 3 4`"),
        ('swipe 1 2 3 4 "${MS}"', "`swipe 1 2 3 4`"),
        ("swipe 1 2 3 4 x${MS}", "`swipe 1 2 3 4`"),
        ("swipe 1 2 3 4 400 ${MS}", "`swipe 1 2 3 4`"),
        ("swipe 1 2 3 4 Infinity", "`swipe 1 2 3 4`"),
        ("gesture fling up 1 2 3 100", "`gesture fling up 1 2 3`"),
        ("gesture swipe left 100", "`gesture swipe left`"),
        ("gesture rotate 90 1 2 5", "`gesture rotate 90 1 2`"),
    ],
)
def test_a_retired_trailing_number_gets_advice(line: str, advice: str) -> None:
    with pytest.raises(InputError) as caught:
        read(line)

    assert advice in caught.value.hint


@pytest.mark.parametrize(
    ("line", "main", "older"),
    [
        ("wait absent id=a --depth 3", {"snapshotDepth": 3}, {}),
        ("wait id=a --raw --scope X", {"snapshotRaw": True, "snapshotScope": "X"}, {}),
        ("scroll down --until id=a", {"until": "id=a"}, {}),
        ("wait id=a -d 3", {}, {}),
    ],
)
def test_newer_options_are_operands_at_the_older_level(
    line: str, main: dict[str, Any], older: dict[str, Any]
) -> None:
    assert read(line, "main").flags == main
    assert read(line, "0.21").flags == older
    assert len(read(line, "0.21").positionals) == len(line.split()) - 1


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("@e12~s3", "@e12"),
        ("@e12~s", "@e12~s"),
        ("@e12~s3x", "@e12~s3x"),
        ("@e1~s2~s3", "@e1~s2~s3"),
        ("@ ", "@"),
        ("e12~s3", "e12~s3"),
    ],
)
def test_only_a_generation_is_stripped_from_a_ref(token: str, expected: str) -> None:
    assert strip_generation(token) == expected


WORDS = st.sampled_from(
    [
        *("--count", "--scale", "-d", "--platform", "5", "-1", "@e1~s1", "id=a", "", "drag", "pan"),
        *("--fps", "--quality", "--crop-on", "--delay-ms", "${A}", "text", "--until", "1e999"),
    ]
) | st.text(max_size=5)


@pytest.mark.slow
@given(st.sampled_from(sorted(COMMANDS)), st.lists(WORDS, max_size=9))
def test_no_words_raise_anything_but_the_typed_error(word: str, words: list[str]) -> None:
    reader, table = readers("main")[word]
    with suppress(InputError):
        arguments = reader(words, table)
        assert all(isinstance(text, str) for text in arguments.positionals)
