"""`check` and `digest`: the preflight on its own.

May be imported by: runner.cli. Imports: runner.preflight, runner.cli, grid.inventory.
"""

from runner.cli.output import render_finding, write_json, write_people
from runner.cli.preflight import run_preflight
from runner.cli.request import PreflightRequest, one_of
from runner.cli.sources import grid_of, platforms_of, settings_of
from runner.exits import NOTHING_SELECTED, OK, PREFLIGHT
from runner.model.ids import PLATFORMS
from runner.preflight.digest import digest_file
from runner.preflight.render import digest_json, preflight_json
from runner.preflight.settings import Preflight
from runner.report.words import one_line, plural


def check_paths(request: PreflightRequest, *, as_json: bool) -> int:
    """Preflight the paths, print every problem, and return the exit status."""
    grid = grid_of(request.grid)
    stated = None if grid is None else platforms_of(grid)
    settings = settings_of(request, platforms=stated or PLATFORMS, stated=stated)
    preflight = run_preflight(request.paths, settings)
    if as_json:
        write_json(preflight_json(preflight))
    else:
        write_people(render_preflight(preflight))
    return status_of(preflight)


def status_of(preflight: Preflight) -> int:
    """Return the exit status of a preflight that runs nothing."""
    if preflight.problems:
        return PREFLIGHT
    return OK if preflight.plans else NOTHING_SELECTED


def render_preflight(preflight: Preflight) -> str:
    """Return the plans and problems for people."""
    lines = [
        f"{plan.kind:<11} {one_line(plan.path)} [{plan.platform}] {plural(plan.step_count, 'step')}"
        for plan in preflight.plans
    ]
    lines += [render_finding(problem) for problem in preflight.problems]
    counts = [
        plural(len(preflight.plans), "plan"),
        plural(len(preflight.fragments), "fragment"),
        plural(len(preflight.problems), "problem"),
    ]
    if preflight.blocked:
        counts.append(f"{plural(len(preflight.blocked), 'flow')} blocked")
    if not preflight.plans and not preflight.problems:
        lines.append("nothing was selected: no flow is under these paths")
    return "\n".join([*lines, ", ".join(counts)])


def show_digest(request: PreflightRequest, *, target: str | None, as_json: bool) -> int:
    """Print the digests of one file and return the exit status."""
    if target is not None:
        one_of("--target", target, ("mobile", "tv", "desktop"))
    settings = settings_of(request, platforms=PLATFORMS)
    report = digest_file(
        request.paths[0], platform=settings.platform, target=target, settings=settings
    )
    if as_json:
        write_json(digest_json(report))
    else:
        lines = [f"{one_line(report.path)}: {report.kind or 'unreadable'}"]
        lines += [
            f"  {name:<18} {digest}"
            for name, digest in (
                ("fragmentDigest", report.fragment_digest),
                ("compositionDigest", report.composition_digest),
                ("planDigest", report.plan_digest),
            )
            if digest is not None
        ]
        lines += [render_finding(problem) for problem in report.problems]
        write_people("\n".join(lines))
    return PREFLIGHT if report.problems else OK
