"""The journal file: one SQLite database a run, its rows and their checksums.

Layout 1. `events` holds one row an event: the event as MessagePack beside the columns that
queries need. A row's checksum covers its body and is seeded with the run and the row's identity,
so that a zeroed, moved or foreign row is seen. Rows are unique on source, fence and sequence:
writing an event twice is harmless. An old reader refuses a newer layout (`journal_unsupported`);
a new reader reads layout 1; an old writer never opens an existing file. While the writer lives it
holds a lock on a file beside it.

Blocking functions; callers on an event loop use a thread.

May be imported by: runner.record, tests. Imports: runner.model, runner.errors.
"""

import fcntl
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from runner.errors import EvidenceError
from runner.model.address import render_token
from runner.model.event import AttemptFinished, Event, StepFinished, VerdictReached
from runner.model.ids import RunId

LAYOUT: Final = 1
JOURNAL_NAME: Final = "journal.sqlite"
LOCK_NAME: Final = "journal.lock"

_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    fence INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    wall_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    plan TEXT,
    attempt TEXT,
    device TEXT,
    address TEXT,
    outcome TEXT,
    checksum INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (source, fence, sequence)
);
CREATE INDEX events_not_passed ON events (kind, plan) WHERE outcome IS NOT NULL
    AND outcome <> 'passed';
