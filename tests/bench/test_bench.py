"""The harness itself: what it measures exists, and what it starts ends. No figure is judged."""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import trio
from msgspec.structs import replace

from drivers.android.smartsocket import run_shell
from grid.lab.fleet import FleetInfo, FleetSpec, render_spec
from runner.preflight.settings import PreflightSettings
from runner.preflight.sweep import check_sweep
from tests.bench import __main__ as bench
from tests.bench.corpus import FRAGMENTS, write_suite
from tests.bench.engine import NODES, make_screen
from tests.bench.farm import SHOP, open_farm
from tests.bench.scale import QUICK
from tests.shape import gates


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in {"Z", "X"}


def descendants(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    children = [int(word) for word in text.split()]
    return children + [below for child in children for below in descendants(child)]


async def wait_dead(pids: list[int]) -> None:
    with trio.fail_after(10):
        while any(map(is_alive, pids)):  # noqa: ASYNC110  a process tells a stranger nothing
            await trio.sleep(0.02)


def test_the_screen_is_as_large_as_the_row_says() -> None:
    screen = make_screen()

    assert NODES == len(screen.nodes)
    assert all(node.index == at for at, node in enumerate(screen.nodes))


@pytest.mark.slow
def test_the_suite_is_clean_and_has_the_steps_that_the_bar_names(tmp_path: Path) -> None:
    write_suite(tmp_path, 120)
    preflight = check_sweep((".",), PreflightSettings(root=str(tmp_path), cwd=str(tmp_path)))

    assert () == preflight.problems
    assert ([40] * 120, FRAGMENTS) == (
        [plan.step_count for plan in preflight.plans],
        len(preflight.fragments),
    )
    assert {3} == {len(set(used)) for used in preflight.fragments_of.values()}


@pytest.mark.slow
# Stock facebook-wda leaves every connection to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize("name", [*bench.TOPICS, *bench.FARM_TOPICS])
async def test_every_topic_yields_figures_and_a_bar_for_ours(name: str) -> None:
    rows = await bench.measure([name], replace(QUICK, devices=2))
    gc.collect()

    assert all(row.value > 0 for row in rows)
    assert name == "preflight" or any(row.bar for row in rows)  # Its bar is for 10,000 flows.


@pytest.mark.slow
async def test_the_farm_serves_both_kinds_of_phones_and_leaves_no_process() -> None:
    async with open_farm(android=1, ios=1) as farm:
        pids = [farm.info.pid, *descendants(farm.info.pid)]
        answer = await run_shell(farm.endpoint, farm.info.serials[0], "echo here")
        used = farm.cpu_s()

    assert ("here", 2) == (answer.text, len(pids))
    assert all(seconds > 0 for seconds in used)
    await wait_dead(pids)


@pytest.mark.slow
async def test_the_farm_ends_with_an_owner_that_is_killed() -> None:
    spec = render_spec(FleetSpec(app=str(SHOP), android=1, ios=0))
    program = (
        "import subprocess, sys\n"
        "command = [sys.executable, '-m', 'tests.bench.farmhost', sys.argv[1]]\n"
        "subprocess.Popen(command, stdin=subprocess.PIPE).wait()\n"
    )
    owner = await trio.lowlevel.open_process(
        [sys.executable, "-c", program, spec], cwd=gates.ROOT, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    async with owner.stdout:
        with trio.fail_after(30):
            info = msgspec.json.decode(await owner.stdout.receive_some(65_536), type=FleetInfo)
        pids = [info.pid, *descendants(info.pid)]
        alive = [is_alive(pid) for pid in pids]
        os.kill(owner.pid, signal.SIGKILL)
        await owner.wait()

    assert [True, True] == alive
    await wait_dead(pids)


def test_an_unknown_topic_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        bench.main(["--only", "everything"])

    assert 2 == caught.value.code
    assert "engine" in capsys.readouterr().err
