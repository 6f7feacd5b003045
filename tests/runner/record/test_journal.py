import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings, strategies as st

from runner.errors import EvidenceError
from runner.model.event import Event, Logged, StepFinished, VerdictReached
from runner.model.failure import Failure
from runner.record import journal as journal_module
from runner.record.journal import open_journal
from runner.record.redaction import Redactor
from runner.record.store import (
    DamagedRow,
    StoredEvent,
    create_store,
    filesystem_type,
    read_rows,
    refuse_network_filesystem,
    write_events,
)
from tests.support.events import RUN, event, step_address


def _events(folder: Path) -> list[Event]:
    return [row.event for row in read_rows(folder) if isinstance(row, StoredEvent)]


async def test_what_was_taken_is_read_back_in_order(tmp_path: Path) -> None:
    taken = [event(n, plan="p", address=step_address(n)) for n in range(1, 200)]
    async with open_journal(tmp_path, run_id=RUN, redactor=Redactor([])) as journal:
        for one in taken:
            journal.take(one)

    assert taken == _events(tmp_path)


async def test_the_journal_is_read_while_it_grows(tmp_path: Path) -> None:
    async with open_journal(tmp_path, run_id=RUN, redactor=Redactor([])) as journal:
        journal.take(event(1))
        await journal.wait_durable()
        first = list(read_rows(tmp_path))
        journal.take(event(2))
        await journal.wait_durable()

        assert [1] == [row.event.sequence for row in first if isinstance(row, StoredEvent)]
        assert [2] == [
            row.event.sequence
            for row in read_rows(tmp_path, after=first[-1].row)
            if isinstance(row, StoredEvent)
        ]


async def test_listeners_see_only_what_is_stored(tmp_path: Path) -> None:
    seen: list[tuple[int, bool]] = []

    def listen(events: Sequence[Event], stored: bool) -> None:  # noqa: FBT001  # the port's shape
        on_disk = {one.sequence for one in _events(tmp_path)}
        seen.extend((one.sequence, stored and one.sequence in on_disk) for one in events)

    async with open_journal(
        tmp_path, run_id=RUN, redactor=Redactor([]), listeners=[listen]
    ) as journal:
        for n in (1, 2, 3):
            journal.take(event(n))

    assert [(1, True), (2, True), (3, True)] == seen


async def test_an_event_that_is_delivered_twice_is_stored_once(tmp_path: Path) -> None:
    async with open_journal(tmp_path, run_id=RUN, redactor=Redactor([])) as journal:
        journal.take(event(1))
        journal.take(event(1))
        await journal.wait_durable()
        journal.take(event(1))

    assert [event(1)] == _events(tmp_path)


async def test_a_failing_disk_is_a_loud_state_and_later_events_are_marked(tmp_path: Path) -> None:
    seen: list[tuple[int, bool]] = []

    def listen(events: Sequence[Event], stored: bool) -> None:  # noqa: FBT001  # the port's shape
        seen.extend((one.sequence, stored) for one in events)

    async with open_journal(
        tmp_path, run_id=RUN, redactor=Redactor([]), listeners=[listen]
    ) as journal:
        journal.take(event(1))
        await journal.wait_durable()
        with sqlite3.connect(tmp_path / "journal.sqlite") as other:
            other.execute("DROP TABLE events")  # As a disk that stops taking rows.
        other.close()
        journal.take(event(2))
        await journal.wait_durable()
        journal.take(event(3))
        await journal.wait_durable()

    assert [(1, True), (2, False), (3, False)] == seen
    assert journal.failure is not None
    assert "journal_unwritable" == journal.failure.reason


async def test_the_queue_is_bounded(tmp_path: Path, autojump_clock: object) -> None:
    del autojump_clock
    async with open_journal(tmp_path, run_id=RUN, redactor=Redactor([])) as journal:
        for n in range(journal_module.QUEUE_LIMIT + 1):
            journal.take(event(n + 1))

        assert journal.failure is not None
        assert "journal_overflow" == journal.failure.reason


def test_a_second_run_does_not_write_into_the_first(tmp_path: Path) -> None:
    create_store(tmp_path, RUN).close()

    with pytest.raises(EvidenceError) as caught:
        create_store(tmp_path, RUN)

    assert "run_directory_used" == caught.value.reason


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as caught:
        create_store(tmp_path / "absent", RUN)

    assert "journal_unwritable" == caught.value.reason


def test_a_folder_without_a_journal_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as caught:
        list(read_rows(tmp_path))

    assert "run_not_found" == caught.value.reason


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"not a database" * 100)

    with pytest.raises(EvidenceError) as caught:
        list(read_rows(tmp_path))

    assert "journal_damaged" == caught.value.reason


