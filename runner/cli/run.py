"""`run`: preflight, then the sweep, its journal and its reports.

May be imported by: runner.cli. Imports: everything.
"""

import gc
import os
import signal
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import msgspec
import trio
from msgspec import Struct
from msgspec.structs import replace

from grid.inventory import Duration, Inventory, duration_ms, load_inventory
from grid.lease import lease_folder
from grid.pool import GridPool, PoolSettings, open_pool
from runner.cli.check import render_preflight
from runner.cli.output import render_error, write_json, write_machine, write_people
from runner.cli.preflight import run_preflight
from runner.cli.progress import open_progress
from runner.cli.recorder import Recorder, open_recorder
from runner.cli.request import RunRequest
from runner.cli.rundir import create_run_folder, write_report
from runner.cli.sources import ad_level_of, grid_of, platforms_of, required_grid_path, settings_of
from runner.cli.wire import OpenGrid, open_grid
from runner.errors import InputError
from runner.exits import EVIDENCE_LOST, NOTHING_SELECTED, PREFLIGHT, ExitStatus, exit_of
from runner.formats.ad.machine import open_machine
from runner.model.event import (
    Logged,
    PlanAdmitted,
    ProblemFound,
    RunFinished,
    RunStarted,
    VerdictReached,
)
from runner.model.finding import Finding
from runner.model.ids import PLATFORMS, Digest, PlanId
from runner.model.plan import CheckedPlan, Limits
from runner.model.verdict import Verdict
from runner.preflight.render import problem_json
from runner.preflight.settings import Preflight
from runner.record.redaction import Redactor
from runner.report.encode import encode_value
from runner.report.json_report import RunJson, render_json, run_json
from runner.report.junit import render_junit
from runner.report.summary import RunSummary
from runner.report.text import render_text
from runner.schedule.retry import Quotas
from runner.schedule.scheduler import SweepControls, SweepResult, SweepSettings, run_sweep


class Finished(Struct, frozen=True, kw_only=True):
    """How a sweep ended: its exit status, its run directory and its report."""

    status: ExitStatus
    folder: Path
    report: RunJson


def run_command(request: RunRequest) -> int:
    """Run one sweep and return the exit status."""
    inventory = grid_of(request.preflight.grid)
    stated = None if inventory is None else platforms_of(inventory)
    preflight = run_preflight(
        request.preflight.paths,
        settings_of(
            request.preflight,
            platforms=stated or PLATFORMS,
            stated=stated,
            plan_ms=request.plan_ms,
            retries=request.retries,
        ),
    )
    if preflight.problems and not (request.skip_invalid and preflight.plans):
        return _refuse(request, preflight, PREFLIGHT)
    if not preflight.plans:
        return _refuse(request, preflight, NOTHING_SELECTED)
    if inventory is None:
        inventory = load_inventory(required_grid_path(request.preflight.grid))
    if preflight.problems:
        write_people(render_preflight(preflight))
    # What the program consists of by now stays: no collection has to look at it in mid-dispatch.
    gc.collect()
    gc.freeze()
    return trio.run(run_checked, request, preflight, inventory).status.exit


def _refuse(request: RunRequest, preflight: Preflight, status: int) -> int:
    """Say why nothing ran."""
    write_people(render_preflight(preflight))
    if preflight.problems and preflight.plans:
        write_people("nothing ran; --skip-invalid runs the clean plans")
    if request.as_json:
        write_json(
            {
                "version": 1,
                "runId": None,
                "exit": status,
                "exitCauses": [status],
                "plans": [],
                "problems": [problem_json(problem) for problem in preflight.problems],
            }
        )
    return status


async def run_checked(request: RunRequest, preflight: Preflight, inventory: Inventory) -> Finished:
    """Run the clean plans of `preflight` on the devices of `inventory`, and report.

    Signals are heard until the last report is written.
    """
    controls = SweepControls()
    async with trio.open_nursery() as nursery:
        await nursery.start(_listen_for_signals, controls)
        finished = await _run_and_report(request, preflight, inventory, controls)
        nursery.cancel_scope.cancel()
    return finished


async def _run_and_report(
    request: RunRequest, preflight: Preflight, inventory: Inventory, controls: SweepControls
) -> Finished:
    plans = [_limited(plan, request, inventory) for plan in preflight.plans]
    redactor = Redactor(
        {(name, plan.variables.get(name, "")) for plan in plans for name in plan.secrets}
    )
    folder = create_run_folder(request.out, preflight.sources, redactor)
    with open_progress(request.loudness) as progress:
        async with open_recorder(folder, redactor=redactor, listeners=[progress]) as record:
            status = await _run_and_judge(
                request,
                preflight,
                inventory,
                plans=plans,
                recorder=record.recorder,
                controls=controls,
            )
    summary = record.summary()
    stored = record.recorder.failure is None
    unwritten = _write_reports(folder, request, summary)
    if not stored or unwritten:
        status = _with_lost_evidence(status)
    report = run_json(summary, stored=stored, status=status)
    write_people(render_text(summary, stored=stored, status=status))
    write_people(f"run directory: {folder}")
    if request.as_json:
        # Last: where it cannot be written, the command ends here.
        write_machine(render_json(report))
    return Finished(status=status, folder=folder, report=report)


