"""The grammar of `.ad` row by row: what each form means, at both levels.

The rows are those of the format's description, in its order: lines, tokens, headers, operands,
errors, selectors, evidence, variables. What was measured on the format's origin stands here as it
was measured.
"""

import json
from typing import Any, TypeAlias

import pytest

from runner.errors import InputError
from runner.formats.ad.commands import COMMANDS, readers
from runner.formats.ad.lexer import Level, split_lines, tokenize, trim
from runner.formats.ad.numbers import SPACES, is_numeric
from runner.formats.ad.parser import ReadScript, read_script
from runner.formats.ad.script import Action, Context, EnvLine
from runner.formats.ad.selector import BoolTerm, TextTerm, parse_selector
from runner.formats.ad.variables import BUILT_INS, expand, expand_action, parse_assignment
from tests.runner.formats.ad.authoring import LEVELS

Step: TypeAlias = tuple[str, list[str]]
Row: TypeAlias = tuple[str, list[str], dict[str, Any]]
EVIDENCE = '# agent-device:target-v1 {"role":"button","verification":"verified"}'


def read(text: str, level: Level = "main") -> ReadScript:
    return read_script(text.encode(), path="f.ad", level=level)


def actions(text: str, level: Level = "main") -> list[Action]:
    result = read(text, level)
    assert result.findings == ()
    return [node for node in result.script.nodes if isinstance(node, Action)]


def steps(text: str, level: Level = "main") -> list[Step]:
    return [(each.command, list(each.positionals)) for each in actions(text, level)]


def errors(text: str, level: Level = "main") -> list[tuple[int, int]]:
    found = read(text, level).findings
    assert all(f.reason == "parse_error" and f.hint and f.message for f in found)
    return [(f.line, f.column) for f in found]


# Bytes to lines.


def test_only_lf_and_crlf_end_lines() -> None:
    assert split_lines("a\nb\r\nc\rd\u2028e\u2029f\x0bg\x0ch\x85i") == [
        "a",
        "b",
        "c\rd\u2028e\u2029f\x0bg\x0ch\x85i",
    ]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("space", list(SPACES))
def test_every_space_of_the_format_splits_words_and_is_trimmed(space: str, level: Level) -> None:
    if space == "\n":
        return
    assert steps(f"{space}open{space}A{space}", level) == [("open", ["A"])]
    assert trim(f"{space}a{space}") == "a"


@pytest.mark.parametrize("space", list("\x1c\x1d\x1e\x1f\x85\u180e\u200b\u2060"))
def test_what_other_languages_call_space_is_part_of_a_word(space: str) -> None:
    assert steps(f"open A{space}B") == [("open", [f"A{space}B"])]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n \n\t\n# c\n  # d", []),
        ("\ufeff# c\nback", [("back", [])]),
        ("\ufeffopen A", [("open", ["A"])]),
        ("# c\rback", []),
        ("open A # note", [("open", ["A", "#", "note"])]),
        ("open A;close", [("open", ["A;close"])]),
        ("open A \\\nclose", [("open", ["A", "\\"]), ("close", [])]),
        ("OPEN A", [("OPEN", ["A"])]),
        ('"open" A', [("open", ["A"])]),
        ("env\u00a0A=1", [("env", ["A=1"])]),
        ('"env" A=1', [("env", ["A=1"])]),
        ("environment A=1", [("environment", ["A=1"])]),
        ('context x\n"context" y\nopen A\ncontext z', [("open", ["A"])]),
        ("frobnicate 1", [("frobnicate", ["1"])]),
        ('replay "x.ad"', [("replay", ["x.ad"])]),
        ("contexts a", [("contexts", ["a"])]),
    ],
)
def test_lines_are_comments_directives_or_actions(
    text: str, expected: list[Step], level: Level
) -> None:
    assert steps(text, level) == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{}", (1, 1)),
        ("[", (1, 1)),
        (' \n\t{"a": 1}', (2, 2)),
        ("\ufeff[1]", (1, 2)),
        ("\u00a0\n{", (2, 1)),
        ("\r[", (1, 2)),
    ],
)
def test_the_json_form_is_refused(text: str, place: tuple[int, int]) -> None:
    assert errors(text) == [place]


