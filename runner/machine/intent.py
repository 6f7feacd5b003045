"""Intents and observations: how an interpreter asks, and what it is told.

An interpreter is a generator that yields one `Intent` at a time, is resumed with the matching
`Observation`, and returns an `Outcome`. It never blocks, reads no clock and touches no device;
`at_ms` of each observation is monotonic time since the attempt began. Which answer fits:

    Look    -> Seen | Unseen
    Act     -> Acted | ActFailed
    Pause   -> Resumed      (after `ms`)
    Tell    -> Resumed      (at once)
    Shoot   -> Acted | ActFailed   (a screenshot was stored)
    Keep    -> Resumed      (at once)

A worker that must stop the interpreter closes the generator.

May be imported by: runner.formats, runner.preflight, grid, tests. Imports: runner.model.
"""

from collections.abc import Generator
from typing import TypeAlias

from msgspec import Struct

from runner.model.action import Action
from runner.model.address import Provenance, StepAddress
from runner.model.artifact import ArtifactKind
from runner.model.event import EventBody
from runner.model.failure import Failure
from runner.model.screen import Snapshot


class Look(Struct, frozen=True, kw_only=True, tag="look"):
    """Capture the screen afresh."""


class Act(Struct, frozen=True, kw_only=True, tag="act"):
    """Carry out one action."""

    action: Action


class Pause(Struct, frozen=True, kw_only=True, tag="pause"):
    """Let `ms` milliseconds pass."""

    ms: int


class Tell(Struct, frozen=True, kw_only=True, tag="tell"):
    """Emit an event about a step."""

    body: EventBody
    address: StepAddress | None = None
    provenance: Provenance | None = None


class Shoot(Struct, frozen=True, kw_only=True, tag="shoot"):
    """Take a screenshot and keep it as an artifact of the step, under `name` when given."""

    name: str
    address: StepAddress | None = None
    provenance: Provenance | None = None


class Keep(Struct, frozen=True, kw_only=True, tag="keep"):
    """Keep `data` as an artifact of the step."""

    kind: ArtifactKind
    name: str
    data: bytes
    address: StepAddress | None = None
    provenance: Provenance | None = None


Intent: TypeAlias = Look | Act | Pause | Tell | Shoot | Keep


class Seen(Struct, frozen=True, kw_only=True, tag="seen"):
    """The screen."""

    snapshot: Snapshot
    at_ms: float


class Unseen(Struct, frozen=True, kw_only=True, tag="unseen"):
    """No screen could be captured; `retriable` when another look may succeed."""

    failure: Failure
    retriable: bool
    at_ms: float


class Acted(Struct, frozen=True, kw_only=True, tag="acted"):
    """The action was carried out; `text` is what it read, if it reads."""

    text: str = ""
    at_ms: float


class ActFailed(Struct, frozen=True, kw_only=True, tag="act_failed"):
    """The action failed."""

    failure: Failure
    at_ms: float


class Resumed(Struct, frozen=True, kw_only=True, tag="resumed"):
    """Time has passed, or the event was taken."""

    at_ms: float


Observation: TypeAlias = Seen | Unseen | Acted | ActFailed | Resumed


class Outcome(Struct, frozen=True, kw_only=True):
    """How the program ended: `failure` is absent when every step passed."""

    failure: Failure | None = None
    address: StepAddress | None = None
    provenance: Provenance | None = None


Machine: TypeAlias = Generator[Intent, Observation, Outcome]
"""Start with `next(machine)`, then `machine.send(observation)` until `StopIteration.value`."""


class MachineInputs(Struct, frozen=True, kw_only=True):
    """What a worker adds to a plan: which attempt this is, and on what device.

    `device` is the device's name for people, `serial` its adb serial or UDID.
    """

    platform: str
    target: str = "mobile"
    device: str = ""
    serial: str = ""
    attempt_id: str = ""
