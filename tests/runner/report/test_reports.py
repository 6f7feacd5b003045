import json
from xml.etree import ElementTree as ET

from hypothesis import given, strategies as st
from msgspec.structs import replace

from runner.exits import ExitStatus
from runner.model.address import InvocationSegment, Provenance, SourceRef
from runner.model.event import (
    ArtifactStored,
    AttemptFinished,
    AttemptStarted,
    Event,
    EventBody,
    Logged,
    PlanAdmitted,
    ProblemFound,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    VerdictReached,
)
from runner.model.failure import Failure
from runner.model.finding import Finding
from runner.model.ids import DeviceId
from runner.report.json_report import render_json, run_json
from runner.report.junit import render_junit
from runner.report.summary import RunSummary, exit_status, summarise
from runner.report.text import render_text
from runner.report.words import plural, render_duration, render_place, render_short_address
from tests.support.events import DIGEST, RUN, event, step_address

FAILURE = Failure(
    kind="product",
    code="REPLAY_DIVERGENCE",
    reason="wait_target_absent",
    message='nothing matched id="home" within 10 s',
    hint="look at the screenshot",
)


def _admitted(path: str) -> PlanAdmitted:
    return PlanAdmitted(
        path=path,
        format="ad",
        platform="android",
        composition_digest=DIGEST,
        plan_digest="",
        step_count=3,
    )


def _attempt(plan: str, number: int, failure: Failure | None) -> list[tuple[EventBody, bool]]:
    step: list[tuple[EventBody, bool]] = [
        (AttemptStarted(number=number), False),
        (StepStarted(command="wait", text='wait id="home"'), True),
        (
            StepFinished(command="wait", passed=failure is None, duration_ms=5, failure=failure),
            True,
        ),
        (
            ArtifactStored(
                kind="screenshot", path=f"artifacts/{plan}.png", size_bytes=3, sha256="0" * 64
            ),
            True,
        ),
        (
            AttemptFinished(
                number=number,
                outcome="passed" if failure is None else "failed",
                duration_ms=1500,
                failure=failure,
            ),
            failure is not None,
        ),
    ]
    return step


def _run(*, killed: bool = False) -> list[Event]:
    events = [event(1, RunStarted(plans=3, devices=(DeviceId("d1"),), product_version="0.1.0"))]

    def add(
        body: EventBody, plan: str, attempt: str | None = None, *, at_step: bool = False
    ) -> None:
        events.append(
            event(
                len(events) + 1,
                body,
                plan=plan,
                attempt=attempt,
                device="d1",
                address=step_address(2) if at_step else None,
            )
        )

    for name in ("good", "bad", "late"):
        add(_admitted(f"flows/{name}.ad"), name)
    for body, at_step in _attempt("good", 1, None):
        add(body, "good", "good#1", at_step=at_step)
    add(VerdictReached(verdict="passed", attempts=1), "good")
    for body, at_step in _attempt("bad", 1, FAILURE):
        add(body, "bad", "bad#1", at_step=at_step)
    add(VerdictReached(verdict="failed", reason="wait_target_absent", attempts=1), "bad")
    if not killed:
        add(VerdictReached(verdict="not_run", reason="fail_fast"), "late")
        events.append(event(len(events) + 1, RunFinished(exit=1, causes=(1,))))
    return events


def _summary(*, killed: bool = False) -> RunSummary:
    return summarise(RUN, _run(killed=killed))


def test_the_json_report_names_run_exit_plans_attempts_and_the_failing_address() -> None:
    report = json.loads(render_json(run_json(_summary())))

    assert {"runId": "run-1", "exit": 1, "exitCauses": [1]}.items() <= report.items()
    assert {"plans": 3, "passed": 1, "failed": 1, "not_run": 1} == report["totals"]
    bad = report["plans"][1]
    assert ("flows/bad.ad", "android", DIGEST, "failed", "wait_target_absent") == (
        bad["path"],
        bad["platform"],
        bad["compositionDigest"],
        bad["verdict"],
        bad["reason"],
    )
    attempt = bad["attempts"][0]
    assert ("d1", "failed", 1500) == (attempt["device"], attempt["outcome"], attempt["durationMs"])
    assert 2 == attempt["address"]["localStep"]
    assert f"ad:r:{'ab' * 32}#2" == attempt["addressToken"]
    assert attempt["startedAt"].endswith("Z")
    assert "artifacts/bad.png" == attempt["artifacts"][0]["path"]


