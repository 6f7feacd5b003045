"""The lab as a process of its own: up, known by its grid file, down, and nothing left."""

import os
import signal
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio

from drivers.android.server import list_devices
from grid.lab.fleet import FleetInfo, FleetSpec
from grid.lab.gridfile import read_lab, render_grid
from grid.lab.host import lab_state, remove_leftovers, start_lab, stop_lab
from grid.lab.httpd import HttpReply, HttpRequest, serve_http
from runner.errors import DeviceError, GridError, InputError
from tests.grid.lab.ioskit import SHOP

HOST = (sys.executable, "-m", "tests.grid.lab.labhost")
SLEEPER = (sys.executable, "-c", "import time; time.sleep(60)")
SPEC = FleetSpec(app=str(SHOP), android=1, ios=2)


@asynccontextmanager
async def open_lab(grid: Path, spec: FleetSpec = SPEC) -> AsyncIterator[FleetInfo]:
    info = await start_lab(HOST, spec, grid)
    try:
        yield info
    finally:
        # Usually the test has stopped it.
        with trio.CancelScope(shield=True), suppress(InputError):
            await stop_lab(grid)


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs, by /proc."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    children = [int(word) for word in text.split()]
    return children + [below for child in children for below in descendants(child)]


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in {"Z", "X"}


async def wait_dead(pids: list[int]) -> None:
    with trio.fail_after(10):
        for pid in pids:
            while is_alive(pid):  # noqa: ASYNC110 - a process tells a stranger nothing.
                await trio.sleep(0.02)


@pytest.mark.slow
async def test_a_lab_comes_up_in_the_background_and_goes_down_without_a_trace(
    tmp_path: Path,
) -> None:
    grid = tmp_path / "grid.toml"
    async with open_lab(grid) as info:
        state = await lab_state(grid)
        states = dict(await list_devices("127.0.0.1", info.adb_port))
        written = grid.read_text(encoding="utf-8")
        processes = [info.pid, *descendants(info.pid)]
        session = os.getsid(info.pid)
        with pytest.raises(InputError) as again:
            await start_lab(HOST, SPEC, grid)
        stopped = await stop_lab(grid)

    assert (state.running, state.pid, len(state.devices)) == (True, info.pid, 3)
    assert states == {info.serials[0]: "device"}
    assert written == render_grid(info)
    assert tomllib.loads(written)["lab"]["pid"] == info.pid != os.getpid()
    assert session == info.pid
    assert again.value.reason == "lab_exists"
    assert stopped
    assert len(processes) == 2  # The lab and its adb server.
    await wait_dead(processes)
    assert not grid.exists()
    assert not Path(info.usbmux_socket).parent.exists()


@pytest.mark.slow
async def test_when_the_process_dies_everything_dies_and_the_file_knows(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    async with open_lab(grid) as info:
        processes = [info.pid, *descendants(info.pid)]
        os.kill(info.pid, signal.SIGKILL)
        await wait_dead(processes)
        state = await lab_state(grid)
        with pytest.raises(DeviceError):
            await list_devices("127.0.0.1", info.adb_port)
        stopped = await stop_lab(grid)

    assert (state.running, state.devices, stopped) == (False, (), False)
    assert not grid.exists()
    assert not Path(info.usbmux_socket).parent.exists()


@pytest.mark.slow
async def test_a_lab_that_does_not_listen_any_more_is_ended_by_its_process_id(
    tmp_path: Path,
) -> None:
    grid = tmp_path / "grid.toml"
    async with open_lab(grid, FleetSpec(app=str(SHOP), android=0, ios=1)) as info:
        text = grid.read_text(encoding="utf-8").replace(info.truth_url, "http://127.0.0.1:1")
        grid.write_text(text, encoding="utf-8")
        stopped = await stop_lab(grid)

    assert stopped
    await wait_dead([info.pid])


@pytest.mark.slow
async def test_a_process_id_that_is_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    process = await trio.lowlevel.open_process(SLEEPER)
    try:
        info = FleetInfo(
            serials=(),
            udids=(),
            adb_port=0,
            wda_urls=(),
            usbmux_socket=str(tmp_path / "sweepgrid-lab-x" / "usbmuxd"),
            truth_url="http://127.0.0.1:1",
            pid=process.pid,
        )
        grid.write_text(render_grid(info), encoding="utf-8")
        state, stopped = await lab_state(grid), await stop_lab(grid)
        spared = process.poll() is None
    finally:
        process.kill()
        await process.wait()

    assert (state.running, stopped, spared) == (False, False, True)


@pytest.mark.slow
async def test_a_process_that_says_it_ends_and_does_not_is_told_and_left_alone(
    tmp_path: Path,
) -> None:
    """Something answers as the lab, but its process cannot be told to be one."""
    grid = tmp_path / "grid.toml"
    process = await trio.lowlevel.open_process(SLEEPER)

    async def answer(request: HttpRequest) -> HttpReply:
        body = b'{"pid":%d,"devices":[]}' % process.pid
        return HttpReply(body=body if request.method == "GET" else b"null")

    async def serve(stream: trio.SocketStream) -> None:
        await serve_http(stream, answer, lambda _: None)

    try:
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            await nursery.start(trio.serve_listeners, serve, listeners)
            port = listeners[0].socket.getsockname()[1]
            grid.write_text(
                f'[lab]\npid = {process.pid}\ntruth_url = "http://127.0.0.1:{port}"\n'
                f'usbmux_socket = "{tmp_path}/sweepgrid-lab-x/usbmuxd"\n',
                encoding="utf-8",
            )
            with pytest.raises(GridError) as caught:
                await stop_lab(grid, limit_s=0.1)
            nursery.cancel_scope.cancel()
        spared = process.poll() is None
    finally:
        process.kill()
        await process.wait()

    assert (caught.value.reason, spared) == ("lab_stop_failed", True)
    assert names_in(tmp_path) == ["grid.toml"]


@pytest.mark.slow
async def test_a_lab_that_cannot_start_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    with pytest.raises(GridError) as caught:
        await start_lab(HOST, FleetSpec(app="no-such-app.toml"), grid)

    assert caught.value.reason == "lab_start_failed"
    assert "no-such-app.toml" in caught.value.details["output"]
    assert names_in(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import time; time.sleep(60)", "not ready in 0.5 s"),
        ("print('hello')", "something unexpected"),
        ("", "ended before"),
    ],
)
async def test_a_program_that_is_no_lab_is_ended(tmp_path: Path, program: str, why: str) -> None:
    grid = tmp_path / "grid.toml"
    with pytest.raises(GridError, match=why):
        await start_lab((sys.executable, "-c", program), SPEC, grid, ready_timeout_s=0.5)

    assert not grid.exists()


