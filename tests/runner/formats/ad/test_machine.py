import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from runner.errors import InputError, InternalError
from runner.formats.ad.machine import built_ins, open_machine, play
from runner.formats.ad.program import composition_digest_of, encode_program
from runner.formats.ad.variables import BUILT_INS
from runner.machine.intent import Acted, Keep, MachineInputs, Resumed, Tell
from runner.machine.playbook import Frame, Played, play_screens
from runner.model.action import (
    AcceptAlert,
    Action,
    FillText,
    OpenApp,
    ReadAlert,
    Tap,
    TypeText,
)
from runner.model.address import FragmentOwner, RootOwner
from runner.model.artifact import artifact_path
from runner.model.event import (
    Diverged,
    InvocationEntered,
    InvocationLeft,
    StepFinished,
    StepStarted,
)
from runner.model.failure import Failure
from runner.model.ids import AttemptId, Digest, PlanId
from runner.model.plan import CheckedPlan
from tests.runner.formats.ad.screens import (
    BUSY,
    EMPTY,
    LOST,
    composed,
    frames,
    node,
    program,
    screen,
)

BUY = screen(node("android.widget.Button", "Buy", identifier="buy", hittable=True))
BLANK = screen(node("Text", "Loading"))
HOME = screen(node(label="Home", identifier="home"))


def evidence(**fields: Any) -> str:
    record = {"role": "button", "label": "Buy", "verification": "verified", **fields}
    return f"# agent-device:target-v1 {json.dumps(record)}\n"


def run(text: str, *timetable: Frame, scope: dict[str, str] | None = None, **more: Any) -> Played:
    return play_screens(play(program(text), scope=scope or {}, **more), timetable)


def failure(played: Played) -> Failure:
    assert played.outcome.failure is not None
    return played.outcome.failure


def bodies(played: Played, kind: type[Any]) -> list[Any]:
    return [body for body in played.events if isinstance(body, kind)]


def test_each_step_is_told_when_it_starts_and_ends_with_its_address() -> None:
    played = run("open com.shop\npress label=Buy\n", Frame(screen=BUY))

    told = [intent for intent in played.intents if isinstance(intent, Tell)]
    assert [type(tell.body) for tell in told] == [StepStarted, StepFinished] * 2
    assert [tell.address.local_step for tell in told if tell.address] == [1, 1, 2, 2]
    assert [tell.provenance.step_source.line for tell in told if tell.provenance] == [1, 1, 2, 2]
    assert told[2].body == StepStarted(command="press", text='press "label=Buy"')
    assert played.outcome.failure is None


def test_a_step_lasts_from_its_start_to_its_end() -> None:
    played = run("press label=Buy\n", Frame(screen=BUY, takes_ms=120))

    assert [120] == [body.duration_ms for body in bodies(played, StepFinished)]


def test_the_first_failing_step_ends_the_program() -> None:
    played = run("back\nis exists label=No\nhome\n", Frame(screen=BUY))

    assert failure(played).reason == "predicate_false"
    assert len(played.actions) == 1
    assert [type(body) for body in played.events[-2:]] == [Diverged, StepFinished]
    assert played.outcome.address is not None
    assert played.outcome.address.local_step == 2
    assert played.outcome.provenance is not None
    assert played.outcome.provenance.step_source.line == 2
    assert played.events[-1].passed is False  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["device_lost", "device_busy", "driver_fault"])
def test_a_failure_of_the_device_is_handed_on_unchanged_and_is_no_divergence(kind: Any) -> None:
    broken = Failure(kind=kind, code="C", reason="r", message="m", details={"a": 1}, hint="h")

    played = play_screens(
        play(program("open com.shop\nback\n"), scope={}), [], answers={OpenApp: [broken]}
    )

    assert broken == played.outcome.failure
    assert bodies(played, Diverged) == []
    assert bodies(played, StepFinished)[0].failure == broken
    assert len(played.actions) == 1


def test_a_failure_of_the_product_in_an_action_is_a_divergence() -> None:
    refused = Failure(kind="product", code="C", reason="text_not_accepted", message="no")

    played = play_screens(
        play(program("fill label=Buy x\n"), scope={}),
        [Frame(screen=BUY)],
        answers={FillText: [refused]},
    )

    assert refused == played.outcome.failure
    (diverged,) = bodies(played, Diverged)
    assert diverged.kind == "action-failure"
    assert diverged.report["screen"]["state"] == "available"
    assert played.looks == 2  # The screen of the report is that after the action.


