"""The stage: how steps ask for looks and actions, and what one run of a program remembers.

Every method that asks is a generator of intents. Time moves only by what observations say. A
step ends early by raising `StepError`, which never leaves the interpreter.

May be imported by: runner.formats.ad, tests. Imports: runner.machine, runner.formats.ad,
runner.model, runner.errors.
"""

from collections.abc import Generator, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar, final

from runner.errors import DeviceError, FailureKind, InputError, InternalError
from runner.formats.ad.lexer import Level
from runner.formats.ad.target import Binding
from runner.machine.intent import (
    Act,
    Acted,
    ActFailed,
    Intent,
    Keep,
    Look,
    Observation,
    Pause,
    Resumed,
    Seen,
    Shoot,
    Tell,
    Unseen,
)
from runner.machine.polling import Deadline
from runner.model.action import Action
from runner.model.address import Provenance, StepAddress
from runner.model.artifact import ArtifactKind
from runner.model.event import EventBody
from runner.model.failure import Failure, failure_of
from runner.model.ids import Platform
from runner.model.screen import Snapshot

T = TypeVar("T")
Steps: TypeAlias = Generator[Intent, Observation, T]
"""A part of an interpreter that ends with a T."""

DivergenceKind: TypeAlias = Literal[
    "action-failure", "selector-miss", "identity-mismatch", "identity-unverifiable"
]

Unavailable: TypeAlias = Literal["observation-missing", "sparse-snapshot", "capture-failed"]
"""Why there is no screen to show."""

SPARSE_PAUSES_MS: Final = (300, 500, 800, 1_200, 2_000, 3_000, 4_000)
SPARSE_LIMIT_MS: Final = 12_000


class StepError(Exception):
    """Ends a step; `failure` is what the world is told, `divergence` how the report names it."""

    def __init__(
        self,
        failure: Failure,
        *,
        divergence: DivergenceKind = "action-failure",
        binding: Binding | None = None,
    ) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.divergence: DivergenceKind = divergence
        self.binding = binding


def step_error(
    reason: str,
    message: str,
    *,
    details: Mapping[str, Any] | None = None,
    hint: str = "",
    kind: FailureKind = "product",
    divergence: DivergenceKind = "action-failure",
    binding: Binding | None = None,
) -> StepError:
    """Return the error that ends a step with a declared reason."""
    error = DeviceError(kind=kind, reason=reason, message=message, details=details, hint=hint)
    return StepError(failure_of(error), divergence=divergence, binding=binding)


def misuse_error(error: InputError) -> StepError:
    """Return the error that ends a step whose line makes no sense once it is expanded."""
    return step_error(
        error.reason, error.message, details=error.details, hint=error.hint, kind="misuse"
    )


