"""`lab up|status|down|fault` and the host process behind them.

May be imported by: runner.cli. Imports: grid.lab, drivers.android, runner.cli.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path

import msgspec
import trio

from drivers.android.server import connect, open_adb_server
from grid.lab.appfile import load_app
from grid.lab.control import lab_clear_fault, lab_fault
from grid.lab.fault import FAULTS, FaultInfo
from grid.lab.fleet import FleetInfo, FleetSpec, parse_spec
from grid.lab.gridfile import read_lab
from grid.lab.host import LabState, lab_state, serve_lab, start_lab, stop_lab
from runner.cli.output import write_json, write_people
from runner.cli.sources import required_grid_path
from runner.errors import InputError
from runner.report.words import plural

HOST_COMMAND = (sys.executable, "-m", "runner.cli.entry", "lab", "host")


def up(
    *, android: int, ios: int, app: Path | None, seed: int, grid_out: Path, as_json: bool
) -> int:
    """Start a lab in the background and write its grid file."""
    if android + ios == 0:
        raise InputError(
            reason="option_invalid",
            message="a lab needs at least one phone: --android N or --ios M",
            details={"option": "--android"},
        )
    with ExitStack() as stack:
        path = app or stack.enter_context(as_file(files("configs") / "lab" / "shop.toml"))
        load_app(path)  # What is wrong with it is told before anything is started.
        spec = FleetSpec(app=str(path.resolve()), android=android, ios=ios, seed=seed)
        info = trio.run(start_lab, HOST_COMMAND, spec, grid_out)
    if as_json:
        write_json(info)
    else:
        write_people(_render_info(info, grid_out))
    return 0


def _render_info(info: FleetInfo, grid_out: Path) -> str:
    phones = f"{len(info.serials)} Android and {plural(len(info.udids), 'iPhone')}"
    return "\n".join(
        [
            f"lab is up: {phones} (process {info.pid})",
            f"  adb server   127.0.0.1:{info.adb_port}",
            f"  WDA          {' '.join(info.wda_urls)}",
            f"  usbmux       {info.usbmux_socket}",
            f"  truth        {info.truth_url}",
            f"run on it:   sweepgrid run FLOWS --grid {grid_out}",
            f"end it:      sweepgrid lab down --grid {grid_out}",
        ]
    )


def status(grid: Path | None, *, as_json: bool) -> int:
    """Tell whether a lab runs and what its phones show; 0 when it runs, 1 when it does not."""
    path = required_grid_path(grid)
    state = trio.run(lab_state, path)
    if as_json:
        write_json(state)
        return 0 if state.running else 1
    lines = [f"lab of {path} {_render_state(state)} (process {state.pid})"]
    lines += [
        f"  {part.state:<5} {part.name:<12} {part.address}"
        + (f"  ({part.note})" if part.note else "")
        for part in state.parts
    ]
    for device in state.devices:
        facts = msgspec.to_builtins(device)
        lines.append("  " + "  ".join(f"{name}={value}" for name, value in facts.items()))
    write_people("\n".join(lines))
    return 0 if state.running else 1


def _render_state(state: LabState) -> str:
    if not state.running:
        return "does not run"
    return "runs" if state.answers else "runs, but does not answer"


def down(grid: Path | None, *, as_json: bool) -> int:
    """End a lab; to end one that has ended is no error."""
    path = required_grid_path(grid)
    was_running = trio.run(stop_lab, path)
    is_kept = path.exists()
    if as_json:
        write_json({"stopped": was_running, "grid": str(path), "kept": is_kept})
    else:
        write_people("lab ended" if was_running else "lab had ended before")
        if is_kept:
            write_people(f"{path} is kept: it is not as `sweepgrid lab up` wrote it")
    return 0


def fault(
    words: Sequence[str], *, grid: Path | None, clear: bool, list_faults: bool, as_json: bool
) -> int:
    """Inject a fault, end one, or list the catalogue."""
    if list_faults:
        return _list_faults(as_json=as_json)
    if len(words) < 2:
        raise InputError(
            reason="option_invalid",
            message="name a device and a fault: sweepgrid lab fault DEVICE FAULT [KEY=VALUE...]",
            details={"words": list(words)},
        )
    device, name, *rest = words
    truth_url = read_lab(required_grid_path(grid)).truth_url
    if clear:
        answer = trio.run(lab_clear_fault, truth_url, device, name)
    else:
        answer = trio.run(lab_fault, truth_url, device, name, _parameters(rest))
    if as_json:
        write_json(answer)
    else:
        write_people(f"{name} {'ended on' if clear else 'set on'} {device}")
    return 0


def _parameters(words: Sequence[str]) -> dict[str, float]:
    parameters: dict[str, float] = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            parameters[name] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise InputError(
                reason="option_invalid",
                message=f"{word!r} is not KEY=NUMBER",
                details={"word": word},
            )
    return parameters


def _list_faults(*, as_json: bool) -> int:
    if as_json:
        write_json({name: msgspec.to_builtins(info) for name, info in FAULTS.items()})
    else:
        write_people(
            "\n".join(
                f"{name:<12} {', '.join(info.platforms):<13} {info.help}"
                f"\n{'':<26} {_render_parameters(info)}"
                for name, info in FAULTS.items()
            )
        )
    return 0


def _render_parameters(info: FaultInfo) -> str:
    known = " ".join(f"{key}={value:g}" for key, value in info.params.items())
    return f"parameters, with their defaults: {known}" if known else "no parameters"


def host(specification: str) -> int:
    """Serve a lab in this process until it is told to end."""
    trio.run(
        partial(
            serve_lab,
            parse_spec(specification),
            adb_server=open_adb_server,
            connect=connect,
        )
    )
    return 0
