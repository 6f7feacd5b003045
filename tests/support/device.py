"""An in-memory phone and a small interpreter for it, for tests of the grid.

A program is lines of text, one step each: `tap`, `look`, `pause MS`, `shoot NAME`, `fail`,
`trouble KIND`, `hang`. First lines that are no step: `early` fails before the first step, `stale`
is refused by the factory, `bug` breaks the interpreter, `chatter` never stops talking, `ready MS`
takes its time before the first step.
"""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager

import trio

from drivers.protocol import Capability, Device, ScreenRead
from runner.errors import DeviceError, FailureKind, InputError
from runner.machine.intent import (
    Act,
    ActFailed,
    Intent,
    Look,
    Machine,
    MachineInputs,
    Observation,
    Outcome,
    Pause,
    Shoot,
    Tell,
    Unseen,
)
from runner.model.action import Action, Back, Home
from runner.model.address import RootOwner, StepAddress
from runner.model.device import DeviceFacts, HealthReport
from runner.model.event import Logged, StepFinished, StepStarted, WaitProgress
from runner.model.failure import Failure, failure_of
from runner.model.ids import Digest
from runner.model.plan import CheckedPlan
from runner.model.screen import Snapshot

PNG = b"\x89PNG-like bytes"


def failed(kind: FailureKind, reason: str = "device_lost") -> Failure:
    return failure_of(DeviceError(kind=kind, reason=reason, message=f"scripted {kind}"))


def address(step: int) -> StepAddress:
    owner = RootOwner(format="ad", composition_digest=Digest("sha256:" + "0" * 64))
    return StepAddress(owner=owner, local_step=step)


class FakePhone:
    """A phone that exists whether or not it is open. Tests turn its switches."""

    def __init__(self, facts: DeviceFacts) -> None:
        self.facts = facts
        self.tap_s = 0.1
        self.hangs = False
        self.is_dead = False
        self.opening_hangs = False
        self.closing_hangs = False
        self.screenshot_hangs = False
        self.breaks_contract = False
        self.tells_identity = False
        self.health = HealthReport(health="healthy")
        self.gone = trio.Event()
        self.opened = 0
        self.closed = 0
        self.is_busy = False
        self.actions: list[Action] = []

    def unplug(self) -> None:
        self.is_dead = True
        self.gone.set()

    def plug_in(self) -> None:
        self.is_dead = False
        self.gone = trio.Event()

    async def identify(self) -> str:
        await trio.sleep(0.01)
        self.check_alive()
        return self.facts.hardware_id

    async def wait_gone(self) -> None:
        await self.gone.wait()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Device]:
        await trio.sleep(0.01)
        if self.opening_hangs:
            await trio.sleep_forever()
        self.check_alive()
        assert self.opened == self.closed, "the phone is opened twice"
        self.opened += 1
        try:
            yield FakeDevice(self)
        finally:
            self.closed += 1
            if self.closing_hangs:
                await trio.sleep_forever()

    def check_alive(self) -> None:
        if self.is_dead:
            raise DeviceError(
                kind="device_lost", reason="device_lost", message=f"{self.facts.id} is gone"
            )


class FakeDevice:
    """The phone while it is open."""

    def __init__(self, phone: FakePhone) -> None:
        self._phone = phone

    @property
    def facts(self) -> DeviceFacts:
        return self._phone.facts

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({"logs"})

    async def _command(self, seconds: float) -> None:
        assert not self._phone.is_busy, "two commands at once"
        self._phone.is_busy = True
        try:
            while self._phone.hangs:  # noqa: ASYNC110  # Tests turn the switch as a plain value.
                await trio.sleep(0.05)
            await trio.sleep(seconds)
            if self._phone.breaks_contract:
                raise ZeroDivisionError("a driver's bug")
            self._phone.check_alive()
        finally:
            self._phone.is_busy = False

    async def snapshot(self) -> ScreenRead:
        await self._command(0.05)
        snapshot = Snapshot(platform=self.facts.platform, nodes=(), width=100, height=200)
        return ScreenRead(snapshot=snapshot, raw=b"<hierarchy/>", raw_kind="xml")

    async def perform(self, action: Action) -> str:
        await self._command(self._phone.tap_s)
        self._phone.actions.append(action)
        return "done"

    async def screenshot(self) -> bytes:
        if self._phone.screenshot_hangs:
            await trio.sleep_forever()
        await self._command(0.02)
        return PNG

    async def read_log(self) -> bytes:
        await self._command(0.01)
        return b"log line\n"

    async def check_health(self) -> HealthReport:
        await self._command(0.01)
        return self._phone.health


def make_machine(plan: CheckedPlan, inputs: MachineInputs) -> Machine:
    """A `MachineFactory` for the little language."""
    lines = plan.program.decode().splitlines()
    assert inputs.platform == plan.platform
    if lines[0] == "stale":
        raise InputError(reason="fragment_stale", message="the digest differs")
    return _interpret(lines)


def _interpret(lines: list[str]) -> Machine:
    if lines[0] == "bug":
        raise ZeroDivisionError("an interpreter's bug")
    if lines[0] == "early":
        return Outcome(failure=failed("product", "app_crashed"))
    word, _, rest = lines[0].partition(" ")
    if word == "ready":
        yield Pause(ms=int(rest))
        lines = lines[1:]
    for number, line in enumerate(lines, 1):
        at = address(number)
        yield Tell(body=StepStarted(command=line.split()[0], text=line), address=at)
        failure = yield from _step(line)
        passed = failure is None
        yield Tell(
            body=StepFinished(command=line, passed=passed, duration_ms=1, failure=failure),
            address=at,
        )
        if failure is not None:
            return Outcome(failure=failure, address=at)
    return Outcome()


def _step(line: str) -> Generator[Intent, Observation, Failure | None]:
    word, _, rest = line.partition(" ")
    steps: dict[str, Callable[[], Intent]] = {
        "tap": lambda: Act(action=Back()),
        "hang": lambda: Act(action=Home()),
        "look": Look,
        "pause": lambda: Pause(ms=int(rest)),
        "shoot": lambda: Shoot(name=rest),
    }
    if word == "fail":
        return failed("product", "text_not_accepted")
    if word == "trouble":
        return failed(rest)  # type: ignore[arg-type]  # The program names a kind.
    while word == "chatter":
        yield Tell(body=WaitProgress(waited_ms=1, timeout_ms=1, polls=1))
        yield Tell(body=Logged(level="debug", message="chatter"))
    observation = yield steps[word]()
    if isinstance(observation, ActFailed | Unseen):
        return observation.failure
    return None
