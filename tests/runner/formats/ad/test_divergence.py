import json
from typing import Any

import msgspec
import pytest

from runner.formats.ad.divergence import (
    CEILINGS,
    Divergence,
    Report,
    ResponseLevel,
    build_report,
    repair_hint,
)
from runner.formats.ad.mask import build_mask
from runner.formats.ad.selector import parse_selector
from runner.formats.ad.target import Binding, read_evidence
from runner.model.address import (
    ControlSegment,
    InvocationSegment,
    Provenance,
    RootOwner,
    SourceRef,
    StepAddress,
)
from runner.model.failure import Failure
from runner.model.ids import Digest
from tests.runner.formats.ad.screens import node, screen

DIGEST = Digest("sha256:" + "a" * 64)
ADDRESS = StepAddress(owner=RootOwner(format="ad", composition_digest=DIGEST), local_step=3)
CAUSE = Failure(
    kind="product",
    code="COMMAND_FAILED",
    reason="selector_not_found",
    message="nothing matches",
    details={"readiness": {"waitedMs": 2000, "polls": 11, "end": "expired"}, "other": 1},
    hint="look",
)
SHOP = screen(node("Panel", "Cart"), node("Button", "Buy now", parent=1, identifier="buy"))


def divergence(**fields: Any) -> Divergence:
    facts: dict[str, Any] = {
        "kind": "action-failure",
        "action": 'press "label=Buy"',
        "failure": CAUSE,
        "ordinal": 3,
        "address": ADDRESS,
        "provenance": Provenance(step_source=SourceRef("flows/buy.ad", 6)),
        "screen": SHOP,
        "plan_digest": "d" * 64,
        "step_count": 9,
    }
    return Divergence(**{**facts, **fields})


def report(**fields: Any) -> dict[str, Any]:
    return build_report(divergence(**fields), build_mask({})).shown


def record(**fields: Any) -> Any:
    return read_evidence({"role": "button", "verification": "verified", **fields})


def test_a_report_says_what_happened_where_and_what_may_be_meant() -> None:
    made = report(selector=parse_selector("label=Buy"))

    assert made["version"] == 1
    assert made["kind"] == "action-failure"
    assert made["step"]["index"] == 3
    assert made["step"]["source"] == {"path": "flows/buy.ad", "line": 6}
    assert made["action"] == 'press "label=Buy"'
    assert made["cause"] == {
        "code": "COMMAND_FAILED",
        "reason": "selector_not_found",
        "message": "nothing matches",
        "hint": "look",
        "readiness": {"waitedMs": 2000, "polls": 11, "end": "expired"},
    }
    assert made["screen"] == {
        "state": "available",
        "refs": [
            {"ref": "e2", "role": "panel", "label": "Cart"},
            {"ref": "e3", "role": "button", "id": "buy", "label": "Buy now"},
        ],
        "truncated": False,
    }
    assert made["suggestionCount"] == len(made["suggestions"]) == 1
    assert made["resume"] == {
        "allowed": True,
        "from": 3,
        "planDigest": "d" * 64,
        "alternateFrom": 4,
    }
    assert "targetBinding" not in made


@pytest.mark.parametrize("kind", ["selector-miss", "identity-mismatch", "identity-unverifiable"])
def test_a_target_kind_brings_its_binding_and_no_suggestions(kind: Any) -> None:
    recorded = {"role": "button", "label": "Buy", "verification": "verified"}
    binding = Binding(
        classification=kind, match_count=1, node=2, mismatches=("label was 'Buy'",), candidates=(2,)
    )

    made = report(
        kind=kind,
        selector=parse_selector("label=Buy"),
        binding=binding,
        recorded=recorded,
        evidence=record(label="Buy"),
    )

    assert made["suggestions"] == []
    assert made["suggestionCount"] == 0
    target = made["targetBinding"]
    assert target["classification"] == kind
    assert target["matchCount"] == 1
    assert target["recorded"] == recorded
    assert target["observed"] == {"role": "button", "id": "buy", "label": "Buy now"}
    assert target["mismatches"] == ["label was 'Buy'"]
    assert [part["ref"] for part in target["candidates"]] == ["e3"]


PRESENT = {"ancestry": [{"role": "panel", "label": "Cart"}]}
GONE = {"ancestry": [{"role": "panel", "label": "Menu"}]}


@pytest.mark.parametrize(
    ("kind", "ancestry", "hint"),
    [
        ("identity-mismatch", PRESENT, "caution"),
        ("identity-unverifiable", PRESENT, "manual"),
        ("selector-miss", PRESENT, "record-and-heal"),
        ("selector-miss", GONE, "state-repair"),
        ("selector-miss", {}, "manual"),
        ("action-failure", PRESENT, "record-and-heal"),
        ("action-failure", GONE, "manual"),
        ("action-failure", None, "manual"),
    ],
)
def test_the_repair_hint_follows_kind_and_container(
    kind: Any, ancestry: dict[str, Any] | None, hint: str
) -> None:
    evidence = None if ancestry is None else record(**ancestry)

    assert hint == repair_hint(divergence(kind=kind, evidence=evidence))
    assert repair_hint(
        divergence(kind="selector-miss", evidence=record(**PRESENT), screen=None)
    ) == ("manual")


@pytest.mark.parametrize(
    ("kind", "fields", "resume"),
    [
        ("selector-miss", PRESENT, {"from": 4}),
        ("selector-miss", GONE, {"from": 3}),
        ("identity-mismatch", PRESENT, {"from": 3, "alternateFrom": 4}),
    ],
)
def test_a_flat_resume_begins_at_the_step_or_behind_a_healed_one(
    kind: Any, fields: dict[str, Any], resume: dict[str, int]
) -> None:
    made = report(kind=kind, evidence=record(**fields))

    assert {"allowed": True, "planDigest": "d" * 64, **resume} == made["resume"]


