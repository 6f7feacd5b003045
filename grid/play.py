"""Plays one interpreter on one device: answers its intents and keeps the time limits.

One cancel scope holds the attempt; its deadline is the nearest of the step's, the plan's and the
run's. The interpreter's answer decides `passed` and `failed`; a limit, a cancellation or the loss
of the device ends it from outside:

    ended by                               outcome
    no failure                             passed
    product or misuse failure              failed, or infra before the first step
    device lost, busy, driver fault        infra
    the end of the lease                   infra
    step, plan or run limit                timed_out
    `stop` with a cancelled failure        cancelled
    `stop` with a device failure           infra

The end of the lease goes before all of these but a cancellation: what was seen after it may have
been somebody else's doing.

May be imported by: grid, tests. Imports: drivers.protocol, runner.machine, runner.model, trio.
"""

import traceback
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias, TypeVar, assert_never, final

import trio
from msgspec import Struct
from msgspec.structs import replace

from drivers.protocol import Device, ScreenRead
from runner.errors import DeviceError, FailureKind, RunnerError
from runner.machine.intent import (
    Act,
    Acted,
    ActFailed,
    Intent,
    Keep,
    Look,
    Machine,
    Observation,
    Outcome,
    Pause,
    Resumed,
    Seen,
    Shoot,
    Tell,
    Unseen,
)
from runner.model.address import Provenance, StepAddress
from runner.model.event import StepFinished, StepStarted
from runner.model.failure import Failure, failure_of, is_infrastructure
from runner.model.verdict import AttemptOutcome

_Answer = TypeVar("_Answer")
_TALK: Final = 16

Lapse: TypeAlias = Callable[[], Failure | None]
"""Tells whether the right to command the device is over: its failure, or `None`."""


def never_lapses() -> Failure | None:
    """Return that a right without an end holds."""
    return None


class TimeLimits(Struct, frozen=True, kw_only=True):
    """In milliseconds; `budget_ms` is what is left of the run's limit."""

    step_ms: int
    plan_ms: int | None = None
    budget_ms: int | None = None


class Played(Struct, frozen=True, kw_only=True):
    """How the attempt ended.

    `unanswered_ms` is how long the device had left its last call unanswered when a limit passed.
    """

    outcome: AttemptOutcome
    failure: Failure | None = None
    address: StepAddress | None = None
    provenance: Provenance | None = None
    unanswered_ms: int = 0


class Listener(Protocol):
    """Takes what an attempt has to say. Neither call waits."""

    def tell(self, tell: Tell) -> None:
        """Take an event about a step."""
        ...

    def keep_artifact(self, asked: Shoot | Keep, data: bytes) -> None:
        """Take a screenshot, or what the interpreter wants to be kept."""
        ...