def test_lines_are_physical_and_count_from_one() -> None:
    assert [each.line for each in actions("\n# c\r\nopen A\n\n\nclose")] == [3, 6]


# Tokens.


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ('"a"b', ["a", "b"]),
        ('"a""b"', ["a", "b"]),
        ('""""', ["", ""]),
        ('ab"c d"', ['ab"c', 'd"']),
        ('id="x"', ['id="x"']),
        ("a\\b", ["a\\b"]),
        ("it's", ["it's"]),
        ("a\u00a0b", ["a", "b"]),
        ('"a\u00a0b"', ["a\u00a0b"]),
        ('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"', ['"\\/\b\f\n\r\té']),
        ('"\\\\" x', ["\\", "x"]),
        ('"a\x7f\u2028\x85"', ["a\x7f\u2028\x85"]),
        ('"\\uD83D\\uDE00\\ud800"', ["😀\ud800"]),
    ],
)
def test_a_token_is_a_json_string_or_a_run_of_characters(
    line: str, tokens: list[str], level: Level
) -> None:
    assert tokenize(line, level=level) == tokens


@pytest.mark.parametrize(
    ("line", "main", "older"),
    [
        ("'a b'", ["a b"], ["'a", "b'"]),
        ("'it\\'s'", ["it's"], ["'it\\'s'"]),
        ("'a\\nb\\\\c'", ["a\\nb\\\\c"], ["'a\\nb\\\\c'"]),
        ("'a'b", ["a", "b"], ["'a'b"]),
        ("''", [""], ["''"]),
        ("'\"'", ['"'], ["'\"'"]),
        ("a'b c'", ["a'b", "c'"], ["a'b", "c'"]),
    ],
)
def test_single_quotes_quote_at_the_newer_level(
    line: str, main: list[str], older: list[str]
) -> None:
    assert (tokenize(line), tokenize(line, level="0.21")) == (main, older)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("line", "column"),
    [
        ('press "a', 7),
        ('press "a\\"', 7),
        ('press "a\\\\\\"', 7),
        ('  press "', 9),
        ('press "\\x"', 8),
        ('press "\\\'"', 8),
        ('press "a\tb"', 9),
        ('press "a\x00"', 9),
        ('press "\\u12g4"', 8),
        ('"', 1),
    ],
)
def test_a_bad_quote_is_an_error_at_its_column(line: str, column: int, level: Level) -> None:
    ((number, found),) = errors(f"back\n{line}\n", level)

    assert number == 2
    assert abs(found - column) <= 1


@pytest.mark.parametrize("line", ["press 'a", "press 'a\\'"])
def test_an_open_single_quote_is_an_error_at_the_newer_level(line: str) -> None:
    assert errors(line) == [(1, 7)]
    assert errors(line, "0.21") == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('press id="a" label=b', ("press", ['id="a" label=b'])),
        ('press "id=\\"go\\""', ("press", ['id="go"'])),
        ('press "a""b"', ("press", ["a b"])),
        ('type "\\u00e9\\n"', ("type", ["é\n"])),
        ('press "label=\\"Say \\\\\\"hi\\\\\\"\\""', ("press", ['label="Say \\"hi\\""'])),
    ],
)
def test_the_token_examples_mean_what_they_mean(line: str, expected: Step, level: Level) -> None:
    assert steps(line, level) == [expected]


# The header.


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            (f"context platform={name}", Context(platform=name))
            for name in ("ios", "macos", "linux", "android", "vega", "apple", "harmonyos")
        ),
        *((f"context target={name}", Context(target=name)) for name in ("mobile", "tv", "desktop")),
        ("context platform=web target=watch", Context()),
        ("context platform=iOS", Context()),
        ("context timeout=5s retries=2x", Context(timeout_ms=5, retries=2)),
        ("context timeout=0 retries=0", Context(retries=0)),
        ("context timeout=-1 retries=-1", Context()),
        ("context retries=9", Context(retries=9)),
        ('context device="x platform=ios y" platform=android', Context(platform="ios")),
        ('context device="x platform=ios" platform=android', Context()),
        ("context kind=phone theme=unknown\u00a0platform=ios", Context(platform="ios")),
        ("context xplatform=ios (target=tv", Context()),
        ("context\nenv A=1\ncontext platform=ios", Context()),
        ("context\tplatform=ios\ncontext platform=android", Context()),
        ("  context platform=ios", Context(platform="ios")),
        ("# c\n\n env A=1\ncontext platform=ios", Context(platform="ios")),
        ("open A\ncontext platform=ios", Context()),
        ("frobnicate\ncontext platform=ios", Context()),
        ("context platform=ios\ncontext target=tv", Context(platform="ios", target="tv")),
    ],
)
def test_the_header_is_scanned(text: str, expected: Context, level: Level) -> None:
    assert read(text, level).findings == ()
    assert read(text, level).script.context == expected


