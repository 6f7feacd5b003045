import plistlib
import stat
import struct
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings, strategies as st
from trio.testing import MockClock

from grid.lab.phone import SimPhone
from grid.lab.usbmux_frame import (
    HEADER_BYTES,
    parse_header,
    parse_request,
    read_integer,
    render_binary_result,
    render_plist,
    render_result,
    swap_port,
)
from grid.lab.usbmuxd import UsbDevice, serve_usbmuxd
from runner.errors import InputError
from tests.grid.lab.ioskit import UDID, Client, make_phone, make_shop_phone, open_wda


@asynccontextmanager
async def open_bus(folder: Path, *devices: UsbDevice) -> AsyncIterator[Path]:
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve_usbmuxd, devices, path=folder / "usbmuxd"))
        nursery.cancel_scope.cancel()


def device(phone: SimPhone, port: int = 0) -> UsbDevice:
    return UsbDevice(device_id=3, phone=phone, ports={8100: ("127.0.0.1", port)})


async def ask(stream: trio.SocketStream, **message: object) -> dict[str, Any]:
    await stream.send_all(render_plist(message, 9))
    return await read(stream)


async def read(stream: trio.SocketStream) -> dict[str, Any]:
    head = await read_exactly(stream, HEADER_BYTES)
    found: dict[str, Any] = plistlib.loads(
        await read_exactly(stream, parse_header(head).body_bytes)
    )
    return found


