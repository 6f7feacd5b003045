"""Tables and properties of the run's state machine."""

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from runner.errors import FailureKind
from runner.model.failure import Failure
from runner.model.ids import AttemptId, DeviceId, PlanId
from runner.model.verdict import AttemptOutcome
from runner.schedule.books import (
    Begin,
    Books,
    BooksEvent,
    CancelAttempt,
    Order,
    Quarantine,
    Reach,
    Stop,
    advance,
    open_books,
)
from runner.schedule.ports import AttemptResult, DeviceChange
from runner.schedule.retry import FREE_REFUSALS, Quotas
from tests.support.plans import make_facts, make_plan

A1, A2 = make_facts("a1"), make_facts("a2")
READY1 = DeviceChange(facts=A1, state="ready")
READY2 = DeviceChange(facts=A2, state="ready")


def ended(begin: Begin, outcome: AttemptOutcome, **rest: object) -> AttemptResult:
    fields: dict[str, object] = {"began": True, "duration_ms": 5, **rest}
    if outcome != "passed":
        kind: FailureKind = "device_lost" if outcome == "infra" else "product"
        fields.setdefault("failure", Failure(kind=kind, code="X", reason="why", message="why"))
    return AttemptResult(
        plan_id=begin.plan_id,
        attempt_id=begin.attempt_id,
        device_id=begin.device_id,
        outcome=outcome,
        **fields,  # type: ignore[arg-type]  # The table rows name the fields.
    )


def run(books: Books, *events: BooksEvent) -> tuple[Books, list[Order]]:
    orders: list[Order] = []
    for event in events:
        books, more = advance(books, event)
        orders += more
    return books, orders


def begins(orders: list[Order]) -> list[Begin]:
    return [order for order in orders if isinstance(order, Begin)]


def verdicts(orders: list[Order]) -> dict[str, tuple[str, str]]:
    return {o.plan_id: (o.verdict, o.reason) for o in orders if isinstance(o, Reach)}


def start(*names: str, quotas: Quotas | None = None, retries: int = 0) -> Books:
    plans = [make_plan(name, retries=retries) for name in names]
    return open_books(plans, [A1, A2], quotas or Quotas())[0]


async def test_an_announced_device_gets_one_plan_at_a_time() -> None:
    books, orders = run(start("p", "q", "r"), READY1)
    first = begins(orders)[0]

    assert [(b.plan_id, b.device_id, b.number) for b in begins(orders)] == [("p", "a1", 1)]
    books, orders = run(books, ended(first, "passed"))

    assert verdicts(orders) == {"p": ("passed", "")}
    assert [b.plan_id for b in begins(orders)] == ["q"]
    assert set(books.plans) == {"q", "r"}


async def test_a_doubled_result_changes_nothing() -> None:
    books, orders = run(start("p", "q"), READY1)
    result = ended(begins(orders)[0], "passed")
    books, _ = run(books, result)

    assert advance(books, result) == (books, ())
    assert advance(books, ended(begins(orders)[0], "failed")) == (books, ())


async def test_a_lost_plan_goes_to_another_device_even_when_its_own_is_free_again() -> None:
    books, orders = run(start("p"), READY1)
    lost = ended(begins(orders)[0], "infra")
    books, orders = run(books, READY2, lost)

    assert [(b.device_id, b.number) for b in begins(orders)] == [("a2", 2)]


async def test_a_lost_plan_goes_back_to_its_device_when_there_is_no_other() -> None:
    books, orders = run(start("p"), READY1)
    lost = ended(begins(orders)[0], "infra", usable=False)
    books, orders = run(books, lost)

    assert begins(orders) == []
    books, orders = run(books, DeviceChange(facts=A1, state="ready", session=1))

    assert [(b.device_id, b.number) for b in begins(orders)] == [("a1", 2)]


async def test_a_late_result_of_an_older_session_does_not_take_the_returned_device_away() -> None:
    books, orders = run(start("p", "q"), READY1)
    late = ended(begins(orders)[0], "infra", usable=False, session=0)
    back = DeviceChange(facts=A1, state="ready", session=1)
    books, orders = run(books, DeviceChange(facts=A1, state="lost"), back)

    assert begins(orders) == []
    books, orders = run(books, late)

    assert [b.device_id for b in begins(orders)] == ["a1"]


