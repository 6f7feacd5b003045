"""A worker: owns one open device, takes assignments from a channel and plays them.

One attempt at a time. It decodes the program through the injected factory, which refuses what
does not have the digest that it claims. Whatever goes wrong in a driver or an interpreter ends
one attempt with a typed failure; the worker itself ends when its channel does, or when its device
is lost. Events, artifacts and ends leave through the outbox, in order.

May be imported by: grid, runner.cli, tests. Imports: drivers.protocol, grid, runner.machine,
runner.model, runner.errors, trio.
"""

from collections.abc import Callable
from typing import Final, TypeAlias, final

import trio
from msgspec import Struct
from msgspec.structs import replace

from drivers.protocol import Device, WaitLost
from grid.channel import HEARTBEAT_S, Channel, open_channel, phase_of
from grid.evidence import collect_evidence
from grid.health import check_gate
from grid.message import ArtifactPiece, Assign, Cancel, Ended
from grid.outbox import Outbox, Stamp
from grid.play import (
    Lapse,
    Play,
    Played,
    TimeLimits,
    failure_of_any,
    fault_of,
    never_lapses,
)
from runner.clock import Clock
from runner.errors import DeviceError, GridError, RunnerError
from runner.machine.intent import Keep, Machine, MachineInputs, Shoot, Tell
from runner.model.address import Provenance, StepAddress
from runner.model.artifact import ArtifactKind
from runner.model.device import HealthReport
from runner.model.event import Logged
from runner.model.failure import Failure, failure_of
from runner.model.plan import CheckedPlan

MachineFactory: TypeAlias = Callable[[CheckedPlan, MachineInputs], Machine]
"""Turns a plan's bytes into its interpreter; raises `InputError` when the digest differs."""

_FLUSH_S: Final = 5.0
_ASK_S: Final = 15.0
_PROMPT_S: Final = 2.0
"""A phone that works answers a probe within this, also over a line that is slow by 0.2 s a turn."""


class WorkerSettings(Struct, frozen=True, kw_only=True):
    """What a worker is told when it begins to serve.

    `lapse` returns the failure of whoever commands the device after its lease.
    """

    stamp: Stamp
    heartbeat_s: float = HEARTBEAT_S
    lapse: Lapse = never_lapses


async def serve_worker(
    stream: trio.abc.Stream,
    device: Device,
    *,
    wait_lost: WaitLost | None,
    machine_factory: MachineFactory,
    clock: Clock,
    settings: WorkerSettings,
) -> Failure | None:
    """Serve assignments on `device` until the channel ends or the device is lost.

    Returns the loss, when that was the end. Reasons, when the greeting fails: those of
    `grid.channel.open_channel`.
    """
    outbox = Outbox(settings.stamp, clock)
    name = f"worker {settings.stamp.device_id}"
    async with open_channel(stream, name=name, heartbeat_s=settings.heartbeat_s) as channel:
        worker = _Worker(device, machine_factory, outbox, settings.lapse)
        return await worker.serve(channel, wait_lost)


@final
class _Worker:
    def __init__(
        self, device: Device, factory: MachineFactory, outbox: Outbox, lapse: Lapse
    ) -> None:
        self._device = device
        self._factory = factory
        self._outbox = outbox
        self._lapse = lapse
        self._attempt: _Attempt | None = None
        self._serving = trio.CancelScope()
        self._lost: Failure | None = None

    async def serve(self, channel: Channel, wait_lost: WaitLost | None) -> Failure | None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.beat, phase_of(self._device.facts.id))
            nursery.start_soon(self._outbox.send_to, channel)
            if wait_lost is not None:
                nursery.start_soon(self._watch, wait_lost)
            with self._serving:
                await self._listen(channel, nursery)
            if self._lost is not None:
                with trio.move_on_after(_FLUSH_S):
                    await self._outbox.wait_sent()
            nursery.cancel_scope.cancel()
        return self._lost

    async def _listen(self, channel: Channel, nursery: trio.Nursery) -> None:
        while True:
            try:
                message = await channel.receive()
            except GridError:
                return  # The grid's side reports the end of the channel; here it only ends.
            match message:
                case Assign() if self._attempt is None:
                    attempt = _Attempt(
                        message, self._device, self._factory, self._outbox, self._lapse
                    )
                    self._attempt = attempt
                    name = f"{message.attempt_id} on {self._device.facts.id}"
                    nursery.start_soon(self._run, attempt, name=name)
                case Cancel(attempt_id=attempt_id):
                    if self._attempt is not None and self._attempt.id == attempt_id:
                        self._attempt.stop(_cancelled())
                case _:
                    return  # Nothing else may come from the grid: the channel is of no use.

    async def _run(self, attempt: "_Attempt") -> None:
        ended = await attempt.run()
        self._attempt = None
        if self._lost is None:
            self._outbox.put_end(ended)
            return
        self._outbox.put_end(replace(ended, usable=False))
        self._serving.cancel()

    async def _watch(self, wait_lost: WaitLost) -> None:
        failure = _lost()
        try:
            await wait_lost()
        except Exception as error:  # noqa: BLE001  # A watch that breaks is a loss with that cause.
            failure = failure_of_any(error)
        self._lost = failure
        if self._attempt is not None:
            self._attempt.stop(failure)
        else:
            self._serving.cancel()