def test_a_report_does_without_a_screen_that_cannot_be_captured() -> None:
    for broken in (Frame(failure=BUSY), Frame(failure=LOST, is_retriable=False)):
        played = run("press @e1\n", broken)

        assert failure(played).reason == "ref_without_session"
        (diverged,) = bodies(played, Diverged)
        assert diverged.report["screen"]["state"] == "unavailable"
        assert diverged.report["repairHint"] == "manual"


# Readiness


def test_a_press_polls_up_to_two_seconds_every_200_ms() -> None:
    late = run("press label=Buy\n", Frame(screen=BLANK), Frame(screen=BUY, from_ms=2000))
    never = run("press label=Buy\n", Frame(screen=BLANK))

    assert late.outcome.failure is None
    assert late.pauses == (200,) * 10
    assert failure(never).reason == "selector_not_found"
    assert failure(never).details["readiness"] == {"waitedMs": 2000, "polls": 11, "end": "expired"}


def test_a_press_waits_until_the_target_has_a_place() -> None:
    unplaced = screen(node("Button", "Buy", rect=None))

    played = run("press label=Buy\n", Frame(screen=unplaced), Frame(screen=BUY, from_ms=400))

    assert played.outcome.failure is None
    assert failure(run("press label=Buy\n", Frame(screen=unplaced))).message == (
        "what matches label=Buy has no place on the screen"
    )


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (screen(node(label="Buy"), node(label="Buy")), "selector_ambiguous"),
        (screen(node(label="Buy", rect=(0, 9000, 1, 1))), "target_off_screen"),
        (
            screen(node(label="Buy"), node("Scrim", rect=(0, 0, 999, 999), hittable=True)),
            "target_covered",
        ),
    ],
)
def test_a_press_does_not_wait_for_what_is_there_already(shown: Any, reason: str) -> None:
    played = run("press label=Buy\n", Frame(screen=shown))

    assert reason == failure(played).reason
    assert failure(played).details["candidates"]
    assert played.pauses == ()


def test_a_press_on_empty_screens_says_that_it_saw_nothing() -> None:
    played = run("press label=Buy\n", Frame(screen=EMPTY))

    assert failure(played).reason == "capture_sparse"
    assert failure(played).details["readiness"]["end"] == "sparse"
    assert run("press label=Buy\n", Frame(failure=BUSY)).outcome.failure == BUSY


def test_level_0_21_and_fill_do_not_wait_for_the_target() -> None:
    timetable = (Frame(screen=BLANK), Frame(screen=BUY, from_ms=200))

    assert failure(run("press label=Buy\n", *timetable, level="0.21")).reason == (
        "selector_not_found"
    )
    assert failure(run("fill label=Buy x\n", *timetable)).reason == "selector_not_found"


# Evidence


def test_a_verified_press_touches_what_was_verified_in_one_capture() -> None:
    played = run(f"{evidence(id='buy')}press label=Buy\n", Frame(screen=BUY))

    assert played.outcome.failure is None
    assert played.actions == (Tap(x=200, y=150),)
    assert played.looks == 1


@pytest.mark.parametrize(
    ("record", "shown", "kind", "reason"),
    [
        ({"label": "Sell"}, BUY, "identity-mismatch", "identity_mismatch"),
        ({"verification": "unverifiable"}, BUY, "identity-unverifiable", "identity_unverifiable"),
        ({}, BLANK, "selector-miss", "selector_not_found"),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "press label=Buy",
        "longpress label=Buy",
        "fill label=Buy x",
        "get text label=Buy",
        "is visible label=Buy",
    ],
)
def test_what_cannot_be_verified_is_not_touched(
    line: str, record: dict[str, Any], shown: Any, kind: str, reason: str
) -> None:
    played = run(f"{evidence(**record)}{line}\n", Frame(screen=shown))

    assert reason == failure(played).reason
    assert kind == bodies(played, Diverged)[0].kind
    assert played.actions == ()
    report = bodies(played, Diverged)[0].report
    assert report["targetBinding"]["classification"] == kind
    assert report["suggestions"] == []


def test_presence_is_judged_without_evidence() -> None:
    played = run(f"{evidence(label='Sell')}is exists label=Buy\n", Frame(screen=BUY))

    assert played.outcome.failure is None