def test_a_killed_run_reports_what_was_done_and_the_rest_as_not_run() -> None:
    run = _summary(killed=True)
    report = json.loads(render_json(run_json(run)))

    assert ExitStatus(10, (10,)) == exit_status(run)
    assert ["passed", "failed", "not_run"] == [plan["verdict"] for plan in report["plans"]]
    assert "interrupted" == report["plans"][2]["reason"]
    assert report["complete"] is False
    assert "the run did not end" in render_text(run)


def test_the_junit_report_counts_and_explains() -> None:
    root = ET.fromstring(render_junit(_summary()))
    suite = root[0]

    assert ("3", "1", "0", "1") == tuple(
        suite.get(name) for name in ("tests", "failures", "errors", "skipped")
    )
    case = suite[1]
    failure = case.find("failure")
    assert failure is not None
    assert ("bad.ad", "flows/bad.ad", "1.500") == tuple(
        case.get(name) for name in ("name", "file", "time")
    )
    assert "wait_target_absent" == failure.get("type")
    assert f"address: ad:r:{'ab' * 32}#2" in (failure.text or "")
    assert "artifacts/bad.png" in (failure.text or "")


def test_the_text_report_explains_failures_first() -> None:
    text = render_text(_summary())

    assert text.startswith("failed    flows/bad.ad [android] on d1 1.5 s (wait_target_absent)\n")
    assert 'step: wait id="home"' in text
    assert "next: look at the screenshot" in text
    assert "3 plans: 1 passed, 1 not_run, 1 failed" in text
    assert "exit status: 1\n" in text


def test_the_text_report_keeps_what_a_passed_plan_lost_on_the_way() -> None:
    lost = Failure(kind="device_lost", code="X", reason="device_lost", message="it went away")
    bodies: list[tuple[EventBody, str | None]] = [
        (RunStarted(plans=2, devices=(), product_version="0"), None),
        (_admitted("flows/good.ad"), None),
        (AttemptStarted(number=1), "good#1"),
        (AttemptFinished(number=1, outcome="infra", duration_ms=5, failure=lost), "good#1"),
        (AttemptStarted(number=2), "good#2"),
        (AttemptFinished(number=2, outcome="passed", duration_ms=7), "good#2"),
        (VerdictReached(verdict="passed", attempts=2), None),
    ]
    run = summarise(
        RUN,
        [
            event(at, body, plan=None if at == 1 else "good", attempt=attempt, device="d1")
            for at, (body, attempt) in enumerate(bodies, 1)
        ],
    )

    assert (
        "    passed after 1 infrastructure attempt: it went away [device_lost] on d1\n"
        in render_text(run)
    )
    assert "attempt 1 on d1: infra after 5 ms: it went away [device_lost]" in _outputs(run)


def _outputs(run: RunSummary) -> str:
    return "\n".join(
        each.text or "" for each in ET.fromstring(render_junit(run)).iter("system-out")
    )


def test_a_plan_that_passed_at_the_third_try_tells_both_that_it_lost() -> None:
    lost = Failure(kind="device_lost", code="X", reason="device_lost", message="it went away")
    bodies: list[tuple[EventBody, str, str]] = [
        (AttemptFinished(number=1, outcome="infra", duration_ms=5, failure=lost), "good#1", "d1"),
        (AttemptFinished(number=2, outcome="infra", duration_ms=5, failure=lost), "good#2", "d2"),
        (AttemptFinished(number=3, outcome="passed", duration_ms=7), "good#3", "d3"),
        (VerdictReached(verdict="passed", attempts=3), "good#3", "d3"),
    ]
    run = summarise(
        RUN,
        [
            event(at, body, plan="good", attempt=attempt, device=device)
            for at, (body, attempt, device) in enumerate(bodies, 1)
        ],
    )

    assert (
        "    passed after 2 infrastructure attempts: it went away [device_lost] on d1;"
        " it went away [device_lost] on d2\n"
    ) in render_text(run)


