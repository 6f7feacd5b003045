"""The sync service, request by request, without a wire."""

import stat
import struct

import pytest
import trio
from hypothesis import given, strategies as st

from grid.lab.disk import VirtualDisk
from grid.lab.sync import serve_sync
from tests.grid.lab.labkit import HandClock


class Wire:
    """A stream that plays what the client sends and keeps what it gets."""

    def __init__(self, *sent: bytes) -> None:
        self.sent = list(sent)
        self.got = b""

    async def read(self) -> bytes:
        await trio.lowlevel.checkpoint()
        return self.sent.pop(0) if self.sent else b""

    async def write(self, data: bytes) -> None:
        await trio.lowlevel.checkpoint()
        self.got += data


def request(kind: bytes, text: bytes = b"") -> bytes:
    return struct.pack("<4sI", kind, len(text)) + text


async def talk(disk: VirtualDisk, *sent: bytes) -> bytes:
    wire = Wire(*sent)
    await serve_sync(disk, wire)
    return wire.got


@pytest.fixture
def disk() -> VirtualDisk:
    disk = VirtualDisk(HandClock())
    disk.write("/sdcard/f", b"hello", mtime=7)
    return disk


@pytest.mark.parametrize("chunk", [1, 7, 1000])
async def test_a_file_is_sent_in_pieces_of_any_size(disk: VirtualDisk, chunk: int) -> None:
    data = (
        request(b"SEND", b"/sdcard/new/g,33188")
        + request(b"DATA", b"one ")
        + request(b"DATA", b"two")
        + struct.pack("<4sI", b"DONE", 99)
        + request(b"QUIT")
    )

    got = await talk(disk, *(data[i : i + chunk] for i in range(0, len(data), chunk)))

    assert got == struct.pack("<4sI", b"OKAY", 0)
    assert disk.read("/sdcard/new/g") == b"one two"
    assert disk.stat("/sdcard/new/g").mtime == 99
    assert stat.S_IMODE(disk.stat("/sdcard/new/g").mode) == 0o644


async def test_the_second_generation_sends_mode_and_flags_apart(disk: VirtualDisk) -> None:
    got = await talk(
        disk,
        request(b"SND2", b"/sdcard/g") + struct.pack("<4s2I", b"SND2", 0o100600, 0),
        request(b"DATA", b"x") + struct.pack("<4sI", b"DONE", 1),
        request(b"RCV2", b"/sdcard/g") + struct.pack("<4sI", b"RCV2", 0),
    )

    assert got == struct.pack("<4sI", b"OKAY", 0) + request(b"DATA", b"x") + request(b"DONE")
    assert stat.S_IMODE(disk.stat("/sdcard/g").mode) == 0o600


async def test_a_file_is_received_and_a_missing_one_fails(disk: VirtualDisk) -> None:
    got = await talk(disk, request(b"RECV", b"/sdcard/f"), request(b"RECV", b"/sdcard/none"))

    failure = request(b"FAIL", b"No such file or directory")
    assert got == request(b"DATA", b"hello") + request(b"DONE") + failure


async def test_both_generations_of_stat_tell_size_mode_and_time(disk: VirtualDisk) -> None:
    got = await talk(
        disk,
        request(b"STAT", b"/sdcard/f"),
        request(b"STA2", b"/sdcard/f"),
        request(b"STAT", b"/none"),
        request(b"LST2", b"/none"),
    )

    assert struct.unpack("<4s3I", got[:16]) == (b"STAT", 0o100644, 5, 7)
    second = struct.unpack("<4sI2Q4IQ3q", got[16:88])
    assert second[:2] == (b"STA2", 0)
    assert (second[4], second[8], second[10]) == (0o100644, 5, 7)
    assert struct.unpack("<4s3I", got[88:104]) == (b"STAT", 0, 0, 0)
    assert struct.unpack("<4sI", got[104:112]) == (b"LST2", 2)
    assert len(got) == 104 + 72


async def test_both_generations_of_list_name_the_entries(disk: VirtualDisk) -> None:
    first = await talk(disk, request(b"LIST", b"/sdcard"))
    second = await talk(disk, request(b"LIS2", b"/sdcard"))

    assert first.count(b"DENT") == second.count(b"DNT2") == 3
    assert first.endswith(struct.pack("<I", 1) + b"f" + b"DONE" + bytes(16))
    assert second.endswith(struct.pack("<I", 1) + b"f" + b"DONE" + bytes(72))
    assert await talk(disk, request(b"LIST", b"/none")) == b"DONE" + bytes(16)


async def test_a_place_that_cannot_be_written_fails_after_the_last_byte(disk: VirtualDisk) -> None:
    got = await talk(
        disk,
        request(b"SEND", b"/system/x,33188"),
        request(b"DATA", b"x"),
        struct.pack("<4sI", b"DONE", 0),
        request(b"STAT", b"/sdcard/f"),
    )

    assert got.startswith(request(b"FAIL", b"couldn't create file: Read-only file system"))
    assert b"STAT" in got


@pytest.mark.slow
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.builds(
                request,
                st.sampled_from([b"SEND", b"RECV", b"STAT", b"LIS2", b"SND2", b"DATA", b"DONE"]),
                st.binary(max_size=20),
            ),
        ),
        max_size=6,
    )
)
def test_any_bytes_end_the_service_in_order(sent: list[bytes]) -> None:
    async def run() -> None:
        got = await talk(VirtualDisk(HandClock()), *(part for part in sent if part))
        assert isinstance(got, bytes)

    trio.run(run)
