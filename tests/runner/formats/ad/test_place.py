"""Where findings point: at the operand, and inside it where its source text can be followed."""

import pytest
from hypothesis import given, strategies as st

from runner.formats.ad.check import check_actions
from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.parser import read_script
from runner.formats.ad.place import Places
from runner.formats.ad.script import Action
from runner.model.finding import Finding


def check(text: str) -> tuple[Finding, ...]:
    data = text.encode()
    return check_actions(read_script(data, path="a.ad").script, path="a.ad", places=Places(data))


@pytest.mark.parametrize(
    ("marked", "reason"),
    [
        # The mark stands before the place that the finding must name.
        ("press ^label~=x", "selector_invalid"),
        ("press id=a ^--count ${N}", "selector_invalid"),
        ("press   id=a   label=^", "selector_invalid"),
        ("press --double-tap ^Buy", "selector_invalid"),
        ('press ^"id=a nope=b"', "selector_invalid"),
        ('press id=a ^"b c" d', "selector_invalid"),
        ("press id=${A} ^nope=${B}", "selector_invalid"),
        ("fill ^nope=a text", "selector_invalid"),
        ("longpress id=a ^Label 500", "selector_invalid"),
        ("get text ^nope=a", "selector_invalid"),
        ("is visible enabled=^maybe", "selector_invalid"),
        ("is ^nope=a visible", "selector_invalid"),
        ("wait ^nope=a 500", "selector_invalid"),
        ("wait absent id=a ^Hello", "selector_invalid"),
        ("scroll down --until ^Hello", "selector_invalid"),
        ("scroll --until id=^ down", "selector_invalid"),
        ("press ^@e1 Go", "ref_without_session"),
        ("fill ^@e1~s2 x", "ref_without_session"),
        ("is visible ^@e1", "ref_without_session"),
        ("scroll down --until ^@e1", "ref_without_session"),
        ("press 5 ^1e300", "arguments_invalid"),
        ("press 5 --count 3 ^-1", "arguments_invalid"),
        ("press --count ^201 id=a", "arguments_invalid"),
        ("fill ^-1 5 x", "arguments_invalid"),
        ("fill id=a x --delay-ms ^1e300", "arguments_invalid"),
        ("longpress 1 2 ^x", "arguments_invalid"),
        ("longpress id=a label=b ^0", "arguments_invalid"),
        ("wait id=a label=b ^Infinity", "arguments_invalid"),
        ("wait stable 5 ^-1", "arguments_invalid"),
        ("wait absent id=a --depth ^2", "arguments_invalid"),
        ("is visible id=a ^extra", "arguments_invalid"),
        ("scroll ^sideways", "arguments_invalid"),
        ("scroll up ^x", "arguments_invalid"),
        ("swipe 1 2 ^-3 4", "arguments_invalid"),
        ("swipe 1 2 3 4 --pause-ms ^10001", "arguments_invalid"),
        ("open A ^''", "arguments_invalid"),
        ("open A B ^C", "arguments_invalid"),
        ("alert accept ^x", "arguments_invalid"),
        ("^press", "arguments_invalid"),
        ("^opne A", "command_unknown"),
        ('type a ^"\\ud800"', "text_unencodable"),
        ('^"\\ud800" a', "text_unencodable"),
        ('include ^"\\ud800"', "text_unencodable"),
        ('env A=^"\\udfff"', "text_unencodable"),
    ],
)
@pytest.mark.parametrize("indent", ["", "\t \u00a0"])
def test_a_finding_points_at_its_operand(marked: str, reason: str, indent: str) -> None:
    line = indent + marked
    (finding,) = check(f"\n{line.replace('^', '')}\n")

    assert (finding.reason, finding.line) == (reason, 2)
    assert line.index("^") + 1 == finding.column


def test_a_bad_text_in_evidence_is_on_the_line_of_the_comment() -> None:
    comment = '  # agent-device:target-v1 {"role":"\\ud800","verification":"verified"}'
    (finding,) = check(f"\n{comment}\n   back\n")

    assert finding.reason == "text_unencodable"
    assert (finding.line, finding.column) == (2, 3)


def test_without_the_source_a_finding_points_at_the_command() -> None:
    (finding,) = check_actions(read_script(b"  press nope=a", path="a").script, path="a")

    assert 3 == finding.column


@pytest.mark.parametrize(
    ("line", "name", "column"),
    [
        ("  type a ${USER}", "USER", 10),
        ("type x${A}${USER}", "USER", 11),
        ('type ${USER:-x} "a ${USER}"', "USER", 17),
        ("type ${OTHER}", "USER", 1),
        ('type "', "USER", 1),
    ],
)
def test_a_variable_is_found_where_it_needs_to_be_bound(line: str, name: str, column: int) -> None:
    assert column == Places(line.encode()).variable(1, name)


def test_a_line_that_nobody_counts_in_has_its_beginning_for_all_places() -> None:
    (finding,) = check("  press " + "a" * 40_000)

    assert 3 == finding.column


@pytest.mark.slow
@given(
    st.sampled_from(sorted(COMMANDS)),
    st.lists(
        st.sampled_from(["id=a", "@e1~s2", "5", '""', '" "', "'a b'", "visible", "--count", "-1"])
        | st.sampled_from(["text", "--until", "||", "${A}", "x~", "--depth", '"\\ud800"'])
        | st.text(max_size=3),
        max_size=6,
    ),
)
def test_every_place_lies_in_its_line(word: str, words: list[str]) -> None:
    line = " ".join((word, *words)).replace("\n", " ")
    places = Places(line.encode("utf-8", "surrogatepass"))

    for finding in check_actions(
        read_script(line.encode("utf-8", "surrogatepass"), path="a").script,
        path="a",
        places=places,
    ):
        assert 1 <= finding.column <= len(line) + 1
    for node in read_script(line.encode("utf-8", "surrogatepass"), path="a").script.nodes:
        if isinstance(node, Action):
            assert all(places.operand(node, at) >= 1 for at in range(len(node.positionals) + 1))
