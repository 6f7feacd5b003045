"""The digests of `.ad` plans."""

from hashlib import sha256
from typing import Any

import pytest
import rfc8785
from hypothesis import given, strategies as st
from msgspec.structs import replace

from runner.formats.ad.digest import (
    composition_bytes,
    composition_digest,
    fragment_bytes,
    fragment_digest,
    hinted_platform,
    plan_digest,
)
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import Action, AdScript, Context, Include
from runner.model.digest import digest_of
from runner.model.ids import Digest

PIN = Digest("sha256:" + "0a" * 32)
V5 = (
    "context platform=android\nenv NAME=Bob\n"
    'open "com.example" --relaunch\npress "id=\\"go\\""\nclose\n'
)
V6 = (
    "context platform=ios target=mobile timeout=5000 retries=2\n"
    'env X=1\nopen "a"\nfill "id=\\"e\\"" "${X}" --delay-ms 5\n'
)
V7 = (
    'context platform=android\nopen "a"\n'
    '# agent-device:target-v1 {"role":"button","label":"Go now",'
    '"ancestry":[],"sibling":1,"viewportOrder":0,"verification":"verified"}\n'
    'press "label=\\"Go now\\""\n'
)
V7_UNSORTED = V7.replace('{"role":"button"', '{"zzz":[1],"verification":"verified","role":"button"')
V7_SPACED = V7.replace('"Go now","a', '" Go \\u00a0now","id":"","a')


def script(text: str) -> AdScript:
    result = read_script(text.encode(), path="flow.ad")
    assert result.findings == ()
    return result.script


def flat(text: str, platform: str | None = None, target: str | None = None) -> str:
    return plan_digest(script(text), platform=platform, target=target)


@pytest.mark.parametrize(
    ("text", "platform", "expected"),
    [
        (
            'open "com.example"\n',
            None,
            "0b4d065722618aa6d88d3bdc7a320a34de49cfb45075cc50e073b86a91e0b748",
        ),
        (
            '# comment\n\nopen "com.example"\n',
            None,
            "ae5efcad2fd255d8a4dccda7dd19f9c150de9c103c0618039888d7885b15c855",
        ),
        (
            'open "com.example"\n',
            "android",
            "ca7ad0c607327fc4970ccc686df23ebe2a69a2a8a9007d369c91cbc1440fd583",
        ),
        (
            'open "com.example"\nclose\n',
            None,
            "847257a75eee06a23163e8786515d8885144d80efac4d793bb199385e6c88d8c",
        ),
        (
            'open "com.example"\r\nclose\r\n',
            None,
            "847257a75eee06a23163e8786515d8885144d80efac4d793bb199385e6c88d8c",
        ),
        (V5, None, "6d989d4972b7003472e4b11914958403df3ca8cf89f0d1ed8177aa93695d40e7"),
        (V6, None, "950674ce68f841c1b555b7ccc25b8c2a77423a077d95ddf6764df76ef424e046"),
        (V7, None, "5b271134d2d4bf9efce836b4001c5814a790c07c67e35a08d1bd4e974e275683"),
        (V7_UNSORTED, None, "5b271134d2d4bf9efce836b4001c5814a790c07c67e35a08d1bd4e974e275683"),
        (V7_SPACED, None, "5b271134d2d4bf9efce836b4001c5814a790c07c67e35a08d1bd4e974e275683"),
    ],
)
def test_flat_digests_are_those_of_the_formats_origin(
    text: str, platform: str | None, expected: str
) -> None:
    assert flat(text, platform) == expected


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        (V6.replace("timeout=5000 retries=2", "retries=1"), True),
        (V6.replace("env X=1", "env X=2"), True),
        (V6.replace("context ", 'context device="Bob" '), True),
        (V6.replace("target=mobile", "target=tv"), False),
        (V6.replace("platform=ios", "platform=android"), False),
        (V6.replace("--delay-ms 5", "--delay-ms 6"), False),
        (V6.replace("${X}", "1"), False),
        (V6.replace('open "a"', 'open "b"'), False),
        (V6.replace('open "a"', '\nopen "a"'), False),
        (V6.replace('open "a"', 'open "a" --metro-port 1'), False),
        (V6 + 'replay "x.ad"\n', False),
    ],
)
def test_the_flat_digest_covers_what_runs_and_where_it_stands(changed: str, is_same: bool) -> None:  # noqa: FBT001
    # A boolean is what the table says.
    assert (flat(changed) == flat(V6)) == is_same


