"""Devices in trouble during a real sweep: nothing lost, nothing blamed on the product."""

import os
import re
import signal
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.tool import (
    Ended,
    committed_kinds,
    finish,
    lab_of,
    start,
    sweepgrid,
    wait_for,
    write_flows,
)

pytestmark = pytest.mark.slow

FLOW = (
    'open "com.sweepgrid.shop" --relaunch\n'
    'wait text "Welcome" 5000\n'
    "wait 1200\n"
    'is exists "label=\\"Log in\\""\n'
    "close\n"
)
BUSY = 'wait 300\nis exists "label=\\"Log in\\""\n' * 8
FLOWS = {f"flow{n:02}.ad": FLOW for n in range(8)}


def _sweep_with_fault(tmp_path: Path, platform: str, *fault: str) -> Ended:
    """Run eight plans on two phones and give one phone a fault in the middle of a plan."""
    flows = write_flows(tmp_path / "flows", FLOWS)
    run = tmp_path / "run"
    with lab_of(tmp_path, android=2, ios=2) as grid:
        up = sweepgrid("devices", "--grid", grid, "--json").json["devices"]
        victim = next(row["device"]["id"] for row in up if row["device"]["platform"] == platform)
        process = start(
            "run", flows, "--platform", platform, "--grid", grid, "--out", run, "--json"
        )
        wait_for(lambda: committed_kinds(run).count("step_finished") >= 3)
        hurt = sweepgrid("lab", "fault", victim, *fault, "--grid", grid)
        assert 0 == hurt.status, hurt.err
        return finish(process)


def _attempts(plans: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["outcome"], one["device"]) for plan in plans for one in plan["attempts"]]


@pytest.mark.parametrize(
    ("platform", "fault"),
    [
        ("android", ("drop",)),
        ("android", ("drop", "for_s=600")),
        ("ios", ("drop", "for_s=600")),
        ("ios", ("wda_restart",)),
    ],
)
def test_a_lost_device_costs_an_attempt_and_no_verdict(
    tmp_path: Path, platform: str, fault: tuple[str, ...]
) -> None:
    ended = _sweep_with_fault(tmp_path, platform, *fault)

    plans = ended.json["plans"]
    assert ["passed"] * len(FLOWS) == [plan["verdict"] for plan in plans], ended.err
    assert 0 == ended.status
    attempts = _attempts(plans)
    assert {"passed", "infra"} == {outcome for outcome, _ in attempts}
    for plan in plans:
        lost = [one for one in plan["attempts"] if one["outcome"] == "infra"]
        assert all(one["failure"]["kind"] != "product" for one in lost)


def test_an_owned_adb_server_that_dies_is_started_again(tmp_path: Path) -> None:
    flows = write_flows(tmp_path / "flows", FLOWS)
    run = tmp_path / "run"
    with lab_of(tmp_path, android=2, ios=0) as lab:
        grid = tmp_path / "owned.toml"
        stated = lab.read_text().replace("owned = false", "owned = true")
        grid.write_text(re.sub(r"^port = .*\n", "", stated, flags=re.MULTILINE))
        process = start("run", flows, "--grid", grid, "--out", run, "--json")
        wait_for(lambda: committed_kinds(run).count("step_finished") >= 3)
        os.kill(_adb_server_of(process.pid), signal.SIGKILL)
        ended = finish(process)

    plans = ended.json["plans"]
    assert ["passed"] * len(FLOWS) == [plan["verdict"] for plan in plans], ended.err
    lost = [
        one["failure"] for plan in plans for one in plan["attempts"] if one["outcome"] == "infra"
    ]
    assert 1 <= len(lost) <= 2
    assert "product" not in {failure["kind"] for failure in lost}


def test_one_iphone_by_two_routes_is_one_device_and_says_so(tmp_path: Path) -> None:
    flows = write_flows(tmp_path / "flows", FLOWS)
    run, lab, grid = (tmp_path / name for name in ("run", "grid.toml", "twice.toml"))
    up = sweepgrid("lab", "up", "--android", 0, "--ios", 2, "--grid-out", lab, "--json")
    assert 0 == up.status, up.err
    try:
        phone = next(wda for wda in tomllib.loads(lab.read_text())["wda"] if "usbmux" in wda)
        bus = f'usbmux = "{phone["usbmux"]}"\nport = 8100\nudid = "{phone["udid"]}"\n'
        routes = [f'url = "{up.json["wdaUrls"][-1]}"\n', bus]
        grid.write_text("version = 1\n" + "".join(f"[[wda]]\n{route}" for route in routes))
        before = sweepgrid("devices", "--grid", grid, "--json")
        process = start("run", flows, "--grid", grid, "--out", run, "--json")
        wait_for(lambda: committed_kinds(run).count("step_finished") >= 3)
        listed = sweepgrid("devices", "--grid", grid, "--json")
        ended = finish(process)
    finally:
        sweepgrid("lab", "down", "--grid", lab)

    attempts = _attempts(ended.json["plans"])
    assert ["passed"] * len(FLOWS) == [outcome for outcome, _ in attempts], ended.err
    assert 1 == len({device for _, device in attempts})
    assert "it is the same phone as" in ended.err
    # Looking at the grid meanwhile takes no phone away from the run.
    assert ["busy", "duplicate"] == sorted(row["health"] for row in listed.json["devices"])
    assert 0 == listed.status
    assert ["duplicate", "healthy"] == sorted(row["health"] for row in before.json["devices"])
    assert 1 == len({row["device"]["hardwareId"] for row in before.json["devices"]})
    (dropped,) = [row for row in before.json["devices"] if row["health"] == "duplicate"]
    assert "device_duplicate" == dropped["reason"]
    assert "it is the same phone as" in dropped["message"]