@pytest.mark.parametrize(
    ("key", "first", "second"),
    [
        ("platform", "platform=ios", "platform=android"),
        ("target", "target=tv", "target=mobile"),
        ("timeoutMs", "timeout=1", "timeout=2"),
        ("retries", "retries=0", "retries=1"),
    ],
)
def test_a_key_on_two_header_lines_is_an_error(key: str, first: str, second: str) -> None:
    for other, how in ((first, "twice"), (second, " and as ")):
        found = read(f"context {first}\n\n context {other}\n").findings

        assert [(f.line, f.column) for f in found] == [(3, 2)]
        assert key in found[0].message
        assert how in found[0].message


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("env X=", ""),
        ("env X=a # b", "a # b"),
        ("env\tX=a=b", "a=b"),
        ("env  \u00a0X= a", " a"),
        ("env X=a ", "a"),
        ('env X="a b\\n"', "a b\n"),
        ('env X=""', ""),
        ("env X='a b'", "'a b'"),
        ("env X=${Y}", "${Y}"),
        ('env X=a"b', 'a"b'),
    ],
)
def test_an_env_line_binds_the_rest_of_the_line(line: str, value: str, level: Level) -> None:
    assert read(line, level).script.env == (EnvLine("X", value, 1),)
    assert read(line, level).findings == ()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("env", (1, 4)),
        ("env X", (1, 5)),
        ("env =1", (1, 5)),
        ("env X =1", (1, 5)),
        ("env x=1", (1, 5)),
        ("env 1X=1", (1, 5)),
        ("env X-Y=1", (1, 5)),
        ("env É=1", (1, 5)),
        ("env AD_X=1", (1, 5)),
        ('env X="a" b', (1, 7)),
        ('env X="a', (1, 7)),
        ('env X="\\x"', (1, 7)),
        ("env X=1\nenv X=1", (2, 1)),
        ("open A\n env X=1", (2, 2)),
        ("replay x.ad\nenv X=1", (2, 1)),
    ],
)
def test_bad_env_lines_are_errors(text: str, place: tuple[int, int], level: Level) -> None:
    assert errors(text, level) == [place]


# Operands and options of each command.


def _press_rows(word: str) -> list[Row]:
    return [
        (
            f"{word} id=a --count 2 --interval-ms 3.7 --hold-ms 4 --jitter-px 0x5 --double-tap",
            ["id=a"],
            {
                "count": 2,
                "intervalMs": 3,
                "holdMs": 4,
                "jitterPx": 5,
                "doubleTap": True,
            },
        ),
        (f"{word} id=a --button left", ["id=a"], {}),
        *(
            (f"{word} id=a --button {which}", ["id=a"], {"clickButton": which})
            for which in ("primary", "secondary", "middle")
        ),
        (f"{word} id=a --count many", ["id=a --count many"], {}),
        (f"{word} id=a --count Infinity", ["id=a --count Infinity"], {}),
        (f"{word} @e1~s22 Go now", ["@e1"], {}),
        (f"{word} 1 2 3 4", ["1", "2"], {}),
        (f"{word} a b  c", ["a b c"], {}),
        (f'{word} "a  b" c', ["a  b c"], {}),
        (f"{word} ${{X}} ${{Y}}", ["${X} ${Y}"], {}),
        (f"{word} 1", ["1"], {}),
        (word, [], {}),
    ]


