"""The record of one run as the run sees it: a stamp for events, the journal, the artifacts.

May be imported by: runner.cli. Imports: runner.record, runner.report, runner.model, runner.clock.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import final

import trio

from runner.clock import Clock, SystemClock, new_token
from runner.errors import EvidenceError
from runner.model.address import Provenance, StepAddress
from runner.model.artifact import ArtifactKind
from runner.model.event import ArtifactStored, Event, EventBody
from runner.model.ids import AttemptId, DeviceId, PlanId, RunId
from runner.record.artifacts import ArtifactStore
from runner.record.journal import Journal, Listener, open_journal
from runner.record.redaction import Redactor
from runner.record.store import StoredEvent, read_rows
from runner.report.summary import RunSummary, summarise
from runner.report.times import render_utc
from runner.version import VERSION

SCHEDULER = "scheduler"


@final
class Recorder:
    """What one run writes down. `emit` stamps the scheduler's and the grid's events."""

    def __init__(
        self, *, folder: Path, run_id: RunId, journal: Journal, clock: Clock, redactor: Redactor
    ) -> None:
        self.run_id = run_id
        self.journal = journal
        self.clock = clock
        self.product_version = VERSION
        self.artifacts = _Artifacts(ArtifactStore(folder, redactor))
        self._folder = folder
        self._started_s = clock.monotonic()
        self._sequence = 0

    @property
    def failure(self) -> EvidenceError | None:
        """Why the journal is incomplete, if it is."""
        return self.journal.failure

    def emit(
        self,
        body: EventBody,
        *,
        plan_id: PlanId | None = None,
        attempt_id: AttemptId | None = None,
        device_id: DeviceId | None = None,
        address: StepAddress | None = None,
        provenance: Provenance | None = None,
    ) -> None:
        """Emit one event of the scheduler."""
        self._sequence += 1
        self.journal.take(
            Event(
                run_id=self.run_id,
                source=SCHEDULER,
                sequence=self._sequence,
                wall_ms=self.clock.wall_ms(),
                offset_ms=round((self.clock.monotonic() - self._started_s) * 1000),
                body=body,
                plan_id=plan_id,
                attempt_id=attempt_id,
                device_id=device_id,
                address=address,
                provenance=provenance,
            )
        )


@final
class _Artifacts:
    """The port of the grid over the blocking store."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store

    async def store(
        self,
        *,
        kind: ArtifactKind,
        name: str,
        attempt_id: AttemptId,
        address: StepAddress | None,
        data: bytes,
    ) -> ArtifactStored:
        """Write one artifact. Reasons: `artifact_unwritable`."""
        return await trio.to_thread.run_sync(
            partial(
                self._store.store,
                kind=kind,
                name=name,
                attempt_id=attempt_id,
                address=address,
                data=data,
            )
        )


class _Unstored:
    """Keeps what a failed journal could not take, so that the verdicts can still be told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, events: Sequence[Event], stored: bool, /) -> None:  # noqa: FBT001  # Port.
        if not stored:
            self.events += events


@final
class OpenRecorder:
    """A recorder, and the summary once it is closed."""

    def __init__(self, folder: Path, recorder: Recorder, unstored: _Unstored) -> None:
        self.recorder = recorder
        self._folder = folder
        self._unstored = unstored

    def summary(self) -> RunSummary:
        """Fold the journal, and what it could not take."""
        events = [row.event for row in read_rows(self._folder) if isinstance(row, StoredEvent)]
        return summarise(self.recorder.run_id, [*events, *self._unstored.events])


@asynccontextmanager
async def open_recorder(
    folder: Path, *, redactor: Redactor, listeners: Sequence[Listener]
) -> AsyncIterator[OpenRecorder]:
    """Open the record of a new run in `folder`. Reasons: those of `open_journal`."""
    clock = SystemClock()
    stamp = render_utc(clock.wall_ms()).replace(":", "").replace("-", "").replace(".", "")
    run_id = RunId(f"{stamp}-{new_token()}")
    unstored = _Unstored()
    async with open_journal(
        folder, run_id=run_id, redactor=redactor, listeners=[*listeners, unstored]
    ) as journal:
        recorder = Recorder(
            folder=folder, run_id=run_id, journal=journal, clock=clock, redactor=redactor
        )
        yield OpenRecorder(folder, recorder, unstored)
