"""Calls to WebDriverAgent (`GET /window/size`): our client and stock facebook-wda."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import trio
import wda

from drivers.ios.http import HttpConnection, tcp_dial
from drivers.ios.wda import Limits, Wda
from tests.bench.contest import Result, compete
from tests.bench.farm import Farm
from tests.bench.sample import Sample, drive_tasks, drive_threads
from tests.bench.scale import Scale
from tests.bench.table import Bar, Row, render_ratio

OURS, STOCK = "sweepgrid", "facebook-wda, stock"
_CALL_LIMIT_S: Final = 20.0


async def measure(farm: Farm, scale: Scale) -> list[Row]:
    """Return the rows for one device and for all."""
    rows: list[Row] = []
    for count in (1, len(farm.info.wda_urls)):
        urls = farm.info.wda_urls[:count]
        turns = {OURS: partial(_take_our_turn, urls), STOCK: partial(_take_stock_turn, urls)}
        results = await compete(farm, turns, rounds=scale.rounds, seconds=scale.turn_s)
        rows += _rows(results, count)
    return [*rows, await _measure_bare(scale)]


async def _measure_bare(scale: Scale) -> Row:
    """Return the row of the client alone: the other end does no work but answer."""
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, _answer_bare, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        async with open_wda(f"http://127.0.0.1:{port}", Limits(call_s=_CALL_LIMIT_S)) as client:
            sample = await drive_tasks([client.window_size], scale.turn_s)
        nursery.cancel_scope.cancel()
    return Row(
        what="WDA call, 1 device: sweepgrid, to a bare responder on the same core",
        value=sample.median,
        unit="ms",
        tail=sample.p99,
        bar=Bar(0.4),
    )


async def _answer_bare(stream: trio.SocketStream) -> None:
    body = b'{"value":{"width":400,"height":860,"sessionId":"S"},"sessionId":"S"}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with suppress(trio.BrokenResourceError):
        while await stream.receive_some():
            await stream.send_all(answer)


@asynccontextmanager
async def open_wda(url: str, limits: Limits) -> AsyncIterator[Wda]:
    """Open our client of one WDA, with a session; it ends with the context."""
    parts = urlsplit(url)
    http = HttpConnection(tcp_dial(str(parts.hostname), int(parts.port or 0)), where=url)
    client = Wda(http, limits)
    try:
        await client.open_session()
        yield client
    finally:
        await client.aclose()


def open_stock(url: str) -> Any:
    """Return stock facebook-wda with a session."""
    client = wda.Client(url)
    client.window_size()
    return client


async def _take_our_turn(urls: tuple[str, ...], seconds: float) -> Sample:
    """A session a turn, because a WDA has one at a time; opening it is not measured."""
    async with AsyncExitStack() as stack:
        limits = Limits(call_s=_CALL_LIMIT_S)
        clients = [await stack.enter_async_context(open_wda(url, limits)) for url in urls]
        return await drive_tasks([client.window_size for client in clients], seconds)


async def _take_stock_turn(urls: tuple[str, ...], seconds: float) -> Sample:
    clients = await trio.to_thread.run_sync(lambda: [open_stock(url) for url in urls])
    return await drive_threads([client.window_size for client in clients], seconds)


def _rows(results: Mapping[str, Result], count: int) -> list[Row]:
    rows = []
    ours = results[OURS].sample
    for name, result in results.items():
        sample = result.sample
        rows.append(
            Row(
                what=f"WDA call, {count} device{'s' if count > 1 else ''}: {name}",
                value=sample.median,
                unit="ms",
                tail=sample.p99,
                bar=Bar(0.4) if name == OURS and count == 1 else None,
                beside="" if name == OURS else render_ratio(sample.median, ours.median, "ours"),
                note=result.cost,
            )
        )
        if count > 1:
            rows.append(
                Row(
                    what=f"WDA calls a second, {count} devices: {name}",
                    value=sample.per_s,
                    unit="/s",
                    tail=min(sample.rates),
                    tail_name="min",
                    bar=Bar(3000, ">=") if name == OURS else None,
                    beside="" if name == OURS else render_ratio(sample.per_s, ours.per_s, "ours"),
                )
            )
    return rows