ROWS: list[Row] = [
    (
        "snapshot -i -c --raw --force-full -d 2.9 -s X --backend b a --more",
        [],
        {
            "snapshotInteractiveOnly": True,
            "snapshotRaw": True,
            "snapshotForceFull": True,
            "snapshotDepth": 2,
            "snapshotScope": "X",
        },
    ),
    ("snapshot --depth 3 --scope Y", [], {"snapshotDepth": 3, "snapshotScope": "Y"}),
    ("open A B --relaunch --more", ["A", "B", "--more"], {"relaunch": True}),
    ("open A --test-ime", ["A"], {"testIme": True}),
    ("open A --no-test-ime", ["A"], {"testIme": False}),
    ('open "--relaunch"', [], {"relaunch": True}),
    ("runtime --platform ios --metro-host h", [], {"platform": "ios", "metroHost": "h"}),
    *_press_rows("press"),
    *_press_rows("click"),
    ('press "--double-tap"', [], {"doubleTap": True}),
    ("fill id=a", ["id=a"], {}),
    ("fill 1 2", ["1", "2", ""], {}),
    ("fill 1 2 a b", ["1", "2", "a b"], {}),
    ("fill @e1 a", ["@e1", "a"], {}),
    ('fill @e1 "two words" "more"', ["@e1", "more"], {}),
    ("fill @e1 a b c", ["@e1", "b c"], {}),
    ("fill id=a b c --delay-ms 5", ["id=a", "b c"], {"delayMs": 5}),
    ("get text id=a label=b", ["text", "id=a label=b"], {}),
    ("get attrs @e1~s2 shown more", ["attrs", "@e1"], {}),
    (
        "swipe 1 2 3 4 --count 2 --pause-ms 3 --pattern ping-pong",
        ["1", "2", "3", "4"],
        {"count": 2, "pauseMs": 3, "pattern": "ping-pong"},
    ),
    ("swipe 1 2 3 4 --pattern round", ["1", "2", "3", "4"], {}),
    ("swipe 1 2 --count x", ["1", "2", "--count", "x"], {}),
    ("type a b --delay-ms 2", ["a", "b"], {"delayMs": 2}),
    ('type "--delay-ms" "5"', [], {"delayMs": 5}),
    ("type a --delay-ms x", ["a", "--delay-ms", "x"], {}),
    ("gesture pinch 2 --pointer-count 2", ["pinch", "2"], {"pointerCount": 2}),
    ("gesture whirl 1 2 3 4 5 6 7 8", ["whirl", *"12345678"], {}),
    (
        "record start a --hide-touches --fps 29.97 --quality 6 --more",
        ["start", "a", "--more"],
        {"hideTouches": True, "fps": 29, "quality": "medium"},
    ),
    ("record stop --quality 8", ["stop"], {"quality": "high"}),
    ("record stop --quality high", ["stop"], {"quality": "high"}),
    (
        "screenshot a --pixel-density 2 --fullscreen --scale 0.5 --no-stabilize --more",
        ["a", "--more"],
        {
            "screenshotPixelDensity": 2,
            "screenshotFullscreen": True,
            "screenshotScale": 0.5,
            "screenshotNoStabilize": True,
        },
    ),
    (
        "screenshot --normalize-status-bar --crop-on id=a",
        [],
        {"screenshotNormalizeStatusBar": True, "screenshotCropOn": "id=a"},
    ),
    ("wait @e1~s3 500", ["@e1", "500"], {}),
    ("wait @e1~x 500", ["@e1~x", "500"], {}),
    ("longpress @e1~s3 500", ["@e1", "500"], {}),
    ("hover @e1~s3", ["@e1"], {}),
    ("longpress a b 500", ["a", "b", "500"], {}),
    ("scroll down 0.5 --pixels 20", ["down", "0.5", "--pixels", "20"], {}),
    ("is visible id=a --timeout 5", ["visible", "id=a", "--timeout", "5"], {}),
    ("back --system", ["--system"], {}),
    ("close A --x", ["A", "--x"], {}),
    ("settings location set 1 2", ["location", "set", "1", "2"], {}),
    ("find text Bob get text", ["text", "Bob", "get", "text"], {}),
    ("push a {}", ["a", "{}"], {}),
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("line", "positionals", "flags"), ROWS)
def test_each_command_reads_its_words(
    line: str, positionals: list[str], flags: dict[str, Any], level: Level
) -> None:
    (action,) = actions(line, level)

    assert (list(action.positionals), action.flags) == (positionals, flags)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("line", "runtime"),
    [
        ("open A", None),
        ("open A --platform web", None),
        ("open A --metro-port x", None),
        *((f"open A --platform {p}", {"platform": p}) for p in ("ios", "android", "harmonyos")),
        (
            "open A --metro-host h --metro-port 8081.9 --bundle-url b --launch-url l",
            {"metroHost": "h", "metroPort": 8081, "bundleUrl": "b", "launchUrl": "l"},
        ),
    ],
)
def test_the_hints_of_open_are_kept_apart(
    line: str, runtime: dict[str, Any] | None, level: Level
) -> None:
    (action,) = actions(line, level)

    assert (action.positionals, action.flags, action.runtime) == (("A",), {}, runtime)


