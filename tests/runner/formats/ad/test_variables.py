"""Variables."""

import pytest
from hypothesis import given, strategies as st

from runner.errors import InputError
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import Action
from runner.formats.ad.selector import UNKNOWN, parse_selector
from runner.formats.ad.variables import (
    expand,
    expand_action,
    mask_references,
    neutralize,
    parse_assignment,
    required_names,
    script_names,
    shell_scope,
)

SCOPE = {"A": "value", "EMPTY": "", "a.b_1": "dotted", "SELF": "${A}"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "value"),
        ("x${A}${A}y", "xvaluevaluey"),
        ("${a.b_1}", "dotted"),
        ("${U:-d}", "d"),
        ("${A:-d}", "value"),
        ("${EMPTY:-d}", ""),
        ("${U:-}", ""),
        (r"${U:-x\}y}", "x}y"),
        (r"${U:-\a\\}", "a\\"),
        ("${U:-a b\n}", "a b\n"),
        ("${U:-${A}}", "${A}"),
        ("${SELF}", "${A}"),
        (r"\${A}", "${A}"),
        (r"\\${A}", r"\${A}"),
        ("$${A}", "$value"),
        *((text, text) for text in ("$A", "${}", "${1}", "${A", "${A }", "${A-d}", "$", "\\$A")),
        ("${A:-x", "${A:-x"),
        ("${A:-x\\", "${A:-x\\"),
        ("${A:-x\\\ny} ${A}", "${A:-x\\\ny} value"),
        (r"${A:-\${A", r"${A:-\${A"),
    ],
)
def test_text_is_expanded_once_from_left_to_right(text: str, expected: str) -> None:
    assert expand(text, SCOPE) == expected


def test_an_unbound_name_is_refused_by_name() -> None:
    with pytest.raises(InputError) as caught:
        expand("a ${WHO}", SCOPE)

    assert caught.value.reason == "variable_unbound"
    assert caught.value.details == {"name": "WHO"}
    assert "WHO" in caught.value.hint


@pytest.mark.slow
@given(st.text(st.sampled_from("${}A:-\\x\n") | st.characters(), max_size=30))
def test_required_names_are_exactly_those_whose_absence_is_an_error(text: str) -> None:
    names = required_names(text)

    expand(text, dict.fromkeys(names, "v"))
    for missing in names:
        with pytest.raises(InputError):
            expand(text, {name: "v" for name in names if name != missing})


@pytest.mark.slow
@given(st.text(st.characters(exclude_characters="$\\")), st.text())
def test_a_value_is_taken_as_it_is(around: str, value: str) -> None:
    assert expand(f"{around}${{A}}{around}", {"A": value}) == f"{around}{value}{around}"


def test_names_of_a_script_come_with_the_lines_of_their_use() -> None:
    script = read_script(
        b'env N=1\nopen "${APP}" --launch-url "${URL}"\n'
        b'press "id=${B} label=${B}"\nscreenshot --crop-on "id=${C:-c}"\nfill id=x "${B}"\n',
        path="a.ad",
    ).script

    assert script_names(script) == (("APP", 2), ("URL", 2), ("B", 3), ("B", 5))


def test_an_action_is_expanded_in_operands_options_and_runtime_hints_alone() -> None:
    action = Action(
        command="${A}",
        positionals=("${A}", "b"),
        flags={"scope": "${A}", "count": 2, "list": ["${A}"]},
        runtime={"launchUrl": "x://${A}"},
        evidence={"label": "${A}"},
        label="${A}",
        line=1,
    )

    assert expand_action(action, SCOPE) == Action(
        command="${A}",
        positionals=("value", "b"),
        flags={"scope": "value", "count": 2, "list": ["value"]},
        runtime={"launchUrl": "x://value"},
        evidence={"label": "${A}"},
        label="${A}",
        line=1,
    )


@pytest.mark.parametrize(
    ("text", "expected"), [("A=b=c", ("A", "b=c")), ("A=", ("A", "")), ("_A1=x y", ("_A1", "x y"))]
)
def test_assignments_are_cut_at_the_first_equals_sign(text: str, expected: tuple[str, str]) -> None:
    assert parse_assignment(text) == expected


@pytest.mark.parametrize("text", ["a=1", "=1", "A", "AD_X=1", "A =1", "A.B=1", "A\n=1", ""])
def test_bad_assignments_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_assignment(text)

    assert caught.value.reason == "variable_invalid"


def test_a_value_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        parse_assignment("A=\udcff")

    assert caught.value.reason == "variable_invalid"
    (caught.value.message + caught.value.details["assignment"]).encode()


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("id=${A} b", "id=???? b"),
        ("${A:-x y}", "?????????"),
        ("\\${A} $ ${1}", "\\${A} $ ${1}"),
        ("", ""),
    ],
)
def test_a_mask_hides_references_and_keeps_places(text: str, known: str) -> None:
    assert mask_references(text).replace(UNKNOWN, "?") == known


def test_the_shell_binds_prefixed_names_and_skips_unusable_ones() -> None:
    environ = {"AD_VAR_A": "1", "AD_VAR_b": "2", "AD_VAR_": "3", "AD_VAR_AD_X": "4", "B": "5"}

    assert shell_scope(environ) == {"A": "1"}


@pytest.mark.parametrize(
    "text", ['id="${A}"', "id=${A}", "${A}", "id=a ${B}", "enabled=${C}", "id=${A:-x y} || ${B}"]
)
def test_a_neutral_selector_can_be_read(text: str) -> None:
    parse_selector(neutralize(text))
