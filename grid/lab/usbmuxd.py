"""A usbmuxd on a Unix socket: lists the lab's iPhones and dials their ports.

A connection speaks frames until `Connect` succeeds; from then on it carries bytes to the device's
port and back. A client that speaks something else is cut off, the others are not touched. A phone
whose cable is pulled (the fault `drop`, while it lasts) is not listed and cannot be dialled.

May be imported by: grid.lab, runner.cli, tests. Imports: grid.lab, runner.errors, trio.
"""

import os
import socket
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import trio
from msgspec import Struct

from grid.lab.phone import SimPhone
from grid.lab.usbmux_frame import (
    BAD_COMMAND,
    BAD_DEVICE,
    BAD_VERSION,
    HEADER_BYTES,
    MESSAGE_PLIST,
    OK,
    REFUSED,
    VERSION_PLIST,
    parse_header,
    parse_request,
    read_integer,
    render_binary_result,
    render_plist,
    render_result,
    swap_port,
)
from runner.errors import InputError

BUID: Final = "8D5C2F10-1A2B-4C3D-9E4F-5A6B7C8D9E0F"
FACE: Final = "usbmux"
_CHUNK_BYTES: Final = 64 * 1024
_POLL_S: Final = 0.05


class UsbDevice(Struct, frozen=True, kw_only=True):
    """One phone on the bus: `ports` maps its own ports to where they really listen."""

    device_id: int
    phone: SimPhone
    ports: Mapping[int, tuple[str, int]]

    @property
    def is_attached(self) -> bool:
        """Whether its cable is in."""
        return self.phone.faults.get("drop") is None


async def serve_usbmuxd(
    devices: Sequence[UsbDevice],
    *,
    path: Path,
    task_status: trio.TaskStatus[Path] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the socket at `path`, for its owner alone, until cancelled; removes it at the end."""
    listener = _listen(path)
    bus = _Bus(devices)
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(trio.serve_listeners, bus.serve_connection, [listener])
            task_status.started(path)
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _listen(path: Path) -> trio.SocketListener:
    # Bound before it listens, and closed to others in between: nobody can slip in.
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.settimeout(0)
        bound.bind(os.fspath(path))
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)
        bound.listen(128)
    except OSError:
        bound.close()
        raise
    return trio.SocketListener(trio.socket.from_stdlib_socket(bound))


@final
class _Bus:
    """The devices and what clients ask of them."""

    def __init__(self, devices: Sequence[UsbDevice]) -> None:
        self._devices = tuple(devices)

    async def serve_connection(self, stream: trio.SocketStream) -> None:
        try:
            await self._serve_frames(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # The client left in the middle of something.
        except InputError as error:
            for device in self._devices:
                device.phone.trace.record(FACE, str(error))

    async def _serve_frames(self, stream: trio.SocketStream) -> None:
        while True:
            head = await _read_exactly(stream, HEADER_BYTES)
            if head is None:
                return
            header = parse_header(head)
            body = await _read_exactly(stream, header.body_bytes)
            if body is None:
                return
            if header.version != VERSION_PLIST or header.message != MESSAGE_PLIST:
                await stream.send_all(render_binary_result(BAD_VERSION, header.tag))
                return
            request = parse_request(body)
            match request["MessageType"]:
                case "Connect":
                    if await self._connect(stream, request, header.tag):
                        return
                case "Listen":
                    await self._listen(stream, header.tag)
                    return
                case "ListDevices":
                    listed = [_describe(device) for device in self._devices if device.is_attached]
                    await stream.send_all(render_plist({"DeviceList": listed}, header.tag))
                case "ReadBUID":
                    await stream.send_all(render_plist({"BUID": BUID}, header.tag))
                case _:
                    await stream.send_all(render_result(BAD_COMMAND, header.tag))

    async def _connect(
        self, stream: trio.SocketStream, request: Mapping[str, Any], tag: int
    ) -> bool:
        """Dial a device's port; on success carry bytes until either side ends."""
        device_id = read_integer(request, "DeviceID")
        port = swap_port(read_integer(request, "PortNumber"))
        device = next((d for d in self._devices if d.device_id == device_id), None)
        if device is None or not device.is_attached:
            await stream.send_all(render_result(BAD_DEVICE, tag))
            return False
        device.phone.trace.record(FACE, f"Connect {port}")
        address = device.ports.get(port)
        inner: trio.SocketStream | None = None
        if address is not None:
            try:
                inner = await trio.open_tcp_stream(*address)
            except OSError:
                inner = None
        if inner is None:
            await stream.send_all(render_result(REFUSED, tag))
            return False
        async with inner:
            await stream.send_all(render_result(OK, tag))
            await _join(stream, inner)
        return True

    async def _listen(self, stream: trio.SocketStream, tag: int) -> None:
        """Tell of each device that comes and goes, until the client leaves."""
        await stream.send_all(render_result(OK, tag))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell, stream)
            while await stream.receive_some(_CHUNK_BYTES):
                pass  # A listening connection takes no more requests.
            nursery.cancel_scope.cancel()

    async def _tell(self, stream: trio.SocketStream) -> None:
        known: set[int] = set()
        while True:
            for device in self._devices:
                is_known = device.device_id in known
                if device.is_attached and not is_known:
                    known.add(device.device_id)
                    await stream.send_all(render_plist(_describe(device), 0))
                elif is_known and not device.is_attached:
                    known.remove(device.device_id)
                    gone = {"MessageType": "Detached", "DeviceID": device.device_id}
                    await stream.send_all(render_plist(gone, 0))
            await trio.sleep(_POLL_S)


def _describe(device: UsbDevice) -> dict[str, Any]:
    return {
        "MessageType": "Attached",
        "DeviceID": device.device_id,
        "Properties": {
            "ConnectionType": "USB",
            "DeviceID": device.device_id,
            "SerialNumber": device.phone.serial,
            "ProductID": 0x12A8,
            "LocationID": device.device_id << 16,
            "ConnectionSpeed": 480_000_000,
        },
    }


async def _read_exactly(stream: trio.SocketStream, size: int) -> bytes | None:
    """Return `size` bytes, or None when the client closed before."""
    data = b""
    while len(data) < size:
        more = await stream.receive_some(size - len(data))
        if not more:
            return None
        data += more
    return data


async def _join(left: trio.SocketStream, right: trio.SocketStream) -> None:
    """Carry bytes both ways until one side ends or breaks."""
    async with trio.open_nursery() as nursery:

        async def carry(source: trio.SocketStream, sink: trio.SocketStream) -> None:
            try:
                while data := await source.receive_some(_CHUNK_BYTES):
                    await sink.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass  # Broken or ended, the pair is over.
            nursery.cancel_scope.cancel()

        nursery.start_soon(carry, left, right)
        nursery.start_soon(carry, right, left)
