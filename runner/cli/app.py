"""The command line: every command, its options and its help. Work is imported when it is needed.

May be imported by: runner.cli.guard, tests. Imports: runner.cli.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from runner.cli import request
from runner.cli.fragmenttools import tools
from runner.cli.output import write_machine
from runner.cli.stream import open_streams
from runner.version import VERSION

app = typer.Typer(
    name="sweepgrid",
    help="Run preflighted mobile UI sweeps on a grid of Android and iOS devices.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: sweepgrid demo",
    add_completion=False,
)
lab = typer.Typer(
    name="lab",
    help="Virtual devices that speak the real wire protocols.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(lab)
app.add_typer(tools)

TYPER_INTERRUPTED = 130
"""How typer ends when it is interrupted; our status for that is another."""

EXIT_STATUS = (
    "Exit status: 0 all passed, 1 product failures, 2 usage, 3 preflight problems, 4 nothing"
    " selected, 5 no eligible device, 6 infrastructure, 7 run limit, 8 evidence lost, 9 flaky,"
    " 10 interrupted, 70 a bug."
)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001  # Typer calls it so.
    """Print the version. Alone it is answered before this is imported; see `runner.cli.entry`."""
    if is_asked:
        write_machine(f"sweepgrid {VERSION}\n")
        raise typer.Exit


@app.callback()
def base(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_show_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Run preflighted mobile UI sweeps on a grid of Android and iOS devices."""
    del version  # Its callback has ended the command.


Paths: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Flow files, folders or globs.")
]
GridFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--grid",
        metavar="FILE",
        help="Grid file. Default: $SWEEPGRID_GRID, then ./grid.toml.",
    ),
]
Root: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Source root that includes may not leave. Default: the repository, else this"
        " folder; for flows that lie elsewhere, theirs.",
    ),
]
Env: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-e", "--env", metavar="KEY=VALUE", help="Bind a variable. Repeatable."),
]
PlatformName: TypeAlias = Annotated[
    str | None, typer.Option("--platform", metavar="android|ios", help="Run for this platform.")
]
AdLevel: TypeAlias = Annotated[
    str, typer.Option("--ad-level", metavar="main|0.21", help="Compatibility level of .ad files.")
]
ExpectDigest: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--expect-digest",
        metavar="PATH=DIGEST",
        help="Refuse a flow whose plan or composition digest is another. Repeatable.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Machine output on stdout.")]


@app.command(epilog="Example: sweepgrid check flows/ --json")
def check(
    paths: Paths,
    *,
    grid: GridFile = None,
    root: Root = None,
    env: Env = None,
    platform: PlatformName = None,
    ad_level: AdLevel = "main",
    expect_digest: ExpectDigest = None,
    json: Json = False,
) -> None:
    """Preflight only: every problem of every flow, and no byte to any device."""
    from runner.cli.check import check_paths  # noqa: PLC0415  # Cold start.

    preflight = request.PreflightRequest(
        paths=tuple(paths),
        grid=grid,
        root=root,
        env=tuple(env or ()),
        platform=platform,
        ad_level=ad_level,
        expect_digests=tuple(expect_digest or ()),
    )
    raise typer.Exit(check_paths(preflight, as_json=json))


@app.command(epilog="Example: sweepgrid digest fragments/login.ad --json")
def digest(
    file: Annotated[Path, typer.Argument(help="A flow or fragment.")],
    root: Root = None,
    platform: PlatformName = None,
    target: Annotated[
        str | None, typer.Option(metavar="mobile|tv|desktop", help="Target of the plan digest.")
    ] = None,
    ad_level: AdLevel = "main",
    *,
    json: Json = False,
) -> None:
    """Print the digests of one file: what pins and addresses name."""
    from runner.cli.check import show_digest  # noqa: PLC0415  # Cold start.

    one = request.PreflightRequest(
        paths=(str(file),), root=root, platform=platform, ad_level=ad_level
    )
    raise typer.Exit(show_digest(one, target=target, as_json=json))


@app.command(
    epilog=f"Example: sweepgrid run flows/ --grid grid.toml --out runs/nightly. {EXIT_STATUS}"
)
def run(
    paths: Paths,
    *,
    grid: GridFile = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run directory. Default: sweep-runs/<time>."),
    ] = None,
    root: Root = None,
    env: Env = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A variable whose value is redacted. Repeatable."),
    ] = None,
    platform: PlatformName = None,
    ad_level: AdLevel = "main",
    expect_digest: ExpectDigest = None,
    retries: Annotated[
        int | None, typer.Option(min=0, max=10, help="Product retries of each plan.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Limit of one attempt: 500ms, 30s, 2m.")
    ] = None,
    step_timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Limit of one step. Default: 90s.")
    ] = None,
    run_timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Limit of the whole run.")
    ] = None,
    max_fail: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many failed plans.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another copy of the JUnit report.")
    ] = None,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first failure.")
    ] = False,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Run the clean plans; still exit 3.")
    ] = False,
    flaky: Annotated[
        str, typer.Option(metavar="pass|fail", help="What a flaky plan does to the exit status.")
    ] = "pass",
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print every step.")] = False,
) -> None:
    """Preflight the whole sweep once, then run it on the grid."""
    from runner.cli.run import run_command  # noqa: PLC0415  # Cold start.

    sweep = request.RunRequest(
        preflight=request.PreflightRequest(
            paths=tuple(paths),
            grid=grid,
            root=root,
            env=tuple(env or ()),
            secrets=tuple(secret or ()),
            platform=platform,
            ad_level=ad_level,
            expect_digests=tuple(expect_digest or ()),
        ),
        out=out,
        retries=retries,
        plan_ms=request.duration_ms(timeout),
        step_ms=request.duration_ms(step_timeout),
        run_ms=request.duration_ms(run_timeout),
        max_fail=max_fail,
        fail_fast=fail_fast,
        junit=junit,
        skip_invalid=skip_invalid,
        flaky_fails=request.one_of("--flaky", flaky, ("pass", "fail")) == "fail",
        as_json=json,
        loudness="quiet" if quiet else "verbose" if verbose else "normal",
    )
    raise typer.Exit(run_command(sweep))