async def test_old_news_of_a_device_is_ignored() -> None:
    books, _ = run(start("p"), DeviceChange(facts=A1, state="ready", session=3))

    assert advance(books, DeviceChange(facts=A1, state="lost", session=2))[0] == books


async def test_plans_end_without_a_device_only_when_none_is_awaited() -> None:
    gone1 = DeviceChange(facts=A1, state="lost", returns=False)
    gone2 = DeviceChange(facts=A2, state="unhealthy", returns=True)
    books, orders = run(start("p"), gone1, gone2)

    assert orders == []
    books, orders = run(books, DeviceChange(facts=A2, state="unhealthy", returns=False))

    assert verdicts(orders) == {"p": ("not_run", "no_eligible_device")}
    assert books.is_done


async def test_a_plan_for_a_platform_that_the_grid_lacks_ends_at_once() -> None:
    books, orders = open_books([make_plan("i", platform="ios"), make_plan("a")], [A1], Quotas())

    assert verdicts(list(orders)) == {"i": ("not_run", "no_eligible_device")}
    assert [order.message for order in orders if isinstance(order, Reach)] == [
        "no device is ios (mobile); the grid has 1 android (mobile)"
    ]
    assert set(books.plans) == {"a"}


async def test_a_plan_that_no_device_takes_names_what_is_wrong_with_each() -> None:
    gone1 = DeviceChange(facts=A1, state="lost", message="it was unplugged", returns=False)
    gone2 = DeviceChange(facts=A2, state="unhealthy", reason="device_locked", returns=False)
    _, orders = run(start("p"), gone1, gone2)

    told = [order.message for order in orders if isinstance(order, Reach)]
    why = f"{A1.id}: it was unplugged; {A2.id}: device_locked"
    assert [f"no android (mobile) device serves: 1 lost, 1 unhealthy ({why})"] == told


async def test_a_plan_that_no_device_takes_tells_how_many_are_in_quarantine() -> None:
    books = open_books([make_plan(n) for n in "pqrs"], [A1], Quotas(infra_retries=9))[0]
    books, orders = run(books, READY1)
    for _ in range(3):
        books, orders = run(books, ended(begins(orders)[-1], "infra"))

    told = {order.message for order in orders if isinstance(order, Reach)}
    why = f"{A1.id}: 3 plans in a row ended there for reasons of the device"
    assert {f"no android (mobile) device serves: 1 quarantined ({why})"} == told


async def test_a_plan_that_no_device_takes_tells_what_of_the_grid_was_not_reached() -> None:
    cause = "no adb server answers at 127.0.0.1:5999"
    _, orders = open_books([make_plan("i")], [], Quotas(), unreached=[cause])

    assert [f"the grid has no device; the plan needs android (mobile); not reached: {cause}"] == [
        order.message for order in orders if isinstance(order, Reach)
    ]


async def test_a_large_grid_is_told_in_numbers_and_a_few_examples() -> None:
    devices = [make_facts(f"a{n}") for n in range(9)]
    books = open_books([make_plan("p")], devices, Quotas())[0]
    gone = [DeviceChange(facts=f, state="lost", reason="why", returns=False) for f in devices]
    _, orders = run(books, *gone)

    assert [
        "no android (mobile) device serves: 9 lost (a0: why; a1: why; a2: why; and 6 more)"
    ] == [order.message for order in orders if isinstance(order, Reach)]


async def test_a_grid_without_devices_says_so() -> None:
    _, orders = open_books([make_plan("i")], [], Quotas())

    assert [order.message for order in orders if isinstance(order, Reach)] == [
        "the grid has no device; the plan needs android (mobile)"
    ]


async def test_a_lost_plan_without_any_device_left_exhausted_its_infrastructure() -> None:
    books, orders = run(start("p"), READY1)
    lost = ended(begins(orders)[0], "infra", usable=False)
    gone1 = DeviceChange(facts=A1, state="lost", returns=False)
    gone2 = DeviceChange(facts=A2, state="lost", returns=False)
    books, orders = run(books, lost, gone1, gone2)

    assert verdicts(orders) == {"p": ("infra_exhausted", "why")}


