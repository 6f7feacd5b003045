import json

import pytest
from hypothesis import given, strategies as st

from runner.errors import InputError
from runner.formats.ad.edit import insert_include, relative_locator, rewrite_pin
from runner.formats.ad.lexer import split_lines
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import Include
from runner.model.digest import digest_of
from runner.model.ids import Digest

OLD = digest_of(b"old")
NEW = digest_of(b"new")


def _include_of(data: bytes, number: int = 0) -> Include:
    nodes = read_script(data, path="a.ad").script.nodes
    return [node for node in nodes if isinstance(node, Include)][number]


def _comment(payload: str) -> bytes:
    return f"# agent-device:fragment-ref-v1 {payload}\ninclude ./f.ad\n".encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"callSiteId":"a","digest":"OLD"}', '{"callSiteId":"a","digest":"NEW"}'),
        ('{ "digest" :\t"OLD" , "callSiteId":"a" }', '{ "digest" :\t"NEW" , "callSiteId":"a" }'),
        ('{"callSiteId":"digest","digest":"x"}', '{"callSiteId":"digest","digest":"NEW"}'),
        ('{"callSiteId":"a","digest":null}', '{"callSiteId":"a","digest":"NEW"}'),
        ('{"digest":{"digest":[1e999]},"callSiteId":"a"}', '{"digest":"NEW","callSiteId":"a"}'),
        ('{"callSiteId":"a\\"}{","digest":"OLD"}', '{"callSiteId":"a\\"}{","digest":"NEW"}'),
        ('{"callSiteId":"a","\\u0064igest":"OLD"}', '{"callSiteId":"a","\\u0064igest":"NEW"}'),
        (
            '{"digest":"x","callSiteId":"a","digest":"OLD"}',
            '{"digest":"x","callSiteId":"a","digest":"NEW"}',
        ),
        ('{"callSiteId":"a"}', '{"callSiteId":"a","digest":"NEW"}'),
        ('{ "callSiteId": "a" }', '{ "callSiteId": "a", "digest": "NEW" }'),
    ],
)
def test_only_the_digest_of_a_reference_is_rewritten(before: str, after: str) -> None:
    data = _comment(before.replace("OLD", OLD))
    edited = rewrite_pin(data, line=2, digest=NEW)

    assert edited == _comment(after.replace("NEW", NEW))
    assert (_include_of(edited).digest, _include_of(edited).problem) == (NEW, "")


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"include ./f.ad", 1),
        (b"# agent-device:fragment-ref-v1 {}\ninclude ./f.ad", 3),
        (b"# agent-device:fragment-ref-v1 {}\ninclude ./f.ad", 2),
        (b"# agent-device:fragment-ref-v1\ninclude ./f.ad", 2),
        (b"# agent-device:fragment-ref-v1 [1]\ninclude ./f.ad", 2),
        (b'# agent-device:fragment-ref-v1 {"a":\ninclude ./f.ad', 2),
        (b'# agent-device:fragment-ref-v1 {"a"\ninclude ./f.ad', 2),
        (b'# agent-device:fragment-ref-v2 {"callSiteId":"a"}\ninclude ./f.ad', 2),
        (b'# agent-device:target-v1 {"callSiteId":"a"}\ninclude ./f.ad', 2),
        (b'# agent-device:fragment-ref-v1 {"callSiteId":"\xff"}\ninclude ./f.ad', 2),
        (b'# agent-device:fragment-ref-v1 {"x":' + b"[" * 99_999 + b"\ninclude ./f.ad", 2),
        (b"", 1),
    ],
)
def test_what_is_no_reference_is_not_rewritten(data: bytes, line: int) -> None:
    with pytest.raises(InputError) as caught:
        rewrite_pin(data, line=line, digest=NEW)

    assert caught.value.reason == "fragment_call_site_invalid"


_SPACE = st.text(" \t", max_size=2)
_LINES = st.lists(
    st.sampled_from(
        ["", "back", "\ufeff", "  # a comment", "press label=\u2028x", "type \x0b", "é"]
    )
)
_EOL = st.sampled_from(["\n", "\r\n"])