def test_a_touch_that_would_go_elsewhere_than_verified_is_refused() -> None:
    # The tie-break sees through the scrim, the touch does not.
    shown = screen(
        node("Button", "Buy", rect=(0, 0, 50, 50)),
        node("Scrim", rect=(0, 0, 60, 60), hittable=True),
        node("Button", "Buy", rect=(500, 500, 90, 90)),
    )

    played = run(f"{evidence(sibling=0)}press label=Buy\n", Frame(screen=shown))

    assert failure(played).reason == "identity_mismatch"
    assert failure(played).details["guard"] == "replay_target_guard_mismatch"
    assert played.actions == ()


def test_an_unreadable_screen_before_the_check_is_retried_within_twelve_seconds() -> None:
    line = f"{evidence()}press label=Buy\n"

    late = run(
        line,
        Frame(screen=EMPTY),
        Frame(failure=BUSY, from_ms=900),
        Frame(screen=BUY, from_ms=11_000),
    )
    never = run(line, Frame(screen=EMPTY))

    assert late.outcome.failure is None
    assert late.pauses == (300, 500, 800, 1200, 2000, 3000, 4000)
    assert failure(never).reason == "capture_sparse"
    assert never.ended_ms == 11_800
    slow = run(line, Frame(screen=EMPTY, takes_ms=5000))
    assert (slow.looks, slow.ended_ms) == (3, 15_800)
    assert bodies(slow, Diverged)[0].report["screen"]["reason"] == "sparse-snapshot"
    assert run(line, Frame(failure=BUSY)).outcome.failure == BUSY


# Variables and secrets


def test_variables_are_expanded_just_before_their_step() -> None:
    played = run("open ${APP}\nback\nopen ${NOPE}\n", Frame(screen=BUY), scope={"APP": "com.a"})

    assert played.actions[0] == OpenApp(app="com.a")
    assert len(played.actions) == 2
    assert failure(played).reason == "variable_unbound"
    assert failure(played).kind == "misuse"


def test_options_and_hints_are_expanded_too() -> None:
    played = run("open com.a --launch-url shop://${X:-none}\n", scope={"X": "7"})

    assert played.actions == (OpenApp(app="com.a", url="shop://7"),)


def test_secret_texts_are_marked_and_never_told() -> None:
    lines = 'fill label=Buy "${PIN}"\ntype "no ${PIN}"\ntype plain\nis exists "label=${PIN}"\n'
    played = run(
        lines, Frame(screen=BUY), scope={"PIN": "hunter2"}, secrets=frozenset({"PIN", "GONE"})
    )

    assert [action.secret for action in played.actions if isinstance(action, FillText)] == [True]
    assert [a.secret for a in played.actions if isinstance(a, TypeText)] == [True, False]
    assert failure(played).reason == "predicate_false"
    assert "hunter2" not in repr([played.events, played.outcome])
    assert "<var:PIN>" in bodies(played, StepStarted)[-1].text
    assert bodies(played, StepStarted)[0].text == 'fill "label=Buy" <text>'
    assert bodies(played, StepStarted)[1].text == "type <text>"


def test_a_secret_that_the_screen_shows_is_not_told() -> None:
    shown = screen(node("Text", "Your pin is hunter2", identifier="pin"))

    played = run(
        "get text id=pin\n",
        Frame(screen=shown),
        scope={"PIN": "hunter2"},
        secrets=frozenset({"PIN"}),
    )

    assert bodies(played, StepFinished)[0].detail == "Your pin is <var:PIN>"


def test_a_report_hides_every_expanded_variable_and_no_other() -> None:
    shown = screen(node("Text", "Hello alice, your order 4711"), node("Text", "mallory"))

    played = run(
        'open ${APP}\npress "label=${USER}"\n',
        Frame(screen=shown),
        scope={"APP": "com.a", "USER": "alice", "IDLE": "mallory", "EMPTY": ""},
    )

    report = json.dumps(bodies(played, Diverged)[0].report)
    assert "alice" not in report
    assert "Hello <var:USER>, your order 4711" in report
    assert "mallory" in report


# Composition


def test_a_fragment_is_entered_and_left_around_its_steps() -> None:
    plan = composed("press label=Home\n", before="open com.shop\n", after="close\n")

    played = play_screens(play(plan, scope={}), [Frame(screen=HOME)])

    assert played.outcome.failure is None
    told = [intent for intent in played.intents if isinstance(intent, Tell)]
    assert [type(tell.body) for tell in told] == [
        *[StepStarted, StepFinished],
        InvocationEntered,
        *[StepStarted, StepFinished] * 2,
        InvocationLeft,
        *[StepStarted, StepFinished],
    ]
    inside = told[5]
    assert inside.address is not None
    assert isinstance(inside.address.owner, FragmentOwner)
    assert [part.call_site_id for part in inside.address.invocation_path] == ["login"]
    assert inside.address.local_step == 2
    assert inside.provenance is not None
    assert inside.provenance.step_source.path == "parts/login.ad"
    assert told[2].body == InvocationEntered(call_site_id="login", locator="./parts/login.ad")


