"""Frames of the usbmux protocol, plist version: bytes to requests, answers to bytes.

Pure. A frame is a header of four little-endian words (length with the header, protocol version,
message type, tag) and a property list. Whatever a client sends, only `lab_frame_invalid` comes out.

May be imported by: grid.lab, tests. Imports: runner.errors.
"""

import plistlib
import struct
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from msgspec import Struct

from runner.errors import InputError

HEADER_BYTES: Final = 16
MAX_FRAME_BYTES: Final = 64 * 1024
VERSION_PLIST: Final = 1
MESSAGE_PLIST: Final = 8
MESSAGE_RESULT: Final = 1

OK: Final = 0
BAD_COMMAND: Final = 1
BAD_DEVICE: Final = 2
REFUSED: Final = 3
BAD_VERSION: Final = 6

_HEADER: Final = struct.Struct("<IIII")


class Header(Struct, frozen=True):
    """The head of one frame; `body_bytes` follow it."""

    body_bytes: int
    version: int
    message: int
    tag: int


def parse_header(data: bytes) -> Header:
    """Read a header. Reasons: `lab_frame_invalid`."""
    if len(data) != HEADER_BYTES:
        _refuse(f"its header has {len(data)} bytes, not {HEADER_BYTES}")
    length, version, message, tag = _HEADER.unpack(data)
    if not HEADER_BYTES <= length <= MAX_FRAME_BYTES:
        _refuse(f"it says that it is {length} bytes long")
    return Header(length - HEADER_BYTES, version, message, tag)


def parse_request(body: bytes) -> Mapping[str, Any]:
    """Read the property list of a request. Reasons: `lab_frame_invalid`."""
    try:
        found = plistlib.loads(body)
    except Exception as error:  # noqa: BLE001 - plistlib lets through what expat and its own parts raise.
        _refuse(f"its property list cannot be read: {error!r}", cause=error)
    if not isinstance(found, dict) or not isinstance(found.get("MessageType"), str):
        _refuse("its property list is not a dictionary with a MessageType")
    return found


def read_integer(request: Mapping[str, Any], key: str) -> int:
    """Return a number of a request. Reasons: `lab_frame_invalid`."""
    value = request.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 32:
        _refuse(f"its {key} is {value!r}")
    return value


def swap_port(port: int) -> int:
    """Return a port in the other byte order, which is how the protocol has it."""
    return (port & 0xFF) << 8 | port >> 8 & 0xFF


def render_plist(message: Mapping[str, Any], tag: int) -> bytes:
    """Return the frame of a property list."""
    body = plistlib.dumps(dict(message))
    return _HEADER.pack(HEADER_BYTES + len(body), VERSION_PLIST, MESSAGE_PLIST, tag) + body


def render_result(number: int, tag: int) -> bytes:
    """Return the frame of a result."""
    return render_plist({"MessageType": "Result", "Number": number}, tag)


def render_binary_result(number: int, tag: int) -> bytes:
    """Return a result for a client of the old binary protocol."""
    return _HEADER.pack(HEADER_BYTES + 4, 0, MESSAGE_RESULT, tag) + struct.pack("<I", number)


def _refuse(why: str, *, cause: Exception | None = None) -> NoReturn:
    raise InputError(
        reason="lab_frame_invalid",
        message=f"a usbmux frame cannot be used: {why}",
        details={"protocol": "usbmux", "problem": why},
    ) from cause
