import plistlib
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings, strategies as st

from drivers.ios.device import open_ios_device
from drivers.ios.usbmux import UsbmuxTarget, list_udids, usbmux_dial
from runner.errors import DeviceError
from runner.model.action import Tap
from runner.model.ids import DeviceId
from tests.drivers.ios.standin import StandIn, open_standin

UDID = "00008110-000A1B2C3D4E5F60"


def device(number: int, udid: str, connection: str = "USB") -> dict[str, Any]:
    properties = {"SerialNumber": udid, "ConnectionType": connection}
    return {"MessageType": "Attached", "DeviceID": number, "Properties": properties}


class Muxd:
    """A usbmuxd of a few lines, on a Unix socket: lists devices, and relays to one address."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.devices: list[Any] = [device(1, UDID, "Network"), device(2, UDID), device(3, "OTHER")]
        self.relay_to: StandIn | None = None
        self.connects: list[tuple[int, int]] = []
        self.result = 0
        self.raw: bytes | None = None
        self.hangs = False

    async def serve(self, stream: trio.SocketStream) -> None:
        async with stream:
            try:
                await self._serve(stream)
            except trio.BrokenResourceError:
                return

    async def _serve(self, stream: trio.SocketStream) -> None:
        while True:
            head = await stream.receive_some(16)
            if not head:
                return
            length, _, _, tag = struct.unpack("<IIII", head)
            request = plistlib.loads(await stream.receive_some(length - 16))
            if self.hangs:
                await trio.sleep_forever()
            if self.raw is not None:
                await stream.send_all(self.raw)
                return
            answer = self._answer(request)
            data = plistlib.dumps(answer)
            await stream.send_all(struct.pack("<IIII", len(data) + 16, 1, 8, tag) + data)
            if request["MessageType"] == "Connect" and answer["Number"] == 0:
                assert self.relay_to is not None
                await self.relay_to.serve(stream)
                return

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["MessageType"] == "ListDevices":
            return {"DeviceList": self.devices}
        self.connects.append((request["DeviceID"], socket.ntohs(request["PortNumber"])))
        return {"MessageType": "Result", "Number": self.result}


@asynccontextmanager
async def open_muxd(folder: Path) -> AsyncGenerator[Muxd]:
    muxd = Muxd(folder / "usbmuxd")
    listener = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    await listener.bind(muxd.path)
    listener.listen(16)
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, muxd.serve, [trio.SocketListener(listener)])
        yield muxd
        nursery.cancel_scope.cancel()
    await trio.Path(muxd.path).unlink()


def target(muxd: Muxd, udid: str = UDID) -> UsbmuxTarget:
    return UsbmuxTarget(udid=udid, port=8100, socket_path=muxd.path)


async def dial_failure(muxd: Muxd, udid: str = UDID) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        await usbmux_dial(target(muxd, udid))()
    return caught.value


async def test_each_listed_phone_is_named_once(tmp_path: Path) -> None:
    async with open_muxd(tmp_path) as muxd:
        assert await list_udids(muxd.path) == (UDID, "OTHER")


async def test_a_phone_is_driven_over_one_connection_by_cable(tmp_path: Path) -> None:
    async with open_muxd(tmp_path) as muxd, open_standin() as standin:
        muxd.relay_to = standin
        async with open_ios_device(
            device_id=DeviceId("p"), usbmux=target(muxd, UDID.replace("-", ""))
        ) as phone:
            await phone.perform(Tap(x=1, y=2))

        assert muxd.connects == [(2, 8100)]
        assert "POST /wda/tap" in standin.seen


async def test_a_phone_that_is_not_listed_is_unreachable(tmp_path: Path) -> None:
    async with open_muxd(tmp_path) as muxd:
        error = await dial_failure(muxd, "ABSENT")

    assert (error.kind, error.reason) == ("device_lost", "device_unreachable")
    assert "does not list it" in error.message


@pytest.mark.parametrize(
    ("result", "reason", "word"),
    [
        (2, "device_unreachable", "disconnected"),
        (3, "device_unreachable", "nothing listens"),
        (1, "usbmux_answer_invalid", "BadCommand"),
        (99, "usbmux_answer_invalid", "MuxError"),
    ],
)
async def test_a_refused_connection_says_why(
    tmp_path: Path, result: int, reason: str, word: str
) -> None:
    async with open_muxd(tmp_path) as muxd:
        muxd.result = result
        error = await dial_failure(muxd)

    assert error.reason == reason
    assert word in error.message


async def test_no_usbmuxd_at_the_path_is_said_so(tmp_path: Path) -> None:
    for path in (str(tmp_path / "absent"), "127.0.0.1:1"):
        with pytest.raises(DeviceError) as caught:
            await list_udids(path)

        assert (caught.value.kind, caught.value.reason) == ("device_lost", "usbmux_unreachable")
        assert path in caught.value.message


async def test_a_usbmuxd_that_hangs_is_left_at_once_and_no_thread_stays(tmp_path: Path) -> None:
    async with open_muxd(tmp_path) as muxd:
        muxd.hangs = True
        began = trio.current_time()
        with trio.move_on_after(0.1):
            await list_udids(muxd.path)
        took = trio.current_time() - began
        muxd.hangs = False

        assert took < 0.4
        assert await list_udids(muxd.path) == (UDID, "OTHER")


async def test_listed_devices_that_make_no_sense_are_an_invalid_answer(tmp_path: Path) -> None:
    odd: list[Any] = [
        7,
        {"MessageType": "Attached"},
        {"MessageType": "Unheard"},
        device(1, UDID) | {"DeviceID": "one"},
        {"MessageType": "Attached", "DeviceID": 1, "Properties": 3},
    ]
    async with open_muxd(tmp_path) as muxd:
        for entry in odd:
            muxd.devices = [entry]
            error = await dial_failure(muxd)

            assert (error.kind, error.reason) == ("driver_fault", "usbmux_answer_invalid")


FRAMES = st.binary(max_size=60) | st.tuples(
    st.sampled_from([16, 17, 40, 2**32 - 1]), st.sampled_from([0, 1, 7]), st.binary(max_size=40)
).map(lambda each: struct.pack("<IIII", each[0], each[1], 8, 1) + each[2])


@pytest.mark.slow
@given(frame=FRAMES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_bytes_usbmuxd_sends_only_our_errors_come_out(
    tmp_path: Path, frame: bytes
) -> None:
    async def main() -> str:
        async with open_muxd(tmp_path) as muxd:
            muxd.raw = frame
            return (await dial_failure(muxd)).reason

    assert trio.run(main) in {"usbmux_unreachable", "usbmux_answer_invalid"}