async def test_a_program_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(GridError, match="cannot be started") as caught:
        await start_lab(("/no/such/program",), SPEC, tmp_path / "grid.toml")

    assert caught.value.reason == "lab_start_failed"


async def test_a_file_that_is_no_labs_is_never_overwritten(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text("version = 1\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        await start_lab(HOST, SPEC, grid)

    assert caught.value.reason == "lab_exists"
    assert grid.read_text(encoding="utf-8") == "version = 1\n"


@pytest.mark.parametrize(
    "text", [None, "version = 1\n", "lab = 1", "[lab]\npid = 'x'\n", "\x00", "]"]
)
async def test_what_is_no_labs_grid_file_is_refused(tmp_path: Path, text: str | None) -> None:
    grid = tmp_path / "grid.toml"
    if text is not None:
        grid.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as read:
        read_lab(grid)
    with pytest.raises(InputError) as asked:
        await lab_state(grid)
    with pytest.raises(InputError) as stopped:
        await stop_lab(grid)

    reasons = {caught.value.reason for caught in (read, asked, stopped)}
    assert reasons == {"lab_grid_invalid"}


@pytest.mark.slow
async def test_a_file_of_somebodys_own_is_kept_when_its_lab_ends(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    async with open_lab(grid, FleetSpec(app=str(SHOP), android=0, ios=1)) as info:
        own = tmp_path / "own.toml"
        own.write_text("# ours\n" + grid.read_text(encoding="utf-8"), encoding="utf-8")
        stopped = await stop_lab(own)

    assert stopped
    assert own.exists()
    await wait_dead([info.pid])
    with pytest.raises(InputError) as caught:
        await start_lab(SLEEPER, SPEC, own)
    assert caught.value.reason == "lab_exists"


async def test_a_file_that_cannot_be_written_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        await start_lab(("/nothing/to/start",), SPEC, tmp_path / "absent" / "grid.toml")

    assert caught.value.reason == "output_unwritable"
    assert "--grid-out" in caught.value.message


def test_what_killed_labs_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    def make(name: str, pid: str | None, mode: int = 0o700) -> None:
        (tmp_path / name).mkdir(mode=mode)
        if pid is not None:
            (tmp_path / name / "lab.pid").write_text(pid)

    make("sweepgrid-lab-dead", "999999999")
    make("sweepgrid-lab-other", str(os.getpid()))  # It lives, but is not that lab.
    make("sweepgrid-lab-starting", None)
    make("sweepgrid-lab-open", "999999999", 0o755)
    make("unlike", "999999999")
    remove_leftovers(tmp_path)

    assert sorted(names_in(tmp_path)) == [
        "sweepgrid-lab-open",
        "sweepgrid-lab-starting",
        "unlike",
    ]
