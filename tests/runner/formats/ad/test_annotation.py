"""Target evidence and fragment references."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from runner.errors import InputError
from runner.formats.ad.annotation import (
    MAX_NESTING,
    Annotation,
    Reference,
    find_annotation,
    parse_reference,
    parse_target,
    parse_targets,
)

LEAST: dict[str, Any] = {"role": "button", "verification": "verified"}
PIN = "sha256:" + "0a" * 32


def target(**fields: Any) -> dict[str, Any]:
    return parse_target(json.dumps({**LEAST, **fields}))


def reference(payload: object, version: int = 1) -> Reference:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return parse_reference(Annotation(kind="fragment-ref", version=version, payload=text))


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# agent-device:target-v1 {}", ("target", 1, "{}")),
        ("#agent-device:target-v01\u00a0 {} ", ("target", 1, "{}")),
        ("#  \tagent-device:targets-v1 {}", ("targets", 1, "{}")),
        ("# agent-device:target-v2 x", ("target", 2, "x")),
        ("# agent-device:target-v1", ("target", 1, "")),
        ("# agent-device:fragment-ref-v1 {}", ("fragment-ref", 1, "{}")),
        ("# agent-device:fragment-ref-v" + "9" * 5000, ("fragment-ref", 1000, "")),
    ],
)
def test_reserved_comments_are_recognised(comment: str, expected: tuple[str, int, str]) -> None:
    found = find_annotation(comment)

    assert found is not None
    assert (found.kind, found.version, found.payload) == expected


@pytest.mark.parametrize(
    "comment",
    [
        "# note",
        "# agent-device:target-v1x {}",
        "# agent-device:target-v {}",
        "# Agent-device:target-v1 {}",
        "# agent-device:target-v1{}",
        "## agent-device:target-v1 {}",
        '# agent-device:target-v1 {"id":"a\u2028b"}',
        "# agent-device:heal-complete",
        "# agent-device:target-v\u0661 {}",
    ],
)
def test_other_comments_are_not(comment: str) -> None:
    assert find_annotation(comment) is None


def test_missing_fields_get_their_defaults() -> None:
    assert target() == {**LEAST, "ancestry": [], "sibling": 0, "viewportOrder": 0}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"id": ""}, {}),
        ({"id": "e\u0301 "}, {"id": "\u00e9 "}),
        ({"role": ""}, {"role": ""}),
        ({"label": " a \u00a0\ufeff b\n"}, {"label": "a b"}),
        ({"label": "  "}, {}),
        ({"sibling": 1.0}, {"sibling": 1}),
        ({"unknown": [1, {"a": 2}]}, {}),
        (
            {"ancestry": [{"role": "list", "label": " x "}, {"role": "", "id": "dropped"}]},
            {"ancestry": [{"role": "list", "label": "x"}, {"role": ""}]},
        ),
        (
            {"scrollRegion": {"role": "table", "id": "", "label": "All", "x": 1}},
            {"scrollRegion": {"role": "table", "label": "All"}},
        ),
        (
            {"rect": {"x": 1.0, "y": -0.5, "width": 1e21, "height": 2, "z": 1}},
            {"rect": {"x": 1, "y": -0.5, "width": 1e21, "height": 2}},
        ),
        ({"verification": "unverifiable"}, {"verification": "unverifiable"}),
        ({"label": "x" * 256}, {"label": "x" * 256}),
    ],
)
def test_evidence_is_brought_into_canonical_form(
    fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert target(**fields) == {**target(), **expected}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"role": None}, "role"),
        ({"id": None}, "id"),
        ({"label": 5}, "label"),
        ({"label": "x" * 257}, "label"),
        ({"id": "é" * 129}, "id"),
        ({"ancestry": {}}, "ancestry"),
        ({"ancestry": [{"role": "a"}] * 9}, "ancestry"),
        ({"ancestry": [{"label": "a"}]}, "role"),
        ({"ancestry": ["a"]}, "ancestry"),
        ({"sibling": -1}, "sibling"),
        ({"sibling": 1.5}, "sibling"),
        ({"sibling": True}, "sibling"),
        ({"sibling": None}, "sibling"),
        ({"viewportOrder": "1"}, "viewportOrder"),
        ({"viewportOrder": 2**53}, "viewportOrder"),
        ({"scrollRegion": None}, "scrollRegion"),
        ({"scrollRegion": {}}, "role"),
        ({"rect": {"x": 1, "y": 1, "width": 1}}, "rect.height"),
        ({"rect": {"x": "1", "y": 1, "width": 1, "height": 1}}, "rect.x"),
        ({"verification": "no"}, "verification"),
        ({"verification": ["verified"]}, "verification"),
        ({"unknown": "x" * 4096}, "4096"),
    ],
)
def test_bad_evidence_is_refused_by_field(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError) as caught:
        target(**fields)

    assert caught.value.reason == "parse_error"
    assert named in caught.value.message


@pytest.mark.parametrize(
    "payload",
    [
        *("", "[]", "null", "{", '{"role":"a"}', '{"verification":"verified"}', "[" * 4000),
        *('{"role":NaN}', '{"sibling":1e999}', '{"sibling":' + "1" * 4000 + "}", "{'role':1}"),
    ],
)
def test_what_is_no_record_is_refused(payload: str) -> None:
    with pytest.raises(InputError):
        parse_target(payload)


@pytest.mark.parametrize("levels", [MAX_NESTING + 1, 500, 900, 2000])
def test_how_deep_a_record_may_be_does_not_depend_on_who_reads_it(levels: int) -> None:
    def nested(count: int) -> str:
        inner = "[" * (count - 1) + "]" * (count - 1)
        return f'{{"role":"a","verification":"verified","later":{inner or 0}}}'

    too_deep, least = nested(levels), json.dumps(LEAST)
    for text in (too_deep, nested(MAX_NESTING + 1)):
        with pytest.raises(InputError):
            parse_target(text)
        with pytest.raises(InputError):
            parse_targets(f'{{"source":{text},"destination":{least}}}')

    assert parse_target(nested(MAX_NESTING))["role"] == "a"
    assert parse_targets(f'{{"source":{nested(MAX_NESTING - 1)},"destination":{least}}}')


def test_many_brackets_side_by_side_are_not_deep() -> None:
    wide = '{"role":"a[[[[","verification":"verified","later":[' + "[]," * 300 + "0]}"

    assert parse_target(wide)["role"] == "a[[[["


def test_both_ends_of_a_drag_are_required_and_capped_on_their_own() -> None:
    pair = {"source": LEAST, "destination": {**LEAST, "label": "Bin"}}

    assert parse_targets(json.dumps(pair)) == {
        "source": target(),
        "destination": target(label="Bin"),
    }
    for bad in (
        {"source": LEAST},
        {**pair, "destination": None},
        {**pair, "source": {**LEAST, "unknown": "x" * 4096}},
        {**pair, "unknown": "x" * 8320},
    ):
        with pytest.raises(InputError):
            parse_targets(json.dumps(bad))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "id", "label", "ancestry", "rect", "source", "sibling"]), inner
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(JSON.map(json.dumps) | st.text())
def test_any_payload_is_read_or_refused_and_reading_is_idempotent(payload: str) -> None:
    for parse in (parse_target, parse_targets):
        try:
            evidence = parse(payload)
        except InputError:
            continue
        assert parse(json.dumps(evidence)) == evidence
    reference(payload)


@pytest.mark.slow
@given(
    st.fixed_dictionaries(
        {"role": st.text(max_size=20), "verification": st.just("verified")},
        optional={
            "id": st.text(max_size=20),
            "label": st.text(max_size=20),
            "sibling": st.integers(0, 2**53 - 1),
            "rect": st.fixed_dictionaries(
                dict.fromkeys(
                    ("x", "y", "width", "height"), st.floats(allow_nan=False, allow_infinity=False)
                )
            ),
        },
    )
)
def test_canonical_evidence_is_a_fixed_point(record: dict[str, Any]) -> None:
    evidence = parse_target(json.dumps(record))

    assert parse_target(json.dumps(evidence, ensure_ascii=False)) == evidence


def test_a_reference_names_call_site_and_pin() -> None:
    assert reference({"callSiteId": "login", "digest": PIN}) == Reference(
        version=1,
        call_site_id="login",
        digest=PIN,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("payload", "kept"),
    [
        ({"digest": PIN}, (None, PIN)),
        ({"callSiteId": "", "digest": PIN}, (None, PIN)),
        ({"callSiteId": 5, "digest": PIN}, (None, PIN)),
        ({"callSiteId": "a\nb", "digest": PIN}, (None, PIN)),
        ({"callSiteId": "\ud800", "digest": PIN}, (None, PIN)),
        ({"callSiteId": "x" * 257, "digest": PIN}, (None, PIN)),
        ({"callSiteId": "a"}, ("a", None)),
        ({"callSiteId": "a", "digest": PIN.upper()}, ("a", None)),
        ({"callSiteId": "a", "digest": PIN[7:]}, ("a", None)),
        ({"callSiteId": "a", "digest": PIN + "\n"}, ("a", None)),
        ({"callSiteId": "a", "digest": PIN, "note": 1}, ("a", PIN)),
        ("[]", (None, None)),
        ("", (None, None)),
        ("{", (None, None)),
    ],
)
def test_a_malformed_reference_says_what_is_wrong_and_keeps_the_rest(
    payload: object, kept: tuple[str | None, str | None]
) -> None:
    found = reference(payload)

    assert found.problem
    assert (found.call_site_id, found.digest) == kept


def test_a_later_reference_version_is_not_interpreted() -> None:
    found = reference({"callSiteId": "a", "digest": PIN}, version=2)

    assert found.version == 2
    assert found.call_site_id is None
    assert "version 2" in found.problem
