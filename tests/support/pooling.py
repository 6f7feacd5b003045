"""A whole grid of fake phones under one pool, for tests of the pool and its sweep."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from msgspec.structs import replace

from grid.pool import GridPool, PoolEntry, PoolSettings, open_pool
from runner.errors import EvidenceError
from runner.model.address import StepAddress
from runner.model.artifact import ArtifactKind
from runner.model.event import ArtifactStored
from runner.model.ids import AttemptId, RunId
from runner.model.plan import CheckedPlan
from runner.schedule.scheduler import SweepControls, SweepResult, SweepSettings, run_sweep
from tests.support.device import FakePhone, make_machine
from tests.support.plans import make_facts
from tests.support.recording import Recorder, TrioClock


class MemoryStore:
    """An `ArtifactStore` that keeps bytes in memory, as slowly as a test wants."""

    def __init__(self) -> None:
        self.stored: list[tuple[str, str, AttemptId, StepAddress | None, bytes]] = []
        self.delay_s = 0.0
        self.is_full = False

    async def store(
        self,
        *,
        kind: ArtifactKind,
        name: str,
        attempt_id: AttemptId,
        address: StepAddress | None,
        data: bytes,
    ) -> ArtifactStored:
        await trio.sleep(self.delay_s)
        if self.is_full:
            raise EvidenceError(reason="artifact_lost", message="the disk is full")
        self.stored.append((kind, name, attempt_id, address, data))
        return ArtifactStored(
            kind=kind,
            path=f"artifacts/{len(self.stored)}",
            size_bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )


class FakeGrid:
    """Phones `d0`, `d1`, ... and what a run on them left."""

    def __init__(self, folder: Path, count: int = 1) -> None:
        self.phones = [FakePhone(make_facts(f"d{n}")) for n in range(count)]
        self.folder = folder
        self.recorder = Recorder()
        self.store = MemoryStore()
        self.controls = SweepControls()
        self.clock = TrioClock()
        self.settings = PoolSettings(run_id=RunId("run"), holder="run 1", lease_folder=folder)

    def set(self, **changes: float | str) -> None:
        self.settings = replace(self.settings, **changes)

    def unplug(self) -> None:
        for phone in self.phones:
            phone.unplug()

    @property
    def lease_files(self) -> list[Path]:
        return list(self.folder.glob("*.json"))

    @property
    def open_phones(self) -> int:
        return sum(phone.opened - phone.closed for phone in self.phones)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[GridPool]:
        entries = [
            PoolEntry(
                facts=make_facts(phone.facts.id, platform=phone.facts.platform),
                open_device=phone.open,
                identify=phone.identify if phone.tells_identity else None,
                watch=phone.wait_gone,
            )
            for phone in self.phones
        ]
        async with open_pool(
            entries,
            machine_factory=make_machine,
            artifacts=self.store,
            emit=self.recorder,
            sink=self.recorder,
            clock=self.clock,
            settings=self.settings,
        ) as pool:
            yield pool

    async def sweep(
        self, plans: Sequence[CheckedPlan], settings: SweepSettings | None = None
    ) -> SweepResult:
        async with self.open() as pool:
            return await run_sweep(
                plans,
                pool,
                emit=self.recorder,
                settings=settings or SweepSettings(),
                clock=TrioClock(),
                controls=self.controls,
            )
