"""The Android face of a virtual phone: an adbd over TCP that a real adb server connects to.

One connection carries many streams. Each stream has at most one unacknowledged write in either
direction, as the protocol demands, so memory is bounded by the streams that are open. What happens
on a stream is a service (`grid.lab.service`). Faults act here: `drop`, `stall`, `slow`.

May be imported by: grid.lab, runner.cli, tests. Imports: grid.lab, runner.errors.
"""

from collections import deque
from typing import Final, final

import trio

from grid.lab.android import AndroidSystem, LatencyProfile
from grid.lab.phone import SimPhone
from grid.lab.service import Service, find_service
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
    encode,
)
from runner import wire
from runner.errors import RunnerError

FACE: Final = "adb"
MAX_STREAMS: Final = 256
_FEATURES: Final = "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir,sendrecv_v2"
_READ_SIZE: Final = 1 << 16


async def serve_adbd(
    phone: SimPhone,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    profile: LatencyProfile | None = None,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the phone to adb servers until cancelled; started with the port that it listens on."""
    system = AndroidSystem(phone, profile=profile or LatencyProfile())
    listeners = await trio.open_tcp_listeners(port, host=host)
    bound = int(listeners[0].socket.getsockname()[1])

    async def handle(stream: trio.SocketStream) -> None:
        await _run_connection(system, stream)

    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, handle, listeners)
        task_status.started(bound)


@final
class AdbStream:
    """One open stream, as its service sees it: bytes in, bytes out."""

    def __init__(self, connection: "_Connection", own_id: int, peer_id: int) -> None:
        self.own_id = own_id
        self.peer_id = peer_id
        self.scope = trio.CancelScope()
        self._connection = connection
        self._inbox: deque[bytes] = deque()
        self._arrived = trio.Event()
        self._acknowledged = trio.Event()
        self._is_ended = False
        self._unsent = [encode(OKAY, own_id, peer_id)]

    async def read(self) -> bytes:
        """Return the next bytes of the client; empty when it has closed the stream."""
        await self._send()
        while not self._inbox:
            if self._is_ended:
                return b""
            await self._arrived.wait()
        data = self._inbox.popleft()
        self._arrived = trio.Event()
        await self._send(encode(OKAY, self.own_id, self.peer_id))
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when the client has taken them all. None: say that it is open."""
        limit = self._connection.max_payload
        if not data:
            await self._send()
        for start in range(0, len(data), limit):
            await self._write_chunk(data[start : start + limit])

    async def finish(self, data: bytes) -> None:
        """Send the last bytes with the end of the stream right behind them."""
        limit = self._connection.max_payload
        while len(data) > limit:
            await self._write_chunk(data[:limit])
            data = data[limit:]
        if data:
            self._unsent.append(encode(WRTE, self.own_id, self.peer_id, data))

    async def close(self) -> None:
        """Send what is unsent and that the stream has ended."""
        await self._send(encode(CLSE, self.own_id, self.peer_id))

    async def _write_chunk(self, chunk: bytes) -> None:
        self._acknowledged = trio.Event()
        await self._send(encode(WRTE, self.own_id, self.peer_id, chunk))
        await self._acknowledged.wait()

    async def _send(self, *packets: bytes) -> None:
        if self._unsent:
            packets = (*self._unsent, *packets)
            self._unsent.clear()
        if packets:
            await self._connection.send(*packets)

    def deliver(self, data: bytes) -> bool:
        """Take a write of the client; False when it did not wait for the last one's OKAY."""
        if self._inbox:
            return False
        self._inbox.append(data)
        self._arrived.set()
        return True

    def acknowledge(self) -> None:
        """Note that the client took our last write."""
        self._acknowledged.set()

    def end(self) -> None:
        """The client closed the stream: its service ends at once, as a process without a tty."""
        self._is_ended = True
        self._arrived.set()
        self.scope.cancel()


@final
class _Connection:
    """One adb server's connection: the packets both ways and the open streams."""

    def __init__(
        self, system: AndroidSystem, stream: trio.SocketStream, nursery: trio.Nursery
    ) -> None:
        self.max_payload = MAX_PAYLOAD
        self._system = system
        self._link = stream.socket
        self._nursery = nursery
        self._send_lock = trio.Lock()
        self._streams: dict[int, AdbStream] = {}
        self._next_id = 1
        self._is_greeted = False

    async def send(self, *packets: bytes) -> None:
        """Send packets: at once, or each after the latency and stalls that the faults ask for."""
        try:
            self._send_lock.acquire_nowait()  # A free lock needs no turn of the event loop.
        except trio.WouldBlock:
            await self._send_lock.acquire()
        try:
            faults = self._system.phone.faults
            if faults.get("stall") is None and faults.get("slow") is None:
                await wire.send_all(self._link, b"".join(packets))
            else:
                for packet in packets:
                    await self._send_late(packet)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # Nobody is left to serve: every task of this connection ends.
            self._nursery.cancel_scope.cancel()
            await trio.lowlevel.checkpoint()
        finally:
            self._send_lock.release()

    async def _send_late(self, packet: bytes) -> None:
        await _wait_stall(self._system.phone)
        slow = self._system.phone.faults.get("slow")
        if slow is not None:
            await trio.sleep(slow["latency_ms"] / 1000)
        await wire.send_all(self._link, packet)

    async def receive(self, packet: Packet) -> None:
        """Handle one packet of the adb server."""
        if packet.command == CNXN:
            self.max_payload = max(1, min(MAX_PAYLOAD, packet.arg1))
            self._is_greeted = True
            await self.send(encode(CNXN, VERSION, MAX_PAYLOAD, _banner(self._system)))
        elif not self._is_greeted:
            return
        elif packet.command == OPEN:
            await self._open(packet)
        else:
            await self._pass_on(packet)

    async def _open(self, packet: Packet) -> None:
        name = packet.payload.rstrip(b"\0").decode("utf-8", "replace")
        self._system.phone.trace.record(FACE, name)
        service = find_service(name, self._system)
        if service is None or packet.arg0 == 0 or len(self._streams) >= MAX_STREAMS:
            self._system.phone.log("adbd", f"refused service {name!r}", level="W")
            await self.send(encode(CLSE, 0, packet.arg0))
            return
        stream = AdbStream(self, self._next_id, packet.arg0)
        self._next_id += 1
        self._streams[stream.own_id] = stream
        # The stream itself says that it is open, with its first output or before its first wait.
        self._nursery.start_soon(self._run_service, service, stream)

    async def _run_service(self, service: Service, stream: AdbStream) -> None:
        with stream.scope:
            await service(stream)
        if self._streams.pop(stream.own_id, None) is not None:
            await stream.close()
        if self._system.is_rebooting:
            # What asked for the reboot has its answer; the cable of a rebooting phone is dead.
            self._system.is_rebooting = False
            self._nursery.cancel_scope.cancel()

    async def _pass_on(self, packet: Packet) -> None:
        stream = self._streams.get(packet.arg1)
        if packet.command == OKAY:
            if stream is not None:
                stream.acknowledge()
        elif packet.command == CLSE:
            if stream is not None:
                del self._streams[stream.own_id]
                stream.end()
                await self.send(encode(CLSE, stream.own_id, stream.peer_id))
        elif packet.command == WRTE and (stream is None or not stream.deliver(packet.payload)):
            if stream is not None:
                del self._streams[stream.own_id]
                stream.end()
            await self.send(encode(CLSE, 0, packet.arg0))


async def _run_connection(system: AndroidSystem, stream: trio.SocketStream) -> None:
    """Serve one adb server until either side ends it. Garbage ends this connection alone."""
    phone = system.phone
    if phone.faults.get("drop") is not None:
        return
    async with trio.open_nursery() as nursery:
        connection = _Connection(system, stream, nursery)

        def watch(name: str) -> None:
            if name == "drop":
                nursery.cancel_scope.cancel()

        stop_watching = phone.faults.subscribe(watch)
        try:
            await _read_packets(connection, stream, phone)
        except RunnerError as error:
            phone.log("adbd", error.message, level="E")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            phone.log("adbd", "the adb server's connection broke", level="W")
        finally:
            stop_watching()
            nursery.cancel_scope.cancel()


async def _read_packets(
    connection: _Connection, stream: trio.SocketStream, phone: SimPhone
) -> None:
    decoder = PacketDecoder()
    while True:
        data = await wire.receive(stream.socket, _READ_SIZE)
        if not data:
            return
        phone.trace.count_received(FACE, len(data))
        for packet in decoder.feed(data):
            if phone.faults.get("stall") is not None:
                await _wait_stall(phone)
            await connection.receive(packet)


async def _wait_stall(phone: SimPhone) -> None:
    """Wait while the phone has the fault `stall`."""
    while (remaining_s := phone.faults.remaining_s("stall")) > 0:
        await _wait_fault_change(phone, remaining_s)


async def _wait_fault_change(phone: SimPhone, limit_s: float) -> None:
    changed = trio.Event()
    stop_watching = phone.faults.subscribe(lambda _: changed.set())
    try:
        with trio.move_on_after(limit_s):
            await changed.wait()
    finally:
        stop_watching()


def _banner(system: AndroidSystem) -> bytes:
    props = ";".join(
        f"{name}={system.get_prop(name)}"
        for name in ("ro.product.name", "ro.product.model", "ro.product.device")
    )
    return f"device::{props};features={_FEATURES}".encode()
