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
from msgspec import Struct
from msgspec.structs import replace

from drivers.android.server import connect, open_adb_server
from grid.inventory import parse_inventory
from grid.lab.fleet import FleetInfo, FleetSpec, run_fleet
from grid.lab.gridfile import render_grid
from runner.cli.check import render_preflight
from runner.cli.output import write_json, write_people
from runner.cli.preflight import run_preflight
from runner.cli.request import PreflightRequest, RunRequest
from runner.cli.run import Finished, run_checked
from runner.cli.rundir import default_run_folder, require_unused
from runner.cli.sources import settings_of
from runner.exits import OK, PRODUCT
from runner.model.ids import PLATFORMS
from runner.report.json_report import RunJson
from runner.report.words import plural

PHONES: Final = 2
"""Of each platform."""
MEANT_TO_FAIL: Final = "meant-to-fail/"


class DemoJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """How the demo went; version 1 of the shape.

    `exit` tells whether every plan came out as it was meant to; `run` is the report of the sweep,
    with an exit status of its own.
    """

    version: int = 1
    exit: int
    unexpected: tuple[str, ...]
    run_directory: str
    run: RunJson


def run_demo(out: Path | None, *, as_json: bool) -> int:
    """Run the demo; 0 when every flow came out as meant, else 1 or what else went wrong."""
    folder = out or default_run_folder()
    require_unused(folder)
    with as_file(files("configs")) as configs:
        finished = trio.run(_run, configs, folder)
    plans = finished.report.plans
    odd = tuple(
        f"{plan.path} [{plan.platform}] is {plan.verdict}"
        for plan in plans
        if plan.verdict != _expected(plan.path)
    )
    # That flows fail is meant; that evidence is lost, or that a phone breaks, is not.
    troubles = [cause for cause in finished.status.causes if cause != PRODUCT]
    status = troubles[0] if troubles else OK if plans and not odd else PRODUCT
    if status == OK:
        failed = sum(_expected(plan.path) == "failed" for plan in plans)
        write_people(
            f"all {plural(len(plans), 'plan')} came out as meant"
            f" ({failed} of them fail on purpose, to show what a failure looks like)"
        )
        write_people(f"look closer: sweepgrid report {finished.folder}")
    elif odd or not plans:
        write_people("NOT as meant: " + ("; ".join(odd) or "nothing ran"))
    if as_json:
        write_json(
            DemoJson(
                exit=status,
                unexpected=odd,
                run_directory=str(finished.folder),
                run=finished.report,
            )
        )
    return status


def _expected(path: str) -> str:
    return "failed" if path.startswith(MEANT_TO_FAIL) else "passed"


async def _run(configs: Path, out: Path) -> Finished:
    flows = configs / "flows"
    request = RunRequest(preflight=PreflightRequest(paths=(str(flows),), root=flows), out=out)
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
