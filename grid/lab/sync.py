"""The sync service of a virtual phone: files to and from its disk.

Both generations of every request: STAT and STA2/LST2, LIST and LIS2, SEND and SND2, RECV and RCV2,
and QUIT. No compression is offered, so a client must not ask for it.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.errors.
"""

import errno
import posixpath
import stat
import struct
from typing import Final, Protocol, final

from grid.lab.disk import FileStat, VirtualDisk
from runner.errors import InputError

MAX_CHUNK: Final = 64 << 10
MAX_PATH: Final = 1_024
MAX_FILE: Final = 256 << 20
_REQUEST: Final = struct.Struct("<4sI")
_STAT1: Final = struct.Struct("<4s3I")
_STAT2: Final = struct.Struct("<4sI2Q4IQ3q")
_DENT1: Final = struct.Struct("<4s4I")
_DENT2: Final = struct.Struct("<4sI2Q4IQ3qI")
_SEND2: Final = struct.Struct("<4s2I")


class SyncStream(Protocol):
    """The stream that the service talks on."""

    async def read(self) -> bytes:
        """Return the next bytes; empty at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        ...


async def serve_sync(disk: VirtualDisk, stream: SyncStream) -> None:
    """Answer requests until QUIT or the end. Bytes that are no request end the service."""
    session = _Session(disk, stream)
    try:
        while await session.answer_next():
            pass
    except InputError as error:
        await stream.write(_fail(error.message))


def _fail(message: str) -> bytes:
    data = message.encode()
    return _REQUEST.pack(b"FAIL", len(data)) + data


@final
class _Session:
    """One sync conversation. Reasons: `lab_frame_invalid`."""

    def __init__(self, disk: VirtualDisk, stream: SyncStream) -> None:
        self._disk = disk
        self._stream = stream
        self._buffer = bytearray()

    async def answer_next(self) -> bool:
        """Answer one request; False when the client is done."""
        head = await self._take(_REQUEST.size, at_start=True)
        if not head:
            return False
        request, size = _REQUEST.unpack(head)
        if request == b"QUIT":
            return False
        if size > MAX_PATH:
            raise _invalid(f"a path of {size} bytes is too long")
        path = (await self._take(size)).decode("utf-8", "surrogateescape")
        match request:
            case b"STAT":
                await self._stream.write(_stat1(self._stat(path)))
            case b"STA2" | b"LST2":
                await self._stream.write(_stat2(request, self._stat(path)))
            case b"LIST" | b"LIS2":
                await self._list(path, is_second=request == b"LIS2")
            case b"RECV":
                await self._send_file(path)
            case b"RCV2":
                await self._take(_REQUEST.size)  # The flags: no compression is offered.
                await self._send_file(path)
            case b"SEND":
                name, _, mode = path.rpartition(",")
                known = bool(name) and mode.isascii() and mode.isdigit() and len(mode) < 9
                await self._receive_file(name if known else path, int(mode) if known else 0o644)
            case b"SND2":
                _, mode2, _ = _SEND2.unpack(await self._take(_SEND2.size))
                await self._receive_file(path, mode2)
            case _:
                raise _invalid(f"unknown command {request!r}")
        return True

    async def _take(self, size: int, *, at_start: bool = False) -> bytes:
        """Return exactly `size` bytes; `at_start` allows the end of the stream instead."""
        while len(self._buffer) < size:
            data = await self._stream.read()
            if not data:
                if at_start and not self._buffer:
                    return b""
                raise _invalid("the client ended in mid request")
            self._buffer += data
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _stat(self, path: str) -> FileStat | None:
        try:
            return self._disk.stat(path)
        except OSError:
            return None

    async def _list(self, path: str, *, is_second: bool) -> None:
        entries = bytearray()
        try:
            names = self._disk.list_folder(path)
        except OSError:
            names = ()  # A folder that cannot be read lists as empty, as adbd does.
        for name in names:
            found = self._disk.stat(posixpath.join(path, name))
            raw = name.encode("utf-8", "surrogateescape")
            if is_second:
                entries += _DENT2.pack(b"DNT2", *_stat2_fields(found), len(raw)) + raw
            else:
                mode, size, mtime = _stat1_fields(found)
                entries += _DENT1.pack(b"DENT", mode, size, mtime, len(raw)) + raw
        entries += b"DONE" + bytes(72 if is_second else 16)
        await self._stream.write(bytes(entries))

    async def _send_file(self, path: str) -> None:
        try:
            data = self._disk.read(path)
        except OSError as error:
            await self._stream.write(_fail(error.strerror or "read failed"))
            return
        view = memoryview(data)
        parts: list[bytes] = []
        for start in range(0, len(data), MAX_CHUNK):
            chunk = view[start : start + MAX_CHUNK]
            parts += (_REQUEST.pack(b"DATA", len(chunk)), bytes(chunk))
            if len(parts) >= 16:
                await self._stream.write(b"".join(parts))
                parts.clear()
        parts.append(_REQUEST.pack(b"DONE", 0))
        await self._stream.write(b"".join(parts))

    async def _receive_file(self, path: str, mode: int) -> None:
        """Take a file; a failure is told after the last byte came, when the client listens."""
        parts: list[bytes] = []
        total = 0
        while True:
            kind, size = _REQUEST.unpack(await self._take(_REQUEST.size))
            if kind == b"DONE":
                break
            if kind != b"DATA" or size > MAX_CHUNK:
                raise _invalid(f"{kind!r} of {size} bytes in mid file")
            chunk = await self._take(size)
            total += size
            if total <= MAX_FILE:
                parts.append(chunk)
        if total > MAX_FILE:
            await self._stream.write(_fail("couldn't create file: No space left on device"))
            return
        try:
            parent = posixpath.dirname(path)
            self._disk.make_folder(parent, parents=True)
            self._disk.write(path, b"".join(parts), mode=mode & 0o777, mtime=size)
        except OSError as error:
            await self._stream.write(_fail(f"couldn't create file: {error.strerror}"))
            return
        await self._stream.write(_REQUEST.pack(b"OKAY", 0))


def _invalid(message: str) -> InputError:
    return InputError(reason="lab_frame_invalid", message=f"sync: {message}")


def _stat1(found: FileStat | None) -> bytes:
    return _STAT1.pack(b"STAT", *_stat1_fields(found))


def _stat1_fields(found: FileStat | None) -> tuple[int, int, int]:
    return (found.mode, found.size, found.mtime & 0xFFFFFFFF) if found else (0, 0, 0)


def _stat2(request: bytes, found: FileStat | None) -> bytes:
    if found is None:
        return _STAT2.pack(request, errno.ENOENT, *(0,) * 10)
    return _STAT2.pack(request, *_stat2_fields(found))


def _stat2_fields(found: FileStat) -> tuple[int, ...]:
    """Return error, dev, ino, mode, nlink, uid, gid, size and the three times."""
    links = 2 if stat.S_ISDIR(found.mode) else 1
    times = (found.mtime,) * 3
    return (0, 1, 1, found.mode, links, 2000, 2000, found.size, *times)
