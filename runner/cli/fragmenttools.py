"""The commands for people who write fragments: `pin`, `include`, `graph` and `explain`.

Only their options and help; work is imported when it is needed.

May be imported by: runner.cli. Imports: runner.cli.request.
"""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from runner.cli.request import PreflightRequest, one_of

tools = typer.Typer()

FORMATS = ("text", "dot", "mermaid", "json")

Parent: TypeAlias = Annotated[
    str, typer.Argument(metavar="PARENT", help="The flow or fragment that is edited.")
]
Root: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Source root that includes may not leave. Default: the repository, else this"
        " folder; for flows that lie elsewhere, theirs.",
    ),
]
AdLevel: TypeAlias = Annotated[
    str, typer.Option("--ad-level", metavar="main|0.21", help="Compatibility level of .ad files.")
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Print the change as a diff on stdout; write nothing.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Machine output on stdout.")]


@tools.command(epilog="Example: sweepgrid pin flows/checkout.ad --call-site login --dry-run")
def pin(
    parent: Parent,
    *,
    call_site: Annotated[
        str | None, typer.Option("--call-site", metavar="ID", help="The include to pin.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Pin all includes of this one file.")
    ] = False,
    dry_run: DryRun = False,
    root: Root = None,
    ad_level: AdLevel = "main",
    json: Json = False,
) -> None:
    """Pin includes of one file to the fragments that stand there now.

    Nothing but the digests changes in the file. A fragment that holds a stale pin itself is
    refused, with the calls to give first.
    """
    from runner.cli.fragments import pin_includes  # noqa: PLC0415  # Cold start.

    request = PreflightRequest(paths=(parent,), root=root, ad_level=ad_level)
    raise typer.Exit(
        pin_includes(request, call_site_id=call_site, is_all=every, is_dry=dry_run, as_json=json)
    )


@tools.command(
    epilog="Example: sweepgrid include flows/checkout.ad fragments/login.ad --after 7"
    " --call-site login"
)
def include(
    parent: Parent,
    child: Annotated[str, typer.Argument(metavar="CHILD", help="The fragment to include.")],
    *,
    after: Annotated[
        int, typer.Option(metavar="LINE", help="The line of PARENT that the include follows.")
    ],
    call_site: Annotated[
        str,
        typer.Option("--call-site", metavar="ID", help="Name of the include, new in PARENT."),
    ],
    dry_run: DryRun = False,
    root: Root = None,
    ad_level: AdLevel = "main",
    json: Json = False,
) -> None:
    """Write a pinned include of a fragment into one file.

    What would make the file invalid is refused, and nothing is written.
    """
    from runner.cli.fragments import write_include  # noqa: PLC0415  # Cold start.

    request = PreflightRequest(paths=(parent, child), root=root, ad_level=ad_level)
    raise typer.Exit(
        write_include(request, after=after, call_site_id=call_site, is_dry=dry_run, as_json=json)
    )


@tools.command(epilog="Example: sweepgrid graph flows/ --format dot | dot -Tsvg > flows.svg")
def graph(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Flow files, folders or globs.")
    ],
    *,
    layout: Annotated[
        str,
        typer.Option("--format", metavar="text|dot|mermaid|json", help="How to print the graph."),
    ] = "text",
    uses: Annotated[
        str | None,
        typer.Option(metavar="FRAGMENT", help="Only what reaches this fragment, and how."),
    ] = None,
    root: Root = None,
    ad_level: AdLevel = "main",
    json: Json = False,
) -> None:
    """Show who includes whom; stale and missing includes are marked."""
    from runner.cli.fragments import show_graph  # noqa: PLC0415  # Cold start.

    request = PreflightRequest(paths=tuple(paths), root=root, ad_level=ad_level)
    one_of("--format", layout, FORMATS)
    raise typer.Exit(show_graph(request, layout="json" if json else layout, uses=uses))


@tools.command(epilog="Example: sweepgrid explain flows/checkout.ad -e USER=ann")
def explain(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A flow or fragment.")],
    *,
    env: Annotated[
        list[str] | None,
        typer.Option("-e", "--env", metavar="KEY=VALUE", help="Bind a variable. Repeatable."),
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option("--platform", metavar="android|ios", help="Explain for this platform."),
    ] = None,
    root: Root = None,
    ad_level: AdLevel = "main",
    json: Json = False,
) -> None:
    """Show the plan of one file as a tree.

    Each step with its address, line, time limits, evidence and variables.
    """
    from runner.cli.fragments import show_plan  # noqa: PLC0415  # Cold start.

    request = PreflightRequest(
        paths=(file,), root=root, env=tuple(env or ()), platform=platform, ad_level=ad_level
    )
    raise typer.Exit(show_plan(request, as_json=json))
