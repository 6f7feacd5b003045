"""What the iOS face does when it is told to be ill. Time is the test's."""

import pytest
import trio
from trio.testing import MockClock

from tests.grid.lab.ioskit import (
    BUNDLE,
    Answer,
    Client,
    make_shop_phone,
    open_client,
    open_wda,
)


async def test_during_a_hang_status_and_screenshot_answer_and_nothing_else(
    autojump_clock: MockClock,
) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client, open_client(port) as other:
        await client.open_session()
        phone.faults.set("wda_hang")
        assert (await other.ask("GET", "/status")).status == 200
        assert (await other.ask("GET", "/screenshot")).status == 200
        with trio.move_on_after(20) as scope:
            await client.get("/window/size")

    assert scope.cancelled_caught


async def test_the_end_of_the_session_abandons_what_hangs_in_it_at_once(
    autojump_clock: MockClock,
) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    answers: list[Answer] = []
    async with open_wda(phone) as port, open_client(port) as client, open_client(port) as other:
        session = await client.open_session()
        phone.faults.set("wda_hang")
        began = autojump_clock.current_time()

        async def ask() -> None:
            answers.append(await client.get("/window/size"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.sleep(1)
            ended = await other.ask("DELETE", f"/session/{session}")
        waited = autojump_clock.current_time() - began

    assert (200, (404, "invalid session id")) == (ended.status, answers[0].error)
    assert waited == pytest.approx(1, abs=0.1)


async def test_a_hang_of_limited_length_ends_by_itself(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        await client.open_session()
        phone.faults.set("wda_hang", for_s=5)
        began = autojump_clock.current_time()
        answer = await client.get("/window/size")
        waited = autojump_clock.current_time() - began

    assert answer.status == 200
    assert 5 <= waited < 5.1


async def test_a_restart_resets_the_connections_and_forgets_the_session(
    autojump_clock: MockClock,
) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port:
        async with open_client(port) as client:
            session = await client.open_session(bundleId=BUNDLE)
            phone.faults.set("wda_restart")
            with pytest.raises(trio.BrokenResourceError):
                await client.get("/window/size")
        async with open_client(port) as client:
            stale = await client.ask("GET", f"/session/{session}/window/size")
            status = await client.ask("GET", "/status")

    assert stale.error == (404, "invalid session id")
    assert status.body["sessionId"] is None
    assert phone.foreground == BUNDLE


async def test_a_restart_also_ends_what_hangs(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port:
        async with open_client(port) as client:
            await client.open_session()
            phone.faults.set("wda_hang")
            async with trio.open_nursery() as nursery:

                async def ask() -> None:
                    with pytest.raises(trio.BrokenResourceError):
                        await client.get("/window/size")

                nursery.start_soon(ask)
                await trio.sleep(0.5)
                phone.faults.set("wda_restart")
        phone.faults.clear("wda_hang")
        async with open_client(port) as client:
            await client.open_session()
            answer = await client.get("/window/size")

    assert answer.status == 200


async def test_dropped_connections_break_and_new_ones_are_refused_for_a_while(
    autojump_clock: MockClock,
) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port:
        async with open_client(port) as client:
            await client.open_session()
            phone.faults.set("drop", for_s=10)
            with pytest.raises(trio.BrokenResourceError):
                await client.get("/window/size")
        async with open_client(port) as client:
            with pytest.raises(trio.BrokenResourceError):
                await client.ask("GET", "/status")
        await trio.sleep(11)
        async with open_client(port) as client:
            answer = await client.ask("GET", "/status")

    assert answer.status == 200
    assert answer.body["sessionId"] is not None


async def test_a_stalled_phone_takes_requests_and_answers_later(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        phone.faults.set("stall", for_s=7)
        began = autojump_clock.current_time()
        answer = await client.ask("GET", "/status")
        waited = autojump_clock.current_time() - began

    assert (200, True) == (answer.status, 7 <= waited < 7.1)


async def test_a_slow_phone_answers_late(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    async with open_wda(phone) as port, open_client(port) as client:
        phone.faults.set("slow", latency_ms=300)
        began = autojump_clock.current_time()
        await client.ask("GET", "/status")
        waited = autojump_clock.current_time() - began

    assert waited == pytest.approx(0.3, abs=0.01)


async def test_requests_on_the_main_queue_wait_for_each_other(autojump_clock: MockClock) -> None:
    phone = make_shop_phone(autojump_clock.current_time)
    done: list[tuple[str, float]] = []
    async with open_wda(phone) as port, open_client(port) as one, open_client(port) as two:
        await one.open_session()
        two.prefix = one.prefix
        began = autojump_clock.current_time()

        async def ask(client: Client, name: str, path: str, **body: object) -> None:
            await client.post(path, **body)
            done.append((name, round(autojump_clock.current_time() - began, 1)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: ask(one, "hold", "/wda/touchAndHold", x=5, y=5, duration=2))
            await trio.sleep(0.5)
            nursery.start_soon(lambda: ask(two, "tap", "/wda/tap", x=5, y=5))

    assert done == [("hold", 2.0), ("tap", 2.0)]


async def test_a_screen_that_moves_is_waited_for_unless_the_session_says_no(
    autojump_clock: MockClock,
) -> None:
    waits: list[float] = []
    for quiescence in (True, False):
        phone = make_shop_phone(autojump_clock.current_time)
        async with open_wda(phone) as port, open_client(port) as client:
            await client.open_session(bundleId=BUNDLE, shouldWaitForQuiescence=quiescence)
            await client.log_in()
            began = autojump_clock.current_time()
            await client.get("/source?format=json")
            waits.append(round(autojump_clock.current_time() - began, 2))

    assert waits == [0.15, 0.0]