async def test_a_device_that_ends_three_plans_in_a_row_gets_no_more() -> None:
    books, orders = run(start("p", "q", "r", "s"), READY1)
    seen: list[Order] = []
    for _ in range(3):
        books, orders = run(books, ended(begins(orders)[0], "infra"))
        seen += orders

    assert [o.facts.id for o in seen if isinstance(o, Quarantine)] == ["a1"]
    assert begins(orders) == []
    books, orders = run(books, DeviceChange(facts=A1, state="ready", session=9))

    assert orders == []
    _, orders = run(books, READY2)

    assert [b.device_id for b in begins(orders)] == ["a2"]


async def test_a_device_is_not_blamed_for_plans_that_no_worker_can_play() -> None:
    broken = Failure(kind="misuse", code="X", reason="fragment_stale", message="")
    books, orders = run(start("p", "q", "r", quotas=Quotas(infra_retries=0)), READY1)
    for _ in range(3):
        books, orders = run(books, ended(begins(orders)[0], "infra", failure=broken))

        assert not [o for o in orders if isinstance(o, Quarantine)]


async def test_a_pass_between_keeps_a_device_in_service() -> None:
    books, orders = run(start("p", "q", "r", "s", "t"), READY1)
    outcomes: list[AttemptOutcome] = ["infra", "infra", "passed", "infra", "infra"]
    for outcome in outcomes:
        books, orders = run(books, ended(begins(orders)[0], outcome))

        assert not [o for o in orders if isinstance(o, Quarantine)]


async def test_drain_lets_running_attempts_end_and_leaves_the_rest() -> None:
    books, orders = run(start("p", "q", retries=1), READY1)
    running = begins(orders)[0]
    books, orders = run(books, Stop("drain"))

    assert verdicts(orders) == {"q": ("not_run", "interrupted")}
    assert not [o for o in orders if isinstance(o, CancelAttempt)]
    books, orders = run(books, ended(running, "failed"))

    assert verdicts(orders) == {"p": ("failed", "why")}


async def test_abort_cancels_running_attempts_also_after_a_drain() -> None:
    books, orders = run(start("p", "q"), READY1)
    running = begins(orders)[0]
    books, orders = run(books, Stop("drain"), Stop("abort"))

    assert [o.attempt_id for o in orders if isinstance(o, CancelAttempt)] == [running.attempt_id]
    books, orders = run(books, ended(running, "cancelled"))

    assert verdicts(orders) == {"p": ("cancelled", "interrupted")}


async def test_the_run_limit_leaves_waiting_plans_and_no_retry_follows_it() -> None:
    books, orders = run(start("p", "q", quotas=Quotas(timeout_retries=3)), READY1)
    limit = Failure(kind="product", code="X", reason="run_time_limit", message="")
    books, orders = run(books, ended(begins(orders)[0], "timed_out", failure=limit))

    assert verdicts(orders) == {
        "p": ("timed_out", "run_time_limit"),
        "q": ("not_run", "run_limit"),
    }


async def test_fail_fast_counts_final_failures_not_flaky_attempts() -> None:
    quotas = Quotas(fail_fast=True)
    books, orders = run(start("p", "q", "r", quotas=quotas, retries=1), READY1)
    books, orders = run(books, ended(begins(orders)[0], "failed"))

    assert verdicts(orders) == {}
    books, orders = run(books, ended(begins(orders)[0], "passed"))

    assert verdicts(orders) == {"p": ("flaky", "")}
    books, orders = run(books, ended(begins(orders)[0], "failed"))
    books, orders = run(books, ended(begins(orders)[0], "failed"))

    assert verdicts(orders) == {"q": ("failed", "why"), "r": ("not_run", "fail_fast")}


async def test_max_failures_stops_at_the_given_number() -> None:
    books, orders = run(start("p", "q", "r", quotas=Quotas(max_failures=2)), READY1)
    books, orders = run(books, ended(begins(orders)[0], "failed"))

    assert verdicts(orders) == {"p": ("failed", "why")}
    books, orders = run(books, ended(begins(orders)[0], "failed"))

    assert verdicts(orders) == {"q": ("failed", "why"), "r": ("not_run", "max_failures")}


async def test_the_retries_of_the_run_override_those_of_the_plan() -> None:
    books, orders = run(start("p", quotas=Quotas(retries=0), retries=5), READY1)
    _, orders = run(books, ended(begins(orders)[0], "failed"))

    assert verdicts(orders) == {"p": ("failed", "why")}