@app.command(epilog="Example: sweepgrid report runs/nightly --junit junit.xml")
def report(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the JUnit report there.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Compute reports from the journal, at any time, also after a crash."""
    from runner.cli.inspect import show_report  # noqa: PLC0415  # Cold start.

    raise typer.Exit(show_report(run_directory, junit=junit, as_json=json))


@app.command(epilog="Example: sweepgrid events runs/nightly --where kind=verdict")
def events(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only events with this address, attempt, device, kind or plan. Repeatable.",
        ),
    ] = None,
    *,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Wait for more until the run ends; 10 when it was killed."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="NDJSON, which is the default.")] = True,
) -> None:
    """Print the journal as NDJSON, one event a line."""
    from runner.cli.inspect import show_events  # noqa: PLC0415  # Cold start.

    del json  # There is one form; the option exists so that scripts may ask for it.
    raise typer.Exit(show_events(run_directory, where=where or (), follow=follow))


@app.command(epilog="Example: sweepgrid devices --grid grid.toml --json")
def devices(grid: GridFile = None, *, json: Json = False) -> None:
    """List the devices of the grid with their health."""
    from runner.cli.devices import show_devices  # noqa: PLC0415  # Cold start.

    raise typer.Exit(show_devices(grid, as_json=json))


@app.command(epilog="Example: sweepgrid demo --out demo-run")
def demo(
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the run there. Default: a new folder.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Virtual lab, example sweep and report; needs no phone and no installed adb."""
    from runner.cli.demo import run_demo  # noqa: PLC0415  # Cold start.

    raise typer.Exit(run_demo(out, as_json=json))


@lab.command("up", epilog="Example: sweepgrid lab up --android 2 --ios 2 --grid-out grid.toml")
def lab_up(
    grid_out: Annotated[
        Path, typer.Option("--grid-out", metavar="FILE", help="Grid file to write.")
    ],
    android: Annotated[int, typer.Option(min=0, max=256, help="Virtual Android phones.")] = 1,
    ios: Annotated[int, typer.Option(min=0, max=256, help="Virtual iPhones.")] = 1,
    app_file: Annotated[
        Path | None, typer.Option("--app", metavar="FILE", help="App. Default: the shop.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that varies.")] = 1,
    *,
    json: Json = False,
) -> None:
    """Start virtual devices in the background and write their grid file."""
    from runner.cli.lab import up  # noqa: PLC0415  # Cold start.

    raise typer.Exit(
        up(android=android, ios=ios, app=app_file, seed=seed, grid_out=grid_out, as_json=json)
    )


@lab.command("status", epilog="Example: sweepgrid lab status --grid grid.toml")
def lab_status(grid: GridFile = None, *, json: Json = False) -> None:
    """Tell whether the lab of a grid file runs, and what its devices show."""
    from runner.cli.lab import status  # noqa: PLC0415  # Cold start.

    raise typer.Exit(status(grid, as_json=json))


@lab.command("down", epilog="Example: sweepgrid lab down --grid grid.toml")
def lab_down(grid: GridFile = None, *, json: Json = False) -> None:
    """End the lab of a grid file."""
    from runner.cli.lab import down  # noqa: PLC0415  # Cold start.

    raise typer.Exit(down(grid, as_json=json))


@lab.command("fault", epilog="Example: sweepgrid lab fault 127.0.0.1:16001 slow latency_ms=200")
def lab_fault(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DEVICE FAULT [KEY=VALUE...]]", help="What to inject where."),
    ] = None,
    grid: GridFile = None,
    *,
    clear: Annotated[bool, typer.Option("--clear", help="End the fault instead.")] = False,
    list_faults: Annotated[bool, typer.Option("--list", help="List the faults.")] = False,
    json: Json = False,
) -> None:
    """Inject a fault into a virtual device, or end it."""
    from runner.cli.lab import fault  # noqa: PLC0415  # Cold start.

    raise typer.Exit(
        fault(words or (), grid=grid, clear=clear, list_faults=list_faults, as_json=json)
    )


@lab.command("host", hidden=True)
def lab_host(specification: Annotated[str, typer.Argument()]) -> None:
    """Serve the devices of a lab in the foreground (started by `lab up`)."""
    from runner.cli.lab import host  # noqa: PLC0415  # Cold start.

    raise typer.Exit(host(specification))


def run_app(words: Sequence[str]) -> int:
    """Run one command line; usage errors are printed and give exit status 2."""
    try:
        with open_streams():
            app(args=list(words), prog_name="sweepgrid")
    except SystemExit as end:
        if end.code == TYPER_INTERRUPTED:
            raise KeyboardInterrupt from end
        return end.code if isinstance(end.code, int) else 0
    return 0