@pytest.mark.parametrize(
    ("line", "main", "older"),
    [
        (
            "wait id=a --raw --depth 2.5 --scope S",
            (["id=a"], {"snapshotRaw": True, "snapshotDepth": 2, "snapshotScope": "S"}),
            (["id=a", "--raw", "--depth", "2.5", "--scope", "S"], {}),
        ),
        ("wait id=a -d 2 -s S", (["id=a", "-d", "2", "-s", "S"], {}), None),
        ("wait id=a --depth x", (["id=a", "--depth", "x"], {}), None),
        (
            "scroll down --until id=a",
            (["down"], {"until": "id=a"}),
            (["down", "--until", "id=a"], {}),
        ),
        ("fold open", (["open"], {}), None),
    ],
)
def test_the_newer_level_reads_more_options(
    line: str,
    main: tuple[list[str], dict[str, Any]],
    older: tuple[list[str], dict[str, Any]] | None,
) -> None:
    for level, expected in zip(LEVELS, (main, older or main), strict=True):
        (action,) = actions(line, level)

        assert (list(action.positionals), action.flags) == expected


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        *((text, True) for text in ("0x10", "0b1", "0o7", "1e2", ".5", "-1", "+1", "5.", " ")),
        *((text, True) for text in ("Infinity", "-Infinity", "\u00a01\ufeff", "00")),
        *((text, False) for text in ("", "1_0", "nan", "NaN", "inf", "5px", "-0x1", "1e", "٣")),
    ],
)
def test_numbers_are_those_of_the_origin(text: str, *, counts: bool) -> None:
    assert is_numeric(text) is counts
    expected = [text, "5"] if counts else [f"{text} 5"]
    assert steps(f"press {json.dumps(text)} 5") == [("press", expected)]


ARITIES = [
    ("swipe", 4),
    ("gesture pan", 5),
    ("gesture fling", 4),
    ("gesture swipe", 1),
    ("gesture pinch", 3),
    ("gesture rotate", 3),
    ("gesture transform", 7),
    ("gesture drag", 5),
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("form", "most"), ARITIES)
@pytest.mark.parametrize("extra", ["9", "${MS}", "word"])
def test_one_operand_too_many_is_an_error_of_the_line(
    form: str, most: int, extra: str, level: Level
) -> None:
    full = " ".join((form, *["5"] * most))

    assert errors(f"back\n{full}\n", level) == []
    assert errors(f"{form}\n", level) == []
    assert errors(f"back\n  {full} {extra}\n", level) == [(2, 3)]
    assert errors(f"back\n{full} --count 2 --pointer-count 2 {extra}\n", level) == [(2, 1)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "line",
    [
        *("record start --max-size 5", 'record "--max-size"', "screenshot --max-size 5"),
        *("screenshot --scale", "screenshot --scale 2", "screenshot --pixel-density 0"),
        *("screenshot --pixel-density 1.5", 'screenshot --crop-on ""'),
    ],
)
def test_refused_options_are_errors_of_the_line(line: str, level: Level) -> None:
    assert errors(f"\n {line}", level) == [(2, 2)]


NO_COMMANDS = ("rotate", "pinch", "trigger", "long-press")