def test_a_failure_in_a_fragment_names_the_fragment_and_its_resume_is_refused() -> None:
    plan = composed("press label=Nope\n", before="open com.shop\n")

    played = play_screens(play(plan, scope={}), [Frame(screen=HOME)])

    assert played.outcome.address is not None
    assert isinstance(played.outcome.address.owner, FragmentOwner)
    assert bodies(played, InvocationLeft) == []
    report = bodies(played, Diverged)[0].report
    assert report["step"]["displayOrdinal"] == 3
    assert "index" not in report["step"]
    assert report["step"]["source"] == {"path": "parts/login.ad", "line": 5}
    assert report["step"]["address"]["invocationPath"] == [{"callSiteId": "login", "iteration": 0}]
    assert report["resume"]["allowed"] is False
    assert report["resume"]["reason"] == "fragment_resume_unsupported"
    assert report["resume"]["compositionDigest"] == composition_digest_of(plan)


def test_a_wrong_screen_at_the_entry_guard_is_an_identity_mismatch_that_may_be_resumed() -> None:
    away, other = BLANK, screen(node(identifier="HOME"))

    for shown, reason in (
        (away, "wait_target_absent"),
        (other, "wait_landmark_identity_mismatch"),
    ):
        played = play_screens(play(composed("back\n"), scope={}), [Frame(screen=shown)])
        assert reason == failure(played).reason
        assert played.actions == ()
        assert bodies(played, Diverged)[0].report["resume"]["allowed"] is True


def test_a_root_step_of_a_composition_may_be_resumed_by_its_address() -> None:
    plan = composed("back\n", after="press label=Nope\n")

    played = play_screens(play(plan, scope={}), [Frame(screen=HOME)])

    report = bodies(played, Diverged)[0].report
    assert report["resume"]["allowed"] is True
    assert report["resume"]["address"]["owner"]["kind"] == "root"


# Checked plans


def checked(digest: Digest | None = None, *, line: str = "open ${AD_PLATFORM}") -> CheckedPlan:
    plan = program(f"open ${{APP}}\n{line}\n")
    return CheckedPlan(
        id=PlanId("flow.ad@android"),
        path="flow.ad",
        format="ad",
        kind="flat",
        platform="android",
        composition_digest=digest or composition_digest_of(plan),
        program=encode_program(plan),
        variables={"APP": "com.a"},
        plan_digest="d" * 64,
        step_count=2,
    )


def test_a_checked_plan_is_played_with_its_variables_over_the_built_ins() -> None:
    inputs = MachineInputs(platform="android", device="Pixel", serial="S1", attempt_id="a#1")

    played = play_screens(open_machine(checked(), inputs), [])

    assert played.actions == (OpenApp(app="com.a"), OpenApp(app="android"))
    assert played.outcome.failure is None
    bound = built_ins(checked(), inputs)
    assert BUILT_INS == frozenset(bound)
    assert ("Pixel", "S1", "a#1") == (
        bound["AD_DEVICE"],
        bound["AD_DEVICE_ID"],
        bound["AD_SESSION"],
    )


def test_a_program_that_is_not_what_its_plan_promises_is_not_played() -> None:
    inputs = MachineInputs(platform="android", target="mobile")

    with pytest.raises(InputError) as caught:
        open_machine(checked(Digest("sha256:" + "0" * 64)), inputs)

    assert caught.value.reason == "program_mismatch"


def test_a_flat_plan_is_resumed_by_number_and_its_plan_digest() -> None:
    inputs = MachineInputs(platform="android", target="mobile")

    failing = checked(line="press id=absent")
    played = play_screens(open_machine(failing, inputs), [Frame(screen=BUY)])

    report = bodies(played, Diverged)[0].report
    # Behind the last step of two there is nothing to begin at.
    assert report["resume"] == {"allowed": True, "from": 2, "planDigest": "d" * 64}
    assert report["step"]["index"] == 2
    assert report["step"]["address"]["owner"]["kind"] == "root"
    assert played.outcome.address is not None
    assert isinstance(played.outcome.address.owner, RootOwner)