def test_the_time_of_a_hung_agent_is_not_the_products(tmp_path: Path) -> None:
    flows = write_flows(tmp_path / "flows", {"one.ad": FLOW})
    run = tmp_path / "run"
    with lab_of(tmp_path, android=0, ios=1) as grid:
        process = start(*("run", flows, "--grid", grid, "--out", run, "--timeout", "6s", "--json"))
        wait_for(lambda: committed_kinds(run).count("step_finished") >= 1)
        up = sweepgrid("devices", "--grid", grid, "--json").json["devices"]
        hurt = sweepgrid("lab", "fault", up[0]["device"]["id"], "wda_hang", "--grid", grid)
        assert 0 == hurt.status, hurt.err
        ended = finish(process)

    (plan,) = ended.json["plans"]
    assert "infra_exhausted" == plan["verdict"], ended.err
    assert 6 == ended.status
    assert {"wda_hung"} == {one["failure"]["reason"] for one in plan["attempts"][:1]}


@pytest.mark.parametrize("platform", ["android", "ios"])
def test_a_run_that_stood_still_leaves_the_phone_to_whom_it_belongs_now(
    tmp_path: Path, platform: str
) -> None:
    flows = write_flows(tmp_path / "flows", {"one.ad": FLOW.replace("wait 1200\n", BUSY)})
    first, second = tmp_path / "first", tmp_path / "second"
    with lab_of(tmp_path, **{"android": 0, "ios": 0, platform: 1}) as grid:
        grid.write_text(grid.read_text() + '\n[limits]\nlease_ttl = "2s"\n')
        words = ("run", flows, "--grid", grid, "--timeout", "20s", "--json", "--out")
        sleeper = start(*words, first)
        wait_for(lambda: committed_kinds(first).count("step_finished") >= 3)
        sleeper.send_signal(signal.SIGSTOP)
        try:
            taker = start(*words, second)
            wait_for(lambda: committed_kinds(second).count("step_finished") >= 3)
        finally:
            sleeper.send_signal(signal.SIGCONT)
        took, slept = finish(taker), finish(sleeper)

    # Whoever took the phone was not disturbed, and whoever stood still blames nobody for it.
    assert ["passed"] == [outcome for outcome, _ in _attempts(took.json["plans"])], took.err
    (plan,) = slept.json["plans"]
    lost, *_ = plan["attempts"]
    assert ("infra", "lease_lapsed") == (lost["outcome"], lost["failure"]["reason"]), slept.err
    assert "passed" == plan["verdict"], slept.err
    assert 0 == slept.status


def _adb_server_of(parent: int) -> int:
    """Return the process of the adb server that a run owns."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    (server,) = [
        int(child)
        for child in children
        if b"acceptfd" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return server


def test_a_slow_device_is_slow_and_nothing_else(tmp_path: Path) -> None:
    ended = _sweep_with_fault(tmp_path, "android", "slow", "latency_ms=40")

    assert 0 == ended.status, ended.err
    assert {"passed"} == {outcome for outcome, _ in _attempts(ended.json["plans"])}


def test_a_hung_device_is_left_and_the_plans_go_on(tmp_path: Path) -> None:
    began = time.monotonic()
    ended = _sweep_with_fault(tmp_path, "ios", "wda_hang")

    assert 0 == ended.status, ended.err
    assert ["passed"] * len(FLOWS) == [plan["verdict"] for plan in ended.json["plans"]]
    assert "infra" in {outcome for outcome, _ in _attempts(ended.json["plans"])}
    # A WDA call is given up after its own limit of 30 s, long before the limit of a step.
    assert time.monotonic() - began < 100


def test_when_every_device_is_gone_the_run_ends_by_itself(tmp_path: Path) -> None:
    flows = write_flows(tmp_path / "flows", FLOWS)
    run = tmp_path / "run"
    with lab_of(tmp_path, android=1, ios=0) as grid:
        grid.write_text(grid.read_text() + '\n[limits]\nreturn_grace = "2s"\n')
        device = sweepgrid("devices", "--grid", grid, "--json").json["devices"][0]["device"]["id"]
        process = start("run", flows, "--grid", grid, "--out", run, "--json")
        wait_for(lambda: committed_kinds(run).count("step_finished") >= 3)
        hurt = sweepgrid("lab", "fault", device, "drop", "for_s=600", "--grid", grid)
        assert 0 == hurt.status, hurt.err
        ended = finish(process)

    verdicts = [plan["verdict"] for plan in ended.json["plans"]]
    assert len(FLOWS) == len(verdicts)
    assert {"infra_exhausted", "not_run"} >= set(verdicts) - {"passed"}
    assert ended.status in {5, 6}, ended.err
