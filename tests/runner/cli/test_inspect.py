import fcntl
import json
from pathlib import Path

import pytest

from runner.cli.guard import run_guarded
from runner.model.address import render_token
from runner.model.event import (
    Logged,
    PlanAdmitted,
    RunFinished,
    RunStarted,
    StepFinished,
    VerdictReached,
)
from runner.record.store import (
    LOCK_NAME,
    create_store,
    hold_writer_lock,
    is_being_written,
    write_events,
)
from tests.support.events import DIGEST, RUN, event, step_address

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    admitted = PlanAdmitted(
        path="a.ad",
        format="ad",
        platform="ios",
        composition_digest=DIGEST,
        plan_digest="",
        step_count=1,
    )
    connection = create_store(folder, RUN)
    write_events(
        connection,
        RUN,
        [
            event(1, RunStarted(plans=1, devices=(), product_version="0")),
            event(2, admitted, plan="a.ad@ios"),
            event(
                3,
                StepFinished(command="open", passed=True, duration_ms=1),
                plan="a.ad@ios",
                attempt="a.ad@ios#1",
                device="d",
                address=step_address(1),
            ),
            event(4, VerdictReached(verdict="passed"), plan="a.ad@ios"),
            event(5, RunFinished(exit=0, causes=(0,))),
        ],
    )
    connection.close()
    return folder


def test_report_prints_json_text_and_junit(run_folder: Path, capfd: Capture) -> None:
    junit = run_folder.parent / "reports" / "junit.xml"

    assert 0 == run_guarded(["report", str(run_folder), "--json"])
    assert "passed" == json.loads(capfd.readouterr().out)["plans"][0]["verdict"]
    assert 0 == run_guarded(["report", str(run_folder), "--junit", str(junit)])
    assert b'tests="1"' in junit.read_bytes()
    assert 0 == run_guarded(["report", str(run_folder)])
    assert "1 plan: 1 passed" in capfd.readouterr().out


def test_events_prints_a_line_an_event_with_row_kind_and_token(
    run_folder: Path, capfd: Capture
) -> None:
    assert 0 == run_guarded(["events", str(run_folder), "--json"])

    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [1, 2, 3, 4, 5] == [line["row"] for line in lines]
    assert "step_finished" == lines[2]["kind"]
    assert render_token(step_address(1)) == lines[2]["addressToken"]
    assert 1 == lines[2]["address"]["localStep"]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("kind=verdict", [4]),
        ("plan=a.ad@ios", [2, 3, 4]),
        ("device=d", [3]),
        ("attempt=a.ad@ios#1", [3]),
        (f"address={render_token(step_address(1))}", [3]),
        ("plan=other", []),
    ],
)
def test_events_are_filtered(run_folder: Path, capfd: Capture, where: str, rows: list[int]) -> None:
    assert 0 == run_guarded(["events", str(run_folder), "--where", where])

    assert rows == [json.loads(line)["row"] for line in capfd.readouterr().out.splitlines()]


def test_follow_ends_with_the_run(run_folder: Path, capfd: Capture) -> None:
    assert 0 == run_guarded(["events", str(run_folder), "--follow"])

    assert 5 == len(capfd.readouterr().out.splitlines())


def test_follow_knows_a_run_that_ended_also_when_something_was_said_behind_its_end(
    tmp_path: Path,
) -> None:
    connection = create_store(tmp_path, RUN)
    last = event(2, Logged(level="info", message="the last device is closed"))
    write_events(connection, RUN, [event(1, RunFinished(exit=0, causes=(0,))), last])
    connection.close()

    assert 0 == run_guarded(["events", str(tmp_path), "--follow"])


def test_who_looks_when_a_run_begins_does_not_hide_that_it_is_written(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).touch()
    with (tmp_path / LOCK_NAME).open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        with hold_writer_lock(tmp_path):
            fcntl.flock(looking, fcntl.LOCK_UN)

            assert is_being_written(tmp_path)
    assert not is_being_written(tmp_path)


def test_follow_ends_with_a_writer_that_is_gone_and_waits_for_one_that_lives(
    tmp_path: Path, capfd: Capture
) -> None:
    connection = create_store(tmp_path, RUN)
    write_events(connection, RUN, [event(1, RunStarted(plans=1, devices=(), product_version="0"))])
    with hold_writer_lock(tmp_path):
        assert is_being_written(tmp_path)
        assert 0 == run_guarded(["events", str(tmp_path)])
    connection.close()

    assert not is_being_written(tmp_path)
    assert 10 == run_guarded(["events", str(tmp_path), "--follow"])
    assert "the run was killed" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (["report", "nowhere"], 2, "run_not_found"),
        (["events", "nowhere"], 2, "run_not_found"),
        (["events", "RUN", "--where", "colour=red"], 2, "filter_invalid"),
        (["events", "RUN", "--where", "address=x"], 2, "address_invalid"),
        (["events", "RUN", "--where", "kind=nope"], 2, "filter_invalid"),
        (["report", "RUN", "--junit", "RUN"], 2, "output_unwritable"),
        (["run", "x", "--timeout", "soon"], 2, "duration_invalid"),
        (["run", "x", "--flaky", "maybe"], 2, "option_invalid"),
        (["frobnicate"], 2, "No such command"),
        (["report"], 2, "Missing argument"),
    ],
)
def test_bad_requests_say_why_and_end_with_two(
    run_folder: Path, capfd: Capture, words: list[str], status: int, reason: str
) -> None:
    assert status == run_guarded([str(run_folder) if word == "RUN" else word for word in words])

    assert reason in capfd.readouterr().err


def test_a_damaged_row_is_told_and_is_lost_evidence(run_folder: Path, capfd: Capture) -> None:
    import sqlite3  # noqa: PLC0415  # Only to do damage.

    connection = sqlite3.connect(run_folder / "journal.sqlite")
    connection.execute("UPDATE events SET body = zeroblob(9) WHERE id = 3")
    connection.commit()
    connection.close()

    assert 8 == run_guarded(["events", str(run_folder)])
    assert "row 3 is damaged" in capfd.readouterr().err
    assert 8 == run_guarded(["report", str(run_folder), "--json"])
    report = capfd.readouterr()
    assert "journal_damaged" in report.err
    assert "passed" == json.loads(report.out)["plans"][0]["verdict"]
