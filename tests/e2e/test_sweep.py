"""Sweeps on the lab: the real adb server, the real WDA wire, the real command line."""

import json
import signal
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import trio

from grid.lab.control import lab_status, lab_trace
from runner.model.address import parse_token
from tests.e2e.tool import (
    FLOWS,
    committed_kinds,
    finish,
    start,
    sweepgrid,
    truth_url,
    wait_for,
    write_flows,
)

pytestmark = pytest.mark.slow

SLOW_FLOW = 'open "com.sweepgrid.shop" --relaunch\nwait 4000\nclose\n'
QUICK_FLOW = 'open "com.sweepgrid.shop" --relaunch\nwait text "Welcome" 5000\nclose\n'


def _traffic(grid: Path) -> dict[str, Any]:
    """Return what every phone of the lab has received."""
    url = truth_url(grid)

    async def read() -> dict[str, Any]:
        status = await lab_status(url)
        return {one.serial: await lab_trace(url, one.serial) for one in status.devices}

    return trio.run(read)


def test_the_example_sweep_passes_on_both_platforms_and_fails_where_it_is_meant_to(
    grid: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    ended = sweepgrid("run", FLOWS, "--root", FLOWS, "--grid", grid, "--out", run, "--json")

    report = ended.json
    odd = {
        plan["planId"]: (plan["verdict"], plan["reason"])
        for plan in report["plans"]
        if plan["verdict"] != "passed"
    }
    assert {
        f"meant-to-fail/wrong-title.ad@{platform}": ("failed", "wait_target_absent")
        for platform in ("android", "ios")
    } == odd, ended.err
    assert (1, 1, [1]) == (ended.status, report["exit"], report["exitCauses"])
    assert {"android": 11, "ios": 11} == {
        platform: sum(1 for plan in report["plans"] if plan["platform"] == platform)
        for platform in ("android", "ios")
    }
    failed = [plan for plan in report["plans"] if plan["verdict"] == "failed"]
    # The same step of the same flow has the same address on both platforms.
    assert 1 == len({plan["attempts"][0]["addressToken"] for plan in failed})
    assert 5 == parse_token(failed[0]["attempts"][0]["addressToken"]).local_step
    for plan in failed:
        artifacts = {one["kind"]: one for one in plan["attempts"][0]["artifacts"]}
        assert {"screenshot", "hierarchy", "device_log"} == set(artifacts)
        assert (run / artifacts["screenshot"]["path"]).read_bytes().startswith(b"\x89PNG")
    root = ET.fromstring((run / "junit.xml").read_bytes())
    assert ("22", "2", "0", "0") == tuple(
        root.get(name) for name in ("tests", "failures", "errors", "skipped")
    )


def test_a_fragment_used_twice_has_two_addresses_and_one_digest(grid: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    flow = FLOWS / "android" / "order-twice.ad"
    ended = sweepgrid("run", flow, "--root", FLOWS, "--grid", grid, "--out", run)
    assert ended.status == 0, ended.err

    lines = sweepgrid("events", run, "--where", "kind=step_started").out.splitlines()
    tokens = [json.loads(line)["addressToken"] for line in lines]
    first = [token for token in tokens if "/first-order.0" in token]
    second = [token for token in tokens if "/second-order.0" in token]

    assert 6 == len(first) == len(second)
    assert len(tokens) == len(set(tokens))
    assert {token.partition("/")[0] for token in first} == {
        token.partition("/")[0] for token in second
    }
    one = sweepgrid("events", run, "--where", f"address={first[0]}").out.splitlines()
    kinds = {json.loads(line)["kind"] for line in one}
    assert {"invocation_entered", "step_started", "step_finished"} <= kinds


def test_preflight_sends_not_one_byte_to_a_device(grid: Path, tmp_path: Path) -> None:
    broken = write_flows(tmp_path / "flows", {"a.ad": "frobnicate 1\n", "b.ad": QUICK_FLOW})
    before = _traffic(grid)

    assert 3 == sweepgrid("check", broken, "--grid", grid).status
    assert 0 == sweepgrid("check", FLOWS, "--root", FLOWS, "--grid", grid).status
    assert 3 == sweepgrid("run", broken, "--grid", grid, "--out", tmp_path / "run").status
    assert not (tmp_path / "run").exists()

    assert before == _traffic(grid)


def test_skip_invalid_runs_the_clean_flows_and_still_exits_three(
    grid: Path, tmp_path: Path
) -> None:
    flows = write_flows(tmp_path / "flows", {"bad.ad": "frobnicate 1\n", "good.ad": QUICK_FLOW})

    ended = sweepgrid(
        "run", flows, "--grid", grid, "--out", tmp_path / "run", "--skip-invalid", "--json"
    )

    assert (3, [3]) == (ended.status, ended.json["exitCauses"])
    assert {("bad.ad", "not_run"), ("good.ad", "passed")} == {
        (plan["path"], plan["verdict"]) for plan in ended.json["plans"]
    }
    assert ["command_unknown"] == [problem["reason"] for problem in ended.json["problems"]]
    # Later the journal says the same.
    report = sweepgrid("report", tmp_path / "run", "--json")
    assert ended.json["problems"] == report.json["problems"]
    assert "bad.ad:1:1: command_unknown" in sweepgrid("report", tmp_path / "run").out


def test_nothing_selected_is_four_and_a_used_folder_is_refused(grid: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    flows = write_flows(tmp_path / "flows", {"one.ad": QUICK_FLOW})
    words = ("run", flows, "--platform", "ios", "--grid", grid, "--out", tmp_path / "run")

    assert 4 == sweepgrid("run", empty, "--grid", grid).status
    assert 0 == sweepgrid(*words).status
    again = sweepgrid(*words)
    assert 2 == again.status
    assert "run_directory_used" in again.err


def test_a_plan_for_which_no_device_answers_is_not_run_and_exit_five(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    dead = 'version = 1\n[[wda]]\nurl = "http://127.0.0.1:9"\n[limits]\nreturn_grace = "1s"\n'
    grid.write_text(dead)
    flows = write_flows(tmp_path / "flows", {"one.ad": f"context platform=ios\n{QUICK_FLOW}"})

    ended = sweepgrid("run", flows, "--grid", grid, "--out", tmp_path / "run", "--json")

    assert (5, [5]) == (ended.status, ended.json["exitCauses"]), ended.err
    assert "no ios (mobile) device serves: " in ended.json["plans"][0]["message"]
    assert "no ios (mobile) device serves: " in ended.err
    assert [("not_run", "no_eligible_device")] == [
        (plan["verdict"], plan["reason"]) for plan in ended.json["plans"]
    ]


def test_a_plan_that_contradicts_the_grid_file_is_a_problem_of_preflight(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('version = 1\n[[wda]]\nurl = "http://127.0.0.1:9"\n')
    flows = write_flows(tmp_path / "flows", {"one.ad": f"context platform=android\n{QUICK_FLOW}"})

    for command in (("check", flows), ("run", flows, "--out", tmp_path / "run")):
        ended = sweepgrid(*command, "--grid", grid, "--json")
        assert 3 == ended.status, ended.err
        assert ["platform_not_in_grid"] == [one["reason"] for one in ended.json["problems"]]


def test_a_time_limit_is_kept_apart_from_failures(grid: Path, tmp_path: Path) -> None:
    flows = write_flows(tmp_path / "flows", {"slow.ad": SLOW_FLOW, "quick.ad": QUICK_FLOW})

    ended = sweepgrid(
        "run", flows, "--platform", "android", "--grid", grid, "--out", tmp_path / "run",
        "--timeout", "1500ms", "--json",
    )  # fmt: skip

    assert {"slow.ad": ("timed_out", "plan_time_limit"), "quick.ad": ("passed", "")} == {
        plan["path"]: (plan["verdict"], plan["reason"]) for plan in ended.json["plans"]
    }, ended.err
    assert 1 == ended.status


def test_a_run_limit_ends_the_run_with_seven(grid: Path, tmp_path: Path) -> None:
    endless = SLOW_FLOW.replace("4000", "60000")
    flows = write_flows(tmp_path / "flows", {f"slow{n}.ad": endless for n in range(4)})
    verdicts: set[str] = set()
    # How long phones take to be ready is the machine's affair: a limit that has passed before any
    # flow began says nothing about flows that it cuts, and is tried again with a longer one.
    for limit_s in (7, 20, 45):
        ended = sweepgrid(
            "run", flows, "--platform", "ios", "--grid", grid, "--out", tmp_path / f"run{limit_s}",
            "--run-timeout", f"{limit_s}s", "--json",
        )  # fmt: skip

        assert (7, 7) == (ended.status, ended.json["exitCauses"][0]), ended.err
        assert 4 == len(ended.json["plans"])
        verdicts = {plan["verdict"] for plan in ended.json["plans"]}
        if verdicts != {"not_run"}:
            break

    assert {"timed_out", "not_run"} == verdicts


def test_a_killed_run_is_reported_from_its_journal_alone(grid: Path, tmp_path: Path) -> None:
    flows = write_flows(
        tmp_path / "flows",
        {"a-quick.ad": QUICK_FLOW, **{f"slow{n}.ad": SLOW_FLOW for n in range(6)}},
    )
    run = tmp_path / "run"
    process = start("run", flows, "--platform", "ios", "--grid", grid, "--out", run)
    wait_for(lambda: committed_kinds(run).count("verdict") >= 2)
    process.send_signal(signal.SIGKILL)
    finish(process)

    report = sweepgrid("report", run, "--json", "--junit", tmp_path / "junit.xml")

    assert 0 == report.status, report.err
    verdicts = [plan["verdict"] for plan in report.json["plans"]]
    assert 7 == len(verdicts)
    assert 2 <= verdicts.count("passed")
    assert {"passed", "not_run"} == set(verdicts)
    assert (10, False) == (report.json["exit"], report.json["complete"])
    assert "7" == ET.fromstring((tmp_path / "junit.xml").read_bytes()).get("tests")
    assert 0 == sweepgrid("events", run).status
    followed = sweepgrid("events", run, "--follow")
    assert 10 == followed.status
    assert "the run was killed" in followed.err
    text = sweepgrid("report", run).out
    assert " or more" in text


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupted_run_drains_then_aborts_and_frees_its_devices(
    grid: Path, tmp_path: Path, signals: int
) -> None:
    flows = write_flows(tmp_path / "flows", {f"slow{n}.ad": SLOW_FLOW for n in range(6)})
    run = tmp_path / "run"
    process = start("run", flows, "--platform", "android", "--grid", grid, "--out", run, "--json")
    wait_for(lambda: "step_started" in committed_kinds(run))
    process.send_signal(signal.SIGINT)
    if signals == 2:
        time.sleep(0.3)  # noqa: TID251  # The second interruption is a second one.
        process.send_signal(signal.SIGINT)
    ended = finish(process)

    assert 10 == ended.status, ended.err
    verdicts = [plan["verdict"] for plan in ended.json["plans"]]
    assert {1: {"passed", "not_run"}, 2: {"cancelled", "not_run"}}[signals] == set(verdicts)
    assert 6 == len(verdicts)
    # Nothing holds the phones any more: the next run has them at once.
    quick = write_flows(tmp_path / "quick", {"a.ad": QUICK_FLOW, "b.ad": QUICK_FLOW})
    after = sweepgrid(
        "run", quick, "--platform", "android", "--grid", grid, "--out", tmp_path / "after"
    )
    assert 0 == after.status, after.err


def test_secrets_stay_out_of_every_file_of_the_run(grid: Path, tmp_path: Path) -> None:
    flow = (
        'open "com.sweepgrid.shop" --relaunch\n'
        'fill "id=\\"com.sweepgrid.shop:id/username\\" || id=\\"username\\"" "${USER}"\n'
        'wait text "Nobody is called ${USER}" 300\n'
    )
    flows = write_flows(tmp_path / "flows", {"one.ad": flow})
    run = tmp_path / "run"

    ended = sweepgrid(
        "run", flows, "--grid", grid, "--out", run, "-e", "USER=gEhEiM-77", "--secret", "USER",
        "--json",
    )  # fmt: skip

    assert 1 == ended.status, ended.err
    assert "gEhEiM-77" not in ended.out + ended.err
    assert "<var:USER>" in ended.out
    texts = [path for path in run.rglob("*") if path.is_file() and path.suffix != ".png"]
    assert [] == [path for path in texts if b"gEhEiM-77" in path.read_bytes()]


def test_devices_lists_the_grid_with_health(grid: Path) -> None:
    ended = sweepgrid("devices", "--grid", grid, "--json")

    assert 0 == ended.status
    assert ["healthy"] * 4 == [row["health"] for row in ended.json["devices"]]
    assert {"android", "ios"} == {row["device"]["platform"] for row in ended.json["devices"]}
    assert [["lab"]] * 4 == [row["device"]["tags"] for row in ended.json["devices"]]
    assert 4 == len({row["device"]["hardwareId"] for row in ended.json["devices"]} - {""})
