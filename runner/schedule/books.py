"""The books of a run: which plan waits, runs or is done, and which device is free.

Pure. `advance(books, event)` answers every event with the next books and the orders to carry out.
Kept under every order of events, also doubled and late ones:

- each plan reaches exactly one verdict, after which it leaves the books;
- a plan has one running attempt at most, and a device runs one attempt at most;
- a result counts only for the attempt that runs; any other is ignored.

    device standing    meaning                                  next
    expected           will be announced                        ready, gone, out
    ready              takes an attempt, or runs one            gone, out
    gone               cannot take one; returns when `returns`  ready, out
    out                gets nothing more in this run            -

May be imported by: runner.schedule, runner.cli, tests. Imports: runner.model, runner.schedule.
"""

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, assert_never, final

from msgspec import Struct
from msgspec.structs import replace

from runner.model.device import DeviceFacts
from runner.model.ids import AttemptId, DeviceId, PlanId
from runner.model.plan import CheckedPlan
from runner.model.verdict import NotRunReason, Verdict
from runner.schedule.policy import (
    Absence,
    Requirement,
    explain_lack,
    rank_plans,
    requirement_of,
    satisfies,
)
from runner.schedule.ports import AttemptResult, DeviceChange
from runner.schedule.retry import (
    Decision,
    Quotas,
    Tally,
    blames_device,
    conclude,
    count,
    counts_as_infra,
    decide,
)


class Stop(Struct, frozen=True):
    """Begin nothing more. `drain` lets running attempts end, `abort` cancels them."""

    kind: Literal["drain", "abort", "run_limit"]


BooksEvent: TypeAlias = DeviceChange | AttemptResult | Stop


class Begin(Struct, frozen=True, kw_only=True):
    """Run an attempt of a plan on a device."""

    plan_id: PlanId
    attempt_id: AttemptId
    number: int
    device_id: DeviceId


class CancelAttempt(Struct, frozen=True, kw_only=True):
    """Ask a running attempt to end."""

    attempt_id: AttemptId


class Reach(Struct, frozen=True, kw_only=True):
    """A plan has its verdict."""

    plan_id: PlanId
    verdict: Verdict
    reason: str
    attempts: int
    message: str = ""


class Quarantine(Struct, frozen=True, kw_only=True):
    """A device gets nothing more in this run."""

    facts: DeviceFacts
    ended: int


Order: TypeAlias = Begin | CancelAttempt | Reach | Quarantine


class PlanBook(Struct, frozen=True, kw_only=True):
    """A plan without a verdict. `avoid` are devices that ended it for reasons of their own."""

    id: PlanId
    requirement: Requirement
    rank: int
    retries: int
    tally: Tally = Tally()
    running: AttemptId | None = None
    avoid: frozenset[DeviceId] = frozenset()


Standing: TypeAlias = Literal["expected", "ready", "gone", "out"]


class DeviceBook(Struct, frozen=True, kw_only=True):
    """A device of the run. `streak` counts infrastructure ends in a row.

    `trouble` says why it cannot take a plan, when it cannot, and `state` what it is then.
    """

    facts: DeviceFacts
    standing: Standing = "expected"
    returns: bool = True
    session: int = 0
    attempt: AttemptId | None = None
    streak: int = 0
    trouble: str = ""
    state: str = ""

    @property
    def is_idle(self) -> bool:
        """Whether it can take an attempt now."""
        return self.standing == "ready" and self.attempt is None

    @property
    def is_hoped_for(self) -> bool:
        """Whether it can take an attempt now or later."""
        return self.standing in {"expected", "ready"} or (self.standing == "gone" and self.returns)


