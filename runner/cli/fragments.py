"""`pin`, `include`, `graph` and `explain`: the tools for people who write fragments.

Only `pin` and `include` write, each to the one file that it is given, and no run ever does.

May be imported by: runner.cli. Imports: runner.preflight, runner.cli.
"""

import os
from pathlib import Path

from msgspec.structs import replace

from runner.cli.fragment_text import render_edit, render_graph, render_tree
from runner.cli.output import write_json, write_machine, write_people
from runner.cli.request import PreflightRequest
from runner.cli.rewrite import rewrite_file
from runner.cli.sources import settings_of
from runner.errors import InputError
from runner.exits import NOTHING_SELECTED, OK, PREFLIGHT
from runner.model.ids import PLATFORMS
from runner.preflight.drawing import render_dot, render_mermaid
from runner.preflight.edition import Edit, edit_json, ordered, render_diff
from runner.preflight.explain import find_plan_tree
from runner.preflight.include_graph import find_include_graph, graph_json
from runner.preflight.inclusion import include_fragment
from runner.preflight.plan_tree import plan_tree_json
from runner.preflight.repin import repin_file
from runner.preflight.settings import PreflightSettings


def pin_includes(
    request: PreflightRequest,
    *,
    call_site_id: str | None,
    is_all: bool,
    is_dry: bool,
    as_json: bool,
) -> int:
    """Pin one include of a file, or all of them. Reasons: `option_invalid`."""
    if is_all == (call_site_id is not None):
        raise InputError(
            reason="option_invalid",
            message="which include is to be pinned? give either --call-site ID or --all",
            details={"option": "--call-site"},
            hint="`sweepgrid graph PARENT` lists the call sites of a file.",
        )
    settings = settings_of(request, platforms=PLATFORMS)
    edit = repin_file(request.paths[0], call_site_id=call_site_id, settings=settings)
    return _carry_out(edit, settings, is_dry=is_dry, as_json=as_json)


def write_include(
    request: PreflightRequest, *, after: int, call_site_id: str, is_dry: bool, as_json: bool
) -> int:
    """Write a pinned include into a file. Reasons: `option_invalid`."""
    settings = settings_of(request, platforms=PLATFORMS)
    parent, child = request.paths
    edit = include_fragment(
        parent, child, after=after, call_site_id=call_site_id, settings=settings
    )
    return _carry_out(edit, settings, is_dry=is_dry, as_json=as_json)


def _carry_out(edit: Edit, settings: PreflightSettings, *, is_dry: bool, as_json: bool) -> int:
    """Write what an edit makes of its file, unless it is refused or only asked about."""
    is_changed = edit.after != edit.before
    if is_changed and not is_dry:
        problem = rewrite_file(
            Path(os.path.realpath(settings.root)) / edit.path,
            name=edit.path,
            before=edit.before,
            after=edit.after,
        )
        if problem is not None:
            edit = replace(
                edit, after=edit.before, changes=(), problems=ordered([problem]), repin_next=()
            )
    is_written = is_changed and not is_dry and not edit.problems
    if as_json:
        write_json(edit_json(edit, written=is_written))
    else:
        if is_dry:
            write_machine(render_diff(edit))
        write_people(render_edit(edit, is_dry=is_dry))
    return PREFLIGHT if edit.problems else OK


def show_graph(request: PreflightRequest, *, layout: str, uses: str | None) -> int:
    """Print the include graph and return the exit status."""
    settings = settings_of(request, platforms=PLATFORMS)
    graph = find_include_graph(request.paths, uses=uses, settings=settings)
    match layout:
        case "json":
            write_json(graph_json(graph))
        case "dot":
            write_machine(render_dot(graph))
        case "mermaid":
            write_machine(render_mermaid(graph))
    if layout != "json":
        shown = render_graph(graph, is_drawn=layout != "text")
        if shown:
            write_people(shown)
    if graph.problems:
        return PREFLIGHT
    return OK if graph.nodes else NOTHING_SELECTED


def show_plan(request: PreflightRequest, *, as_json: bool) -> int:
    """Print the plan of one file as a tree and return the exit status."""
    settings = settings_of(request, platforms=PLATFORMS)
    tree = find_plan_tree(request.paths[0], settings=settings)
    if as_json:
        write_json(plan_tree_json(tree))
    else:
        write_people(render_tree(tree))
    return PREFLIGHT if tree.problems else OK
