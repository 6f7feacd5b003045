from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from runner.errors import InputError
from runner.formats.ad.digest import fragment_digest
from runner.formats.ad.program import (
    AdFragment,
    AdProgram,
    EnterFragment,
    LeaveFragment,
    PlannedStep,
    composition_digest_of,
    decode_program,
    encode_program,
    graph_edges,
    linearize,
    open_program,
    step_count,
)
from runner.formats.ad.script import Action, AdScript, Context, Include
from runner.model.address import FragmentOwner, RootOwner
from runner.model.ids import Digest
from runner.preflight.sweep import check_sweep
from tests.support.ad_tree import AdTree, Call


def _action(line: int, command: str = "back", *words: str) -> Action:
    return Action(command=command, positionals=words, line=line)


def _include(line: int, site: str, digest: Digest) -> Include:
    return Include(locator=f"./{site}.ad", call_site_id=site, digest=digest, line=line)


def _fragment(*nodes: Action | Include) -> tuple[Digest, AdFragment]:
    script = AdScript(context=Context(platform="android", target="mobile"), nodes=nodes)
    digest = fragment_digest(script, platform="android", target="mobile")
    return digest, AdFragment(path=f"{digest[7:15]}.ad", script=script)


def _program(*nodes: Action | Include, fragments: dict[Digest, AdFragment]) -> AdProgram:
    return AdProgram(
        path="root.ad", platform="android", root=AdScript(nodes=nodes), fragments=fragments
    )


LEAF = _fragment(_action(4, "wait", "id=x", "100"), _action(5))
MID = _fragment(_action(3, "wait", "id=y", "100"), _include(6, "inner", LEAF[0]), _action(7))
PROGRAM = _program(
    _action(2, "open", "a"),
    _include(4, "one", MID[0]),
    _include(6, "two", LEAF[0]),
    _action(7, "close"),
    fragments=dict([LEAF, MID]),
)


def test_a_program_survives_its_bytes() -> None:
    assert decode_program(encode_program(PROGRAM)) == PROGRAM
    assert open_program(encode_program(PROGRAM), composition_digest_of(PROGRAM)) == PROGRAM


def test_steps_come_in_execution_order_with_owner_local_numbers() -> None:
    items = list(linearize(PROGRAM))
    steps = [item for item in items if isinstance(item, PlannedStep)]

    assert [(step.invocation, step.address.local_step) for step in steps] == [
        ((), 1),
        (("one",), 1),
        (("one", "inner"), 1),
        (("one", "inner"), 2),
        (("one",), 2),
        (("two",), 1),
        (("two",), 2),
        ((), 2),
    ]
    assert [step.is_entry_guard for step in steps] == [
        False,
        True,
        True,
        False,
        False,
        True,
        False,
        False,
    ]
    assert step_count(PROGRAM) == len(steps)


def test_owners_are_the_composition_and_the_fragments_own_digests() -> None:
    steps = [item for item in linearize(PROGRAM) if isinstance(item, PlannedStep)]

    assert steps[0].address.owner == RootOwner(
        format="ad", composition_digest=composition_digest_of(PROGRAM)
    )
    assert steps[2].address.owner == FragmentOwner(format="ad", fragment_digest=LEAF[0])
    assert steps[2].address.owner == steps[5].address.owner
    assert steps[2].address != steps[5].address


def test_boundaries_carry_call_site_and_locator() -> None:
    marks = [item for item in linearize(PROGRAM) if not isinstance(item, PlannedStep)]

    assert [(type(mark), mark.call_site_id) for mark in marks] == [
        (EnterFragment, "one"),
        (EnterFragment, "inner"),
        (LeaveFragment, "inner"),
        (LeaveFragment, "one"),
        (EnterFragment, "two"),
        (LeaveFragment, "two"),
    ]
    assert marks[1].locator == "./inner.ad"
    assert [part.line for part in marks[1].provenance.invocation_sources] == [4, 6]


def test_the_graph_holds_each_edge_once_with_its_parent() -> None:
    assert graph_edges(PROGRAM) == tuple(
        sorted(
            [
                (MID[0], "inner", LEAF[0]),
                ("root", "one", MID[0]),
                ("root", "two", LEAF[0]),
            ]
        )
    )