async def test_a_late_stop_through_an_abandoned_plan_settles_the_other_queues() -> None:
    plans = [make_plan("i", platform="ios", retries=1), make_plan("a"), make_plan("b")]
    ios = make_facts("i1", platform="ios")
    books, _ = open_books(plans, [A1, ios], Quotas(fail_fast=True))
    books, orders = run(books, DeviceChange(facts=ios, state="ready"))
    failed = ended(begins(orders)[0], "failed", usable=False)
    books, orders = run(books, failed)
    books, orders = run(books, DeviceChange(facts=ios, state="lost", returns=False))

    assert verdicts(orders) == {
        "i": ("failed", "why"),
        "a": ("not_run", "fail_fast"),
        "b": ("not_run", "fail_fast"),
    }


OUTCOMES: tuple[AttemptOutcome, ...] = ("passed", "failed", "timed_out", "infra", "cancelled")


class BooksMachine(RuleBasedStateMachine):
    """A grid that loses, returns, doubles and delays in every order."""

    @initialize(
        plans=st.lists(
            st.tuples(st.sampled_from(["android", "ios"]), st.integers(1, 4), st.integers(0, 2)),
            max_size=9,
        ),
        devices=st.lists(st.sampled_from(["android", "ios"]), max_size=4),
        quotas=st.builds(
            Quotas,
            retries=st.none() | st.integers(0, 2),
            infra_retries=st.integers(0, 2),
            timeout_retries=st.integers(0, 1),
            max_failures=st.none() | st.integers(1, 3),
            fail_fast=st.booleans(),
        ),
    )
    def begin(self, plans: list[tuple[str, int, int]], devices: list[str], quotas: Quotas) -> None:
        self.facts = [
            make_facts(f"d{i}", platform=p)  # type: ignore[arg-type]  # Drawn from the two.
            for i, p in enumerate(devices)
        ]
        made = [
            make_plan(f"p{i}", platform=p, steps=s, retries=r)  # type: ignore[arg-type]
            for i, (p, s, r) in enumerate(plans)
        ]
        self.all = {plan.id for plan in made}
        self.sessions: dict[DeviceId, int] = {facts.id: 0 for facts in self.facts}
        self.running: dict[AttemptId, Begin] = {}
        self.past: list[BooksEvent] = []
        self.reached: dict[PlanId, Reach] = {}
        self.out: set[DeviceId] = set()
        self.streak: dict[DeviceId, int] = {}
        self.stopped = False
        self.books, orders = open_books(made, self.facts, quotas)
        self.take(orders)

    def enter(self, event: BooksEvent) -> None:
        self.past.append(event)
        self.books, orders = advance(self.books, event)
        self.take(orders)

    def take(self, orders: tuple[Order, ...]) -> None:
        for order in orders:
            match order:
                case Begin():
                    assert not self.stopped
                    assert order.plan_id not in self.reached
                    assert order.device_id not in self.out
                    assert all(b.plan_id != order.plan_id for b in self.running.values())
                    assert all(b.device_id != order.device_id for b in self.running.values())
                    self.running[order.attempt_id] = order
                case Reach():
                    assert order.plan_id not in self.reached
                    assert all(b.plan_id != order.plan_id for b in self.running.values())
                    self.reached[order.plan_id] = order
                case CancelAttempt():
                    assert order.attempt_id in self.running
                case Quarantine():
                    self.out.add(order.facts.id)

    @precondition(lambda self: self.running)
    @rule(
        data=st.data(),
        outcome=st.sampled_from(OUTCOMES),
        flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
        late=st.integers(0, 1),
    )
    def attempt_ends(
        self,
        data: st.DataObject,
        outcome: AttemptOutcome,
        flags: tuple[bool, bool, bool],
        late: int,
    ) -> None:
        began, usable, refused = flags
        begin = self.running.pop(data.draw(st.sampled_from(sorted(self.running))))
        session = max(0, self.sessions[begin.device_id] - late)
        self.enter(
            ended(
                begin,
                outcome,
                began=began,
                usable=usable,
                refused=refused and outcome == "infra",
                session=session,
            )
        )

    @precondition(lambda self: self.facts)
    @rule(data=st.data(), returns=st.booleans())
    def device_is_lost(self, data: st.DataObject, returns: bool) -> None:  # noqa: FBT001
        facts = data.draw(st.sampled_from(self.facts))
        session = self.sessions[facts.id]
        self.enter(DeviceChange(facts=facts, state="lost", returns=returns, session=session))

    @precondition(lambda self: self.facts)
    @rule(data=st.data())
    def device_is_ready(self, data: st.DataObject) -> None:
        facts = data.draw(st.sampled_from(self.facts))
        self.sessions[facts.id] += 1
        self.enter(DeviceChange(facts=facts, state="ready", session=self.sessions[facts.id]))

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def old_result_comes_again(self, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(self.past))
        if isinstance(old, AttemptResult):
            before = self.books
            self.enter(old)

            assert self.books == before

    @rule(kind=st.sampled_from(["drain", "abort", "run_limit"]), sure=st.integers(0, 5))
    def stop(self, kind: str, sure: int) -> None:
        if sure == 0:
            event = Stop(kind)  # type: ignore[arg-type]  # Drawn from the three.
            self.enter(event)
            self.stopped = True

    @invariant()
    def every_plan_is_in_one_place(self) -> None:
        if not hasattr(self, "books"):
            return
        waiting = [plan_id for queue in self.books.queues.values() for _, plan_id in queue]
        running = [begin.plan_id for begin in self.running.values()]
        places = [*waiting, *running, *self.reached]

        assert sorted(places) == sorted(self.all)

    def teardown(self) -> None:
        """Whatever happened: once every device is gone and every attempt has ended, all is said."""
        if not hasattr(self, "books"):
            return
        for facts in self.facts:
            self.sessions[facts.id] += 1
            gone = DeviceChange(
                facts=facts, state="lost", returns=False, session=self.sessions[facts.id]
            )
            self.enter(gone)
        for begin in list(self.running.values()):
            del self.running[begin.attempt_id]
            self.enter(ended(begin, "infra", usable=False))

        assert set(self.reached) == self.all
        assert self.books.is_done


