"""`demo`: a lab, an example sweep on it and its report, from the data that the product ships.

Flows below `meant-to-fail/` are there to show what a failure looks like: the demo is good when they
fail and all others pass.

May be imported by: runner.cli. Imports: grid.lab, runner.cli.
"""

import tempfile
from contextlib import AsyncExitStack
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import trio
from msgspec.structs import replace

from drivers.android.server import connect, open_adb_server
from grid.inventory import parse_inventory
from grid.lab.fleet import FleetInfo, FleetSpec, run_fleet
from grid.lab.gridfile import render_grid
from runner.cli.check import render_preflight
from runner.cli.output import write_people
from runner.cli.preflight import run_preflight
from runner.cli.request import PreflightRequest, RunRequest
from runner.cli.run import Finished, run_checked
from runner.cli.rundir import default_run_folder
from runner.cli.sources import settings_of
from runner.exits import INTERRUPTED
from runner.model.ids import PLATFORMS
from runner.report.words import plural

PHONES: Final = 2
"""Of each platform."""
MEANT_TO_FAIL: Final = "meant-to-fail/"


def run_demo(out: Path | None, *, as_json: bool) -> int:
    """Run the demo; 0 when every flow came out as meant, else 1."""
    with as_file(files("configs")) as configs:
        finished = trio.run(_run, configs, out or default_run_folder(), as_json)
    odd = [
        f"{path} [{platform}] is {verdict}"
        for path, platform, verdict in finished.verdicts
        if verdict != _expected(path)
    ]
    if INTERRUPTED in finished.status.causes:
        return INTERRUPTED
    if odd or not finished.verdicts:
        write_people("NOT as meant: " + ("; ".join(odd) or "nothing ran"))
        return 1
    failed = sum(1 for path, _, _ in finished.verdicts if _expected(path) == "failed")
    write_people(
        f"all {plural(len(finished.verdicts), 'plan')} came out as meant"
        f" ({failed} of them fail on purpose, to show what a failure looks like)"
    )
    write_people(f"look closer: sweepgrid report {finished.folder}")
    return 0


def _expected(path: str) -> str:
    return "failed" if path.startswith(MEANT_TO_FAIL) else "passed"


async def _run(configs: Path, out: Path, as_json: bool) -> Finished:  # noqa: FBT001  # trio.run.
    flows = configs / "flows"
    request = RunRequest(
        preflight=PreflightRequest(paths=(str(flows),), root=flows), out=out, as_json=as_json
    )
    preflight = run_preflight(
        request.preflight.paths,
        replace(settings_of(request.preflight, platforms=PLATFORMS), environ={}),
    )
    write_people(f"preflight of {flows}:")
    write_people(render_preflight(preflight))
    write_people(f"starting a lab of {PHONES} Android phones and {PHONES} iPhones")
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sweepgrid-demo-"))
        spec = FleetSpec(
            app=str(configs / "lab" / "shop.toml"),
            android=PHONES,
            ios=PHONES,
            runtime_dir=folder,
        )
        nursery = await stack.enter_async_context(trio.open_nursery())
        info: FleetInfo = await nursery.start(
            partial(run_fleet, spec, adb_server=open_adb_server, connect=connect)
        )
        inventory = parse_inventory(render_grid(info), name="the demo's grid")
        finished = await run_checked(request, preflight, inventory)
        nursery.cancel_scope.cancel()
    return finished
