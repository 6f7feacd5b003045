from hypothesis import example, given, strategies as st
from msgspec import Raw

from runner.compose.source import Source
from runner.formats.ad.program import (
    AdFragment,
    AdProgram,
    PackedFragment,
    encode_program,
    pack_program,
)
from runner.formats.ad.reader import read_bytes, read_source
from runner.formats.ad.reading import decode_source, encode_source, place_source
from runner.model.ids import Digest

FLOW = b"""context platform=android timeout=5000
env NAME=Bob
composition-v1
open "${APP}" --relaunch --platform android
# agent-device:fragment-ref-v1 {"callSiteId":"a","digest":"sha256:%s"}
include "./login.ad"
frobnicate ${X}
press "label="
""" % (b"0" * 64)
LINES = st.sampled_from(
    [
        *FLOW.split(b"\n"),
        b"fragment-v1",
        b'wait "id=a" 1000',
        b'# agent-device:target-v1 {"role":"","id":"a","verification":"verified"}',
        b'press "\\ud800"',
        b'snapshot -d 1e30 -s "x"',
        b"\xff",
        b"",
    ]
)


@given(st.lists(LINES, max_size=12).map(b"\n".join) | st.binary(max_size=60))
@example(FLOW)
def test_a_reading_comes_back_from_its_bytes(data: bytes) -> None:
    read = read_bytes(data)
    encoded = encode_source(read)

    if encoded is None:
        assert read.unpacked is not None
    else:
        assert read == decode_source(encoded)


def test_a_text_that_cannot_be_encoded_keeps_a_reading_from_being_bytes() -> None:
    read = read_bytes(b'press "label=\\ud800"\n')

    assert encode_source(read) is None
    assert read.unpacked == read.script


@given(st.binary(max_size=200))
def test_other_bytes_are_no_reading(data: bytes) -> None:
    found = decode_source(data)

    assert found is None or data == encode_source(found)


def test_findings_and_foreign_names_follow_the_place() -> None:
    read = read_bytes(b"frobnicate\n")

    assert {"flows/a.ad"} == {each.path for each in place_source(read, "flows/a.ad").findings}
    foreign = place_source(read, "a.yaml").facts.unsupported

    assert foreign is not None
    assert "cross_format" == foreign.feature


def test_a_program_of_packed_scripts_has_the_bytes_of_the_program() -> None:
    root = read_source(Source(path="main.ad", data=FLOW))
    part = read_source(Source(path="login.ad", data=b"fragment-v1\nback\n"))
    digest = Digest("sha256:" + "0" * 64)
    program = AdProgram(
        path="main.ad",
        platform="ios",
        target="tv",
        root=root.script,
        fragments={digest: AdFragment(path="login.ad", script=part.script)},
    )

    assert encode_program(program) == pack_program(
        Raw(root.packed or b""),
        path="main.ad",
        platform="ios",
        target="tv",
        fragments={digest: PackedFragment(path="login.ad", script=Raw(part.packed or b""))},
    )