def test_an_answer_that_does_not_fit_is_a_bug() -> None:
    for line in ("press label=Buy", "wait 5", "back"):
        machine = play(program(f"{line}\n"), scope={})
        next(machine)
        machine.send(Resumed(at_ms=0))
        misfit = Resumed(at_ms=0) if line == "back" else Acted(at_ms=0)
        with pytest.raises(InternalError) as caught:
            machine.send(misfit)
        assert caught.value.reason == "observation_unexpected"


# Anything at all

texts = st.sampled_from(["Buy", "buy", "", "Home", "\ud800", "${A}", "é" * 300])
shown_nodes = st.builds(
    node,
    st.sampled_from(["Button", "android.widget.EditText", "android.widget.ScrollView", ""]),
    texts,
    parent=st.none() | st.integers(-2, 12),
    rect=st.none() | st.tuples(*(st.floats(-100, 2500),) * 2, *(st.floats(0, 2500),) * 2),
    identifier=st.sampled_from(["", "buy", "home"]),
    hittable=st.none() | st.booleans(),
)
shown_screens = st.builds(
    lambda nodes, quality, truncated: screen(*nodes, quality=quality, truncated=truncated),
    st.lists(shown_nodes, max_size=9),
    st.sampled_from(["readable", "readable", "sparse"]),
    st.booleans(),
)
LINES = st.sampled_from(
    [
        "press label=Buy",
        f"{evidence()}press label=Buy",
        f"{evidence(id='buy', ancestry=[{'role': 'window'}])}press id=buy || role=button",
        "longpress role=button 300",
        "fill editable ${A}",
        "fill role=text-field x --delay-ms 1",
        "get text text=Buy",
        "get attrs visible",
        "is hidden id=home",
        "is text id=home Home",
        f"{evidence(id='home')}wait id=home 400",
        "wait absent label=Buy 400",
        "wait stable 300 900",
        "wait text buy 100",
        "scroll bottom",
        "scroll down --until label=Buy",
        "alert accept 400",
        "alert wait 400",
        "press ${A} ${B}",
        "wait ${B}",
        "snapshot",
        "close",
    ]
)
failing = st.sampled_from([BUSY, LOST, Failure(kind="product", code="", reason="x", message="")])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.lists(LINES, min_size=1, max_size=4),
    st.lists(shown_screens | st.just(BUSY), min_size=1, max_size=6),
    st.sampled_from(["", "1", "label=Buy", "\ud800"]),
    st.lists(st.just("") | failing, min_size=1, max_size=3),
)
def test_any_program_on_any_screens_ends_with_an_outcome_and_few_intents(
    lines: list[str], shown: list[Any], value: str, answers: list[Any]
) -> None:
    kinds: list[type[Action]] = [AcceptAlert, ReadAlert, FillText, Tap]

    played = play_screens(
        play(
            program("".join(f"{line}\n" for line in lines)),
            scope={"A": value},
            secrets=frozenset("A"),
        ),
        frames(*shown),
        answers=dict.fromkeys(kinds, answers),
        act_ms=1,
        limit=1_000,
    )

    started, finished = bodies(played, StepStarted), bodies(played, StepFinished)
    assert len(started) == len(finished)
    assert [body.passed for body in finished[:-1]] == [True] * (len(finished) - 1)
    assert finished[-1].passed is (played.outcome.failure is None)
    json.dumps([body.report for body in bodies(played, Diverged)]).encode()
    assert sum("\ud800" in body.text for body in started) == 0


def test_a_report_over_its_ceiling_is_kept_whole_as_an_artifact_of_the_step() -> None:
    long = '"' * 230  # Each of them is two bytes in JSON.
    crowd = screen(*(node(long, f"{at}{long}", identifier=f"{at}{long}") for at in range(40)))
    played = run("press label=Buy\n", Frame(screen=crowd), attempt_id=AttemptId("a#1"))
    (kept,) = [intent for intent in played.intents if isinstance(intent, Keep)]
    (diverged,) = bodies(played, Diverged)

    assert "omitted-for-size" == diverged.report["screen"]["reason"]
    assert diverged.report["overflow"]["artifactPath"] == artifact_path(
        kind=kept.kind, name=kept.name, attempt_id=AttemptId("a#1"), address=kept.address
    )
    assert "available" == json.loads(kept.data)["screen"]["state"]
    assert played.outcome.address == kept.address
