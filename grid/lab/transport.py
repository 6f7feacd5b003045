"""The adb transport's packets: six little-endian words and a payload.

Pure. `PacketDecoder` takes bytes as they come and yields whole packets; it refuses what no adb
server would send, so nothing unbounded is ever buffered.

May be imported by: grid.lab, tests. Imports: runner.errors.
"""

import struct
from collections.abc import Iterator
from typing import Final, final

from msgspec import Struct

from runner.errors import InputError

CNXN: Final = 0x4E584E43
OPEN: Final = 0x4E45504F
OKAY: Final = 0x59414B4F
WRTE: Final = 0x45545257
CLSE: Final = 0x45534C43
AUTH: Final = 0x48545541

VERSION: Final = 0x01000001
"""From this version on, both sides ignore the checksum."""
MAX_PAYLOAD: Final = 1 << 20

_COMMANDS: Final = frozenset((CNXN, OPEN, OKAY, WRTE, CLSE, AUTH))
_HEADER: Final = struct.Struct("<6I")


class Packet(Struct, frozen=True):
    """One message of the transport."""

    command: int
    arg0: int
    arg1: int
    payload: bytes = b""


def encode(command: int, arg0: int, arg1: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a packet by its parts."""
    return _HEADER.pack(command, arg0, arg1, len(payload), 0, command ^ 0xFFFFFFFF) + payload


def encode_packet(packet: Packet) -> bytes:
    """Return the bytes of a packet."""
    return encode(packet.command, packet.arg0, packet.arg1, packet.payload)


@final
class PacketDecoder:
    """Cuts a byte stream into packets. Reasons: `lab_frame_invalid`."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Packet]:
        """Add bytes and yield the packets that they complete."""
        self._buffer += data
        while len(self._buffer) >= _HEADER.size:
            command, arg0, arg1, size, _, magic = _HEADER.unpack_from(self._buffer)
            if command not in _COMMANDS or magic != command ^ 0xFFFFFFFF:
                raise _invalid(f"no adb packet starts with {bytes(self._buffer[:8])!r}")
            if size > MAX_PAYLOAD:
                raise _invalid(f"an adb packet of {size} bytes is over the limit of {MAX_PAYLOAD}")
            end = _HEADER.size + size
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[_HEADER.size : end])
            del self._buffer[:end]
            yield Packet(command, arg0, arg1, payload)


def _invalid(message: str) -> InputError:
    return InputError(reason="lab_frame_invalid", message=message)