@final
class Play:
    """One attempt on one device."""

    def __init__(
        self,
        device: Device,
        limits: TimeLimits,
        listener: Listener,
        lapse: Lapse = never_lapses,
    ) -> None:
        self._device = device
        self._limits = limits
        self._listener = listener
        self._lapse = lapse
        self._scope = trio.CancelScope()
        self._start = trio.current_time()
        self._limit_reason = ""
        self._step: Tell | None = None
        self._step_text = ""
        self._stop_failure: Failure | None = None
        self._talk = 0
        self.has_begun = False
        self.first_command_s: float | None = None
        self._asked_s: float | None = None
        self.last_read: ScreenRead | None = None

    def stop(self, failure: Failure) -> None:
        """End the attempt because of `failure`; the first call decides."""
        if self._stop_failure is None:
            self._stop_failure = failure
            self._scope.cancel()

    async def run(self, machine: Machine) -> Played:
        """Play until the interpreter ends, a limit passes or `stop` is called."""
        self._arm(step=False)
        try:
            with self._scope:
                played = self._judge(await self._pump(machine))
        finally:
            machine.close()
        if self._scope.cancelled_caught:
            played = self._stopped()
        lapsed = self._lapse()
        if lapsed is None or played.outcome == "cancelled":
            return played
        # Somebody else may have commanded the phone while its last answer was on the way, and a
        # limit that passed in a process that stood still says nothing about the product.
        return replace(played, outcome="infra", failure=lapsed)

    async def _pump(self, machine: Machine) -> Outcome:
        try:
            intent = next(machine)
            while True:
                intent = machine.send(await self._answer(intent))
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome

    async def _answer(self, intent: Intent) -> Observation:
        match intent:
            case Look():
                return await self._look()
            case Act():
                text = await self._command(lambda: self._device.perform(intent.action))
                if isinstance(text, Failure):
                    return ActFailed(failure=text, at_ms=self._now_ms())
                return Acted(text=text, at_ms=self._now_ms())
            case Pause():
                self._note_command()
                await trio.sleep(max(0, intent.ms) / 1000)
                return Resumed(at_ms=self._now_ms())
            case Tell():
                self._hear(intent)
                self._talk += 1
                if self._talk % _TALK == 0:
                    await trio.lowlevel.checkpoint()  # One that only talks can be stopped too.
                return Resumed(at_ms=self._now_ms())
            case Shoot():
                return await self._shoot(intent)
            case Keep(data=data):
                self._listener.keep_artifact(intent, data)
                return Resumed(at_ms=self._now_ms())
            case _:
                assert_never(intent)

    async def _look(self) -> Observation:
        read = await self._command(self._device.snapshot)
        if isinstance(read, Failure):
            retriable = read.kind == "device_busy"
            return Unseen(failure=read, retriable=retriable, at_ms=self._now_ms())
        self.last_read = read
        return Seen(snapshot=read.snapshot, at_ms=self._now_ms())

    async def _shoot(self, shoot: Shoot) -> Observation:
        png = await self._command(self._device.screenshot)
        if isinstance(png, Failure):
            return ActFailed(failure=png, at_ms=self._now_ms())
        self._listener.keep_artifact(shoot, png)
        return Acted(at_ms=self._now_ms())

    async def _command(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer | Failure:
        lapsed = self._lapse()
        if lapsed is not None:
            self.stop(lapsed)
            await trio.lowlevel.checkpoint()
        self._note_command()
        self._asked_s = trio.current_time()
        answer = await _answer_of(call)
        self._asked_s = None  # Not reached when a limit passes first: the call is unanswered.
        return answer

    def _note_command(self) -> None:
        if self.first_command_s is None:
            self.first_command_s = trio.current_time()

    def _hear(self, tell: Tell) -> None:
        if isinstance(tell.body, StepStarted):
            self.has_begun = True
            self._step = tell
            self._step_text = tell.body.text
            self._arm(step=True)
        elif isinstance(tell.body, StepFinished):
            self._arm(step=False)
        self._listener.tell(tell)

    def _arm(self, *, step: bool) -> None:
        """Set the scope's deadline to the nearest limit; the widest names a tie."""
        ends: list[tuple[float, str]] = []
        if self._limits.budget_ms is not None:
            ends.append((self._start + self._limits.budget_ms / 1000, "run_time_limit"))
        if self._limits.plan_ms is not None:
            ends.append((self._start + self._limits.plan_ms / 1000, "plan_time_limit"))
        if step:
            now = trio.current_time()
            ends.append((now + self._limits.step_ms / 1000, "step_time_limit"))
        deadline, self._limit_reason = min(ends, key=lambda end: end[0], default=(float("inf"), ""))
        self._scope.deadline = deadline

    def _judge(self, outcome: Outcome) -> Played:
        failure = outcome.failure
        result: AttemptOutcome = "passed"
        if failure is not None:
            result = "failed"
            if is_infrastructure(failure.kind) or not self.has_begun:
                result = "infra"
        return Played(
            outcome=result,
            failure=failure,
            address=outcome.address,
            provenance=outcome.provenance,
        )

    def _stopped(self) -> Played:
        failure = self._stop_failure
        outcome: AttemptOutcome = "timed_out"
        if failure is None:
            failure = self._limit_failure()
        else:
            outcome = "cancelled" if failure.reason == "attempt_cancelled" else "infra"
        return Played(
            outcome=outcome,
            failure=failure,
            address=self._step.address if self._step else None,
            provenance=self._step.provenance if self._step else None,
            unanswered_ms=self._unanswered_ms() if outcome == "timed_out" else 0,
        )

    def _unanswered_ms(self) -> int:
        if self._asked_s is None:
            return 0
        return round((trio.current_time() - self._asked_s) * 1000)

    def _limit_failure(self) -> Failure:
        limits = {
            "step_time_limit": (self._limits.step_ms, "the step"),
            "plan_time_limit": (self._limits.plan_ms or 0, "the attempt"),
            "run_time_limit": (self._limits.budget_ms or 0, "the rest of the run"),
        }
        limit_ms, what = limits[self._limit_reason]
        where = f", in step {self._step_text!r}" if self._step_text else ""
        details = {"limitMs": limit_ms, "tookMs": round(self._now_ms())}
        unanswered_ms = self._unanswered_ms()
        if unanswered_ms:
            details["unansweredMs"] = unanswered_ms
            where += f"; for {unanswered_ms / 1000:.1f} s the device had not answered"
        error = DeviceError(
            kind="product",
            reason=self._limit_reason,
            message=f"{what} took longer than its limit of {limit_ms} ms{where}",
            details=details,
        )
        return failure_of(error)

    def _now_ms(self) -> float:
        return (trio.current_time() - self._start) * 1000


async def _answer_of(call: Callable[[], Awaitable[_Answer]]) -> _Answer | Failure:
    try:
        return await call()
    except DeviceError as error:
        return failure_of(error)
    except Exception as error:  # noqa: BLE001  # A driver's bug ends one attempt, not the run.
        return failure_of_any(error)


def failure_of_any(error: Exception) -> Failure:
    """Return the failure of what a driver raised, also from within a nursery of its own."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, RunnerError):
        return failure_of(error)
    return fault_of(error, kind="driver_fault")


def fault_of(error: Exception, *, kind: FailureKind) -> Failure:
    """Return the failure of a broken contract: an exception that should not have come."""
    trace = "".join(traceback.format_exception(error))
    return failure_of(
        DeviceError(
            kind=kind,
            reason="worker_fault",
            message=f"{type(error).__name__} came out of a driver or interpreter: {error}",
            details={"trace": trace[-4000:]},
        )
    )