@given(
    site=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=9),
    space=_SPACE,
    lines=_LINES,
    eol=_EOL,
    is_ascii=st.booleans(),
)
def test_a_new_pin_changes_no_byte_outside_of_the_old_one(
    site: str, space: str, lines: list[str], eol: str, *, is_ascii: bool
) -> None:
    quoted = json.dumps(site, ensure_ascii=is_ascii or any(c in "\u2028\u2029" for c in site))
    comment = (
        f"{space}#{space}agent-device:fragment-ref-v1 {space}{{{space}"
        f'"callSiteId"{space}:{space}{quoted}{space},{space}"digest":"{OLD}"{space}}}{space}'
    )
    text = eol.join([*lines, comment, "include ./f.ad", *lines])
    edited = rewrite_pin(text.encode(), line=len(lines) + 2, digest=NEW)

    assert edited == text.replace(OLD, NEW).encode()
    assert (_include_of(edited).call_site_id, _include_of(edited).digest) == (site, NEW)


@given(
    site=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=9),
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9),
    lines=_LINES,
    eol=_EOL,
    data=st.data(),
)
def test_an_include_stands_where_it_was_asked_for_and_means_what_was_given(
    site: str, name: str, lines: list[str], eol: str, data: st.DataObject
) -> None:
    text = eol.join(["composition-v1", "back", *lines])
    count = len(split_lines(text)) - (1 if lines and lines[-1] == "" else 0)
    after = data.draw(st.integers(0, count))
    before = text.encode()
    edited = insert_include(before, after=after, locator=f"./{name}", call_site_id=site, digest=NEW)
    include = _include_of(edited)
    rest = edited.decode().split(eol)
    del rest[after : after + 2]

    assert (include.locator, include.call_site_id) == (f"./{name}", site)
    assert (include.digest, include.problem, include.line) == (NEW, "", after + 2)
    assert eol.join(rest) == text


def _inserted(data: bytes, after: int) -> bytes:
    return insert_include(data, after=after, locator="./f.ad", call_site_id="a", digest=Digest("D"))


def test_an_include_takes_the_line_ends_of_its_neighbours() -> None:
    reference = b'# agent-device:fragment-ref-v1 {"callSiteId":"a","digest":"D"}'
    include = b'include "./f.ad"'

    assert _inserted(b"a\r\nb\r\n", 1) == b"a\r\n" + reference + b"\r\n" + include + b"\r\nb\r\n"
    assert _inserted(b"a\r\nb", 2) == b"a\r\nb\r\n" + reference + b"\r\n" + include
    assert _inserted(b"a\nb", 2) == b"a\nb\n" + reference + b"\n" + include
    assert _inserted(b"a\nb\n", 2) == b"a\nb\n" + reference + b"\n" + include + b"\n"
    assert _inserted(b"a\nb\r\n", 1) == b"a\n" + reference + b"\n" + include + b"\nb\r\n"
    assert _inserted(b"a\r\nb", 0) == reference + b"\r\n" + include + b"\r\na\r\nb"


@pytest.mark.parametrize("after", [-1, 3, 99])
def test_a_line_that_the_file_has_not_is_refused(after: int) -> None:
    with pytest.raises(InputError) as caught:
        _inserted(b"a\nb\n", after)

    assert (caught.value.reason, caught.value.details["lines"]) == ("option_invalid", 2)


def test_half_a_character_of_a_call_site_is_written_as_an_escape() -> None:
    edited = insert_include(b"a\n", after=1, locator="./f.ad", call_site_id="\udcff", digest=NEW)

    assert b'"callSiteId":"\\udcff"' in edited
    assert "surrogate" in _include_of(edited).problem


@pytest.mark.parametrize(
    ("parent", "child", "locator"),
    [
        ("a.ad", "b.ad", "./b.ad"),
        ("a.ad", "lib/b.ad", "./lib/b.ad"),
        ("flows/a.ad", "lib/b.ad", "../lib/b.ad"),
        ("flows/a.ad", "flows/b.ad", "./b.ad"),
        ("x/y/a.ad", "b.ad", "../../b.ad"),
        ("a.ad", "..b.ad", "./..b.ad"),
    ],
)
def test_a_locator_begins_with_the_folder_of_the_parent(
    parent: str, child: str, locator: str
) -> None:
    assert relative_locator(parent, child) == locator
