"""A fleet: a whole lab in one process, with the adb server that its Android phones are on.

Each phone has its own face and port; the iPhones also hang on one usbmuxd socket. When
`run_fleet` is cancelled or told to shut down, everything that it started has ended.

May be imported by: grid.lab, runner.cli, tests. Imports: grid.lab, runner.errors, trio.
"""

import os
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

import msgspec
import trio
from msgspec import Struct

from grid.lab.adbd import serve_adbd
from grid.lab.appfile import AppSpec, load_app
from grid.lab.attached import Attached, Connect, OpenAdbServer
from grid.lab.control import LabPart, serve_control
from grid.lab.phone import SimPhone
from grid.lab.usbmuxd import UsbDevice, serve_usbmuxd
from grid.lab.wda import serve_wda
from runner.clock import SystemClock
from runner.errors import InputError, RunnerError
from runner.model.ids import Platform

WDA_PORT: Final = 8100
"""Where WebDriverAgent listens on the phone itself, as usbmux clients dial it."""
HOST: Final = "127.0.0.1"
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
        attached = Attached(server, serials, connect) if server is not None else None
        ask_parts = partial(_tell_parts, attached, on_bus, socket_path)
        truth_port: int = await nursery.start(
            partial(serve_control, phones, shutdown=stop.set, ask_parts=ask_parts)
        )
        if attached is not None:
            await attached.attach()
            nursery.start_soon(attached.keep)
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


async def _tell_parts(
    attached: Attached | None, on_bus: Sequence[UsbDevice], socket_path: Path
) -> tuple[LabPart, ...]:
    """Return each part by which clients reach the phones, and whether it serves."""
    is_there = socket_path.exists()  # noqa: ASYNC240  # One look, at somebody's request.
    return (
        *(await attached.parts() if attached is not None else ()),
        *(
            LabPart(name="WDA", address=f"http://{HOST}:{device.ports[WDA_PORT][1]}")
            for device in on_bus
        ),
        LabPart(
            name="usbmux",
            address=str(socket_path),
            state="up" if is_there else "down",
            note="" if is_there else "its socket is gone",
        ),
    )


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