async def read_exactly(stream: trio.SocketStream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = await stream.receive_some(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


async def test_the_socket_is_for_its_owner_alone_and_goes_away(tmp_path: Path) -> None:
    async with open_bus(tmp_path) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    assert not path.exists()


async def test_devices_are_listed_and_the_bus_has_a_name(tmp_path: Path) -> None:
    async with (
        open_bus(tmp_path, device(make_phone())) as path,
        await trio.open_unix_socket(str(path)) as stream,
    ):
        buid = await ask(stream, MessageType="ReadBUID")
        listed = await ask(stream, MessageType="ListDevices")
        unknown = await ask(stream, MessageType="MakeCoffee")

    (found,) = listed["DeviceList"]
    assert len(buid["BUID"]) == 36
    assert (found["MessageType"], found["DeviceID"]) == ("Attached", 3)
    assert found["Properties"]["SerialNumber"] == UDID
    assert found["Properties"]["ConnectionType"] == "USB"
    assert unknown == {"MessageType": "Result", "Number": 1}


async def test_a_connected_stream_speaks_to_the_phone(tmp_path: Path) -> None:
    phone = make_phone()
    async with (
        open_wda(phone) as port,
        open_bus(tmp_path, device(phone, port)) as path,
        await trio.open_unix_socket(str(path)) as stream,
    ):
        answer = await ask(stream, MessageType="Connect", DeviceID=3, PortNumber=swap_port(8100))
        client = Client(stream)
        first = await client.ask("GET", "/status")
        second = await client.ask("GET", "/wda/locked")

    assert (0, 200, False) == (answer["Number"], first.status, second.value)
    assert phone.trace.entries()[0].text == "Connect 8100"


async def test_what_cannot_be_dialled_is_told_apart(tmp_path: Path) -> None:
    phone = make_phone()
    async with (
        open_bus(tmp_path, device(phone, 1)) as path,
        await trio.open_unix_socket(str(path)) as stream,
    ):
        numbers = [
            (await ask(stream, MessageType="Connect", DeviceID=who, PortNumber=swap_port(port)))[
                "Number"
            ]
            for who, port in ((99, 8100), (3, 9100), (3, 8100))
        ]

    assert numbers == [2, 3, 3]


async def test_a_pulled_cable_takes_the_phone_off_the_bus(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with (
        open_bus(tmp_path, device(phone)) as path,
        await trio.open_unix_socket(str(path)) as watcher,
    ):
        accepted = await ask(watcher, MessageType="Listen")
        attached = await read(watcher)
        phone.faults.set("drop", for_s=5)
        detached = await read(watcher)
        async with await trio.open_unix_socket(str(path)) as stream:
            listed = await ask(stream, MessageType="ListDevices")
            refused = await ask(
                stream, MessageType="Connect", DeviceID=3, PortNumber=swap_port(8100)
            )
        again = await read(watcher)

    assert (accepted["Number"], listed["DeviceList"], refused["Number"]) == (0, [], 2)
    assert detached == {"MessageType": "Detached", "DeviceID": 3}
    assert attached == again


async def test_a_client_of_the_old_protocol_is_told_so(tmp_path: Path) -> None:
    async with open_bus(tmp_path) as path, await trio.open_unix_socket(str(path)) as stream:
        await stream.send_all(struct.pack("<IIII", 16, 0, 3, 5))
        answer = await read_exactly(stream, 20)
        ended = await stream.receive_some(1)

    assert (answer, ended) == (render_binary_result(6, 5), b"")


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        struct.pack("<IIII", 1 << 30, 1, 8, 1),
        struct.pack("<IIII", 3, 1, 8, 1),
        struct.pack("<IIII", 20, 1, 8, 1) + b"abcd",
        render_plist({"MessageType": 5}, 1),
        render_plist({"MessageType": "Connect", "DeviceID": "x", "PortNumber": 1}, 1),
    ],
)
async def test_who_speaks_something_else_is_cut_off_and_others_are_not(
    tmp_path: Path, data: bytes
) -> None:
    phone = make_phone()
    async with (
        open_bus(tmp_path, device(phone)) as path,
        await trio.open_unix_socket(str(path)) as stranger,
        await trio.open_unix_socket(str(path)) as stream,
    ):
        await stranger.send_all(data)
        rest = b""
        # A reset when it was still sending, else a plain end.
        with trio.fail_after(5), suppress(trio.BrokenResourceError):
            rest = await stranger.receive_some(64)
        listed = await ask(stream, MessageType="ListDevices")

    assert (rest, len(listed["DeviceList"])) == (b"", 1)
    assert "lab_frame_invalid" in phone.trace.entries()[-1].text


@given(st.integers(min_value=0, max_value=65_535))
def test_a_port_swapped_twice_is_itself(port: int) -> None:
    assert port == swap_port(swap_port(port))
    assert int.from_bytes(port.to_bytes(2, "big"), "little") == swap_port(port)


@given(
    st.dictionaries(
        st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=5), st.integers(0, 9)
    ),
    st.integers(min_value=0, max_value=2**32 - 1),
)
def test_a_rendered_frame_reads_back(message: dict[str, int], tag: int) -> None:
    frame = render_plist({**message, "MessageType": "Result"}, tag)
    header = parse_header(frame[:HEADER_BYTES])

    assert (tag, len(frame) - HEADER_BYTES) == (header.tag, header.body_bytes)
    assert parse_request(frame[HEADER_BYTES:]) == {**message, "MessageType": "Result"}
    assert render_result(2, tag) == render_plist({"MessageType": "Result", "Number": 2}, tag)


@given(st.binary(max_size=64), st.sampled_from([b"", b"bplist00", b"<plist>", b"<plist><dict>"]))
def test_nothing_but_the_typed_error_comes_out_of_a_frame(data: bytes, start: bytes) -> None:
    for parse in (parse_header, parse_request):
        reason = ""
        try:
            parse(start + data)
        except InputError as error:
            reason = error.reason

        assert reason in {"", "lab_frame_invalid"}
    with pytest.raises(InputError):
        read_integer({"DeviceID": data}, "DeviceID")


@pytest.mark.slow
@given(st.lists(st.binary(max_size=40), max_size=6))
@settings(deadline=None, max_examples=40)
async def test_no_bytes_end_the_bus(pieces: list[bytes]) -> None:
    with trio.fail_after(10), tempfile.TemporaryDirectory(prefix="bus-") as folder:
        async with open_bus(Path(folder), device(make_phone())) as path:
            for piece in pieces:
                async with await trio.open_unix_socket(str(path)) as stranger:
                    await stranger.send_all(piece)
            async with await trio.open_unix_socket(str(path)) as stream:
                listed = await ask(stream, MessageType="ListDevices")

    assert len(listed["DeviceList"]) == 1