class Books(Struct, frozen=True, kw_only=True):
    """The state of a run. The maps are never changed in place.

    `unreached` says what of the grid could not be reached, so that its devices are not known.
    """

    quotas: Quotas
    plans: Mapping[PlanId, PlanBook]
    queues: Mapping[Requirement, tuple[tuple[int, PlanId], ...]]
    devices: Mapping[DeviceId, DeviceBook]
    failures: int = 0
    stopped: NotRunReason | None = None
    unreached: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether every plan has its verdict."""
        return not self.plans


_STOPS: Final[Mapping[str, NotRunReason]] = {
    "drain": "interrupted",
    "abort": "interrupted",
    "run_limit": "run_limit",
}


def open_books(
    plans: Sequence[CheckedPlan],
    devices: Sequence[DeviceFacts],
    quotas: Quotas,
    *,
    unreached: Sequence[str] = (),
) -> tuple[Books, tuple[Order, ...]]:
    """Return the books at the start, and verdicts of plans that no device can ever take."""
    books: dict[PlanId, PlanBook] = {}
    queues: dict[Requirement, list[tuple[int, PlanId]]] = {}
    for rank, plan in enumerate(rank_plans(plans, devices)):
        need = requirement_of(plan)
        retries = plan.retries if quotas.retries is None else quotas.retries
        books[plan.id] = PlanBook(id=plan.id, requirement=need, rank=rank, retries=retries)
        queues.setdefault(need, []).append((rank, plan.id))
    draft = _Draft(
        Books(
            quotas=quotas,
            plans=books,
            queues={need: tuple(queue) for need, queue in queues.items()},
            devices={facts.id: DeviceBook(facts=facts) for facts in devices},
            unreached=tuple(unreached),
        )
    )
    draft.settle()
    return draft.close()


def advance(books: Books, event: BooksEvent) -> tuple[Books, tuple[Order, ...]]:
    """Return the books after `event`, and what is to be done."""
    draft = _Draft(books)
    match event:
        case DeviceChange():
            draft.change_device(event)
        case AttemptResult():
            draft.end_attempt(event)
        case Stop():
            draft.stop(event)
        case _:
            assert_never(event)
    draft.settle()
    return draft.close()


@final
class _Draft:
    """The next books while one event is entered into copies of the maps."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._plans = dict(books.plans)
        self._queues = dict(books.queues)
        self._devices = dict(books.devices)
        self._failures = books.failures
        self._stopped = books.stopped
        self._orders: list[Order] = []

    def close(self) -> tuple[Books, tuple[Order, ...]]:
        """Return the finished books and the orders."""
        books = replace(
            self._books,
            plans=self._plans,
            queues=self._queues,
            devices=self._devices,
            failures=self._failures,
            stopped=self._stopped,
        )
        return books, tuple(self._orders)

    def change_device(self, change: DeviceChange) -> None:
        """Enter what the grid says about a device; nothing brings an `out` one back."""
        known = self._devices.get(change.facts.id) or DeviceBook(facts=change.facts)
        if known.standing == "out" or change.session < known.session:
            return
        standing: Standing = "gone"
        if change.state == "ready":
            standing = "ready"
        elif change.state == "quarantined":
            standing = "out"
        self._devices[change.facts.id] = replace(
            known,
            facts=change.facts,
            standing=standing,
            returns=change.returns,
            session=change.session,
            trouble="" if standing == "ready" else change.message or change.reason,
            state=change.state,
        )

    def end_attempt(self, result: AttemptResult) -> None:
        """Enter the end of the running attempt; a doubled or late result changes nothing."""
        plan = self._plans.get(result.plan_id)
        if plan is None or plan.running != result.attempt_id:
            return
        device_id = next(key for key, d in self._devices.items() if d.attempt == result.attempt_id)
        self._free_device(device_id, result)
        tally = count(plan.tally, result)
        avoid = plan.avoid | {device_id} if counts_as_infra(result) else plan.avoid
        plan = replace(plan, tally=tally, running=None, avoid=avoid)
        self._plans[plan.id] = plan
        if result.failure is not None and result.failure.reason == "run_time_limit":
            self._stopped = self._stopped or "run_limit"
        decision = decide(tally, result, retries=plan.retries, quotas=self._books.quotas)
        if decision is not None:
            self._reach(plan, decision)
        else:
            queue = list(self._queues.get(plan.requirement, ()))
            insort(queue, (plan.rank, plan.id))
            self._queues[plan.requirement] = tuple(queue)

    def stop(self, event: Stop) -> None:
        """Enter that nothing more begins; the first cause stands."""
        self._stopped = self._stopped or _STOPS[event.kind]
        if event.kind == "abort":
            self._orders += [
                CancelAttempt(attempt_id=plan.running)
                for plan in self._plans.values()
                if plan.running is not None
            ]

    def settle(self) -> None:
        """Give idle devices work, and verdicts to plans that will get none."""
        before = self._stopped
        if self._stopped is None:
            for device in list(self._devices.values()):
                if device.is_idle:
                    self._hand_out(device)
        for need, queue in list(self._queues.items()):
            why = self._stopped
            if why is None and queue and not self._is_any_hoped_for(need):
                why = "no_eligible_device"
            if why is not None:
                del self._queues[need]
                message = self._explain_lack(need) if self._stopped is None else ""
                for _, plan_id in queue:
                    plan = self._plans[plan_id]
                    self._reach(plan, conclude(plan.tally, why), message)
        if self._stopped != before:
            self.settle()  # A verdict just given was one failure too many.

    def _free_device(self, device_id: DeviceId, result: AttemptResult) -> None:
        device = replace(self._devices[device_id], attempt=None)
        if not result.usable and device.standing == "ready" and result.session >= device.session:
            device = replace(device, standing="gone", returns=True)
        if blames_device(result):
            device = replace(device, streak=device.streak + 1)
        elif result.outcome in {"passed", "failed"}:
            device = replace(device, streak=0)
        if device.standing != "out" and device.streak >= self._books.quotas.black_hole:
            trouble = f"{device.streak} plans in a row ended there for reasons of the device"
            device = replace(device, standing="out", trouble=trouble, state="quarantined")
            self._orders.append(Quarantine(facts=device.facts, ended=device.streak))
        self._devices[device_id] = device

    def _hand_out(self, device: DeviceBook) -> None:
        found = min(self._offers(device), default=None)
        if found is None:
            return
        plan = self._plans[found[1]]
        number = plan.tally.started + 1
        attempt_id = AttemptId(f"{plan.id}.{number}")
        self._queues[plan.requirement] = tuple(
            entry for entry in self._queues[plan.requirement] if entry != found
        )
        tally = replace(plan.tally, started=number)
        self._plans[plan.id] = replace(plan, running=attempt_id, tally=tally)
        self._devices[device.facts.id] = replace(device, attempt=attempt_id)
        self._orders.append(
            Begin(plan_id=plan.id, attempt_id=attempt_id, number=number, device_id=device.facts.id)
        )

    def _offers(self, device: DeviceBook) -> Iterator[tuple[int, PlanId]]:
        """Yield the best waiting plan of each queue that `device` may take from."""
        for need, queue in self._queues.items():
            if satisfies(device.facts, need):
                fitting = (e for e in queue if self._suits(self._plans[e[1]], device))
                first = next(fitting, None)
                if first is not None:
                    yield first

    def _suits(self, plan: PlanBook, device: DeviceBook) -> bool:
        """Tell whether the plan should run here: not where it was lost, if there is another."""
        if device.facts.id not in plan.avoid:
            return True
        return not any(
            other.standing == "ready"
            and other.facts.id not in plan.avoid
            and satisfies(other.facts, plan.requirement)
            for other in self._devices.values()
        )

    def _is_any_hoped_for(self, need: Requirement) -> bool:
        return any(
            device.is_hoped_for and satisfies(device.facts, need)
            for device in self._devices.values()
        )

    def _explain_lack(self, need: Requirement) -> str:
        absences = [
            Absence(
                facts=device.facts,
                state=device.state or "not ready",
                why=device.trouble or "it does not serve",
            )
            for device in self._devices.values()
        ]
        return explain_lack(need, absences, self._books.unreached)

    def _reach(self, plan: PlanBook, decision: Decision, message: str = "") -> None:
        del self._plans[plan.id]
        self._orders.append(
            Reach(
                plan_id=plan.id,
                verdict=decision.verdict,
                reason=decision.reason,
                attempts=plan.tally.started,
                message=message,
            )
        )
        if decision.verdict in {"failed", "timed_out", "inconclusive"}:
            self._failures += 1
            quotas = self._books.quotas
            if quotas.fail_fast:
                self._stopped = self._stopped or "fail_fast"
            elif quotas.max_failures is not None and self._failures >= quotas.max_failures:
                self._stopped = self._stopped or "max_failures"