"""
_INSERT: Final = (
    "INSERT OR IGNORE INTO events (source, fence, sequence, wall_ms, kind, plan, attempt, device,"
    " address, outcome, checksum, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT: Final = (
    "SELECT id, source, fence, sequence, checksum, body FROM events WHERE id > ? ORDER BY id"
)
_NETWORK_FILESYSTEMS: Final = frozenset(
    {
        "9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "glusterfs", "lustre",
        "ncpfs", "nfs", "nfs4", "smb3", "smbfs",
    }
)  # fmt: skip

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Event)


class StoredEvent(Struct, frozen=True):
    """One row that was read: `row` grows in commit order."""

    row: int
    event: Event


class DamagedRow(Struct, frozen=True):
    """One row that cannot be trusted, and why."""

    row: int
    why: str


def filesystem_type(path: Path, mounts: str) -> str:
    """Return the type of the file system that holds `path`, from the text of a mount table."""
    best, kind = "", ""
    target = path.resolve().as_posix()
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def refuse_network_filesystem(folder: Path, mounts: str) -> None:
    """Refuse a folder on a network file system. Reasons: `journal_network_filesystem`."""
    kind = filesystem_type(folder, mounts)
    if kind in _NETWORK_FILESYSTEMS:
        raise EvidenceError(
            reason="journal_network_filesystem",
            message=f"{folder} is on a {kind} file system, where a journal cannot be kept safely",
            details={"path": str(folder), "filesystem": kind},
        )


def create_store(folder: Path, run_id: RunId) -> sqlite3.Connection:
    """Create the journal of a new run in `folder`.

    Reasons: `run_directory_used`, `journal_unwritable`, `journal_network_filesystem`.
    """
    path = folder / JOURNAL_NAME
    if path.exists():
        raise EvidenceError(
            reason="run_directory_used",
            message=f"{folder} already holds a run",
            details={"path": str(folder)},
        )
    mounts = Path("/proc/mounts")
    if mounts.exists():
        refuse_network_filesystem(folder, mounts.read_text(errors="replace"))
    try:
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        # Larger pages than usual: events are written once, in order, and read whole.
        connection.execute("PRAGMA page_size=16384")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("layout", str(LAYOUT)), ("run", run_id)]
        )
    except sqlite3.Error as error:
        raise unwritable(folder, str(error)) from error
    return connection


@contextmanager
def hold_writer_lock(folder: Path) -> Iterator[None]:
    """Let others see for how long the journal in `folder` is written, also after a kill.

    The file appears with its lock taken: who looks takes a lock too, for a moment.

    Reasons: `journal_unwritable`.
    """
    draft = folder / f"{LOCK_NAME}.{os.getpid()}"
    try:
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unwritable(folder, str(error)) from error
    try:
        with suppress(OSError):  # Some file systems know no locks; nothing but news depends on it.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            draft.replace(folder / LOCK_NAME)
        except OSError as error:
            raise unwritable(folder, str(error)) from error
        yield
    finally:
        os.close(handle)


def is_being_written(folder: Path) -> bool:
    """Tell whether the process that writes the journal in `folder` lives."""
    try:
        handle = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def unwritable(folder: Path, why: str) -> EvidenceError:
    """Return the error for a journal that cannot be written."""
    return EvidenceError(
        reason="journal_unwritable",
        message=f"the journal in {folder} cannot be written: {why}",
        details={"path": str(folder), "cause": why},
    )


def write_events(connection: sqlite3.Connection, run_id: RunId, events: Sequence[Event]) -> None:
    """Write `events` in one durable transaction. Raises `sqlite3.Error` when it cannot."""
    rows = [_row(run_id, event) for event in events]
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany(_INSERT, rows)
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def close_store(connection: sqlite3.Connection) -> None:
    """Fold the write-ahead log into the file and close it."""
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def read_rows(folder: Path, *, after: int = 0) -> Iterator[StoredEvent | DamagedRow]:
    """Read the committed rows behind row `after`, also while the run still writes.

    Reasons: `run_not_found`, `journal_unsupported`, `journal_damaged` (the file as a whole).
    """
    connection = _open_for_reading(folder)
    try:
        run_id = _run_id(connection, folder)
        for row, source, fence, sequence, checksum, body in connection.execute(_SELECT, (after,)):
            yield _checked(run_id, row, (source, fence, sequence), checksum, body)
    except sqlite3.Error as error:
        raise _damaged(folder, error) from error
    finally:
        connection.close()


def _open_for_reading(folder: Path) -> sqlite3.Connection:
    path = folder / JOURNAL_NAME
    if not path.is_file():
        raise EvidenceError(
            reason="run_not_found",
            message=f"{folder} is not a run directory: it has no {JOURNAL_NAME}",
            details={"path": str(folder)},
        )
    # A closed journal has no write-ahead log beside it, and then needs no writable folder.
    closed = not path.with_name(f"{JOURNAL_NAME}-wal").exists()
    mode = "mode=ro&immutable=1" if closed else "mode=ro"
    try:
        return sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)
    except sqlite3.Error as error:
        raise _damaged(folder, error) from error


def _run_id(connection: sqlite3.Connection, folder: Path) -> RunId:
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    if meta.get("layout") != str(LAYOUT):
        raise EvidenceError(
            reason="journal_unsupported",
            message=f"the journal in {folder} has layout {meta.get('layout')}, not {LAYOUT}",
            details={"path": str(folder), "layout": meta.get("layout"), "supported": LAYOUT},
        )
    return RunId(meta.get("run", ""))


def _damaged(folder: Path, error: Exception) -> EvidenceError:
    return EvidenceError(
        reason="journal_damaged",
        message=f"the journal in {folder} cannot be read: {error}",
        details={"path": str(folder), "cause": str(error)},
    )


def _checksum(run_id: RunId, identity: tuple[object, object, object], body: bytes) -> int:
    source, fence, sequence = identity
    return zlib.crc32(body, zlib.crc32(f"{run_id}\0{source}\0{fence}\0{sequence}".encode()))


def _checked(
    run_id: RunId, row: int, identity: tuple[object, object, object], checksum: int, body: object
) -> StoredEvent | DamagedRow:
    if not isinstance(body, bytes) or checksum != _checksum(run_id, identity, body):
        return DamagedRow(row, "its checksum does not fit")
    try:
        return StoredEvent(row, _decoder.decode(body))
    except (msgspec.DecodeError, UnicodeError) as error:
        return DamagedRow(row, f"it is not an event that this version knows: {error}")


def _row(run_id: RunId, event: Event) -> tuple[object, ...]:
    body = _encoder.encode(event)
    identity = (event.source, event.fence, event.sequence)
    address = None if event.address is None else render_token(event.address)
    return (
        *identity, event.wall_ms, kind_of(event), event.plan_id, event.attempt_id,
        event.device_id, address, _outcome(event), _checksum(run_id, identity, body), body,
    )  # fmt: skip


def kind_of(event: Event) -> str:
    """Return the tag of the event's body, as it is stored and filtered by."""
    return str(event.body.__struct_config__.tag)


def _outcome(event: Event) -> str | None:
    match event.body:
        case StepFinished(passed=passed):
            return "passed" if passed else "failed"
        case AttemptFinished(outcome=outcome):
            return outcome
        case VerdictReached(verdict=verdict):
            return verdict
        case _:
            return None