def test_a_program_with_another_content_than_its_plan_promises_is_refused() -> None:
    expected = composition_digest_of(PROGRAM)
    changed = replace(PROGRAM, root=AdScript(nodes=(_action(2, "home"), *PROGRAM.root.nodes[1:])))
    with pytest.raises(InputError) as caught:
        open_program(encode_program(changed), expected)
    assert caught.value.reason == "program_mismatch"

    forged = AdFragment(path="x.ad", script=AdScript(nodes=(_action(1, "home"),)))
    with pytest.raises(InputError) as caught:
        open_program(
            encode_program(replace(PROGRAM, fragments={**PROGRAM.fragments, LEAF[0]: forged})),
            expected,
        )
    assert caught.value.reason == "program_invalid"


def test_the_composition_digest_leaves_out_platform_and_path() -> None:
    elsewhere = replace(PROGRAM, path="moved/root.ad", platform="ios", target="tv")

    assert composition_digest_of(elsewhere) == composition_digest_of(PROGRAM)


@pytest.mark.parametrize(
    "program",
    [
        _program(_include(1, "gone", LEAF[0]), fragments={}),
        _program(Include(locator="x", line=1), fragments={}),
        _program(
            _include(1, "a", LEAF[0]),
            fragments={
                LEAF[0]: AdFragment(
                    path="a.ad", script=AdScript(nodes=(_include(1, "a", LEAF[0]),))
                )
            },
        ),
    ],
    ids=["not closed", "without a pin", "includes itself"],
)
def test_a_program_that_could_not_end_or_lacks_a_part_is_refused(program: AdProgram) -> None:
    with pytest.raises(InputError) as caught:
        decode_program(encode_program(program))

    assert caught.value.reason == "program_invalid"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x93\x01\x02",
        msgspec.msgpack.encode({"version": 2}),
        msgspec.msgpack.encode(PROGRAM) + b"x",
        b"\x81\xa5flags" + b"\x91" * 100_000,
    ],
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        decode_program(data)

    assert caught.value.reason == "program_invalid"


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_no_bytes_make_anything_but_a_typed_error(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_program(data)


@given(st.integers(0, 2000), st.binary(min_size=1, max_size=3))
@settings(deadline=None)
def test_a_changed_program_is_refused_or_has_the_promised_meaning(at: int, junk: bytes) -> None:
    good = encode_program(PROGRAM)
    at %= len(good)
    expected = composition_digest_of(PROGRAM)
    with suppress(InputError):
        program = open_program(good[:at] + junk + good[at + len(junk) :], expected)

        assert composition_digest_of(program) == expected


@pytest.mark.parametrize(
    "value", [b"x", float("nan"), float("inf"), {1: 2}, [{"a": b"x"}], msgspec.msgpack.Ext(1, b"")]
)
def test_a_value_that_json_cannot_say_is_refused(value: object) -> None:
    action = Action(command="click", flags={"count": value}, line=1)
    data = msgspec.msgpack.encode(_program(action, fragments={}))
    with pytest.raises(InputError) as caught:
        decode_program(data)

    assert caught.value.reason == "program_invalid"


@pytest.mark.parametrize("value", ["\ud800", 2**70])
def test_a_value_that_cannot_travel_is_a_typed_error(value: object) -> None:
    action = Action(command="click", flags={"count": value}, line=1)
    with pytest.raises(InputError) as caught:
        encode_program(_program(action, fragments={}))

    assert caught.value.reason == "program_invalid"


def test_a_program_from_files_plays_what_the_files_say(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("login.ad", 'click "label=\\"Go\\""')
    tree.flow("main.ad", Call("login.ad"), "home", Call("login.ad", "again"))
    (plan,) = check_sweep(["main.ad"], tree.settings()).plans
    program = open_program(plan.program, plan.composition_digest)

    assert [
        item.action.command for item in linearize(program) if isinstance(item, PlannedStep)
    ] == ["open", "wait", "click", "home", "wait", "click", "close"]