@final
class _Attempt:
    """One assignment: the play, its evidence and its end."""

    def __init__(
        self,
        assign: Assign,
        device: Device,
        factory: MachineFactory,
        outbox: Outbox,
        lapse: Lapse,
    ) -> None:
        self._assign = assign
        self._device = device
        self._factory = factory
        self._outbox = outbox
        self._lapse = lapse
        self._start = trio.current_time()
        self._collecting = trio.CancelScope()
        limits = assign.plan.limits
        self._play = Play(
            device,
            TimeLimits(step_ms=limits.step_ms, plan_ms=limits.plan_ms, budget_ms=assign.budget_ms),
            self,
            lapse,
        )
        self.id = assign.attempt_id
        self._address: StepAddress | None = None
        self._provenance: Provenance | None = None

    def stop(self, failure: Failure) -> None:
        """End it because of `failure`; evidence that is being collected is left."""
        self._play.stop(failure)
        self._collecting.cancel()

    async def run(self) -> Ended:
        """Play it and return its end."""
        played = await self._run_play()
        end_s = trio.current_time()
        first_s = self._play.first_command_s
        with self._collecting:
            if played.outcome == "timed_out" and _may_ask(played):
                report = await check_gate(self._device, limit_s=_ASK_S)
                played = blame(played, report, answered_s=trio.current_time() - end_s)
            if _wants_evidence(played):
                self._address, self._provenance = played.address, played.provenance
                read = self._play.last_read
                await collect_evidence(self._device, read, self, lapse=self._lapse)
        collected_s = trio.current_time() - end_s
        busy_s = 0.0 if first_s is None else end_s - first_s + collected_s
        return Ended(
            attempt_id=self.id,
            plan_id=self._assign.plan.id,
            outcome=played.outcome,
            began=self._play.has_begun,
            duration_ms=round((end_s - self._start) * 1000),
            busy_ms=busy_s * 1000,
            usable=_leaves_usable(played),
            failure=played.failure,
            address=played.address,
            provenance=played.provenance,
        )

    async def _run_play(self) -> Played:
        facts = self._device.facts
        inputs = MachineInputs(
            platform=facts.platform,
            target=facts.target,
            device=facts.model or facts.id,
            serial=facts.serial,
            attempt_id=self.id,
        )
        try:
            machine = self._factory(self._assign.plan, inputs)
            return await self._play.run(machine)
        except RunnerError as error:
            # The plan cannot be played anywhere, so the device is not to blame.
            return Played(outcome="infra", failure=replace(failure_of(error), kind="misuse"))
        except Exception as error:  # noqa: BLE001  # A bug ends one attempt, not the run.
            return Played(outcome="infra", failure=fault_of(error, kind="misuse"))

    def tell(self, tell: Tell) -> None:
        """Pass an event of the interpreter on."""
        self._address, self._provenance = tell.address, tell.provenance
        self._outbox.put(
            tell.body,
            plan_id=self._assign.plan.id,
            attempt_id=self.id,
            address=tell.address,
            provenance=tell.provenance,
        )

    def keep_artifact(self, asked: Shoot | Keep, data: bytes) -> None:
        """Keep an artifact of a step."""
        self._address, self._provenance = asked.address, asked.provenance
        self.keep("screenshot" if isinstance(asked, Shoot) else asked.kind, asked.name, data)

    def keep(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Keep a piece of evidence of the step at hand."""
        piece = ArtifactPiece(
            attempt_id=self.id,
            plan_id=self._assign.plan.id,
            kind=kind,
            name=name,
            address=self._address,
            provenance=self._provenance,
            data=data,
            is_last=True,
        )
        if not self._outbox.put_artifact(piece):
            self.note(f"{kind} {name!r} was left out: too many artifacts wait to be stored")

    def note(self, message: str) -> None:
        """Say that evidence is missing."""
        self._outbox.put(
            Logged(level="warning", message=message),
            plan_id=self._assign.plan.id,
            attempt_id=self.id,
            address=self._address,
            provenance=self._provenance,
        )


def _may_ask(played: Played) -> bool:
    """Tell whether more may be asked of the device; at the end of the run's time nothing may."""
    return played.failure is not None and played.failure.reason != "run_time_limit"


def _wants_evidence(played: Played) -> bool:
    return played.outcome in {"failed", "timed_out"} and _may_ask(played)


def blame(played: Played, report: HealthReport, *, answered_s: float) -> Played:
    """Return a passed time limit as what it was: the time of an ill device is not the product's.

    `answered_s` is what the probe took. A device that left the last call unanswered, and then the
    probe too for a while, did not answer for all that time, whether or not it is well again.
    """
    failure = played.failure
    if failure is None:
        return played
    reason, why = report.reason, report.message
    if report.health == "healthy":
        if not played.unanswered_ms or answered_s < _PROMPT_S:
            return played
        silent_s = played.unanswered_ms / 1000 + answered_s
        reason, why = "device_unhealthy", f"it did not answer for {silent_s:.1f} s"
    ill = replace(
        failure,
        kind="device_lost" if report.health == "lost" else "device_busy",
        reason=reason,
        message=f"{failure.message}; the device is to blame: {why}",
        details={**failure.details, "limit": failure.reason},
        hint="",
    )
    return replace(played, outcome="infra", failure=ill)


def _leaves_usable(played: Played) -> bool:
    """Tell whether the connection can be trusted for the next plan without opening it anew."""
    if played.outcome == "infra":
        return played.failure is not None and played.failure.kind == "misuse"
    return played.outcome != "timed_out"


def _cancelled() -> Failure:
    error = DeviceError(
        kind="misuse", reason="attempt_cancelled", message="the attempt was ended on request"
    )
    return failure_of(error)


def _lost() -> Failure:
    error = DeviceError(
        kind="device_lost", reason="device_lost", message="the device went away during the attempt"
    )
    return failure_of(error)