def test_display_labels_are_in_no_digest() -> None:
    assert flat("press @e1 Go\n") == flat("press @e1\n")


def test_a_lone_surrogate_is_digested_as_its_escape() -> None:
    text = (
        '{"platform":null,"steps":[{"command":"type","flags":{},"positionals":["\\ud800"],'
        '"runtime":null,"source":{"line":1,"path":null},"targetEvidence":null,'
        '"targetEvidences":null}],"target":null}'
    )

    assert flat('type "\\ud800"') == sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("open A --platform ios\nopen B --platform android", "ios"),
        ("runtime --platform android\nopen A", "android"),
        ("runtime --platform android\nopen A --platform ios", "ios"),
        ("runtime --platform android\nruntime --platform ios", "ios"),
        ("open A\nopen B --platform ios", None),
        ("open A\nruntime --platform ios", None),
        ("back", None),
    ],
)
def test_the_platform_hint_is_that_before_or_on_the_first_open(
    text: str, expected: str | None
) -> None:
    assert hinted_platform(script(text)) == expected
    assert flat("context platform=vega\n" + text) == flat("\n" + text, platform=expected or "vega")


def test_the_callers_options_win() -> None:
    assert flat(V6, "android", "tv") == flat(
        V6.replace("platform=ios", "platform=android").replace("target=mobile", "target=tv")
    )


FRAGMENT = (
    "fragment-v1\ncontext platform=ios target=mobile\n"
    '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verified"}\n'
    'wait "id=\\"home\\"" 10000\n'
    f'# agent-device:fragment-ref-v1 {{"callSiteId":"é","digest":"{PIN}"}}\n'
    'include "./a.ad"\n'
    "press id=b --count 2\n"
)
FRAGMENT_BYTES = (
    '{"canonicalization":"ad-c14n-1","context":{"platform":"ios","target":"mobile"},'
    '"formatVersion":1,"kind":"fragment","steps":['
    '{"command":"wait","flags":{},"positionals":["id=\\"home\\"","10000"],"runtime":null,'
    '"targetEvidence":{"ancestry":[],"id":"home","role":"heading","sibling":0,'
    '"verification":"verified","viewportOrder":0},"targetEvidences":null,"type":"action"},'
    f'{{"callSiteId":"é","digest":"{PIN}","locator":"./a.ad","type":"include"}},'
    '{"command":"press","flags":{"count":2},"positionals":["id=b"],"runtime":null,'
    '"targetEvidence":null,"targetEvidences":null,"type":"action"}]}'
).encode()


def test_the_bytes_of_a_fragment_are_fixed() -> None:
    fragment = script(FRAGMENT)

    assert fragment_bytes(fragment, platform="ios", target="mobile") == FRAGMENT_BYTES
    assert fragment_digest(fragment, platform="ios", target="mobile") == digest_of(FRAGMENT_BYTES)


def test_the_bytes_of_a_composition_are_fixed() -> None:
    root = script("composition-v1\ncontext target=tv\nopen A --platform ios\n")
    other = "sha256:" + "ff" * 32
    graph = [(PIN, "b", other), ("root", "a", PIN), (PIN, "a", other), ("root", "a", PIN)]

    assert (
        composition_bytes(root, graph=graph)
        == (
            '{"canonicalization":"ad-c14n-1","context":{"platform":null,"target":"tv"},'
            '"formatVersion":1,"graph":['
            f'["root","a","{PIN}"],["{PIN}","a","{other}"],["{PIN}","b","{other}"]'
            '],"kind":"composition","steps":['
            '{"command":"open","flags":{},"positionals":["A"],"runtime":{"platform":"ios"},'
            '"targetEvidence":null,"targetEvidences":null,"type":"action"}]}'
        ).encode()
    )


