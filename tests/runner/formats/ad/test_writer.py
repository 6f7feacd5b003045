"""The writer of `.ad` scripts."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from runner.errors import InputError
from runner.formats.ad.annotation import MAX_PAIR_BYTES, MAX_RECORD_BYTES
from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.digest import composition_digest, plan_digest
from runner.formats.ad.lexer import Level
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import (
    Action,
    AdNode,
    AdScript,
    Context,
    EnvLine,
    Guard,
    Include,
)
from runner.formats.ad.writer import write_script
from tests.runner.formats.ad.authoring import (
    HOSTILE,
    LEVELS,
    TEXTS,
    WORDS,
    command_lines,
    option_names,
    plain_lines,
    scripts,
    spell,
)

PIN = "sha256:" + "0a" * 32
V5 = """context platform=android
env NAME=Bob
open com.example --relaunch
press id="go"
close"""
V6 = """context platform=ios target=mobile timeout=5000 retries=2
env X=1
open a
fill id="e" ${X} --delay-ms 5"""
V7 = r"""context platform=android
open "a"
#agent-device:target-v01  {"verification":"verified","label":" Go\tnow","role":"button","sibling":1}
press label="Go now"
"""
RECORD = {
    "id": "go",
    "role": "button",
    "label": "Go now",
    "ancestry": [{"role": "cell", "label": "Row"}, {"role": "list"}],
    "sibling": 1,
    "viewportOrder": 2,
    "scrollRegion": {"role": "scrollview", "id": "s", "label": "S"},
    "rect": {"x": 1.5, "y": -2, "width": 1e22, "height": 0},
    "verification": "verified",
}


def read(text: str, level: Level = "main") -> AdScript:
    result = read_script(text.encode(), path="flow.ad", level=level)
    assert result.findings == ()
    return result.script


def bare(script: AdScript) -> AdScript:
    """Return what a script says, wherever it stands."""
    return replace(
        script,
        env=tuple(replace(line, line=0) for line in script.env),
        guards=tuple(replace(guard, line=0) for guard in script.guards),
        nodes=tuple(replace(node, line=0, column=0) for node in script.nodes),
    )


def act(command: str, *positionals: str, **parts: Any) -> Action:
    return Action(command=command, positionals=positionals, line=1, **parts)


def write(*nodes: AdNode, level: Level = "main", **header: Any) -> str:
    return write_script(AdScript(nodes=nodes, **header), level=level)


def attempt(script: AdScript, level: Level = "main") -> str | InputError:
    try:
        return write_script(script, level=level)
    except InputError as error:
        return error


def refusal(*nodes: AdNode, level: Level = "main", **header: Any) -> dict[str, Any]:
    with pytest.raises(InputError) as caught:
        write(*nodes, level=level, **header)
    assert caught.value.reason == "script_unwritable"
    assert caught.value.hint
    json.dumps(caught.value.details).encode()
    caught.value.message.encode()
    return dict(caught.value.details)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("action", "line"),
    [
        (act("back"), "back"),
        (act("open", "com.example"), 'open "com.example"'),
        (act("press", "1", "-2.5"), "press 1 -2.5"),
        (act("press", "1e2", "0x10"), 'press "1e2" "0x10"'),
        (act("press", "@e12"), "press @e12"),
        (act("press", "@e12", label="Go now"), 'press @e12 "Go now"'),
        (act("press", "@e 1"), 'press "@e 1"'),
        (act("press", "@a'b"), 'press "@a\'b"'),
        (act("press", 'label="Say \\"hi\\""'), 'press "label=\\"Say \\\\\\"hi\\\\\\"\\""'),
        (act("fill", "@e1", "x", label="Name"), 'fill @e1 "Name" "x"'),
        (act("fill", "1", "2", ""), 'fill 1 2 ""'),
        (act("fill", "id=a", "# @x --y"), 'fill "id=a" "# @x --y"'),
        (act("get", "text", "@e1", label="@x"), 'get "text" @e1 @x'),
        (act("type", "é\n😀", "5"), 'type "é\\n😀" 5'),
        (act("type", "\ud83d"), 'type "\\ud83d"'),
        (act("wait", "text", "Hi", "500"), 'wait "text" "Hi" 500'),
        (act("record", "start", "a.mp4"), 'record start "a.mp4"'),
        (act("record", "a b"), 'record "a b"'),
        (act("frobnicate", "a"), 'frobnicate "a"'),
        (act("env", "A=1"), '"env" "A=1"'),
        (act("", "a"), '"" "a"'),
        (act("# x"), '"# x"'),
        (act("{"), '"{"'),
        (act("\ufeffopen"), '"\ufeffopen"'),
    ],
)
def test_words_have_one_spelling(action: Action, line: str, level: Level) -> None:
    assert write(action, level=level) == f"{line}\n"


@pytest.mark.parametrize(
    ("command", "flags", "options"),
    [
        (
            "press",
            {
                "clickButton": "secondary",
                "doubleTap": True,
                "jitterPx": 4,
                "holdMs": 3,
                "intervalMs": 2,
                "count": 1,
            },
            "--count 1 --interval-ms 2 --hold-ms 3 --jitter-px 4 --double-tap --button secondary",
        ),
        ("click", {"clickButton": "primary"}, "--button primary"),
        (
            "swipe",
            {"pattern": "ping-pong", "pauseMs": 5, "count": 2},
            "--count 2 --pause-ms 5 --pattern ping-pong",
        ),
        ("gesture", {"pointerCount": 2}, "--pointer-count 2"),
        ("type", {"delayMs": 1e22}, "--delay-ms 1e+22"),
        (
            "snapshot",
            {
                "snapshotForceFull": True,
                "snapshotRaw": True,
                "snapshotScope": "A",
                "snapshotDepth": 2,
                "snapshotInteractiveOnly": True,
            },
            '-i -d 2 -s "A" --raw --force-full',
        ),
        ("open", {"testIme": False, "relaunch": True}, "--relaunch --no-test-ime"),
        ("open", {"testIme": True}, "--test-ime"),
        (
            "record",
            {"hideTouches": True, "quality": "high", "fps": -3},
            "--fps -3 --quality high --hide-touches",
        ),
        (
            "screenshot",
            {"screenshotCropOn": "id=a", "screenshotScale": 0.5},
            "--scale 0.5 --crop-on id=a",
        ),
        ("screenshot", {"screenshotCropOn": "label=a b"}, '--crop-on "label=a b"'),
        ("runtime", {"metroPort": 80, "platform": "ios"}, "--platform ios --metro-port 80"),
    ],
)
def test_options_have_one_order(command: str, flags: dict[str, Any], options: str) -> None:
    assert write(act(command, flags=flags)) == f"{command} {options}\n"


def test_runtime_hints_follow_the_options_of_open() -> None:
    hints = {"launchUrl": "a://b", "bundleUrl": "", "metroHost": "x y", "platform": "ios"}
    action = act("open", "A", flags={"relaunch": True}, runtime=hints)

    assert write(action) == (
        'open "A" --relaunch --platform ios --metro-host "x y" --bundle-url "" --launch-url a://b\n'
    )


def test_newer_options_are_written_at_the_newer_level_alone() -> None:
    wait = act("wait", "id=a", flags={"snapshotScope": "S", "snapshotRaw": True})
    scroll = act("scroll", "down", flags={"until": "id=a"})

    assert write(wait, scroll) == 'wait "id=a" --raw --scope "S"\nscroll "down" --until "id=a"\n'
    assert refusal(wait, level="0.21")["option"] == "snapshotScope"
    assert refusal(scroll, level="0.21")["option"] == "until"


def test_a_flat_script_is_its_header_and_its_actions() -> None:
    context = Context(platform="ios", target="tv", timeout_ms=5, retries=0)
    env = (EnvLine("A", "", 9), EnvLine("B", ' "x" # \\\n', 8))

    assert write(act("back"), context=context, env=env) == (
        "context platform=ios target=tv timeout=5 retries=0\n"
        'env A=""\n'
        'env B=" \\"x\\" # \\\\\\n"\n'
        "back\n"
    )
    assert write() == ""


def test_a_fragment_begins_with_its_guard_and_a_root_shows_its_header_first() -> None:
    context = Context(platform="ios", target="mobile")
    include = Include(
        locator="./a b.ad",
        call_site_id="\u2028",
        digest=PIN,  # type: ignore[arg-type]
        reference_version=1,
        line=1,
    )
    comment = f'# agent-device:fragment-ref-v1 {{"callSiteId":"\\u2028","digest":"{PIN}"}}'
    fragment = (Guard(kind="fragment", version=1, line=3),)
    root = (Guard(kind="composition", version=1, line=3),)
    env = (EnvLine("A", "1", 1),)

    assert write(include, context=context, guards=fragment) == (
        "fragment-v1\ncontext platform=ios target=mobile\n" + comment + '\ninclude "./a b.ad"\n'
    )
    assert write(include, context=context, guards=root, env=env) == (
        'context platform=ios target=mobile\nenv A="1"\ncomposition-v1\n'
        + comment
        + '\ninclude "./a b.ad"\n'
    )


def test_an_include_that_has_no_pin_yet_is_written_without_one() -> None:
    assert write(*read('composition-v1\ninclude "a.ad"\n').nodes) == 'include "a.ad"\n'


def test_evidence_stands_before_its_action_in_canonical_order() -> None:
    shuffled = {key: RECORD[key] for key in sorted(RECORD, reverse=True)}
    one = (
        '{"id":"go","role":"button","label":"Go now","ancestry":[{"role":"cell","label":"Row"},'
        '{"role":"list"}],"sibling":1,"viewportOrder":2,"scrollRegion":{"role":"scrollview",'
        '"id":"s","label":"S"},"rect":{"x":1.5,"y":-2,"width":1e+22,"height":0},'
        '"verification":"verified"}'
    )
    pair = {"destination": shuffled, "source": shuffled}

    assert write(act("press", "id=go", evidence=shuffled)) == (
        f'# agent-device:target-v1 {one}\npress "id=go"\n'
    )
    assert write(act("gesture", "drag", "id=go", "id=go", evidences=pair)) == (
        f'# agent-device:targets-v1 {{"source":{one},"destination":{one}}}\n'
        'gesture "drag" "id=go" "id=go"\n'
    )


def test_a_record_at_its_bound_leaves_defaults_out() -> None:
    entries = [{"role": "r" * 250, "label": "l" * 220} for _ in range(8)]
    record = {"role": "", "verification": "verified", "ancestry": entries}
    spare = MAX_RECORD_BYTES - len(json.dumps(record, separators=(",", ":")))
    record["role"] = "x" * spare
    payload = json.dumps(record, separators=(",", ":"))
    once = f"# agent-device:target-v1 {payload}\nback\n"
    end = json.dumps({"source": record, "destination": record}, separators=(",", ":"))
    both = f"# agent-device:targets-v1 {end}\nback\n"

    assert len(payload) == MAX_RECORD_BYTES
    assert spare < 256
    for text in (once, both):
        assert bare(read(write_script(read(text)))) == bare(read(text))


def test_a_pair_at_its_bound_leaves_defaults_out() -> None:
    # Of these characters the bound of a record counts three bytes, and that of the pair six.
    entries = [{"role": "r" * 240, "label": "l" * 200} for _ in range(8)]
    record = {"role": "\u2028" * 40, "verification": "verified", "ancestry": entries}
    pair = {"source": record, "destination": {**record}}

    def spell_pair() -> str:
        return json.dumps(pair, separators=(",", ":"))

    spare = MAX_PAIR_BYTES - len(spell_pair())
    record["id"] = "x" * (spare // 2)
    pair["destination"]["id"] = "x" * (MAX_PAIR_BYTES - len(spell_pair()) - len('"id":"",'))
    text = f"# agent-device:targets-v1 {spell_pair()}\nback\n"

    assert len(spell_pair()) == MAX_PAIR_BYTES
    assert bare(read(write_script(read(text)))) == bare(read(text))


@pytest.mark.parametrize(
    ("action", "details"),
    [
        (act("type", "--delay-ms", "5"), {"part": "operand", "operand": 1}),
        (act("type", "a", "--delay-ms", "5"), {"part": "operand", "operand": 2}),
        (act("press", "--double-tap"), {"part": "operand", "operand": 1}),
        (act("open", "--relaunch"), {"part": "operand", "operand": 1}),
        (act("press", "id=a", "label=b"), {"part": "operand", "operand": 1}),
        (act("press", "1", "2", "3"), {"part": "operand", "operand": 3}),
        (act("press", "@e1", "@e2"), {"part": "operand", "operand": 2}),
        (act("press", "@e1~s4"), {"part": "operand", "operand": 1}),
        (act("fill", "@e1", "a", "b"), {"part": "operand", "operand": 2}),
        (act("fill", "1", "2"), {"part": "operand", "operand": 3}),
        (act("fill", "id=a", "b", "c"), {"part": "operand", "operand": 2}),
        (act("snapshot", "a"), {"part": "operand", "operand": 1}),
        (act("type", "\ud83d\ude00"), {"part": "operand", "operand": 1}),
        (act("swipe", "1", "2", "3", "4", "5"), {"part": "line"}),
        (act("press", "id=a", label="x"), {"part": "operand", "operand": 1}),
        (act("press", "@e1", label=""), {"part": "label"}),
        (act("back", label="x"), {"part": "operand", "operand": 1}),
        (act("back", flags={"count": 1}), {"part": "option", "option": "count"}),
        (act("press", "id=a", flags={"count": True}), {"part": "option", "option": "count"}),
        (act("press", "id=a", flags={"doubleTap": 1}), {"part": "option", "option": "doubleTap"}),
        (act("press", "id=a", flags={"count": -1}), {"part": "option", "option": "count"}),
        (act("press", "id=a", flags={"count": None}), {"part": "option", "option": "count"}),
        (act("press", "id=a", flags={"count": float("nan")}), {"part": "value"}),
        (act("press", "id=a", flags={"": "x"}), {"part": "option", "option": ""}),
        (act("open", "A", runtime={}), {"part": "option"}),
        (act("open", "A", runtime={"platform": "web"}), {"part": "option", "option": "platform"}),
        (act("back", runtime={"platform": "ios"}), {"part": "option", "option": "platform"}),
        (act("context", "platform=ios"), {"part": "command"}),
        (act("include", "a.ad"), {"part": "command"}),
        (act("fragment-v1"), {"part": "command"}),
        (act("fragment-v1", "a"), {"part": "line"}),
        (act("\ud83d\ude00"), {"part": "command"}),
        (act("press", "id=a", evidence={}), {"part": "line"}),
        (act("press", "id=a", evidence={**RECORD, "more": 1}), {"part": "evidence"}),
        (act("press", "id=a", evidence={**RECORD, "label": "a  b"}), {"part": "evidence"}),
        (act("press", "id=a", evidence={**RECORD, "id": "x" * 257}), {"part": "line"}),
        (act("press", "id=a", evidence={**RECORD, "ancestry": 5}), {"part": "value"}),
        (act("press", "id=a", evidence=RECORD, evidences={}), {"part": "value"}),
        (
            act("press", "1", evidence=RECORD, evidences={"source": RECORD, "destination": RECORD}),
            {"part": "line"},
        ),
    ],
)
def test_what_no_line_says_is_refused_by_step_and_part(
    action: Action, details: dict[str, Any]
) -> None:
    found = refusal(act("back"), action)

    assert found.pop("step") == 2
    assert found.pop("command") == action.command.encode(errors="backslashreplace").decode()
    assert found == details


@pytest.mark.parametrize(
    "include",
    [
        Include(locator="", line=1),
        Include(locator="a", call_site_id="x", line=1),
        Include(locator="a", call_site_id="x", digest=PIN, reference_version=2, line=1),  # type: ignore[arg-type]
        Include(locator="a", call_site_id="\n", digest=PIN, reference_version=1, line=1),  # type: ignore[arg-type]
        Include(locator="a", digest=PIN, reference_version=1, problem="it is odd", line=1),  # type: ignore[arg-type]
    ],
)
def test_a_reference_that_no_comment_says_is_refused(include: Include) -> None:
    found = refusal(include)

    assert (found["step"], found["command"]) == (1, "include")


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ({"context": Context(platform="web")}, "context"),
        ({"context": Context(platform="ios\nback")}, "context"),
        ({"context": Context(platform="ios\n[")}, "context"),
        ({"context": Context(platform="\ud800")}, "header"),
        ({"context": Context(timeout_ms=0)}, "context"),
        ({"context": Context(timeout_ms=2**60 + 1)}, "context"),
        ({"env": (EnvLine("a", "", 1),)}, "header"),
        ({"env": (EnvLine("A", "", 1), EnvLine("A", "", 2))}, "header"),
        ({"env": (EnvLine("A=B", "", 1),)}, "env"),
        ({"env": (EnvLine("A", "\ud83d\ude00", 1),)}, "env"),
        ({"env": (EnvLine('A="1"\nenv B', "", 1),)}, "env"),
        ({"guard_is_first": False}, "guard"),
        ({"guards": (Guard(kind="fragment", version=2, line=1),)}, "guard"),
        ({"guards": 2 * (Guard(kind="fragment", version=1, line=1),)}, "guard"),
    ],
)
def test_a_header_that_no_text_says_is_refused(header: dict[str, Any], part: str) -> None:
    assert refusal(**header)["part"] == part


@pytest.mark.slow
def test_more_steps_than_a_reader_takes_are_refused() -> None:
    nodes = (act("back"),) * 100_002

    assert refusal(*nodes) == {"part": "script"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (V5, "6d989d4972b7003472e4b11914958403df3ca8cf89f0d1ed8177aa93695d40e7"),
        (V6, "950674ce68f841c1b555b7ccc25b8c2a77423a077d95ddf6764df76ef424e046"),
        (V7, "5b271134d2d4bf9efce836b4001c5814a790c07c67e35a08d1bd4e974e275683"),
    ],
)
def test_a_script_written_canonically_keeps_its_flat_digest(
    text: str, digest: str, level: Level
) -> None:
    script = read(write_script(read(text, level), level=level), level)

    assert plan_digest(script, platform=None, target=None) == digest


def test_an_operand_that_looks_like_an_option_may_stand_last() -> None:
    text = (
        "press --count --double-tap\nswipe --count 2 --pattern\nopen --platform ios --metro-port\n"
    )

    assert write_script(read(text)) == (
        'press "--count" --double-tap\nswipe --count 2 "--pattern"\n'
        'open --platform ios "--metro-port"\n'
    )


@pytest.mark.parametrize("line", ['fill " " "" ""', 'fill 5 "" 7', 'fill 0x1 "" " " --delay-ms 5'])
def test_a_text_that_is_a_number_is_kept_from_making_a_point(line: str) -> None:
    script = read(line)

    assert len(script.nodes[0].positionals) == 2  # type: ignore[union-attr]
    assert bare(read(write_script(script))) == bare(script)


@pytest.mark.slow
@given(scripts(), st.sampled_from(LEVELS))
def test_what_was_read_is_written_so_that_it_reads_equal(text: str, level: Level) -> None:
    result = read_script(text.encode(errors="replace"), path="f", level=level)
    if result.findings:
        return
    written = write_script(result.script, level=level)
    again = read(written, level)

    assert bare(again) == bare(result.script)
    assert write_script(again, level=level).encode() == written.encode()
    assert composition_digest(again, graph=()) == composition_digest(result.script, graph=())


@pytest.mark.slow
@given(plain_lines(), st.sampled_from(LEVELS))
def test_every_line_without_option_like_operands_can_be_written(line: str, level: Level) -> None:
    result = read_script(line.encode(), path="f", level=level)
    if not result.findings:
        assert bare(read(write_script(result.script, level=level), level)) == bare(result.script)


@pytest.mark.slow
@given(command_lines(), st.sampled_from(LEVELS))
def test_option_like_operands_come_back_or_are_refused(line: str, level: Level) -> None:
    result = read_script(line.encode(errors="replace"), path="f", level=level)
    if result.findings:
        return
    written = attempt(result.script, level)
    if isinstance(written, str):
        assert bare(read(written, level)) == bare(result.script)
        return
    (action,) = result.script.nodes

    assert isinstance(action, Action)
    assert written.reason == "script_unwritable"
    assert set(action.positionals) & set(option_names(action.command))


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from([o.key for c in COMMANDS.values() for o in c.options]) | WORDS
ACTIONS = st.builds(
    Action,
    command=st.sampled_from(sorted(COMMANDS)) | WORDS,
    positionals=st.lists(WORDS, max_size=5).map(tuple),
    flags=st.dictionaries(KEYS, VALUES, max_size=3),
    runtime=st.none() | st.dictionaries(KEYS, VALUES, max_size=2),
    evidence=st.none() | st.dictionaries(st.sampled_from(sorted(RECORD)), VALUES),
    evidences=st.none() | st.dictionaries(st.sampled_from(("source", "destination")), VALUES),
    label=st.none() | WORDS,
    line=st.just(1),
)
INCLUDES = st.builds(
    Include,
    locator=WORDS,
    call_site_id=st.none() | WORDS,
    digest=st.none() | WORDS | st.just(PIN),
    reference_version=st.sampled_from((None, 1, 2)),
    line=st.just(1),
)
SCRIPTS = st.builds(
    AdScript,
    context=st.builds(
        Context,
        platform=st.sampled_from((None, "ios", "web")) | WORDS,
        target=st.sampled_from((None, "tv")) | WORDS,
        timeout_ms=st.none() | st.integers(),
        retries=st.none() | st.integers(),
    ),
    env=st.lists(st.builds(EnvLine, WORDS, TEXTS, st.just(1)), max_size=2).map(tuple),
    guards=st.lists(
        st.builds(
            Guard,
            kind=st.sampled_from(("fragment", "composition")),
            version=st.integers(0, 2),
            line=st.just(1),
        ),
        max_size=2,
    ).map(tuple),
    nodes=st.lists(ACTIONS | INCLUDES, max_size=2).map(tuple),
)


@pytest.mark.slow
@given(SCRIPTS | st.builds(AdScript, nodes=st.lists(ACTIONS, max_size=1).map(tuple)))
def test_any_value_is_written_equal_or_refused_by_the_typed_error(script: AdScript) -> None:
    written = attempt(script)
    if isinstance(written, InputError):
        assert written.reason == "script_unwritable"
        return
    again = read(written)

    assert len(again.nodes) == len(script.nodes)
    assert composition_digest(again, graph=()) == composition_digest(script, graph=())
    assert write_script(again) == written


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_survive_in_every_place(text: str, level: Level) -> None:
    lines = [f"env A={spell(text)}", f"frobnicate {spell(text)}", f"fill id=a {spell(text)}"]
    lines += [f"open A --launch-url {spell(text)}", f"snapshot -s {spell(text)}"]
    if text:
        lines += [f"press @e1 {spell(text)}", f"include {spell(text)}"]
    script = read("\n".join(lines), level)

    assert bare(read(write_script(script, level=level), level)) == bare(script)


def test_a_fill_without_its_text_is_written_or_refused_and_nothing_else() -> None:
    for label in (None, "x", " x"):
        written = attempt(AdScript(nodes=(act("fill", "@e1", label=label),)))

        assert isinstance(written, str) or written.reason == "script_unwritable"
