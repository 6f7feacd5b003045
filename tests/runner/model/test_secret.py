import json
from xml.etree import ElementTree as ET

from hypothesis import given, strategies as st

from runner.model.secret import spellings

HOSTILE = st.text(st.sampled_from("ab\"'\\<>&\n\t é😀"), min_size=1, max_size=12)


@given(HOSTILE)
def test_every_quoting_of_a_value_is_among_its_spellings(value: str) -> None:
    found = spellings(value)
    line = json.dumps(json.dumps(value))
    node = ET.Element("node", {"text": value})

    assert value in found
    assert any(form in json.dumps(value) for form in found)
    assert any(form in line for form in found)
    assert repr(value)[1:-1] in found
    if "\n" not in value and "\t" not in value:  # XML writes those as character references.
        assert any(form in ET.tostring(node, encoding="unicode") for form in found)


@given(HOSTILE)
def test_the_longest_spelling_comes_first_so_that_none_is_left_in_part(value: str) -> None:
    lengths = [len(form) for form in spellings(value)]

    assert sorted(lengths, reverse=True) == lengths


def test_an_empty_value_has_none() -> None:
    assert () == spellings("")
