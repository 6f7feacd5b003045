"""The owned adb server, with the real binary."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from drivers.android.server import (
    PROTOCOL_VERSION,
    REVIVALS,
    bundled_adb,
    check_server,
    connect,
    disconnect,
    list_devices,
    open_adb_server,
    parse_devices,
    server_version,
    track_devices,
)
from runner.errors import DeviceError, GridError


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def home_files() -> set[str]:
    return {str(path) for path in (Path.home() / ".android").glob("*")}


@pytest.mark.slow
async def test_the_server_speaks_our_protocol_and_ends_with_its_context() -> None:
    before = home_files()
    async with open_adb_server() as server:
        assert await server_version(server.host, server.port) == PROTOCOL_VERSION
        await check_server(server.host, server.port)
        assert await list_devices(server.host, server.port) == ()
        assert is_alive(server.pid)

    assert not is_alive(server.pid)
    assert home_files() == before


@pytest.mark.slow
async def test_two_servers_live_side_by_side() -> None:
    async with open_adb_server() as first, open_adb_server() as second:
        assert first.port != second.port
        assert first.pid != second.pid
        assert await server_version(first.host, first.port) == PROTOCOL_VERSION
        assert await server_version(second.host, second.port) == PROTOCOL_VERSION


async def test_a_foreign_kill_request_does_not_end_the_server() -> None:
    async with open_adb_server() as server:
        done = await trio.run_process(
            [str(bundled_adb()), "-P", str(server.port), "kill-server"],
            capture_stderr=True,
            check=False,
        )

        assert done.returncode != 0
        assert await server_version(server.host, server.port) == PROTOCOL_VERSION


async def test_cancellation_ends_the_server() -> None:
    with trio.CancelScope() as scope:
        async with open_adb_server() as server:
            scope.cancel()
            await trio.sleep_forever()

    assert scope.cancelled_caught
    assert not is_alive(server.pid)


async def test_the_end_of_the_server_is_noticed() -> None:
    async with open_adb_server() as server:
        async with track_devices(server.host, server.port) as tracker:
            assert await anext(tracker) == ()
            os.kill(server.pid, signal.SIGKILL)
            with pytest.raises(DeviceError) as caught:
                await anext(tracker)
        with trio.fail_after(2):
            await server.wait_ended()

    assert caught.value.reason == "adb_server_lost"
    assert caught.value.kind == "driver_fault"


@pytest.mark.slow
async def test_a_server_that_died_is_started_again_on_its_port_a_few_times() -> None:
    async with open_adb_server() as server:
        await server.revive()
        port, pids = server.port, [server.pid]
        for _ in range(REVIVALS):
            os.kill(server.pid, signal.SIGKILL)
            await server.wait_ended()
            async with trio.open_nursery() as nursery:  # Several may ask at once.
                nursery.start_soon(server.revive)
                nursery.start_soon(server.revive)
            pids.append(server.pid)

            assert PROTOCOL_VERSION == await server_version("127.0.0.1", port)
        os.kill(server.pid, signal.SIGKILL)
        await server.wait_ended()
        with pytest.raises(DeviceError) as caught:
            await server.revive()
        with pytest.raises(DeviceError) as refused:
            await server_version("127.0.0.1", port)

    assert 1 + REVIVALS == len(set(pids))
    assert "adb_server_lost" == caught.value.reason == refused.value.reason
    assert "ended 4 times" in caught.value.message
    assert not any(map(is_alive, pids))


@pytest.mark.slow
async def test_the_server_dies_with_a_process_that_is_killed(tmp_path: Path) -> None:
    # The child opens a server, says its process id, and is killed without any clean-up.
    program = (
        "import trio\n"
        "from drivers.android.server import open_adb_server\n"
        "async def main():\n"
        "    async with open_adb_server() as server:\n"
        "        print(server.pid, flush=True)\n"
        "        await trio.sleep_forever()\n"
        "trio.run(main)\n"
    )
    process = await trio.lowlevel.open_process(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        # What a killed process cannot delete is deleted with the test's folder.
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    async with process.stdout:
        pid = int(await process.stdout.receive_some(64))
        assert is_alive(pid)
        process.kill()
        await process.wait()

    with trio.fail_after(5):
        while is_alive(pid):  # noqa: ASYNC110  the process is not ours
            await trio.sleep(0.01)


async def test_a_taken_port_is_an_error_that_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(GridError) as caught:
            async with open_adb_server(port=port):
                raise AssertionError

    assert caught.value.reason == "adb_server_failed"
    assert str(port) in caught.value.message


async def test_a_program_that_is_not_adb_is_an_error_with_its_output(tmp_path: Path) -> None:
    program = tmp_path / "adb"
    program.write_text("#!/bin/sh\necho this is not adb\nexit 3\n")
    program.chmod(0o755)

    with pytest.raises(GridError) as caught:
        async with open_adb_server(binary=program):
            raise AssertionError

    assert caught.value.reason == "adb_server_failed"
    assert "this is not adb" in caught.value.details["output"]


async def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GridError) as caught:
        async with open_adb_server(binary=tmp_path / "adb"):
            raise AssertionError

    assert caught.value.reason == "adb_server_failed"


@pytest.mark.slow
async def test_connecting_to_a_closed_port_is_unreachable_and_disconnecting_is_quiet() -> None:
    async with open_adb_server() as server:
        with pytest.raises(DeviceError) as caught:
            await connect(server.host, server.port, "127.0.0.1:1")
        await disconnect(server.host, server.port, "127.0.0.1:1")

    assert caught.value.reason == "device_unreachable"
    assert caught.value.kind == "device_lost"
    assert "127.0.0.1:1" in caught.value.message


def test_a_device_list_keeps_serials_with_spaces_out_and_states_whole() -> None:
    listed = "127.0.0.1:7001\tdevice\nemulator-5554\toffline\nR58\tno permissions; see\n\nnoise\n"

    assert parse_devices(listed) == (
        ("127.0.0.1:7001", "device"),
        ("emulator-5554", "offline"),
        ("R58", "no permissions; see"),
    )
