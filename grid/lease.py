"""Device leases: who may command a device, and until when.

`advance` is pure. A lease is held by one holder under a fence that only grows, and ends by release
or when its time is over, by nothing else. A late renewal does not revive it: somebody else may
have held the device meanwhile.

    lease now          Take                   Renew (same fence)    Release (same fence)
    none, or expired   granted, higher fence  refused               nothing to do
    held               refused                granted, later end    ended

`LeaseStore` keeps the leases of one computer's user as files in a private folder, one for each
held device, so that two runs there do not share a phone. Every change is made under one file lock
and is atomic. Fences grow by wall time, so that they grow also after a file is gone.

May be imported by: grid, runner.cli, tests. Imports: runner.model, runner.errors, trio.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias, assert_never, final
from urllib.parse import quote

import msgspec
import trio
from msgspec import Struct
from msgspec.structs import replace

from runner.errors import GridError
from runner.model.ids import Fence


class Lease(Struct, frozen=True, kw_only=True, rename="camel"):
    """One holder's right to one device; `expires_ms` is UTC wall time since the epoch."""

    device: str
    holder: str
    fence: Fence
    expires_ms: int


class Take(Struct, frozen=True, kw_only=True):
    """`holder` wants the device."""

    device: str
    holder: str
    at_ms: int
    ttl_ms: int


class Renew(Struct, frozen=True, kw_only=True):
    """The holder of `fence` wants to keep it."""

    device: str
    fence: Fence
    at_ms: int
    ttl_ms: int


class Release(Struct, frozen=True, kw_only=True):
    """The holder of `fence` needs it no more."""

    device: str
    fence: Fence


LeaseEvent: TypeAlias = Take | Renew | Release


def advance(lease: Lease | None, event: LeaseEvent) -> tuple[Lease | None, bool]:
    """Return the lease after `event`, and whether the event got what it wanted."""
    match event:
        case Take():
            if lease is not None and event.at_ms < lease.expires_ms:
                return lease, False
            fence = Fence(max(event.at_ms, (lease.fence if lease else 0) + 1))
            expires_ms = event.at_ms + event.ttl_ms
            taken = Lease(
                device=event.device, holder=event.holder, fence=fence, expires_ms=expires_ms
            )
            return taken, True
        case Renew():
            if lease is None or lease.fence != event.fence or event.at_ms >= lease.expires_ms:
                return lease, False
            return replace(lease, expires_ms=event.at_ms + event.ttl_ms), True
        case Release():
            if lease is None or lease.fence != event.fence:
                return lease, False
            return None, True
        case _:
            assert_never(event)


_RECORD_BYTES: Final = 512
_LOCK_TRIES: Final = 100
_LOCK_PAUSE_S: Final = 0.01


@final
class LeaseStore:
    """The leases of this computer's user, as files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def apply(self, event: LeaseEvent) -> tuple[Lease | None, bool]:
        """Enter `event`; return the lease that now stands and whether `event` succeeded.

        Reasons: `lease_store_failed`.
        """
        for _ in range(_LOCK_TRIES):
            done = self.apply_nowait(event)
            if done is not None:
                return done
            await trio.sleep(_LOCK_PAUSE_S)
        raise GridError(
            reason="lease_store_failed",
            message=f"another process keeps {self._folder / 'lock'} locked",
            details={"folder": str(self._folder)},
        )

    def apply_nowait(self, event: LeaseEvent) -> tuple[Lease | None, bool] | None:
        """Enter `event` at once, or return `None` while another process enters one.

        Reasons: `lease_store_failed`.
        """
        try:
            with self._lock() as is_ours:
                return self._enter(event) if is_ours else None
        except (OSError, msgspec.MsgspecError) as error:
            raise GridError(
                reason="lease_store_failed",
                message=f"the lease of {event.device!r} cannot be kept: {error}",
                details={"folder": str(self._folder), "device": event.device},
            ) from error

    def _enter(self, event: LeaseEvent) -> tuple[Lease | None, bool]:
        path = self._folder / f"{quote(event.device, safe='')}.json"
        before = _read(path)
        after, done = advance(before, event)
        if after is None:
            path.unlink(missing_ok=True)
        elif after != before:
            _write(path, msgspec.json.encode(after), is_there=before is not None)
        return after, done

    @contextmanager
    def _lock(self) -> Iterator[bool]:
        _make_private(self._folder)
        handle = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(handle)


def _make_private(folder: Path) -> None:
    """Make a folder, and the one that holds it, for this user alone. Raises `OSError`.

    The place above may be everybody's: what stands there already may be a trap.
    """
    for each in (folder.parent, folder):
        with suppress(FileExistsError):
            each.mkdir(mode=0o700, parents=True)
            continue
        facts = each.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
            raise PermissionError(errno.EPERM, f"{each} is not a folder of this user's own")
        if stat.S_IMODE(facts.st_mode) & 0o022:
            raise PermissionError(errno.EPERM, f"{each} can be written by others")


def _read(path: Path) -> Lease | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(data, type=Lease)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # A full disk or a crash cut it: nobody can be holding by it.


def _write(path: Path, data: bytes, *, is_there: bool) -> None:
    """Write a record, padded so that a renewal can overwrite it in one call.

    Renewals are frequent, and a rename is slow on some file systems; readers hold the lock.
    """
    record = data.ljust(_RECORD_BYTES)
    if is_there and path.stat().st_size == len(record):
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, record)
        finally:
            os.close(handle)
        return
    draft = path.with_suffix(".new")
    draft.write_bytes(record)
    draft.replace(path)


def lease_folder(environment: Mapping[str, str], user_id: int) -> Path:
    """Return the folder for leases: in the user's runtime folder, else a private one in /tmp."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "sweepgrid" / "leases"
    return Path(environment.get("TMPDIR", "/tmp")) / f"sweepgrid-{user_id}" / "leases"  # noqa: S108  # Made with mode 0700.
