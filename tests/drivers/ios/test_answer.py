import json

import msgspec
import pytest
from hypothesis import given, strategies as st

from drivers.ios.answer import WdaRefusedError, read_session_id, read_value
from drivers.ios.http import Reply
from runner.errors import DeviceError

NUMBER = msgspec.json.Decoder(int)


def envelope(value: object, session: object = "S", status: int = 200) -> Reply:
    return Reply(status, json.dumps({"value": value, "sessionId": session}).encode())


def error(name: str, message: str = "", status: int = 400) -> Reply:
    return envelope({"error": name, "message": message, "traceback": ""}, status=status)


def test_the_value_and_the_session_come_out_of_the_envelope() -> None:
    reply = envelope(4)

    assert read_value(reply, NUMBER, call="c") == 4
    assert read_session_id(reply, call="c") == "S"


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (error("invalid session id", status=404), "driver_fault", "wda_session_lost"),
        (error("no such alert", status=404), "product", "alert_absent"),
        (
            error("invalid element state", "com.x is not running, possibly crashed"),
            "product",
            "app_crashed",
        ),
        (
            error("invalid element state", "The on-screen keyboard must be present to send keys"),
            "product",
            "text_input_not_focused",
        ),
        (error("unknown command", status=404), "misuse", "action_unsupported"),
        (error("unable to capture screen", status=500), "device_busy", "screenshot_invalid"),
        (error("unknown error", "so it is", status=500), "driver_fault", "wda_refused"),
        (error("invalid element state", "what?", status=200), "driver_fault", "wda_refused"),
    ],
)
def test_each_error_of_wda_becomes_its_reason(reply: Reply, kind: str, reason: str) -> None:
    with pytest.raises(WdaRefusedError) as caught:
        read_value(reply, NUMBER, call="POST /x")

    assert (caught.value.kind, caught.value.reason) == (kind, reason)
    assert caught.value.details["call"] == "POST /x"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b""),
        Reply(502, b"<html><body>502 Bad Gateway</body></html>"),
        Reply(200, b'{"value": 1'),
        Reply(200, b'{"value": "\xff"}'),
        Reply(200, b"[1]"),
        envelope("not a number"),
        envelope(None),
        envelope(4, session=9),
        envelope({"message": "an error without a name"}, status=500),
        Reply(200, b'{"value":' + b"[" * 100_000),
    ],
)
def test_an_answer_that_is_none_is_a_fault_of_the_driver_with_its_head(reply: Reply) -> None:
    with pytest.raises(DeviceError) as caught:
        read_value(reply, NUMBER, call="GET /x")

    assert (caught.value.kind, caught.value.reason) == ("driver_fault", "wda_answer_invalid")
    assert len(caught.value.details["head"]) <= 200


@pytest.mark.slow
@given(status=st.integers(100, 599), body=st.binary(max_size=200) | st.text().map(str.encode))
def test_whatever_the_body_only_our_errors_come_out(status: int, body: bytes) -> None:
    try:
        read_value(Reply(status, body), NUMBER, call="c")
    except DeviceError as caught:
        reason = caught.reason
    else:
        reason = "wda_answer_invalid"

    assert reason == "wda_answer_invalid"