def test_the_words_of_the_format_are_these() -> None:
    words = {
        *("open", "close", "click", "press", "longpress", "hover", "fill", "type", "focus"),
        *("scroll", "swipe", "gesture", "back", "home", "app-switcher", "orientation"),
        *("tv-remote", "keyboard", "alert", "settings", "clipboard", "push", "trigger-app-event"),
        *("install", "reinstall", "install-from-source", "react-native", "viewport", "find"),
        *("wait", "get", "is", "snapshot", "diff", "screenshot", "record", "trace", "perf"),
        *("devices", "capabilities", "apps", "boot", "shutdown", "appstate", "logs", "events"),
        *("network", "audio", "replay", "test", "runtime", "batch", "prepare", "doctor"),
        *("session", "lease", "connect", "fold"),
    }

    assert words | {"disconnect"} == set(COMMANDS)
    assert not set(NO_COMMANDS) & set(COMMANDS)
    assert readers("main").keys() == readers("0.21").keys()


# Annotations.


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "comment",
    [
        EVIDENCE,
        EVIDENCE.replace("# ", "#"),
        EVIDENCE.replace("# ", " #\t\u00a0"),
        EVIDENCE.replace("-v1", "-v01"),
        EVIDENCE.replace("v1 ", "v1 \t "),
    ],
)
def test_evidence_binds_to_any_action_of_the_next_line(comment: str, level: Level) -> None:
    for line in ("open A", "press id=a", "frobnicate", '"env" x'):
        (action,) = actions(f"{comment}\n{line}", level)

        assert action.evidence == {
            "role": "button",
            "ancestry": [],
            "sibling": 0,
            "viewportOrder": 0,
            "verification": "verified",
        }


@pytest.mark.parametrize(
    "comment",
    [
        *("# agent-device:target-v2 {}", "# agent-device:target-v1x {}", "# agent-device:target"),
        *("# agent-device:target-v0 {}", "# agent-device:Target-v1 {}", "#agent-device: target-v1"),
        *("# agent-device:targets-v2", "# agent-device:target-v1{}", "## agent-device:target-v1"),
        *("# agent-device:heal-complete", "# x agent-device:target-v1 {}"),
    ],
)
def test_other_comments_say_nothing_and_break_evidence(comment: str) -> None:
    assert [each.evidence for each in actions(f"{comment}\nback")] == [None]
    assert errors(f"\n {EVIDENCE}\n{comment}\nback") == [(2, 2)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "payload",
    [
        *("", "x", "[]", "null", "5", "{", '{"role":"a"}', '{"verification":"verified"}'),
        '{"role":null,"verification":"verified"}',
        '{"role":"a","verification":"maybe"}',
        '{"role":"a","verification":"verified","id":null}',
        '{"role":"a","verification":"verified","label":5}',
        '{"role":"a","verification":"verified","sibling":-1}',
        '{"role":"a","verification":"verified","sibling":0.5}',
        '{"role":"a","verification":"verified","sibling":true}',
        '{"role":"a","verification":"verified","viewportOrder":"1"}',
        '{"role":"a","verification":"verified","ancestry":{}}',
        '{"role":"a","verification":"verified","ancestry":[{"label":"x"}]}',
        '{"role":"a","verification":"verified","scrollRegion":{}}',
        '{"role":"a","verification":"verified","rect":{"x":1,"y":2,"width":3}}',
        '{"role":"a","verification":"verified","rect":{"x":1,"y":2,"width":3,"height":"4"}}',
        '{"role":"a","verification":"verified","id":"' + "x" * 257 + '"}',
        '{"role":"' + "é" * 129 + '","verification":"verified"}',
        '{"role":"a","verification":"verified","ancestry":['
        + '{"role":"a"},' * 8
        + '{"role":""}]}',
        '{"role":"a","verification":"verified","x":"' + "y" * 4100 + '"}',
        '{"role":"a","verification":"verified","x":' + "[" * 500 + "]" * 500 + "}",
        '{"role":"a","verification":"verified","x":NaN}',
    ],
)
def test_bad_evidence_is_an_error_of_its_own_line(payload: str, level: Level) -> None:
    assert errors(f"open A\n  # agent-device:target-v1 {payload}\nback", level) == [(2, 3)]
    other = '{"role":"a","verification":"verified"}'
    for pair in (
        f'{{"source":{payload or 0},"destination":{other}}}',
        f'{{"source":{other},"destination":{payload or 0}}}',
        f'{{"source":{other}}}',
        payload,
    ):
        assert errors(f"# agent-device:targets-v1 {pair}\nback", level) == [(1, 1)]


