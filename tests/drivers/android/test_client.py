"""adbutils, tuned: over a scripted server, where things go wrong."""

import socket
import struct
import threading
import time

import adbutils
import pytest
import trio

from drivers.android.client import AdbCalls, AdbClient, AppFacts
from drivers.android.smartsocket import AdbEndpoint
from runner.errors import DeviceError
from tests.support.adb_server import (
    Raw,
    Refuse,
    Reply,
    Script,
    Shell,
    open_scripted_server,
)

PACKAGE_DUMP = b"""    versionCode=42 minSdk=26 targetSdk=34
    versionName=3.1.4
    pkgFlags=[ HAS_CODE ]
    signatures=PackageSignatures{1a2b [3c4d]}
"""


def scripted(reply: Reply, **shells: bytes) -> Script:
    """Answer commands that hold a word by its output, every other service by `reply`."""

    def script(request: str) -> Reply:
        if request.startswith("host:tport:"):
            return Raw(b"\0" * 8)
        for word, output in shells.items():
            if request.startswith("shell,v2:") and word in request:
                return Shell(output)
        return reply

    return script


async def test_facts_about_an_app_are_read_without_asking_for_the_version() -> None:
    script = scripted(Refuse("closed"), path=b"package:/data/app/a.apk\n", dumpsys=PACKAGE_DUMP)
    async with open_scripted_server(script) as server:
        facts = await AdbCalls(server.endpoint, "abc").read_app("com.example.app")

    assert facts == AppFacts(
        package="com.example.app", version_name="3.1.4", version_code=42, path="/data/app/a.apk"
    )
    assert "host:version" not in server.requests
    assert "shell,v2:pm path com.example.app" in server.requests


async def test_an_absent_app_has_no_facts() -> None:
    async with open_scripted_server(scripted(Refuse("closed"), path=b"")) as server:
        assert await AdbCalls(server.endpoint, "abc").read_app("com.absent") is None


async def test_a_file_is_read_in_pieces() -> None:
    pieces = b"".join(b"DATA" + struct.pack("<I", 3) + part for part in (b"abc", b"def"))
    script = scripted(Raw(pieces + b"DONE" + b"\0" * 4))
    async with open_scripted_server(script) as server:
        assert await AdbCalls(server.endpoint, "abc").pull("/sdcard/x") == b"abcdef"


async def test_a_file_that_is_not_there_is_refused() -> None:
    why = b"No such file or directory"
    script = scripted(Raw(b"FAIL" + struct.pack("<I", len(why)) + why))
    async with open_scripted_server(script) as server:
        with pytest.raises(DeviceError) as caught:
            await AdbCalls(server.endpoint, "abc").pull("/sdcard/x")

    assert caught.value.reason == "adb_refused"


@pytest.mark.parametrize("data", [b"", b"DATA", b"DATA\x08\0\0\0abc", b"zz"])
async def test_a_device_that_goes_away_in_a_file_is_an_error_of_ours(data: bytes) -> None:
    async with open_scripted_server(scripted(Raw(data))) as server:
        with pytest.raises(DeviceError) as caught:
            await AdbCalls(server.endpoint, "abc").pull("/sdcard/x")

    assert caught.value.kind in {"device_lost", "driver_fault"}


async def test_a_command_that_ends_without_its_status_is_a_loss_and_no_absent_app() -> None:
    async with open_scripted_server(scripted(Raw(b""))) as server:
        with pytest.raises(DeviceError) as caught:
            await AdbCalls(server.endpoint, "abc").read_app("com.example.app")

    assert caught.value.reason == "device_lost"


async def test_an_absent_device_is_unreachable() -> None:
    async with open_scripted_server(lambda _: Refuse("device 'abc' not found")) as server:
        with pytest.raises(DeviceError) as caught:
            await AdbCalls(server.endpoint, "abc").pull("/x")

    assert caught.value.reason == "device_unreachable"


async def test_no_server_is_an_error_and_no_server_is_started() -> None:
    started = time.monotonic()
    with pytest.raises(DeviceError) as caught:
        await AdbCalls(AdbEndpoint("127.0.0.1", 1), "abc").pull("/x")

    assert caught.value.reason == "adb_server_lost"
    assert time.monotonic() - started < 0.2


async def test_cancellation_ends_the_thread_and_the_next_call_works() -> None:
    script = scripted(Raw(stall=True), path=b"")
    async with open_scripted_server(script) as server:
        calls = AdbCalls(server.endpoint, "abc")
        before = threading.active_count()
        started = trio.current_time()
        with trio.move_on_after(0.1) as scope:
            await calls.pull("/x")

        assert scope.cancelled_caught
        assert trio.current_time() - started < 0.1 + 0.05
        assert await calls.read_app("com.absent") is None
        # Trio keeps idle threads for reuse; none was left behind in a read.
        assert threading.active_count() <= before + 1


async def test_small_writes_are_not_delayed_and_closing_does_not_wait() -> None:
    async with open_scripted_server(lambda _: Raw()) as server:
        client = AdbClient(server.endpoint)

        def close_many() -> float:
            started = time.monotonic()
            for _ in range(50):
                with client.make_connection() as connection:
                    assert connection.conn.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                assert connection.closed
            return time.monotonic() - started

        assert await trio.to_thread.run_sync(close_many) < 0.25


async def test_an_aborted_client_connects_no_more() -> None:
    async with open_scripted_server(lambda _: Raw()) as server:
        client = AdbClient(server.endpoint)
        client.abort()
        with pytest.raises(adbutils.AdbError):
            await trio.to_thread.run_sync(client.make_connection)