def test_a_flat_plan_has_a_composition_digest_with_an_empty_graph() -> None:
    flat_bytes = composition_bytes(script("open A\n"), graph=())

    assert b'"graph":[],"kind":"composition"' in flat_bytes
    assert composition_digest(script("open A\n"), graph=()) == digest_of(flat_bytes)


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("fragment-v1\n", "# note\n\nfragment-v1\n\n# more\n", True),
        ('"role":"heading"', '"role":"heading","unknown":1', True),
        ("press id=b", "press  id=b", True),
        ('"role":"heading"', '"role":"button"', False),
        ('"id":"home"', '"id":"home","rect":{"x":0,"y":0,"width":1,"height":1}', False),
        ("10000", "10001", False),
        ("./a.ad", "./b.ad", False),
        ('"callSiteId":"é"', '"callSiteId":"e"', False),
        ("0a0a", "0b0a", False),
        ("press id=b", "click id=b", False),
        ("--count 2", "--count 3", False),
    ],
)
def test_a_fragment_digest_changes_with_meaning_alone(old: str, new: str, is_same: bool) -> None:  # noqa: FBT001
    # A boolean is what the table says.
    changed = script(FRAGMENT.replace(old, new, 1))
    digests = {
        fragment_digest(s, platform="ios", target="mobile") for s in (changed, script(FRAGMENT))
    }

    assert (len(digests) == 1) == is_same


def test_the_context_of_a_fragment_is_part_of_it() -> None:
    fragment = script(FRAGMENT)
    contexts = [("ios", "mobile"), ("android", "mobile"), ("ios", "tv"), (None, None)]

    assert len({fragment_digest(fragment, platform=p, target=t) for p, t in contexts}) == 4


TEXTS = st.text(max_size=10)
JSON = st.none() | st.dictionaries(
    TEXTS, TEXTS | st.integers(0, 99) | st.floats(0, 1) | st.lists(TEXTS, max_size=2), max_size=3
)
ACTIONS = st.builds(
    Action,
    command=TEXTS,
    positionals=st.lists(TEXTS, max_size=3).map(tuple),
    flags=JSON.map(lambda value: value or {}),
    runtime=JSON,
    evidence=JSON,
    evidences=JSON,
    line=st.integers(1, 9),
)
INCLUDES = st.builds(
    Include, locator=TEXTS, call_site_id=st.none() | TEXTS, digest=st.just(PIN), line=st.just(1)
)


def plain(node: Action | Include) -> dict[str, Any]:
    if isinstance(node, Include):
        return {
            "type": "include",
            "callSiteId": node.call_site_id,
            "locator": node.locator,
            "digest": node.digest,
        }
    return {
        "type": "action",
        "command": node.command,
        "positionals": node.positionals,
        "flags": node.flags,
        "runtime": node.runtime,
        "targetEvidence": node.evidence,
        "targetEvidences": node.evidences,
    }


@pytest.mark.slow
@given(
    st.lists(ACTIONS | INCLUDES, max_size=4).map(tuple),
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=4),
)
def test_the_written_out_bytes_are_the_canonical_ones(
    nodes: tuple[Action | Include, ...], graph: list[tuple[str, str, str]]
) -> None:
    whole = AdScript(context=Context(platform="ios"), nodes=nodes)
    expected: dict[str, Any] = {
        "canonicalization": "ad-c14n-1",
        "kind": "composition",
        "formatVersion": 1,
        "context": {"platform": "ios", "target": None},
        "steps": [plain(node) for node in nodes],
        "graph": sorted(set(graph), key=lambda edge: [text.encode("utf-16-be") for text in edge]),
    }

    assert composition_bytes(whole, graph=graph) == rfc8785.dumps(expected)
    del expected["graph"]
    expected["kind"] = "fragment"
    assert fragment_bytes(whole, platform="ios", target=None) == rfc8785.dumps(expected)


@pytest.mark.slow
@given(st.lists(ACTIONS, max_size=4).map(tuple))
def test_the_flat_digest_is_that_of_the_plain_plan(nodes: tuple[Action, ...]) -> None:
    expected = {
        "platform": "android",
        "target": None,
        "steps": [
            {
                **{key: value for key, value in plain(node).items() if key != "type"},
                "source": {"path": None, "line": node.line},
            }
            for node in nodes
        ],
    }

    assert (
        plan_digest(AdScript(nodes=nodes), platform="android", target=None)
        == sha256(rfc8785.dumps(expected)).hexdigest()
    )


def test_lines_and_labels_are_not_in_a_fragment_digest() -> None:
    fragment = script(FRAGMENT)
    moved = replace(
        fragment,
        nodes=tuple(
            replace(node, line=node.line + 1, label="x")
            if isinstance(node, Action)
            else replace(node, line=node.line + 1)
            for node in fragment.nodes
        ),
    )

    assert fragment_bytes(moved, platform="ios", target="mobile") == FRAGMENT_BYTES
