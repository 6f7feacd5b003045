"""A fleet: a whole lab in one process, with the adb server that its Android phones are on.

Each phone has its own face and port; the iPhones also hang on one usbmuxd socket. The adb server
and the way to make it connect come from the caller, since the grid does not know the drivers. When
`run_fleet` is cancelled or told to shut down, everything that it started has ended.

May be imported by: grid.lab, runner.cli, tests. Imports: grid.lab, runner.errors, trio.
"""

import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final, NoReturn, Protocol, TypeAlias

import msgspec
import trio
from msgspec import Struct

from grid.lab.adbd import serve_adbd
from grid.lab.appfile import AppSpec, load_app
from grid.lab.control import serve_control
from grid.lab.phone import SimPhone
from grid.lab.usbmuxd import UsbDevice, serve_usbmuxd
from grid.lab.wda import serve_wda
from runner.clock import SystemClock
from runner.errors import GridError, InputError, RunnerError
from runner.model.ids import Platform

WDA_PORT: Final = 8100
"""Where WebDriverAgent listens on the phone itself, as usbmux clients dial it."""
READY_LIMIT_S: Final = 60.0
HOST: Final = "127.0.0.1"
_POLL_S: Final = 0.05
_CONNECTS_AT_ONCE: Final = 16
SOCKET_NAME: Final = "usbmuxd"


class FleetSpec(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What to run: how many phones of each kind with which app. `runtime_dir` empty: a new one."""

    app: str
    android: int = 1
    ios: int = 1
    seed: int = 1
    runtime_dir: str = ""


class FleetInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where everything is. `adb_port` is 0 without Android phones."""

    serials: tuple[str, ...]
    udids: tuple[str, ...]
    adb_port: int
    wda_urls: tuple[str, ...]
    usbmux_socket: str
    truth_url: str
    pid: int


class AdbServerHandle(Protocol):
    """A running adb server."""

    @property
    def host(self) -> str:
        """Its address."""
        ...

    @property
    def port(self) -> int:
        """Its port."""
        ...

    @property
    def pid(self) -> int:
        """Its process id."""
        ...


OpenAdbServer: TypeAlias = Callable[[], AbstractAsyncContextManager[AdbServerHandle]]
Connect: TypeAlias = Callable[[str, int, str], Awaitable[None]]
"""Makes the adb server at (host, port) connect to a device at an address."""


def parse_spec(text: str) -> FleetSpec:
    """Read a specification as `render_spec` wrote it. Reasons: `lab_spec_invalid`."""
    try:
        return msgspec.json.decode(text.encode("utf-8", "surrogatepass"), type=FleetSpec)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(
            reason="lab_spec_invalid",
            message=f"the lab's specification cannot be read: {error}",
            details={"cause": str(error)},
        ) from error


def render_spec(spec: FleetSpec) -> str:
    """Return a specification as one line of JSON."""
    return msgspec.json.encode(spec).decode()


async def run_fleet(
    spec: FleetSpec,
    *,
    adb_server: OpenAdbServer,
    connect: Connect,
    task_status: trio.TaskStatus[FleetInfo] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run the fleet until cancelled or shut down; announces it when every phone is usable.

    Reasons: `lab_app_invalid`, `lab_start_failed`, and those of `adb_server` and `connect`.
    """
    try:
        await _run(spec, adb_server, connect, task_status)
    except BaseExceptionGroup as group:
        raise_first_error(group)


def raise_first_error(group: BaseExceptionGroup[BaseException]) -> NoReturn:
    """Raise the first error of ours in a nursery's group, else the group."""
    pending: list[BaseException] = [group]
    while pending:
        error = pending.pop(0)
        if isinstance(error, RunnerError):
            raise error from group
        if isinstance(error, BaseExceptionGroup):
            pending[:0] = error.exceptions
    raise group


async def _run(
    spec: FleetSpec,
    adb_server: OpenAdbServer,
    connect: Connect,
    task_status: trio.TaskStatus[FleetInfo],
) -> None:
    app = load_app(Path(spec.app))
    stop = trio.Event()
    async with AsyncExitStack() as stack:
        folder = spec.runtime_dir or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="sweepgrid-lab-")
        )
        server = await stack.enter_async_context(adb_server()) if spec.android else None
        nursery = await stack.enter_async_context(trio.open_nursery())
        phones: dict[str, SimPhone] = {}
        for number in range(1, spec.android + 1):
            # The phone has a serial of its own; adb knows it by its address.
            phone = _make_phone("android", _serial("LABA", number), app, spec.seed + number)
            phones[f"{HOST}:{await nursery.start(serve_adbd, phone)}"] = phone
        serials = tuple(phones)
        on_bus: list[UsbDevice] = []
        for number in range(1, spec.ios + 1):
            udid = _serial("00008120-", number)
            phone = phones[udid] = _make_phone("ios", udid, app, spec.seed + number)
            port: int = await nursery.start(serve_wda, phone)
            on_bus.append(UsbDevice(device_id=number, phone=phone, ports={WDA_PORT: (HOST, port)}))
        socket_path = Path(folder) / SOCKET_NAME
        await nursery.start(partial(serve_usbmuxd, on_bus, path=socket_path))
        truth_port: int = await nursery.start(partial(serve_control, phones, shutdown=stop.set))
        if server is not None:
            await _attach_all(server, serials, connect)
        task_status.started(
            FleetInfo(
                serials=serials,
                udids=tuple(device.phone.serial for device in on_bus),
                adb_port=server.port if server is not None else 0,
                wda_urls=tuple(f"http://{HOST}:{d.ports[WDA_PORT][1]}" for d in on_bus),
                usbmux_socket=str(socket_path),
                truth_url=f"http://{HOST}:{truth_port}",
                pid=os.getpid(),
            )
        )
        await stop.wait()
        nursery.cancel_scope.cancel()