def test_evidence_may_reach_its_bounds() -> None:
    entries = [{"role": "é" * 128}] * 8
    record = {"id": "x" * 256, "role": "", "ancestry": entries, "verification": "unverifiable"}
    text = json.dumps(record, ensure_ascii=False)
    padded = text[:-1] + " " * (4096 - len(text.encode())) + "}"
    (action,) = actions(f"# agent-device:target-v1 {padded}\nback")

    assert action.evidence is not None
    assert action.evidence["ancestry"] == entries
    assert errors(f"# agent-device:target-v1 {padded[:-1]} }}\nback") == [(1, 1)]
    pair = f'{{"source":{text},"destination":{text}}}'
    padded = pair[:-1] + " " * (8320 - len(pair.encode())) + "}"
    (action,) = actions(f"# agent-device:targets-v1 {padded}\ngesture drag id=a id=b")

    assert action.evidences is not None
    assert errors(f"# agent-device:targets-v1 {padded[:-1]} }}\nback") == [(1, 1)]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ('"id":""', {}),
        ('"label":" \\u00a0 "', {}),
        ('"label":" a \\n\\ufeff b "', {"label": "a b"}),
        ('"label":"e\\u0301"', {"label": "é"}),
        ('"sibling":1.0', {"sibling": 1}),
        ('"viewportOrder":1e1', {"viewportOrder": 10}),
        ('"unknown":{"a":[1]}', {}),
        ('"ancestry":[{"role":"","label":"","x":1}]', {"ancestry": [{"role": ""}]}),
        (
            '"scrollRegion":{"role":"a","id":"","label":" b ","x":1}',
            {"scrollRegion": {"role": "a", "label": "b"}},
        ),
        (
            '"rect":{"x":1.0,"y":-2.5,"width":0,"height":1e3,"z":1}',
            {"rect": {"x": 1, "y": -2.5, "width": 0, "height": 1000}},
        ),
    ],
)
def test_evidence_is_read_into_its_canonical_form(field: str, expected: dict[str, Any]) -> None:
    base = {"role": "a", "ancestry": [], "sibling": 0, "viewportOrder": 0}
    payload = f'{{"role":"a",{field},"verification":"verified"}}'
    (action,) = actions(f"# agent-device:target-v1 {payload}\nback")

    assert action.evidence == {**base, **expected, "verification": "verified"}


# Selectors.


def terms(text: str) -> list[list[tuple[str, str | bool]]]:
    return [
        [
            (term.key, term.value) if isinstance(term, TextTerm) else (term.key, term.expected)
            for term in alternative.terms
        ]
        for alternative in parse_selector(text).alternatives
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            (f"{key}=a", [[(key, "a")]])
            for key in ("id", "role", "text", "label", "value", "appname", "windowtitle")
        ),
        *(
            (f"{key}{value}", [[(key, expected)]])
            for key in (
                *("visible", "hidden", "editable", "selected", "focused", "enabled", "hittable"),
            )
            for value, expected in (
                ("", True),
                ("=true", True),
                ("=FALSE", False),
                ('="True"', True),
                ("='false'", False),
            )
        ),
        ("ID=a Label=b VISIBLE", [[("id", "a"), ("label", "b"), ("visible", True)]]),
        ("id=a||id=b || id=c", [[("id", "a")], [("id", "b")], [("id", "c")]]),
        ("text=a=b", [[("text", "a=b")]]),
        ("label=\"a b\" id='c d'", [[("label", "a b"), ("id", "c d")]]),
        ('label="a || b"', [[("label", "a || b")]]),
        (r'label="\"\'\\\/\b\f\n\r\t\u00e9"', [[("label", "\"'\\/\b\f\n\r\té")]]),
        (r'label="\q"', [[("label", r"\q")]]),
        (r"label='\q\''", [[("label", r"\q'")]]),
        ('label=a"b c"d', [[("label", 'a"b c"d')]]),
        ("label=a|b", [[("label", "a|b")]]),
        ('label="@handle"', [[("label", "@handle")]]),
        ('label=""', [[("label", "")]]),
        ("\u00a0id=a\ufefflabel=b\t", [[("id", "a"), ("label", "b")]]),
    ],
)
def test_selectors_are_read_into_terms(
    text: str, expected: list[list[tuple[str, str | bool]]]
) -> None:
    assert terms(text) == expected
    assert {type(t) for a in parse_selector(text).alternatives for t in a.terms} <= {
        TextTerm,
        BoolTerm,
    }


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        (" \u00a0", 0),
        ("||", 0),
        ("|| id=a", 0),
        ("id=a ||", 5),
        ("id=a || || id=b", 8),
        ('label~="x"', 0),
        ("label*=x", 0),
        ("label^=x", 0),
        ("id!=x", 0),
        ("!id=x", 0),
        ("id=", 3),
        ("id = a", 0),
        ("id=a colour=b", 5),
        ("text=Sign in", 10),
        ("Go", 0),
        ("visible=maybe", 8),
        ('visible=""', 8),
        ("visible=", 8),
        ('label="a', 6),
        ("label='a", 6),
        ('id=a "', 5),
        ("@e1", 0),
    ],
)
def test_malformed_selectors_are_refused_at_their_offset(text: str, offset: int) -> None:
    with pytest.raises(InputError) as caught:
        parse_selector(text)

    assert caught.value.reason == "selector_invalid"
    assert caught.value.code == "INVALID_ARGS"
    assert caught.value.details["offset"] == offset


