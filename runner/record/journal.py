"""The journal of a run while it is written: events in, durable commits, then the outside.

`take` never blocks and never fails; one writer thread commits batches, at most 50 ms apart. What
listeners see is committed (`stored=True`), so nothing is shown that a crash could take back. When
the disk fails the journal says so once (`failure`), loudly: later events reach the listeners with
`stored=False`, and the run ends with the exit status for lost evidence.

One closer: leaving `open_journal` writes what is left and folds the log into the file.

May be imported by: grid, runner.cli, tests. Imports: runner.record, runner.model, runner.errors.
"""

import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias, final

import trio

from runner.errors import EvidenceError
from runner.model.event import Event
from runner.model.ids import RunId
from runner.record.redaction import Redactor
from runner.record.store import (
    close_store,
    create_store,
    hold_writer_lock,
    unwritable,
    write_events,
)

COMMIT_INTERVAL_S: Final = 0.05
QUEUE_LIMIT: Final = 200_000
_BATCH: Final = 2_000
_CLOSE_LIMIT_S: Final = 10.0

Listener: TypeAlias = Callable[[Sequence[Event], bool], None]
"""Called on the event loop with events in order and whether they are stored; must be quick."""


@final
class Journal:
    """The one writer of a run's journal."""

    def __init__(
        self,
        folder: Path,
        run_id: RunId,
        connection: sqlite3.Connection,
        redactor: Redactor,
        listeners: Sequence[Listener],
    ) -> None:
        self._folder = folder
        self._run_id = run_id
        self._connection = connection
        self._redactor = redactor
        self._listeners = tuple(listeners)
        self._queue: deque[Event] = deque()
        self._wake = trio.Event()
        self._drained = trio.Event()
        self._drained.set()
        self._limiter = trio.CapacityLimiter(1)
        self.failure: EvidenceError | None = None

    def take(self, event: Event) -> None:
        """Accept one event. The queue is bounded; running over it is a journal failure."""
        if self.failure is None and len(self._queue) >= QUEUE_LIMIT:
            self.failure = EvidenceError(
                reason="journal_overflow",
                message=f"more than {QUEUE_LIMIT} events wait for the disk under {self._folder}",
                details={"path": str(self._folder), "limit": QUEUE_LIMIT},
            )
        event = self._redactor.redact_event(event)
        if self.failure is not None and not self._queue:
            self._tell([event], stored=False)
            return
        self._queue.append(event)
        if self._drained.is_set():
            self._drained = trio.Event()
        self._wake.set()

    def fail(self, why: str) -> None:
        """Note that the journal is incomplete, unless that is known already."""
        self.failure = self.failure or unwritable(self._folder, why)

    async def wait_durable(self) -> None:
        """Wait until everything taken so far is committed, or the journal has failed."""
        if self._queue:
            await self._drained.wait()
        else:
            await trio.lowlevel.checkpoint()

    async def run_writer(self) -> None:
        """Commit batches until cancelled."""
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            started = trio.current_time()
            with trio.CancelScope(shield=True):
                await self._write_queue()
            await trio.sleep_until(started + COMMIT_INTERVAL_S)

    async def finish(self) -> None:
        """Write what is left and close the file."""
        await self._write_queue()
        try:
            await trio.to_thread.run_sync(close_store, self._connection, limiter=self._limiter)
        except sqlite3.Error as error:
            self.fail(str(error))

    async def _write_queue(self) -> None:
        while self._queue:
            batch = list(islice(self._queue, _BATCH))
            stored = await self._write(batch)
            for _ in batch:
                self._queue.popleft()
            self._tell(batch, stored=stored)
        self._drained.set()

    async def _write(self, batch: Sequence[Event]) -> bool:
        if self.failure is not None:
            return False
        try:
            await trio.to_thread.run_sync(
                write_events, self._connection, self._run_id, batch, limiter=self._limiter
            )
        except (sqlite3.Error, OSError) as error:
            self.fail(str(error))
            return False
        return True

    def _tell(self, events: Sequence[Event], *, stored: bool) -> None:
        for listener in self._listeners:
            listener(events, stored)


@asynccontextmanager
async def open_journal(
    folder: Path,
    *,
    run_id: RunId,
    redactor: Redactor,
    listeners: Sequence[Listener] = (),
) -> AsyncIterator[Journal]:
    """Create the journal of a new run in `folder` and write it until the context is left.

    Reasons: `run_directory_used`, `journal_unwritable`, `journal_network_filesystem`.
    """
    with hold_writer_lock(folder):
        connection = await trio.to_thread.run_sync(create_store, folder, run_id)
        journal = Journal(folder, run_id, connection, redactor, listeners)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(journal.run_writer, name="journal writer")
                try:
                    yield journal
                finally:
                    nursery.cancel_scope.cancel()
        finally:
            # Behind the nursery: the writer task has ended, so this is the only writer left.
            with trio.CancelScope(
                shield=True, deadline=trio.current_time() + _CLOSE_LIMIT_S
            ) as limit:
                await journal.finish()
            if limit.cancelled_caught:
                journal.fail(f"it did not take the last events within {_CLOSE_LIMIT_S:g} s")
