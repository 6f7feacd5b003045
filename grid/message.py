"""The messages between a grid and a worker, and their frames.

Pure. A frame is a length of four bytes, big-endian, and that many bytes of MessagePack: one
`Message`, told apart by its `type`. A frame of more than `MAX_FRAME_BYTES`, or one that is not a
message, is a typed error; whoever meets it closes the channel.

    grid -> worker    Hello, Assign, Cancel, Heartbeat
    worker -> grid    Hello, Events, ArtifactPiece, Ended, Heartbeat

May be imported by: grid, tests. Imports: runner.model, runner.errors, msgspec.
"""

from typing import Final, TypeAlias, final

import msgspec
from msgspec import Struct

from runner.errors import GridError
from runner.model.address import Provenance, StepAddress
from runner.model.artifact import ArtifactKind
from runner.model.event import Event
from runner.model.failure import Failure
from runner.model.ids import AttemptId, PlanId
from runner.model.plan import CheckedPlan
from runner.model.verdict import AttemptOutcome

PROTOCOL_VERSION: Final = 1
MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
MAX_PIECE_BYTES: Final = 1024 * 1024
_HEADER_BYTES: Final = 4


class Hello(Struct, frozen=True, gc=False, kw_only=True, tag="hello"):
    """The first message of either side. `name` is for people."""

    protocol: int = PROTOCOL_VERSION
    name: str


class Assign(Struct, frozen=True, gc=False, kw_only=True, tag="assign"):
    """Run an attempt. `budget_ms` is what is left of the run's time limit."""

    plan: CheckedPlan
    attempt_id: AttemptId
    number: int
    budget_ms: int | None = None


class Cancel(Struct, frozen=True, gc=False, kw_only=True, tag="cancel"):
    """End a running attempt as cancelled; an unknown one is ignored."""

    attempt_id: AttemptId


class Events(Struct, frozen=True, gc=False, kw_only=True, tag="events"):
    """Events in order. `dropped` counts those left out before them because of a slow reader."""

    events: tuple[Event, ...]
    dropped: int = 0


class ArtifactPiece(Struct, frozen=True, gc=False, kw_only=True, tag="artifact"):
    """A piece of one artifact; the pieces of one come in order, nothing else of it between.

    `name` counts the artifacts of an attempt and says what it is; `address` is a step's token.
    """

    attempt_id: AttemptId
    plan_id: PlanId
    kind: ArtifactKind
    name: str
    address: StepAddress | None = None
    provenance: Provenance | None = None
    data: bytes
    is_last: bool


class Ended(Struct, frozen=True, gc=False, kw_only=True, tag="ended"):
    """An attempt ended; all its events and artifacts went before.

    `usable` is false when the device has to be opened anew. `busy_ms` passed since the first
    command on the device.
    """

    attempt_id: AttemptId
    plan_id: PlanId
    outcome: AttemptOutcome
    began: bool
    duration_ms: int
    busy_ms: float
    usable: bool
    failure: Failure | None = None
    address: StepAddress | None = None
    provenance: Provenance | None = None


class Heartbeat(Struct, frozen=True, gc=False, kw_only=True, tag="heartbeat"):
    """The sender lives."""


Message: TypeAlias = Hello | Assign | Cancel | Events | ArtifactPiece | Ended | Heartbeat

_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=repr)
_DECODER: Final = msgspec.msgpack.Decoder(Message)


def encode_frame(message: Message) -> bytes:
    """Return the frame of `message`. Reasons: `channel_frame_too_large`."""
    try:
        payload = _ENCODER.encode(message)
    except (UnicodeEncodeError, OverflowError):
        # Devices may report text or numbers that MessagePack has no form for.
        builtins = msgspec.to_builtins(message, builtin_types=(bytes,), enc_hook=repr)
        payload = _ENCODER.encode(_scrub(builtins))
    _require_size(len(payload))
    return len(payload).to_bytes(_HEADER_BYTES, "big") + payload


def _scrub(value: object) -> object:
    """Return `value` with unencodable text escaped and huge integers as text."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_scrub(key): _scrub(item) for key, item in value.items()}
        case list() | tuple():
            return [_scrub(item) for item in value]
        case int() if not -(2**63) <= value < 2**64:
            return str(value)
        case _:
            return value


def decode_payload(payload: bytes) -> Message:
    """Return the message of a frame's payload. Reasons: `channel_frame_invalid`."""
    try:
        return _DECODER.decode(payload)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
        raise GridError(
            reason="channel_frame_invalid",
            message=f"a frame of {len(payload)} bytes is not a message of the protocol: {error}",
            details={"size_bytes": len(payload)},
        ) from error


@final
class FrameReader:
    """Cuts a byte stream into payloads; holds one unfinished frame at most."""

    def __init__(self) -> None:
        self._data = bytearray()

    @property
    def is_empty(self) -> bool:
        """Whether the stream stands between two frames."""
        return not self._data

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was read; return the payloads now complete.

        Reasons: `channel_frame_too_large`, before anything of such a frame is kept.
        """
        self._data += data
        payloads = []
        start = 0
        while len(self._data) - start >= _HEADER_BYTES:
            size = int.from_bytes(self._data[start : start + _HEADER_BYTES], "big")
            _require_size(size)
            end = start + _HEADER_BYTES + size
            if len(self._data) < end:
                break
            payloads.append(bytes(self._data[start + _HEADER_BYTES : end]))
            start = end
        del self._data[:start]
        return payloads


def _require_size(size: int) -> None:
    if size > MAX_FRAME_BYTES:
        raise GridError(
            reason="channel_frame_too_large",
            message=f"a frame of {size} bytes is over the bound of {MAX_FRAME_BYTES} bytes",
            details={"size_bytes": size, "bound_bytes": MAX_FRAME_BYTES},
        )