async def _run_and_judge(
    request: RunRequest,
    preflight: Preflight,
    inventory: Inventory,
    *,
    plans: list[CheckedPlan],
    recorder: Recorder,
    controls: SweepControls,
) -> ExitStatus:
    async with open_grid(inventory) as grid:
        emit = recorder.emit
        emit(
            RunStarted(
                plans=len(plans),
                devices=tuple(entry.facts.id for entry in grid.entries),
                product_version=recorder.product_version,
            )
        )
        for trouble in grid.troubles:
            text = f"{trouble.message} [{trouble.reason}]; {trouble.hint}"
            emit(Logged(level="warning", message=text))
        blocked = _give_up_blocked(preflight, recorder)
        async with _open_pool(request, inventory, grid, recorder) as pool:
            result = await run_sweep(
                plans,
                pool,
                emit=emit,
                settings=_sweep_settings(request, inventory, grid),
                clock=recorder.clock,
                controls=controls,
            )
        status = _judge(request, result, recorder, pool, blocked=blocked)
        emit(RunFinished(exit=status.exit, causes=status.causes, reason=result.stopped or ""))
        return status


def _open_pool(
    request: RunRequest, inventory: Inventory, grid: OpenGrid, recorder: Recorder
) -> AbstractAsyncContextManager[GridPool]:
    return open_pool(
        grid.entries,
        machine_factory=partial(open_machine, level=ad_level_of(request.preflight)),
        artifacts=recorder.artifacts,
        emit=recorder.emit,
        sink=recorder.journal,
        clock=recorder.clock,
        settings=PoolSettings(
            run_id=recorder.run_id,
            holder=f"{recorder.run_id} (process {os.getpid()})",
            lease_folder=lease_folder(os.environ, os.getuid()),
            lease_ttl_s=duration_ms(inventory.limits.lease_ttl) / 1000,
            return_grace_s=duration_ms(inventory.limits.return_grace) / 1000,
        ),
    )


def _sweep_settings(request: RunRequest, inventory: Inventory, grid: OpenGrid) -> SweepSettings:
    return SweepSettings(
        quotas=Quotas(
            retries=request.retries,
            max_failures=request.max_fail,
            fail_fast=request.fail_fast,
        ),
        run_limit_ms=_first_ms(request.run_ms, inventory.limits.run),
        unreached=tuple(trouble.message for trouble in grid.troubles),
    )


def _limited(plan: CheckedPlan, request: RunRequest, inventory: Inventory) -> CheckedPlan:
    """Return `plan` under the limits of the command line, else of the grid file, else its own."""
    limits = plan.limits
    step_ms = _first_ms(request.step_ms, inventory.limits.step)
    plan_ms = _first_ms(request.plan_ms, None) or limits.plan_ms
    if plan_ms is None:
        plan_ms = _first_ms(None, inventory.limits.plan)
    return replace(plan, limits=Limits(step_ms=step_ms or limits.step_ms, plan_ms=plan_ms))


def _first_ms(asked: int | None, stated: Duration | None) -> int | None:
    if asked is not None:
        return asked
    return None if stated is None else duration_ms(stated)


def _give_up_blocked(preflight: Preflight, recorder: Recorder) -> list[tuple[Verdict, str]]:
    """Enter the flows with problems into the run, as not run; return their verdicts."""
    for problem in preflight.problems:
        # Half a character can stand in a file, and not in a journal.
        storable = msgspec.json.decode(encode_value(problem), type=Finding)
        recorder.emit(ProblemFound(problem=storable))
    for flow in preflight.blocked:
        plan_id = PlanId(flow.path)
        recorder.emit(
            PlanAdmitted(
                path=flow.path,
                format="ad",
                platform=None,
                composition_digest=Digest(""),
                plan_digest="",
                step_count=0,
            ),
            plan_id=plan_id,
        )
        recorder.emit(
            VerdictReached(
                verdict="not_run", reason="preflight", message=f"preflight found {flow.reason}"
            ),
            plan_id=plan_id,
        )
    return [("not_run", "preflight") for _ in preflight.blocked]


def _judge(
    request: RunRequest,
    result: SweepResult,
    recorder: Recorder,
    pool: GridPool,
    *,
    blocked: list[tuple[Verdict, str]],
) -> ExitStatus:
    reached = [(plan.verdict, plan.reason) for plan in result.plans]
    return exit_of(
        [*reached, *blocked],
        evidence_lost=recorder.failure is not None or bool(pool.evidence_failures),
        preflight_problems=bool(blocked),
        flaky_fails=request.flaky_fails,
    )


def _write_reports(folder: Path, request: RunRequest, summary: RunSummary) -> bool:
    """Write the JUnit reports; say which could not be written, and tell whether any could not.

    The verdicts are still to be told, so a full disk must not end the command here.
    """
    unwritten = False
    for path in (folder / "junit.xml", request.junit):
        if path is not None:
            try:
                write_report(path, render_junit(summary))
            except InputError as error:
                unwritten = True
                write_people(render_error(error))
    return unwritten


def _with_lost_evidence(status: ExitStatus) -> ExitStatus:
    """Return `status` for a run whose journal failed at the very end."""
    if EVIDENCE_LOST in status.causes:
        return status
    return ExitStatus(EVIDENCE_LOST, (EVIDENCE_LOST, *status.causes))


async def _listen_for_signals(
    controls: SweepControls, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Drain at the first interruption, abort at the second, or when the terminal is closed."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        count = 0
        async for number in signals:
            count += 1
            if count == 1 and number != signal.SIGHUP:
                controls.drain()
                write_people("draining: running plans finish, no new ones; once more to abort")
            else:
                controls.abort()
                write_people("aborting: running plans are cancelled and everything is released")
