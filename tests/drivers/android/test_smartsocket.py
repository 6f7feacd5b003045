"""The asynchronous client against a scripted server on a real socket."""

import contextlib
import struct

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given, settings, strategies as st

from drivers.android.server import check_server, connect, list_devices, track_devices
from drivers.android.smartsocket import (
    AdbEndpoint,
    ask_server,
    open_device_service,
    run_exec,
    run_shell,
)
from runner.errors import DeviceError, GridError, RunnerError
from tests.support.adb_server import (
    Raw,
    Refuse,
    Reply,
    Shell,
    Silent,
    block,
    only,
    open_scripted_server,
    shell_packets,
)


async def test_a_shell_keeps_both_outputs_and_the_exit_status_apart() -> None:
    async with open_scripted_server(only(Shell(b"out\r\n", b"err", 7))) as server:
        answer = await run_shell(server.endpoint, "abc", "do it")

    assert (answer.text, answer.error_text, answer.exit_code) == ("out", "err", 7)
    assert server.requests == ["host:transport:abc", "shell,v2,raw:do it"]


async def test_a_server_may_be_named_instead_of_numbered() -> None:
    async with open_scripted_server(only(Shell(b"ok"))) as server:
        named = AdbEndpoint("localhost", server.endpoint.port)

        assert (await run_shell(named, "abc", "echo ok")).text == "ok"


async def test_raw_output_is_read_to_its_end() -> None:
    async with open_scripted_server(only(Raw(b"\x00\r\n" * 50_000))) as server:
        assert await run_exec(server.endpoint, "abc", "cat") == b"\x00\r\n" * 50_000


async def test_a_shell_that_ends_without_its_status_is_a_lost_device() -> None:
    whole = shell_packets(Shell(b"half of it", b"", 0))
    for cut in range(len(whole)):
        async with open_scripted_server(only(Raw(whole[:cut]))) as server:
            with pytest.raises(DeviceError) as caught:
                await run_shell(server.endpoint, "abc", "getprop")

        assert caught.value.reason == "device_lost"
        assert caught.value.kind == "device_lost"


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("device 'abc' not found", "device_lost", "device_unreachable"),
        ("device offline", "device_lost", "device_unreachable"),
        ("device still connecting", "device_lost", "device_unreachable"),
        ("no devices/emulators found", "device_lost", "device_unreachable"),
        (
            "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set",
            "device_lost",
            "device_unauthorized",
        ),
        ("device still authorizing", "device_lost", "device_unauthorized"),
        ("insufficient permissions: no permissions", "device_lost", "device_unauthorized"),
        ("closed", "driver_fault", "adb_refused"),
        ("", "driver_fault", "adb_refused"),
    ],
)
async def test_a_refusal_is_classified(text: str, kind: str, reason: str) -> None:
    async with open_scripted_server(lambda _: Refuse(text)) as server:
        with pytest.raises(DeviceError) as caught:
            await run_shell(server.endpoint, "abc", "true")

    assert (caught.value.kind, caught.value.reason) == (kind, reason)
    assert caught.value.details["answer"] == text


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (Raw(block("offline")), "device_lost"),
        (Refuse("device 'abc' not found"), "device_lost"),
        (Raw(block("device")), "adb_refused"),
        (Refuse("unknown host service"), "adb_refused"),
    ],
)
async def test_closed_means_a_loss_when_the_device_is_gone(state: Reply, reason: str) -> None:
    def script(request: str) -> Reply:
        if request == "host-serial:abc:get-state":
            return state
        return Raw() if request.startswith("host:transport:") else Refuse("closed")

    async with open_scripted_server(script) as server:
        with pytest.raises(DeviceError) as caught:
            await run_shell(server.endpoint, "abc", "true")

    assert caught.value.reason == reason


async def test_a_label_stands_for_a_command_that_must_not_be_repeated() -> None:
    async with open_scripted_server(only(Raw(b""))) as server:
        with pytest.raises(DeviceError) as caught:
            await run_shell(server.endpoint, "abc", "input text hunter2", label="input text")

    assert "hunter2" not in f"{caught.value} {caught.value.details}"


async def test_no_server_is_the_fault_of_no_device() -> None:
    with pytest.raises(DeviceError) as caught:
        await ask_server(AdbEndpoint("127.0.0.1", 1), "host:version")

    assert (caught.value.kind, caught.value.reason) == ("driver_fault", "adb_server_lost")


async def test_what_is_no_adb_server_is_said_to_be_none() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]

    async def handle(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, handle, listeners)
        with pytest.raises(DeviceError) as caught:
            await ask_server(AdbEndpoint("127.0.0.1", port), "host:version")
        nursery.cancel_scope.cancel()

    assert caught.value.reason == "adb_answer_invalid"


async def test_a_cancelled_command_ends_at_once_and_the_next_one_works() -> None:
    waiting = only(Raw(b"", stall=True))
    async with open_scripted_server(waiting) as server:
        started = trio.current_time()
        with trio.move_on_after(0.05) as scope:
            await run_shell(server.endpoint, "abc", "sleep 100")

        assert scope.cancelled_caught
        assert trio.current_time() - started < 0.1

    async with open_scripted_server(only(Shell(b"ok"))) as server:
        assert (await run_shell(server.endpoint, "abc", "echo ok")).text == "ok"


