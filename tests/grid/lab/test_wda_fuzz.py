"""Any body on any route: an answer of the protocol, and a server that goes on."""

import pytest
from hypothesis import given, settings, strategies as st

from grid.lab.wda_error import STATUSES
from tests.grid.lab.ioskit import BUNDLE, make_phone, open_client, open_wda

KEYS = (
    *("using", "value", "x", "y", "direction", "distance", "name", "predicateString", "toVisible"),
    *("bundleId", "capabilities", "settings", "actions", "keyNames", "url", "content"),
    *("fromX", "fromY", "toX", "toY", "velocity"),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
_BODIES = st.one_of(
    _JSON,
    st.dictionaries(
        st.sampled_from(KEYS),
        st.one_of(_JSON, st.sampled_from(["id", "xpath", "username", "up", 1, 2.5, True])),
        max_size=5,
    ),
)
_PATHS = st.sampled_from(
    [
        "/element",
        "/elements",
        "/element/active",
        "/element/E/value",
        "/element/E/click",
        "/element/E/clear",
        "/element/E/elements",
        "/wda/element/E/scroll",
        "/wda/element/E/swipe",
        "/wda/tap",
        "/wda/touchAndHold",
        "/wda/dragfromtoforduration",
        "/wda/keys",
        "/wda/keyboard/dismiss",
        "/wda/apps/launch",
        "/wda/apps/state",
        "/wda/pressButton",
        "/wda/setPasteboard",
        "/appium/settings",
        "/alert/accept",
        "/actions",
        "/url",
        "/orientation",
    ]
)


@pytest.mark.slow
@given(st.lists(st.tuples(_PATHS, _BODIES), max_size=25))
@settings(max_examples=25, deadline=None)
async def test_no_body_makes_more_than_an_error_envelope(
    requests: list[tuple[str, object]],
) -> None:
    phone = make_phone()
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session(bundleId=BUNDLE)
        element = await client.find("username")
        for path, body in requests:
            answer = await client.ask("POST", client.prefix + path.replace("E", element), body)

            assert set(answer.body) == {"value", "sessionId"}
            if answer.status != 200:
                assert set(answer.value) == {"error", "message", "traceback"}
                assert answer.status == STATUSES[answer.value["error"]]
        assert (await client.ask("GET", "/status")).status == 200