def test_behind_the_last_step_there_is_no_other_place_to_begin() -> None:
    made = report(kind="identity-mismatch", evidence=record(**PRESENT), step_count=3)

    assert {"allowed": True, "planDigest": "d" * 64, "from": 3} == made["resume"]


def test_a_composed_resume_is_by_address_at_boundaries_without_iterations() -> None:
    def allowed(address: StepAddress) -> bool:
        made = report(address=address, composition_digest=DIGEST)
        assert made["resume"]["compositionDigest"] == DIGEST
        assert made["step"]["displayOrdinal"] == 3
        return bool(made["resume"]["allowed"])

    assert allowed(ADDRESS)
    assert not allowed(
        msgspec.structs.replace(ADDRESS, invocation_path=(InvocationSegment("a", 1),))
    )
    assert not allowed(msgspec.structs.replace(ADDRESS, control_path=(ControlSegment("c", 2),)))


def test_a_missing_screen_is_named() -> None:
    made = report(screen=None, unseen="sparse-snapshot")

    assert made["screen"]["state"] == "unavailable"
    assert made["screen"]["reason"] == "sparse-snapshot"


def test_a_screen_shows_twenty_elements_and_says_that_there_are_more() -> None:
    made = report(screen=screen(*(node("Text", str(at)) for at in range(30))))

    assert len(made["screen"]["refs"]) == 20
    assert made["screen"]["truncated"] is True


def test_every_text_is_masked_and_cut_but_digests_and_addresses_are_whole() -> None:
    secret = "a" * 64

    made = build_report(
        divergence(
            action=f"open {secret}",
            failure=msgspec.structs.replace(CAUSE, message=secret + "x" * 400),
            screen=screen(node("Text", f"hello {secret}")),
            composition_digest=DIGEST,
        ),
        build_mask({"KEY": secret}),
    ).shown

    assert made["action"] == "open <var:KEY>"
    assert made["cause"]["message"].startswith("<var:KEY>xxx")
    assert len(made["cause"]["message"].encode()) == 256
    assert made["screen"]["refs"][0]["label"] == "hello <var:KEY>"
    assert made["resume"]["compositionDigest"] == DIGEST


def crowded(level: ResponseLevel, *, path: str = "", recorded: int = 10) -> Report:
    long = "é" * 120
    crowd = screen(*(node(long, long, identifier=long) for _ in range(90)))
    mismatch = divergence(
        screen=crowd,
        kind="identity-mismatch",
        binding=Binding(classification="identity-mismatch", node=1, candidates=(1, 2, 3, 4, 5)),
        recorded={f"k{at}": long for at in range(recorded)},
    )
    return build_report(mismatch, build_mask({}), level=level, artifact_path=path)


def test_a_report_that_is_too_large_loses_its_screen_and_names_the_whole_one() -> None:
    made = crowded("digest", path="artifacts/x.json")
    kept = json.loads(made.overflow or b"")

    assert "omitted-for-size" == made.shown["screen"]["reason"]
    assert "hint" in made.shown["screen"]
    assert "artifacts/x.json" == made.shown["overflow"]["artifactPath"]
    assert 8 == len(kept["screen"]["refs"])
    small = len(msgspec.json.encode({k: v for k, v in made.shown.items() if k != "overflow"}))
    assert len(made.overflow or b"") - small == made.shown["overflow"]["omittedBytes"]


def test_where_nothing_can_be_kept_the_report_says_so() -> None:
    assert True is crowded("digest").shown["overflow"]["artifactUnavailable"]


@pytest.mark.parametrize("level", CEILINGS)
@pytest.mark.parametrize("recorded", [0, 10, 40, 400])
def test_a_report_stays_below_the_ceiling_of_its_level(level: ResponseLevel, recorded: int) -> None:
    made = crowded(level, recorded=recorded)
    size = len(msgspec.json.encode(made.shown))

    assert size <= CEILINGS[level].report_bytes
    assert (made.overflow is not None) == ("overflow" in made.shown)


def test_a_report_of_deep_files_with_long_names_keeps_the_address_and_gives_up_the_way() -> None:
    way = tuple(SourceRef(f"{'long/' * 800}{at}.ad", at) for at in range(1, 17))
    calls = tuple(InvocationSegment(f"{at:02}" + "c" * 250) for at in range(16))
    made = build_report(
        divergence(
            address=msgspec.structs.replace(ADDRESS, invocation_path=calls),
            provenance=Provenance(invocation_sources=way, step_source=SourceRef("x.ad", 1)),
            composition_digest=DIGEST,
        ),
        build_mask({}),
    )
    step = made.shown["step"]

    assert len(msgspec.json.encode(made.shown)) <= CEILINGS["default"].report_bytes
    assert 16 == len(step["address"]["invocationPath"])
    assert {"path": "x.ad", "line": 1} == step["provenance"]["stepSource"]
    assert 16 == len(json.loads(made.overflow or b"")["step"]["provenance"]["invocationSources"])


def test_a_level_decides_how_many_refs_and_suggestions_there_are() -> None:
    crowd = screen(*(node("Button", f"Buy {at}") for at in range(40)))
    missed = divergence(screen=crowd, selector=parse_selector("label=Buy"))
    found = {level: build_report(missed, build_mask({}), level=level).shown for level in CEILINGS}

    assert {"digest": 8, "default": 20, "full": 20} == {
        level: len(made["screen"]["refs"]) for level, made in found.items()
    }
    assert {"digest": 0, "default": 5, "full": 5} == {
        level: made["suggestionCount"] for level, made in found.items()
    }