TestBooksMachine = pytest.mark.slow(BooksMachine.TestCase)
TestBooksMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


class LiveMachine(BooksMachine):
    """The same, but in the end the devices return and everything passes: nothing is stuck."""

    def teardown(self) -> None:
        if not hasattr(self, "books"):
            return
        for _ in range(200):
            for facts in self.facts:
                if facts.id not in self.out:
                    self.sessions[facts.id] += 1
                    session = self.sessions[facts.id]
                    self.enter(DeviceChange(facts=facts, state="ready", session=session))
            for begin in list(self.running.values()):
                del self.running[begin.attempt_id]
                self.enter(ended(begin, "passed", session=self.sessions[begin.device_id]))
            if self.books.is_done:
                break

        assert set(self.reached) == self.all


TestLiveMachine = pytest.mark.slow(LiveMachine.TestCase)
TestLiveMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


async def test_a_device_that_no_attempt_reaches_takes_three_plans_and_costs_none_of_them() -> None:
    books = start(*(f"p{n}" for n in range(8)), quotas=Quotas(infra_retries=0))
    books, orders = run(books, READY1, READY2)
    told, waiting = list(orders), begins(orders)
    for session in range(1, 30):
        if not waiting:
            break
        begin = waiting.pop(0)
        if begin.device_id == A1.id:
            events: list[BooksEvent] = [
                ended(begin, "infra", began=False, refused=True, usable=False),
                DeviceChange(facts=A1, state="ready", session=session),
            ]
        else:
            events = [ended(begin, "passed")]
        books, orders = run(books, *events)
        told += orders
        waiting += begins(orders)

    assert {f"p{n}": ("passed", "") for n in range(8)} == verdicts(told)
    assert 3 == sum(begin.device_id == A1.id for begin in begins(told))
    assert [A1.id] == [order.facts.id for order in told if isinstance(order, Quarantine)]


async def test_a_plan_that_every_device_refuses_for_ever_comes_to_an_end() -> None:
    books = start("p", quotas=Quotas(black_hole=1000))
    books, orders = run(books, READY1, READY2)
    told = list(orders)
    for session in range(1, 100):
        if books.is_done:
            break
        begin = begins(told)[-1]
        facts = A1 if begin.device_id == A1.id else A2
        refused = ended(begin, "infra", began=False, refused=True, usable=False)
        back = DeviceChange(facts=facts, state="ready", session=session)
        books, orders = run(books, refused, back)
        told += orders

    assert {"p": ("infra_exhausted", "why")} == verdicts(told)
    assert len(begins(told)) <= FREE_REFUSALS + 2