@final
class Scope(Mapping[str, str]):
    """The variables of a run; it remembers which of them were read."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        self._used: set[str] = set()

    def __getitem__(self, name: str) -> str:
        value = self._values[name]
        self._used.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def used_values(self) -> dict[str, str]:
        """Return the variables that some step has read."""
        return {name: self._values[name] for name in sorted(self._used)}


@final
class Stage:
    """What one run of a program knows: the time, the last screen and the app that it opened.

    `screen` is the last readable capture of the step with no action after it, and `unseen` says
    why there is none; `observation-missing` means that nobody has looked.
    """

    def __init__(
        self, *, platform: Platform, level: Level, scope: Scope, secrets: frozenset[str]
    ) -> None:
        self.platform: Platform = platform
        self.level: Level = level
        self.scope = scope
        self.secrets = secrets
        self.now_ms = 0.0
        self.app = ""
        self.screen: Snapshot | None = None
        self.unseen: Unavailable = "observation-missing"
        self.address: StepAddress | None = None
        self.provenance: Provenance | None = None
        self._size: tuple[float, float] | None = None

    def begin(self, address: StepAddress, provenance: Provenance) -> None:
        """Name the step that speaks from here on; no screen of an earlier step counts for it."""
        self.address = address
        self.provenance = provenance
        self._forget_screen()

    def is_secret(self, value: str) -> bool:
        """Tell whether `value` holds the value of a secret variable."""
        return any(self.scope[name] in value for name in self.secrets if self.scope.get(name))

    def look(self) -> Steps[Seen | Unseen]:
        """Capture the screen once; a capture that cannot succeed later ends the step."""
        observation = yield Look()
        match observation:
            case Seen(snapshot=snapshot, at_ms=at_ms):
                self.now_ms = at_ms
                if snapshot.quality == "readable":
                    self.screen = snapshot
                    self._size = (snapshot.width, snapshot.height)
                elif self.screen is None:
                    self.unseen = "sparse-snapshot"
                return observation
            case Unseen(failure=failure, retriable=retriable, at_ms=at_ms):
                self.now_ms = at_ms
                self.unseen = "capture-failed"
                if not retriable:
                    raise StepError(failure)
                return observation
        raise _unexpected("a look", observation)

    def read_screen(self) -> Steps[Snapshot]:
        """Capture a readable screen, with patience for one that is still coming up."""
        deadline = Deadline(self.now_ms, SPARSE_LIMIT_MS)
        pauses = iter(SPARSE_PAUSES_MS)
        while True:
            seen = yield from self.look()
            snapshot = readable_screen(seen)
            if snapshot is not None:
                return snapshot
            pause_ms = next(pauses, None)
            if pause_ms is None or deadline.is_over(self.now_ms):
                raise unreadable_error(seen, waited_ms=deadline.waited_ms(self.now_ms))
            yield from self.pause(deadline.pause_ms(self.now_ms, pause_ms))

    def read_size(self) -> Steps[tuple[float, float]]:
        """Return the size of the screen, from the last capture when there is one."""
        if self._size is None:
            snapshot = yield from self.read_screen()
            return snapshot.width, snapshot.height
        return self._size

    def act(self, action: Action) -> Steps[str]:
        """Carry out one action and return what it read."""
        observation = yield Act(action=action)
        self._forget_screen()
        return self._read_act(observation)

    def shoot(self, name: str) -> Steps[None]:
        """Keep a screenshot."""
        observation = yield Shoot(name=name, address=self.address, provenance=self.provenance)
        self._read_act(observation)

    def keep(self, kind: ArtifactKind, name: str, data: bytes) -> Steps[None]:
        """Keep some bytes as an artifact of the current step."""
        kept = Keep(
            kind=kind, name=name, data=data, address=self.address, provenance=self.provenance
        )
        self._take_resumed((yield kept))

    def pause(self, ms: int) -> Steps[None]:
        """Let time pass."""
        self._take_resumed((yield Pause(ms=ms)))

    def tell(self, body: EventBody) -> Steps[None]:
        """Emit an event about the current step."""
        told = Tell(body=body, address=self.address, provenance=self.provenance)
        self._take_resumed((yield told))

    def _forget_screen(self) -> None:
        self.screen = None
        self.unseen = "observation-missing"

    def _read_act(self, observation: Observation) -> str:
        match observation:
            case Acted(text=text, at_ms=at_ms):
                self.now_ms = at_ms
                return text
            case ActFailed(failure=failure, at_ms=at_ms):
                self.now_ms = at_ms
                raise StepError(failure)
        raise _unexpected("an action", observation)

    def _take_resumed(self, observation: Observation) -> None:
        if not isinstance(observation, Resumed):
            raise _unexpected("a pause or an event", observation)
        self.now_ms = observation.at_ms


def readable_screen(seen: Seen | Unseen) -> Snapshot | None:
    """Return the screen of a look, or None when it shows nothing that can be judged."""
    if isinstance(seen, Unseen) or seen.snapshot.quality != "readable":
        return None
    return seen.snapshot


def unreadable_error(
    seen: Seen | Unseen, *, waited_ms: int, readiness: dict[str, Any] | None = None
) -> StepError:
    """Return the error for a screen that stayed unreadable, which says nothing about its content.

    A capture that failed is the device's failure and stays as it is.
    """
    if isinstance(seen, Unseen):
        return StepError(seen.failure)
    details: dict[str, Any] = {"waitedMs": waited_ms, "foreground": seen.snapshot.foreground}
    if readiness is not None:
        details["readiness"] = readiness
    return step_error(
        "capture_sparse",
        f"the screen showed no content of an app for {waited_ms} ms",
        details=details,
    )


def _unexpected(asked: str, observation: Observation) -> InternalError:
    return InternalError(
        reason="observation_unexpected",
        message=f"{asked} was answered with {type(observation).__name__}",
    )