def _serial(prefix: str, number: int) -> str:
    """Return the name of a phone, unlike that of any phone of another lab on this computer."""
    return f"{prefix}{os.getpid():08X}{number:08X}"


def _make_phone(platform: Platform, serial: str, app: AppSpec, seed: int) -> SimPhone:
    clock = SystemClock()
    return SimPhone(
        platform=platform,
        serial=serial,
        app=app,
        clock=lambda: clock.wall_ms() / 1000,  # Phones show and log the time of the day.
        seed=seed,
    )


async def _attach_all(server: AdbServerHandle, serials: tuple[str, ...], connect: Connect) -> None:
    """Make the server connect to every phone and wait until it lists all of them as usable."""
    states: Mapping[str, str] = {}
    limiter = trio.CapacityLimiter(_CONNECTS_AT_ONCE)

    async def attach(serial: str) -> None:
        async with limiter:
            await connect(server.host, server.port, serial)

    with trio.move_on_after(READY_LIMIT_S):
        async with trio.open_nursery() as nursery:
            for serial in serials:
                nursery.start_soon(attach, serial)
        while True:
            states = await _device_states(server)
            if all(states.get(serial) == "device" for serial in serials):
                return
            await trio.sleep(_POLL_S)
    missing = {serial: states.get(serial, "absent") for serial in serials}
    missing = {serial: state for serial, state in missing.items() if state != "device"}
    raise GridError(
        reason="lab_start_failed",
        message=f"{len(missing)} of {len(serials)} virtual phones did not become usable in adb",
        details={"states": missing},
    )


async def _device_states(server: AdbServerHandle) -> Mapping[str, str]:
    """Ask the server for its list over the smart socket."""
    try:
        async with await trio.open_tcp_stream(server.host, server.port) as stream:
            await stream.send_all(b"000chost:devices")
            data = b"".join([chunk async for chunk in stream])
    except (OSError, trio.BrokenResourceError) as error:
        raise GridError(
            reason="lab_start_failed",
            message=f"the adb server on port {server.port} does not answer: {error}",
            details={"port": server.port},
        ) from error
    lines = data[8:].decode("utf-8", "replace").splitlines()
    parts = (line.partition("\t") for line in lines)
    return {serial: state for serial, tab, state in parts if tab}


def render_grid(info: FleetInfo) -> str:
    """Return the grid file of a lab: a run on it needs nothing else.

    Every second iPhone is reached through usbmux, so that both routes are in use.
    """
    lines = ["# Written by `sweepgrid lab up`; `sweepgrid lab down` ends the lab and removes it."]
    lines += ["version = 1"]
    if info.serials:
        serials = _render_value(list(info.serials))
        lines += [
            "",
            "[[adb]]",
            f"host = {_render_value(HOST)}",
            f"port = {info.adb_port}",
            "owned = false",
            f"connect = {serials}",
            f"serials = {serials}",
            'tags = ["lab"]',
        ]
    for number, (udid, url) in enumerate(zip(info.udids, info.wda_urls, strict=True), start=1):
        lines += ["", "[[wda]]"]
        if number % 2:
            lines += [f"url = {_render_value(url)}"]
        else:
            lines += [f"usbmux = {_render_value(info.usbmux_socket)}", f"port = {WDA_PORT}"]
        lines += [f"udid = {_render_value(udid)}", 'tags = ["lab"]']
    lines += [
        "",
        "[lab]",
        f"pid = {info.pid}",
        f"truth_url = {_render_value(info.truth_url)}",
        f"usbmux_socket = {_render_value(info.usbmux_socket)}",
    ]
    return "\n".join(lines) + "\n"


def _render_value(value: str | list[str]) -> str:
    # JSON's strings and lists of strings are TOML's as well.
    return msgspec.json.encode(value).decode()
