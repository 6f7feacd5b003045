"""Judging what `screencap` sends: a whole PNG or nothing.

Pure. A stream without an end mark can stop anywhere, a terminal of an old device doubles line
ends, several displays put a warning before the image, and a refusal is text: none of these may
pass for a picture.

May be imported by: drivers.android, tests. Imports: nothing of ours.
"""

from typing import Final

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CHUNK_EXTRA: Final = 12
"""Length, type and checksum of a chunk."""


def find_png(raw: bytes) -> bytes | None:
    """Return the one complete PNG in `raw`, None when there is none."""
    start = raw.find(_SIGNATURE)
    if start < 0:
        return None
    at = start + len(_SIGNATURE)
    first = True
    while at + _CHUNK_EXTRA <= len(raw):
        size = int.from_bytes(raw[at : at + 4], "big")
        kind = raw[at + 4 : at + 8]
        if first and kind != b"IHDR":
            return None
        first = False
        at += size + _CHUNK_EXTRA
        if kind == b"IEND":
            return raw[start:at] if at <= len(raw) else None
    return None
