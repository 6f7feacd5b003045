import msgspec
import pytest
from hypothesis import given, strategies as st

from grid.message import (
    MAX_FRAME_BYTES,
    ArtifactPiece,
    Assign,
    Cancel,
    Ended,
    Events,
    FrameReader,
    Heartbeat,
    Hello,
    Message,
    decode_payload,
    encode_frame,
)
from runner.errors import GridError
from runner.model.event import Diverged, Event, Logged, StepStarted
from runner.model.failure import Failure
from runner.model.ids import AttemptId, PlanId, RunId
from tests.support.device import address
from tests.support.plans import make_plan


def make_event(body: StepStarted | Logged | Diverged) -> Event:
    return Event(
        run_id=RunId("r"),
        source="d1",
        sequence=1,
        wall_ms=1,
        offset_ms=2,
        body=body,
        address=address(3),
    )


MESSAGES: list[Message] = [
    Hello(name="worker d1"),
    Assign(plan=make_plan("p"), attempt_id=AttemptId("p.1"), number=1, budget_ms=5),
    Cancel(attempt_id=AttemptId("p.1")),
    Events(events=(make_event(StepStarted(command="press", text="press ok")),), dropped=3),
    ArtifactPiece(
        attempt_id=AttemptId("p.1"),
        plan_id=PlanId("p"),
        kind="screenshot",
        name="failure.png",
        address=address(1),
        data=b"\x00\xff",
        is_last=True,
    ),
    Ended(
        attempt_id=AttemptId("p.1"),
        plan_id=PlanId("p"),
        outcome="failed",
        began=True,
        duration_ms=7,
        busy_ms=6.5,
        usable=True,
        failure=Failure(kind="product", code="C", reason="r", message="m", details={"n": 1}),
        address=address(2),
    ),
    Heartbeat(),
]


def decode_all(data: bytes) -> list[Message]:
    return [decode_payload(payload) for payload in FrameReader().feed(data)]


def reason_of(data: bytes) -> str:
    """Return the reason why `data` is refused, or nothing when it is not."""
    try:
        decode_all(data)
    except GridError as error:
        return error.reason
    return ""


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
async def test_every_message_survives_its_frame(message: Message) -> None:
    assert decode_all(encode_frame(message)) == [message]


@given(st.lists(st.sampled_from(MESSAGES), max_size=6), st.data())
def test_frames_are_found_however_the_stream_is_cut(
    messages: list[Message], data: st.DataObject
) -> None:
    stream = b"".join(encode_frame(message) for message in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader, found, start = FrameReader(), list[Message](), 0
    for cut in [*cuts, len(stream)]:
        found += [decode_payload(payload) for payload in reader.feed(stream[start:cut])]
        start = cut

    assert found == messages
    assert reader.is_empty


@given(st.binary(max_size=300))
def test_random_bytes_are_a_typed_error_or_nothing(data: bytes) -> None:
    assert reason_of(data) in {"", "channel_frame_invalid", "channel_frame_too_large"}


@given(st.sampled_from(MESSAGES), st.data())
def test_damaged_frames_are_a_typed_error_or_a_message(
    message: Message, data: st.DataObject
) -> None:
    frame = bytearray(encode_frame(message))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(4, len(frame) - 1))] = data.draw(st.integers(0, 255))

    assert reason_of(bytes(frame)) in {"", "channel_frame_invalid"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.slow
@given(json_values)
def test_other_values_than_messages_are_a_typed_error(value: object) -> None:
    try:
        payload = msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return  # MessagePack has no form for it, so it cannot come.
    with pytest.raises(GridError, match="not a message"):
        decode_payload(payload)


async def test_deep_nesting_is_a_typed_error() -> None:
    with pytest.raises(GridError) as caught:
        decode_payload(b"\x91" * 200_000)

    assert caught.value.reason == "channel_frame_invalid"


async def test_an_oversized_frame_is_refused_before_it_is_kept() -> None:
    reader = FrameReader()
    with pytest.raises(GridError) as caught:
        reader.feed((MAX_FRAME_BYTES + 1).to_bytes(4, "big") + b"x")

    assert caught.value.reason == "channel_frame_too_large"
    assert caught.value.details["size_bytes"] == MAX_FRAME_BYTES + 1


async def test_an_oversized_message_is_not_sent() -> None:
    plan = make_plan("p", program=b"x" * MAX_FRAME_BYTES)
    with pytest.raises(GridError) as caught:
        encode_frame(Assign(plan=plan, attempt_id=AttemptId("p.1"), number=1))

    assert caught.value.reason == "channel_frame_too_large"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ({"text": "half \ud83d"}, {"text": "half \\ud83d"}),
        ({"n": 2**70}, {"n": str(2**70)}),
        ({"\udc00": [1, ("\ud800",)]}, {"\\udc00": [1, ["\\ud800"]]}),
    ],
)
async def test_what_messagepack_cannot_say_is_escaped_not_lost(
    report: dict[str, object], expected: dict[str, object]
) -> None:
    event = make_event(Diverged(kind="action-failure", report=report))
    (message,) = decode_all(encode_frame(Events(events=(event,))))

    assert isinstance(message, Events)
    body = message.events[0].body

    assert isinstance(body, Diverged)
    assert body.report == expected


async def test_values_of_unknown_types_travel_as_their_text() -> None:
    event = make_event(Diverged(kind="x", report={"opaque": make_event, "half": "\ud800"}))
    (message,) = decode_all(encode_frame(Events(events=(event,))))

    assert isinstance(message, Events)
    assert isinstance(message.events[0].body, Diverged)
    assert "make_event" in message.events[0].body.report["opaque"]