# Variables.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "v"),
        ("${_a.B1}", "dotted"),
        ("${A:-d}", "v"),
        ("${EMPTY:-d}", ""),
        ("${U:-d}", "d"),
        ("${U:-}", ""),
        (r"${U:-x\}y}", "x}y"),
        (r"${U:-\x\\}", "x\\"),
        ("${U:-${A}}", "${A}"),
        ("${SELF}", "${SELF}"),
        (r"\${A}", "${A}"),
        (r"\\${A}", r"\${A}"),
        ("$${A}", "$v"),
        ("${A}${A}x", "vvx"),
        *((same, same) for same in ("$A", "${}", "${1}", "${A", "${A }", "${A-d}", "${ A}", "$")),
    ],
)
def test_variables_are_expanded_once(text: str, expected: str) -> None:
    scope = {"A": "v", "_a.B1": "dotted", "EMPTY": "", "SELF": "${SELF}"}

    assert expand(text, scope) == expected


def test_variables_reach_operands_options_and_hints_alone() -> None:
    (action,) = actions(
        '# agent-device:target-v1 {"role":"${A}","verification":"verified"}\n'
        "open ${A} --launch-url x${A}"
    )
    (shot,) = actions("${A} screenshot")
    (crop,) = actions("screenshot --crop-on id=${A}")
    (press,) = actions("press @e1 ${A}")
    scope = {"A": "v"}
    opened = expand_action(action, scope)

    assert (opened.positionals, opened.runtime) == (("v",), {"launchUrl": "xv"})
    assert opened.evidence == action.evidence
    assert expand_action(shot, scope).command == "${A}"
    assert expand_action(crop, scope).flags == {"screenshotCropOn": "id=v"}
    assert expand_action(press, scope).label == "${A}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("A=b=c", ("A", "b=c")), ("A=", ("A", "")), ("_1=x y", ("_1", "x y"))],
)
def test_an_assignment_is_cut_at_its_first_equals_sign(
    text: str, expected: tuple[str, str]
) -> None:
    assert parse_assignment(text) == expected


@pytest.mark.parametrize("text", ["a=1", "A", "=1", "AD_X=1", "A B=1", "É=1", ""])
def test_bad_assignments_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_assignment(text)

    assert caught.value.reason == "variable_invalid"
    assert caught.value.code == "INVALID_ARGS"


def test_the_built_in_names_are_these() -> None:
    assert {
        *("AD_SESSION", "AD_FILENAME", "AD_PLATFORM", "AD_TARGET", "AD_DEVICE", "AD_DEVICE_ID"),
        *("AD_SHARD_INDEX", "AD_SHARD_COUNT", "AD_ARTIFACTS"),
    } == BUILT_INS
