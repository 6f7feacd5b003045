"""The Android face over the wire: raw packets, and the real adb server with its real clients."""

import io
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import adbutils
import pytest
import trio
from hypothesis import given, settings, strategies as st
from PIL import Image

from drivers.android.server import AdbServer, bundled_adb, connect, list_devices, open_adb_server
from drivers.android.smartsocket import AdbEndpoint, open_device_service
from grid.lab.adbd import serve_adbd
from grid.lab.phone import SimPhone
from grid.lab.transport import (
    CLSE,
    CNXN,
    MAX_PAYLOAD,
    OKAY,
    OPEN,
    VERSION,
    WRTE,
    Packet,
    PacketDecoder,
    encode_packet,
)
from tests.grid.lab.labkit import SHOP_ID, make_phone


class Host:
    """A bare adb server's side of the transport."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._decoder = PacketDecoder()
        self._ready: list[Packet] = []

    async def send(self, command: int, arg0: int, arg1: int, payload: bytes = b"") -> None:
        await self.stream.send_all(encode_packet(Packet(command, arg0, arg1, payload)))

    async def receive(self) -> Packet | None:
        while not self._ready:
            data = await self.stream.receive_some(1 << 16)
            if not data:
                return None
            self._ready += self._decoder.feed(bytes(data))
        return self._ready.pop(0)

    async def greet(self) -> Packet | None:
        await self.send(CNXN, VERSION, MAX_PAYLOAD, b"host::features=shell_v2\0")
        return await self.receive()

    async def collect(self, service: str, own_id: int = 9) -> bytes:
        """Open a service and return all that it writes."""
        await self.send(OPEN, own_id, 0, service.encode() + b"\0")
        opened = await self.receive()
        assert opened is not None
        assert (opened.command, opened.arg1) == (OKAY, own_id)
        output = b""
        while (packet := await self.receive()) is not None:
            if packet.command == CLSE:
                break
            assert packet.command == WRTE
            output += packet.payload
            await self.send(OKAY, own_id, packet.arg0)
        return output


@asynccontextmanager
async def open_host(phone: SimPhone) -> AsyncIterator[Host]:
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_adbd, phone)
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            yield Host(stream)
        nursery.cancel_scope.cancel()


async def test_the_greeting_names_the_device_and_its_features() -> None:
    async with open_host(make_phone()) as host:
        answer = await host.greet()

    assert answer == Packet(
        CNXN,
        VERSION,
        MAX_PAYLOAD,
        b"device::ro.product.name=lab_phone;ro.product.model=Lab Phone;"
        b"ro.product.device=lab_phone;"
        b"features=shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir,sendrecv_v2",
    )


async def test_a_shell_writes_closes_and_is_traced() -> None:
    phone = make_phone()
    async with open_host(phone) as host:
        await host.greet()
        assert await host.collect("shell:echo hi; nope") == (
            b"hi\n/system/bin/sh: nope: inaccessible or not found\n"
        )
        assert await host.collect("shell,v2,raw:echo a; echo b >&2; exit 9") == (
            b"\1\2\0\0\0a\n" + b"\2\2\0\0\0b\n" + b"\3\1\0\0\0\x09"
        )

    assert [entry.text for entry in phone.trace.entries()] == [
        "shell:echo hi; nope",
        "shell,v2,raw:echo a; echo b >&2; exit 9",
    ]
    assert phone.trace.received()["adb"] > 100


async def test_a_short_command_is_answered_in_one_piece() -> None:
    async with open_host(make_phone()) as host:
        await host.greet()
        await host.send(OPEN, 9, 0, b"shell:echo hi\0")
        data = await host.stream.receive_some(1 << 16)

    packets = list(PacketDecoder().feed(bytes(data)))
    assert [packet.command for packet in packets] == [OKAY, WRTE, CLSE]
    assert packets[1].payload == b"hi\n"


async def test_a_command_that_waits_says_first_that_it_runs() -> None:
    async with open_host(make_phone()) as host:
        await host.greet()
        for own_id, command in enumerate((b"sleep 30", b"cat", b""), 5):
            await host.send(OPEN, own_id, 0, b"shell:" + command + b"\0")
            with trio.fail_after(1):
                opened = await host.receive()

            assert opened is not None
            assert (opened.command, opened.arg1) == (OKAY, own_id)


@pytest.mark.parametrize("service", ["tcp:9008", "localabstract:x", "framebuffer:", "nonsense"])
async def test_a_service_that_the_phone_lacks_is_refused(service: str) -> None:
    async with open_host(make_phone()) as host:
        await host.greet()
        await host.send(OPEN, 5, 0, service.encode() + b"\0")

        assert await host.receive() == Packet(CLSE, 0, 5)


async def test_only_one_write_is_sent_until_it_is_acknowledged() -> None:
    async with open_host(make_phone()) as host:
        await host.send(CNXN, VERSION, 4, b"host::\0")
        await host.receive()
        await host.send(OPEN, 5, 0, b"shell:echo 123456\0")
        opened, first = await host.receive(), await host.receive()
        assert opened is not None
        assert first == Packet(WRTE, opened.arg0, 5, b"1234")
        with trio.move_on_after(0.05) as waited:
            await host.receive()
        assert waited.cancelled_caught
        await host.send(OKAY, 5, opened.arg0)

        assert await host.receive() == Packet(WRTE, opened.arg0, 5, b"56\n")


async def test_a_second_unacknowledged_write_ends_the_stream() -> None:
    async with open_host(make_phone()) as host:
        await host.greet()
        await host.send(OPEN, 5, 0, b"shell:sleep 30\0")
        opened = await host.receive()
        assert opened is not None
        for _ in range(2):
            await host.send(WRTE, 5, opened.arg0, b"x")

        assert await host.receive() == Packet(CLSE, 0, 5)


async def test_a_client_that_leaves_ends_its_command_and_others_go_on() -> None:
    async with open_host(make_phone()) as host:
        await host.greet()
        await host.send(OPEN, 5, 0, b"shell:sleep 30; echo x > /sdcard/late\0")
        opened = await host.receive()
        assert opened is not None
        await host.send(CLSE, 5, opened.arg0)
        assert await host.receive() == Packet(CLSE, opened.arg0, 5)

        assert await host.collect("shell:ls /sdcard") == b"Download\nPictures\n"


async def test_a_write_to_an_unknown_stream_is_answered_with_a_close() -> None:
    async with open_host(make_phone()) as host:
        await host.greet()
        await host.send(WRTE, 5, 77, b"x")

        assert await host.receive() == Packet(CLSE, 0, 5)


async def test_a_connection_without_a_byte_is_tolerated() -> None:
    phone = make_phone()
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_adbd, phone)
        await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            assert (await Host(stream).greet()) is not None
        nursery.cancel_scope.cancel()


async def test_garbage_ends_its_connection_alone() -> None:
    phone = make_phone()
    async with open_host(phone) as host:
        await host.stream.send_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await host.receive() is None
        assert any("no adb packet" in line.text for line in phone.log_lines())
        port = int(host.stream.socket.getpeername()[1])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            assert (await Host(stream).greet()) is not None


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.builds(
            Packet,
            st.sampled_from([CNXN, OPEN, OKAY, WRTE, CLSE]),
            st.integers(0, 4),
            st.integers(0, 4),
            st.sampled_from([b"", b"shell:echo x\0", b"shell,v2:cat\0", b"sync:\0", b"STAT\xff"]),
        ),
        max_size=12,
    )
)
def test_no_order_of_packets_breaks_the_daemon(packets: list[Packet]) -> None:
    async def run() -> None:
        async with open_host(make_phone()) as host:
            await host.greet()
            for packet in packets:
                await host.send(packet.command, packet.arg0, packet.arg1, packet.payload)
            with trio.move_on_after(0.02):
                while await host.receive() is not None:
                    pass
            port = int(host.stream.socket.getpeername()[1])
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                fresh = Host(stream)
                assert (await fresh.greet()) is not None
                assert await fresh.collect("shell:echo alive") == b"alive\n"

    trio.run(run)


@pytest.mark.slow
async def test_a_drop_closes_the_connection_and_refuses_for_a_while() -> None:
    phone = make_phone(time.monotonic)
    async with open_host(phone) as host:
        await host.greet()
        phone.faults.set("drop", for_s=0.2)
        assert await host.receive() is None
        port = int(host.stream.socket.getpeername()[1])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            assert await stream.receive_some() == b""

        await trio.sleep(0.25)
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            assert (await Host(stream).greet()) is not None


async def test_a_stalled_phone_takes_bytes_and_answers_when_it_is_cleared() -> None:
    phone = make_phone(time.monotonic)
    async with open_host(phone) as host:
        await host.greet()
        phone.faults.set("stall")
        await host.send(OPEN, 5, 0, b"shell:echo hi\0")
        with trio.move_on_after(0.1) as waited:
            await host.receive()
        assert waited.cancelled_caught

        phone.faults.clear("stall")
        answer = await host.receive()

    assert answer is not None
    assert answer.command == OKAY


async def test_a_slow_phone_waits_before_every_packet() -> None:
    phone = make_phone(time.monotonic)
    async with open_host(phone) as host:
        await host.greet()
        phone.faults.set("slow", latency_ms=60)
        before = time.monotonic()
        assert await host.collect("shell:echo hi") == b"hi\n"

        assert time.monotonic() - before >= 0.18


# -- With the real server -------------------------------------------------------------------------


class Lab:
    """A phone behind a real adb server."""

    def __init__(self, phone: SimPhone, server: AdbServer, port: int) -> None:
        self.phone = phone
        self.server = server
        self.serial = f"127.0.0.1:{port}"

    async def adb(self, *words: str, stdin: bytes = b"") -> tuple[bytes, bytes, int]:
        """Run the real adb client."""
        done = await trio.run_process(
            [str(bundled_adb()), "-P", str(self.server.port), "-s", self.serial, *words],
            stdin=stdin,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        return done.stdout, done.stderr, done.returncode


@asynccontextmanager
async def open_lab() -> AsyncIterator[Lab]:
    phone = make_phone(time.time)
    async with open_adb_server() as server, trio.open_nursery() as nursery:
        port = await nursery.start(serve_adbd, phone)
        await connect(server.host, server.port, f"127.0.0.1:{port}")
        yield Lab(phone, server, port)
        nursery.cancel_scope.cancel()


@pytest.mark.slow
async def test_the_adb_client_lists_shells_and_shoots() -> None:
    async with open_lab() as lab:
        listed, _, _ = await lab.adb("devices", "-l")
        assert f"{lab.serial}".encode() in listed
        assert b"device product:lab_phone model:Lab_Phone device:lab_phone" in listed
        assert await lab.adb("shell", "echo hi; echo no >&2; exit 7") == (b"hi\n", b"no\n", 7)
        assert (await lab.adb("shell", "nope"))[2] == 127
        assert await lab.adb("shell", "-x", "echo v1; nope; echo $?") == (
            b"v1\n/system/bin/sh: nope: inaccessible or not found\n127\n",
            b"",
            0,
        )
        assert await lab.adb("shell", stdin=b"echo a\nexit 3\n") == (b"a\n", b"", 3)
        assert await lab.adb("shell", "cat; echo .", stdin=b"typed") == (b"typed.\n", b"", 0)
        png, _, _ = await lab.adb("exec-out", "screencap", "-p")
        with Image.open(io.BytesIO(png)) as image:
            assert image.size == (1080, 2322)
            image.load()


@pytest.mark.slow
async def test_a_slow_reader_gets_all_of_a_large_output(tmp_path: Path) -> None:
    data = os.urandom(7_500_000)
    source = tmp_path / "source"
    source.write_bytes(data)
    async with open_lab() as lab:
        await lab.adb("push", str(source), "/sdcard/big")
        endpoint = AdbEndpoint(lab.server.host, lab.server.port)
        service = "exec:cat /sdcard/big"
        async with open_device_service(endpoint, lab.serial, service) as connection:
            await trio.sleep(0.3)

            assert await connection.read_all() == data


@pytest.mark.slow
async def test_files_go_to_the_phone_and_back_unchanged(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(data)
    async with open_lab() as lab:
        _, err, status = await lab.adb("push", str(source), "/data/local/tmp/deep/er/file")
        assert (status, b"1 file pushed" in err) == (0, True)
        await lab.adb("pull", "/data/local/tmp/deep/er/file", str(target))
        assert target.read_bytes() == data
        _, err, status = await lab.adb("push", str(source), "/system/file")
        assert (status, b"Read-only file system" in err) == (1, True)
        assert (await lab.adb("pull", "/sdcard/none", str(target)))[2] == 1
        listed, _, _ = await lab.adb("ls", "/data/local/tmp/deep")
        assert b" er\n" in listed


@pytest.mark.slow
async def test_adbutils_works_unmodified() -> None:
    def use(port: int, serial: str) -> None:
        device = adbutils.AdbClient("127.0.0.1", port, socket_timeout=10).device(serial)
        device.app_start(SHOP_ID)
        assert device.app_current().package == SHOP_ID
        assert tuple(device.window_size()) == (1080, 2322)
        assert device.rotation() == 0
        assert "Welcome" in device.dump_hierarchy()
        assert device.shell2("echo x; (exit 4)").returncode == 4
        assert device.shell2("false", v2=True).returncode == 1
        assert device.shell(["echo", "a b", "c'd"]) == "a b c'd"
        assert device.screenshot(error_ok=False).size == (1080, 2322)
        info = device.app_info(SHOP_ID)
        assert (info.version_name, info.version_code) == ("1.4.0", 14)
        assert device.list_packages() == ["com.android.settings", SHOP_ID]
        assert device.battery().level == 100
        assert device.is_screen_on()
        device.sync.push(b"data", "/sdcard/file")
        assert device.sync.read_bytes("/sdcard/file") == b"data"
        assert device.sync.stat("/sdcard/file").size == 4
        assert [entry.path for entry in device.sync.list("/sdcard")] == [
            "Download",
            "Pictures",
            "file",
        ]
        device.app_stop(SHOP_ID)
        assert device.app_current().package == "com.android.launcher"

    async with open_lab() as lab:
        await trio.to_thread.run_sync(use, lab.server.port, lab.serial)


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    with trio.fail_after(15):
        while not await condition():  # noqa: ASYNC110 -- the adb server sets no event of ours.
            await trio.sleep(0.02)


@pytest.mark.slow
async def test_a_dropped_phone_goes_offline_and_comes_back() -> None:
    async with open_lab() as lab:

        async def is_in(state: str) -> bool:
            devices = await list_devices(lab.server.host, lab.server.port)
            return devices == ((lab.serial, state),)

        assert await is_in("device")
        lab.phone.faults.set("drop", for_s=0.1)
        await _until(lambda: is_in("offline"))
        await _until(lambda: is_in("device"))

        assert (await lab.adb("shell", "echo back"))[0] == b"back\n"


@pytest.mark.slow
async def test_a_reboot_cuts_the_line_and_takes_a_while() -> None:
    async with open_lab() as lab:
        lab.phone.launch(SHOP_ID)
        _, _, status = await lab.adb("reboot")
        assert status == 0

        async def is_booted() -> bool:
            out, _, code = await lab.adb("shell", "getprop sys.boot_completed")
            return code == 0 and out == b"1\n"

        assert not await is_booted()
        await _until(is_booted)
        assert lab.phone.foreground == "com.android.launcher"
