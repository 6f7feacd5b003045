"""Whatever stands in a file, nothing comes out of the readers but the typed error."""

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from runner.compose.source import Source
from runner.errors import InputError
from runner.formats.ad.annotation import (
    find_annotation,
    parse_reference,
    parse_target,
    parse_targets,
)
from runner.formats.ad.header import merge_context, parse_env, scan_context
from runner.formats.ad.lexer import Level, place_tokens, tokenize
from runner.formats.ad.parser import read_script
from runner.formats.ad.reader import read_source
from runner.formats.ad.script import Context
from runner.formats.ad.selector import (
    check_selector,
    looks_like_selector,
    parse_selector,
    render_selector,
    split_operand,
)
from runner.formats.ad.variables import (
    expand,
    mask_references,
    neutralize,
    parse_assignment,
    required_names,
)
from tests.runner.formats.ad.authoring import (
    HEADERS,
    HOSTILE,
    LEVELS,
    WORDS,
    annotations,
    command_lines,
    steps,
)

pytestmark = pytest.mark.slow

PIECES = st.sampled_from(
    (
        *HOSTILE,
        *("id=", "label=", "visible", "||", "|", "=", "~=", "[", "]", "{", "}", ":", ",", "null"),
        *("# agent-device:target-v1 ", "# agent-device:targets-v1 ", "env A=", "context "),
        *('"role":', '"verification":"verified"', '"source":', '"label":"', "\\u", "\\ud83d"),
        *("include ", "fragment-v1", "press ", "swipe 1 2 3 4 5", "--count", "record --max-size"),
    )
)
NOISE = st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join)
TEXTS = NOISE | st.text(max_size=60)
LINES = TEXTS | command_lines() | annotations() | HEADERS
FILES = st.lists(LINES | steps().map("\n".join), max_size=8).map("\n".join)


@given(TEXTS, st.sampled_from(LEVELS))
def test_the_lexer_raises_nothing_else(line: str, level: Level) -> None:
    with suppress(InputError):
        tokens = tokenize(line, level=level)

        assert [each.text for each in place_tokens(line, level=level)] == tokens
        assert all(1 <= each.column <= len(line) for each in place_tokens(line, level=level))


@given(FILES, st.sampled_from(LEVELS))
def test_the_reader_raises_nothing_and_places_every_problem(text: str, level: Level) -> None:
    result = read_script(text.encode(errors="surrogatepass"), path="f", level=level)
    lines = text.count("\n") + 1

    for finding in result.findings:
        assert finding.reason == "parse_error"
        assert 1 <= finding.line <= lines
        assert finding.column >= 1
        assert finding.message
        assert finding.hint
        finding.message.encode()
        finding.hint.encode()
    assert [n.line for n in result.script.nodes] == sorted({n.line for n in result.script.nodes})


@given(
    FILES.map(lambda text: text.encode(errors="surrogatepass")) | st.binary(max_size=80),
    st.integers(0, 400),
    st.binary(max_size=3),
    st.sampled_from(LEVELS),
)
def test_damaged_bytes_raise_nothing_up_to_the_facts_of_preflight(
    data: bytes, at: int, damage: bytes, level: Level
) -> None:
    damaged = data[:at] + damage + data[at + 1 :]
    source = read_source(Source(path="f.ad", data=damaged), level=level)

    assert source.path == "f.ad"
    for finding in source.findings:
        finding.message.encode()
        assert finding.line >= 1


@given(TEXTS)
def test_the_selector_parser_raises_nothing_else_and_renders_what_it_reads(text: str) -> None:
    looks_like_selector(text)
    with suppress(InputError):
        check_selector(text, mask_references(text))
    with suppress(InputError):
        selector = parse_selector(text)
        again = parse_selector(render_selector(selector))

        assert again.alternatives == selector.alternatives
        assert render_selector(again) == render_selector(selector)


@given(st.lists(WORDS | TEXTS, min_size=1, max_size=6))
def test_splitting_an_operand_loses_no_word(words: list[str]) -> None:
    selector, rest = split_operand(tuple(words))

    assert " ".join((selector, *rest)) == " ".join(words)


@given(TEXTS | annotations().map(lambda text: text.partition(" {")[2]))
def test_the_readers_of_annotations_raise_nothing_else(payload: str) -> None:
    for text in (payload, "{" + payload, '{"source":{' + payload, '{"x":' + payload):
        for parse in (parse_target, parse_targets):
            with suppress(InputError):
                assert "verification" in str(parse(text))
        for kind in ("target", "targets", "fragment-ref"):
            annotation = find_annotation(f"# agent-device:{kind}-v1 {text}")
            if annotation is not None:
                parse_reference(annotation)


@given(TEXTS)
def test_the_readers_of_headers_and_variables_raise_nothing_else(text: str) -> None:
    merge_context(Context(), scan_context(f"context {text}"))
    neutralize(text)
    assert len(mask_references(text)) == len(text)
    with suppress(InputError):
        assert parse_env(f"env {text}")[0]
    with suppress(InputError):
        assert parse_assignment(text)[0]
    names = required_names(text)
    scope = dict.fromkeys(names, "v")

    assert isinstance(expand(text, scope), str)
    if names:
        with pytest.raises(InputError):
            expand(text, {})