def test_a_plan_without_an_attempt_took_no_time_at_all() -> None:
    why = VerdictReached(verdict="not_run", reason="no_eligible_device", message="none is there")
    run = summarise(RUN, [event(1, _admitted("flows/a.ad"), plan="a"), event(2, why, plan="a")])

    assert render_text(run).startswith(
        "not_run   flows/a.ad [android] (no_eligible_device)\n    none is there\n"
    )


def test_an_attempt_that_was_cut_off_shows_the_time_that_is_known() -> None:
    run = summarise(
        RUN,
        [
            event(1, _admitted("flows/late.ad"), plan="late"),
            event(2, AttemptStarted(number=1), plan="late", attempt="late#1", device="d1"),
            replace(
                event(3, Logged(level="info", message="")),
                wall_ms=event(2, Logged(level="info", message="")).wall_ms + 4200,
            ),
        ],
    )
    text = render_text(run)

    assert "not_run   flows/late.ad [android] on d1 4.2 s or more (interrupted)" in text
    assert "attempt 1 on d1: the run ended in it" in text
    case = next(ET.fromstring(render_junit(run)).iter("testcase"))
    assert "4.200" == case.get("time")
    assert "attempt 1 on d1: interrupted after 4200 ms or more" in _outputs(run)


def test_problems_of_preflight_are_in_every_report() -> None:
    problem = Finding(reason="command_unknown", path="bad.ad", line=3, message="no such command")
    run = summarise(RUN, [event(1, ProblemFound(problem=problem))])
    report = json.loads(render_json(run_json(run)))

    assert "problem   bad.ad:3:1: command_unknown: no such command" in render_text(run)
    assert ["command_unknown"] == [each["reason"] for each in report["problems"]]


def test_a_failed_journal_is_said_in_text_and_json() -> None:
    assert "NOT STORED" in render_text(_summary(), stored=False)
    assert run_json(_summary(), stored=False).stored is False


def test_a_second_verdict_or_end_of_the_same_attempt_changes_nothing() -> None:
    events = _run()
    again = [
        event(90, VerdictReached(verdict="passed"), plan="bad"),
        event(
            91,
            AttemptFinished(number=1, outcome="passed", duration_ms=1),
            plan="bad",
            attempt="bad#1",
        ),
    ]
    once = summarise(RUN, events)
    twice = summarise(RUN, [*events, *again])

    assert once.plans == twice.plans


@given(texts=st.lists(st.text(st.characters(codec="utf-8")), min_size=4, max_size=4))
def test_hostile_texts_make_valid_xml_and_json(texts: list[str]) -> None:
    message, path, text, reason = (part + "\x00\x1b]]>\uffff" for part in texts)
    failure = Failure(
        kind="product", code="X", reason="predicate_false", message=message, details={"m": message}
    )
    events = [
        event(1, _admitted(path), plan="p"),
        event(2, AttemptStarted(number=1), plan="p", attempt="a", device="d"),
        event(3, StepStarted(command="press", text=text), plan="p", attempt="a"),
        event(
            4,
            AttemptFinished(number=1, outcome="failed", duration_ms=1, failure=failure),
            plan="p",
            attempt="a",
            device="d",
        ),
        event(5, VerdictReached(verdict="failed", reason=reason), plan="p"),
    ]
    run = summarise(RUN, events)

    assert "1" == ET.fromstring(render_junit(run)).get("failures")
    json.loads(render_json(run_json(run)))
    render_text(run).encode("utf-8")


def test_words_for_people() -> None:
    place = Provenance(
        invocation_sources=(SourceRef("flows/main.ad", 12), SourceRef("fragments/auth.ad", 7)),
        step_source=SourceRef("fragments/login.ad", 3),
    )

    assert ["1 plan", "0 plans"] == [plural(1, "plan"), plural(0, "plan")]
    assert ["999 ms", "1.0 s", "1 min 05 s"] == [
        render_duration(999),
        render_duration(1000),
        render_duration(65_000),
    ]
    assert (
        "fragments/login.ad:3 included at fragments/auth.ad:7 included at flows/main.ad:12"
        == render_place(place)
    )
    address = step_address(4)
    named = type(address)(
        owner=address.owner, invocation_path=(InvocationSegment("x"),), local_step=4
    )
    assert "ad:r:abababab/x.0#4" == render_short_address(named)
