"""The trio shell of a sweep: it carries out the orders of the books on a pool of devices.

One loop owns the books; device changes, ended attempts and stops arrive on one bounded channel
and are entered one at a time. It holds no policy: what follows from an event is decided in
`runner.schedule.books`.

May be imported by: runner.cli, tests. Imports: runner.clock, runner.model, runner.schedule, trio.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never, final

import trio
from msgspec import Struct

from runner.clock import Clock
from runner.model.address import Provenance, StepAddress
from runner.model.event import (
    AttemptFinished,
    AttemptStarted,
    DeviceStateChanged,
    PlanAdmitted,
    VerdictReached,
)
from runner.model.failure import Failure
from runner.model.ids import AttemptId, DeviceId, PlanId
from runner.model.plan import CheckedPlan
from runner.model.verdict import AttemptOutcome, NotRunReason, Verdict
from runner.schedule.books import (
    Begin,
    BooksEvent,
    CancelAttempt,
    Order,
    Quarantine,
    Reach,
    Stop,
    advance,
    open_books,
)
from runner.schedule.ports import Assignment, AttemptResult, DeviceChange, Emit, Pool
from runner.schedule.retry import Quotas


class SweepSettings(Struct, frozen=True, kw_only=True):
    """How a sweep runs. `run_limit_ms` counts from the call of `run_sweep`.

    `unreached` says what of the grid could not be reached, for plans that find no device.
    """

    quotas: Quotas = Quotas()
    run_limit_ms: int | None = None
    unreached: tuple[str, ...] = ()


@final
class SweepControls:
    """How others stop a running sweep. Both calls return at once and may be repeated."""

    def __init__(self) -> None:
        self._drained = trio.Event()
        self._aborted = trio.Event()

    def drain(self) -> None:
        """Begin no new attempts; let the running ones finish."""
        self._drained.set()

    def abort(self) -> None:
        """Begin no new attempts and cancel the running ones."""
        self._aborted.set()

    async def wait_drained(self) -> None:
        """Wait for `drain`."""
        await self._drained.wait()

    async def wait_aborted(self) -> None:
        """Wait for `abort`."""
        await self._aborted.wait()


class AttemptRecord(Struct, frozen=True, kw_only=True):
    """One attempt as it happened; wall times in milliseconds since the epoch (UTC)."""

    attempt_id: AttemptId
    number: int
    device_id: DeviceId
    outcome: AttemptOutcome
    started_wall_ms: int
    ended_wall_ms: int
    duration_ms: int
    failure: Failure | None = None
    address: StepAddress | None = None
    provenance: Provenance | None = None


class PlanResult(Struct, frozen=True, kw_only=True):
    """The verdict of one plan and how it came about."""

    plan_id: PlanId
    path: str
    verdict: Verdict
    reason: str
    attempts: tuple[AttemptRecord, ...]


class SweepResult(Struct, frozen=True, kw_only=True):
    """The result of a sweep, plans in the order in which they were given.

    `dispatch_gaps_ms` has, for each attempt that a device began while work was waiting, the time
    from the device's becoming free to the first command on it. `stopped` says why plans were left.
    """

    plans: tuple[PlanResult, ...]
    makespan_ms: int
    dispatch_gaps_ms: tuple[float, ...]
    stopped: NotRunReason | None = None


async def run_sweep(
    plans: Sequence[CheckedPlan],
    pool: Pool,
    *,
    emit: Emit,
    settings: SweepSettings,
    clock: Clock,
    controls: SweepControls,
) -> SweepResult:
    """Run every plan to its verdict on the devices of `pool`.

    Emits the plans' admissions, the attempts, device states and verdicts. Returns when every plan
    has its verdict; cancelling the call leaves plans without one.
    """
    return await _Sweep(plans, pool, emit, settings, clock).run(controls)


@final
class _Sweep:
    def __init__(
        self,
        plans: Sequence[CheckedPlan],
        pool: Pool,
        emit: Emit,
        settings: SweepSettings,
        clock: Clock,
    ) -> None:
        self._plans = {plan.id: plan for plan in plans}
        self._pool = pool
        self._emit = emit
        self._settings = settings
        self._clock = clock
        self._start = trio.current_time()
        self._attempts: dict[PlanId, list[AttemptRecord]] = {plan.id: [] for plan in plans}
        self._verdicts: dict[PlanId, Reach] = {}
        self._waiting_since = dict.fromkeys(self._plans, self._start)
        self._idle_since: dict[DeviceId, float] = {}
        self._gaps: list[float] = []
        self._cancelled: set[AttemptId] = set()
        limit = settings.run_limit_ms
        self._deadline = None if limit is None else self._start + limit / 1000

    async def run(self, controls: SweepControls) -> SweepResult:
        """Carry out orders until the books are empty."""
        for plan in self._plans.values():
            self._emit(_admission(plan), plan_id=plan.id)
        books, orders = open_books(
            tuple(self._plans.values()),
            self._pool.devices,
            self._settings.quotas,
            unreached=self._settings.unreached,
        )
        entries, events = trio.open_memory_channel[BooksEvent](64)
        async with trio.open_nursery() as nursery:
            self._carry_out(orders, nursery, entries)
            nursery.start_soon(self._follow_devices, entries)
            nursery.start_soon(_stop_when, controls.wait_drained, Stop("drain"), entries)
            nursery.start_soon(_stop_when, controls.wait_aborted, Stop("abort"), entries)
            if self._deadline is not None:
                nursery.start_soon(_stop_at, self._deadline, entries)
            while not books.is_done:
                event = await events.receive()
                if isinstance(event, DeviceChange):
                    self._note_change(event)
                books, orders = advance(books, event)
                self._carry_out(orders, nursery, entries)
            nursery.cancel_scope.cancel()
        return self._conclude(books.stopped)

    def _conclude(self, stopped: NotRunReason | None) -> SweepResult:
        results = tuple(
            PlanResult(
                plan_id=plan.id,
                path=plan.path,
                verdict=self._verdicts[plan.id].verdict,
                reason=self._verdicts[plan.id].reason,
                attempts=tuple(self._attempts[plan.id]),
            )
            for plan in self._plans.values()
        )
        return SweepResult(
            plans=results,
            makespan_ms=round((trio.current_time() - self._start) * 1000),
            dispatch_gaps_ms=tuple(self._gaps),
            stopped=stopped,
        )

    def _carry_out(
        self,
        orders: tuple[Order, ...],
        nursery: trio.Nursery,
        entries: trio.MemorySendChannel[BooksEvent],
    ) -> None:
        for order in orders:
            match order:
                case Begin():
                    name = f"attempt {order.attempt_id} on {order.device_id}"
                    nursery.start_soon(self._run_attempt, order, entries, name=name)
                case CancelAttempt():
                    self._cancelled.add(order.attempt_id)
                    self._pool.cancel(order.attempt_id)
                case Reach():
                    self._verdicts[order.plan_id] = order
                    body = VerdictReached(
                        verdict=order.verdict,
                        reason=order.reason,
                        attempts=order.attempts,
                        message=order.message,
                    )
                    self._emit(body, plan_id=order.plan_id)
                case Quarantine():
                    self._note_quarantine(order)
                case _:
                    assert_never(order)

    async def _run_attempt(self, order: Begin, entries: trio.MemorySendChannel[BooksEvent]) -> None:
        plan = self._plans[order.plan_id]
        self._emit(
            AttemptStarted(number=order.number),
            plan_id=plan.id,
            attempt_id=order.attempt_id,
            device_id=order.device_id,
        )
        begun_wall_ms = self._clock.wall_ms()
        since = max(self._waiting_since[plan.id], self._idle_since.get(order.device_id, 0.0))
        waited_ms = (trio.current_time() - since) * 1000
        result = await self._run_on_pool(order)
        if result.began:
            self._gaps.append(waited_ms + result.start_delay_ms)
        self._idle_since[order.device_id] = trio.current_time()
        self._waiting_since[plan.id] = trio.current_time()
        self._note_end(order, result, begun_wall_ms)
        await entries.send(result)

    async def _run_on_pool(self, order: Begin) -> AttemptResult:
        if order.attempt_id in self._cancelled:
            # Cancelled between the order and this task's first turn: the pool never heard of it.
            return AttemptResult(
                plan_id=order.plan_id,
                attempt_id=order.attempt_id,
                device_id=order.device_id,
                outcome="cancelled",
                began=False,
                duration_ms=0,
            )
        return await self._pool.run(
            Assignment(
                plan=self._plans[order.plan_id],
                attempt_id=order.attempt_id,
                number=order.number,
                device_id=order.device_id,
                deadline_s=self._deadline,
            )
        )

    def _note_end(self, order: Begin, result: AttemptResult, begun_wall_ms: int) -> None:
        record = AttemptRecord(
            attempt_id=order.attempt_id,
            number=order.number,
            device_id=order.device_id,
            outcome=result.outcome,
            started_wall_ms=begun_wall_ms,
            ended_wall_ms=self._clock.wall_ms(),
            duration_ms=result.duration_ms,
            failure=result.failure,
            address=result.address,
            provenance=result.provenance,
        )
        self._attempts[order.plan_id].append(record)
        self._emit(
            AttemptFinished(
                number=order.number,
                outcome=result.outcome,
                duration_ms=result.duration_ms,
                failure=result.failure,
            ),
            plan_id=order.plan_id,
            attempt_id=order.attempt_id,
            device_id=order.device_id,
            address=result.address,
            provenance=result.provenance,
        )

    async def _follow_devices(self, entries: trio.MemorySendChannel[BooksEvent]) -> None:
        while True:
            await entries.send(await self._pool.next_change())

    def _note_change(self, change: DeviceChange) -> None:
        facts = change.facts
        if change.state == "ready":
            self._idle_since[facts.id] = trio.current_time()
        self._emit(
            DeviceStateChanged(
                state=change.state,
                platform=facts.platform,
                reason=change.reason,
                message=change.message,
                serial=facts.serial,
                model=facts.model,
                os_version=facts.os_version,
            ),
            device_id=facts.id,
        )

    def _note_quarantine(self, order: Quarantine) -> None:
        facts = order.facts
        self._emit(
            DeviceStateChanged(
                state="quarantined",
                platform=facts.platform,
                reason="device_black_hole",
                message=f"{order.ended} plans in a row ended there for reasons of the device",
                serial=facts.serial,
                model=facts.model,
                os_version=facts.os_version,
            ),
            device_id=facts.id,
        )


def _admission(plan: CheckedPlan) -> PlanAdmitted:
    return PlanAdmitted(
        path=plan.path,
        format=plan.format,
        platform=plan.platform,
        composition_digest=plan.composition_digest,
        plan_digest=plan.plan_digest,
        step_count=plan.step_count,
        tags=plan.tags,
    )


async def _stop_when(
    wait: Callable[[], Awaitable[None]],
    stop: Stop,
    entries: trio.MemorySendChannel[BooksEvent],
) -> None:
    await wait()
    await entries.send(stop)


async def _stop_at(deadline: float, entries: trio.MemorySendChannel[BooksEvent]) -> None:
    await trio.sleep_until(deadline)
    await entries.send(Stop("run_limit"))