def test_a_newer_layout_is_refused(tmp_path: Path) -> None:
    connection = create_store(tmp_path, RUN)
    connection.execute("UPDATE meta SET value = '2' WHERE key = 'layout'")
    connection.close()

    with pytest.raises(EvidenceError) as caught:
        list(read_rows(tmp_path))

    assert "journal_unsupported" == caught.value.reason


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET body = zeroblob(length(body)) WHERE sequence = 2",
        "UPDATE events SET body = x'' WHERE sequence = 2",
        "UPDATE events SET sequence = 9 WHERE sequence = 2",
        "UPDATE events SET body = 7 WHERE sequence = 2",
    ],
)
def test_a_damaged_row_is_seen_and_the_others_are_read(tmp_path: Path, damage: str) -> None:
    connection = create_store(tmp_path, RUN)
    write_events(connection, RUN, [event(1), event(2), event(3)])
    connection.execute(damage)
    connection.close()

    rows = list(read_rows(tmp_path))

    assert [StoredEvent, DamagedRow, StoredEvent] == [type(row) for row in rows]


@given(bit=st.integers(min_value=0), seed=st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_no_flipped_bit_of_a_body_is_accepted(
    tmp_path_factory: pytest.TempPathFactory, bit: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("flip")
    connection = create_store(folder, RUN)
    write_events(connection, RUN, [event(1)])
    body = bytearray(connection.execute("SELECT body FROM events").fetchone()[0])
    position = bit % (len(body) * 8)
    body[position // 8] ^= 1 << (position % 8)
    connection.execute("UPDATE events SET body = ?", (bytes(body),))
    connection.close()

    assert [DamagedRow] == [type(row) for row in read_rows(folder)], seed


WRITER = """
import sys, trio
from pathlib import Path
from runner.record.journal import open_journal
from runner.record.redaction import Redactor
from tests.support.events import RUN, event

async def main():
    async with open_journal(Path(sys.argv[1]), run_id=RUN, redactor=Redactor([])) as journal:
        for n in range(1, 1_000_000):
            journal.take(event(n))
            await journal.wait_durable()
            print(n, flush=True)

trio.run(main)
"""


@pytest.mark.slow
def test_no_acknowledged_event_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert child.stdout is not None
    acknowledged = 0
    for line in child.stdout:
        acknowledged = int(line)
        if acknowledged == 12:
            break
    child.send_signal(signal.SIGKILL)
    tail = child.stdout.read().split()
    child.wait()
    child.stdout.close()
    acknowledged = max([acknowledged, *(int(line) for line in tail)])

    sequences = [one.sequence for one in _events(tmp_path)]
    assert list(range(1, len(sequences) + 1)) == sequences
    assert acknowledged <= len(sequences)


def test_the_file_system_of_a_folder_is_the_deepest_mount(tmp_path: Path) -> None:
    deep = tmp_path / "deep down"
    deep.mkdir()
    escaped = deep.as_posix().replace(" ", "\\040")
    mounts = f"a / ext4 rw\nb {tmp_path.as_posix()} nfs4 rw\nc {escaped} tmpfs rw\n"

    assert "nfs4" == filesystem_type(tmp_path / "x", mounts)
    assert "tmpfs" == filesystem_type(deep / "x", mounts)
    with pytest.raises(EvidenceError) as caught:
        refuse_network_filesystem(tmp_path, mounts)
    assert "journal_network_filesystem" == caught.value.reason


async def test_secrets_never_reach_the_file(tmp_path: Path) -> None:
    secret = "s3cret-päss"
    failure = Failure(
        kind="product",
        code="X",
        reason="predicate_false",
        message=f"typed {secret}",
        details={"text": [secret, {secret: secret}]},
        hint=secret,
    )
    body = StepFinished(command="fill", passed=False, duration_ms=1, failure=failure, detail=secret)
    seen: list[Event] = []

    def listen(events: Sequence[Event], stored: bool) -> None:  # noqa: ARG001, FBT001  # the port
        seen.extend(events)

    async with open_journal(
        tmp_path,
        run_id=RUN,
        redactor=Redactor([("PASSWORD", secret), ("EMPTY", "")]),
        listeners=[listen],
    ) as journal:
        journal.take(event(1, body))
        await journal.wait_durable()

        for path in await trio.Path(tmp_path).iterdir():
            assert secret.encode() not in await path.read_bytes()
    stored = seen[0].body
    assert isinstance(stored, StepFinished)
    assert stored.failure is not None
    assert "typed <var:PASSWORD>" == stored.failure.message
    assert {"text": ["<var:PASSWORD>", {"<var:PASSWORD>": "<var:PASSWORD>"}]} == (
        stored.failure.details
    )


async def test_a_secret_that_equals_a_word_of_the_format_changes_only_texts(tmp_path: Path) -> None:
    body = VerdictReached(verdict="passed", reason="passed", attempts=1)
    log = Logged(level="info", message="all passed, passed twice")
    async with open_journal(
        tmp_path, run_id=RUN, redactor=Redactor([("A", "passed"), ("B", "passed twice")])
    ) as journal:
        journal.take(event(1, body))
        journal.take(event(2, log))

    assert [body, Logged(level="info", message="all <var:A>, <var:B>")] == [
        one.body for one in _events(tmp_path)
    ]


async def test_a_cancelled_run_still_stores_what_was_taken(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with open_journal(tmp_path, run_id=RUN, redactor=Redactor([])) as journal:
            journal.take(event(1))
            scope.cancel()
            await trio.lowlevel.checkpoint()

    assert [event(1)] == _events(tmp_path)