async def test_a_packet_that_claims_gigabytes_is_refused() -> None:
    packet = struct.pack("<BI", 1, 0xFFFFFFFF)
    async with open_scripted_server(only(Raw(packet, stall=True))) as server:
        with pytest.raises(DeviceError) as caught:
            await run_shell(server.endpoint, "abc", "yes")

    assert caught.value.reason == "adb_answer_invalid"


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
async def test_no_bytes_of_a_server_raise_anything_but_our_errors(data: bytes) -> None:
    async with open_scripted_server(only(Raw(data))) as server:
        with contextlib.suppress(RunnerError):
            await run_shell(server.endpoint, "abc", "true")
        async with open_device_service(server.endpoint, "abc", "any:") as connection:
            with contextlib.suppress(RunnerError):
                await connection.read_block()


async def test_a_tracker_yields_every_list_and_ends_as_a_loss() -> None:
    lists = block("a\tdevice\n") + block("a\toffline\nb\tdevice\n") + block("")
    async with (
        open_scripted_server(lambda _: Raw(lists)) as server,
        track_devices(server.endpoint.host, server.endpoint.port) as tracker,
    ):
        assert await anext(tracker) == (("a", "device"),)
        assert await anext(tracker) == (("a", "offline"), ("b", "device"))
        assert await anext(tracker) == ()
        with pytest.raises(DeviceError) as caught:
            await anext(tracker)

    assert caught.value.reason == "adb_server_lost"


async def test_a_malformed_length_in_a_device_list_is_an_error_and_not_a_hang() -> None:
    async with (
        open_scripted_server(lambda _: Raw(b"zzzz", stall=True)) as server,
        track_devices(server.endpoint.host, server.endpoint.port) as tracker,
    ):
        with pytest.raises(DeviceError) as caught:
            await anext(tracker)

    assert caught.value.reason == "adb_answer_invalid"


async def test_devices_are_listed_with_their_states() -> None:
    async with open_scripted_server(lambda _: Raw(block("a\tdevice\n"))) as server:
        assert await list_devices(server.endpoint.host, server.endpoint.port) == (("a", "device"),)


@pytest.mark.parametrize(
    "text",
    [
        "failed to connect to '127.0.0.1:9': Connection refused",
        "cannot connect to 127.0.0.1:9: No route to host (113)",
        "bad port number 'x' in 'x'",
        "",
    ],
)
async def test_a_connect_that_failed_is_told_by_its_text_alone(text: str) -> None:
    async with open_scripted_server(lambda _: Raw(block(text))) as server:
        with pytest.raises(DeviceError) as caught:
            await connect(server.endpoint.host, server.endpoint.port, "127.0.0.1:9")

    assert caught.value.reason == "device_unreachable"


async def test_a_connect_that_worked_says_nothing() -> None:
    async with open_scripted_server(lambda _: Raw(block("connected to a:9"))) as server:
        await connect(server.endpoint.host, server.endpoint.port, "a:9")

    assert server.requests == ["host:connect:a:9"]


@pytest.mark.parametrize(("state", "connects"), [("device", 1), ("offline", 2)])
async def test_already_connected_is_believed_only_of_a_device_that_is_online(
    state: str, connects: int
) -> None:
    answers = ["already connected to a:9", "connected to a:9"]

    def script(request: str) -> Reply:
        if request == "host:devices":
            return Raw(block(f"a:9\t{state}\n"))
        if request == "host:disconnect:a:9":
            return Raw(block("disconnected a:9"))
        return Raw(block(answers.pop(0)))

    async with open_scripted_server(script) as server:
        await connect(server.endpoint.host, server.endpoint.port, "a:9")

    assert server.requests.count("host:connect:a:9") == connects


async def test_a_command_that_adb_cannot_frame_is_misuse() -> None:
    async with open_scripted_server(only(Shell())) as server:
        with pytest.raises(DeviceError) as caught:
            await run_shell(server.endpoint, "abc", "x" * 70_000)

    assert (caught.value.kind, caught.value.reason) == ("misuse", "action_unsupported")


async def test_a_server_of_another_protocol_is_refused_before_use() -> None:
    async with open_scripted_server(lambda _: Raw(block("0028"))) as server:
        with pytest.raises(GridError) as caught:
            await check_server(server.endpoint.host, server.endpoint.port)

    assert caught.value.reason == "adb_server_failed"
    assert caught.value.details["version"] == 40


async def test_a_wedged_server_is_found_in_two_seconds(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_scripted_server(lambda _: Silent()) as server:
        started = autojump_clock.current_time()
        with pytest.raises(GridError) as caught:
            await check_server(server.endpoint.host, server.endpoint.port)

    assert caught.value.reason == "adb_server_failed"
    assert autojump_clock.current_time() - started == pytest.approx(2.0)
