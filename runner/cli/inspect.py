"""`report` and `events`: what a journal says, at any time, also after a crash.

May be imported by: runner.cli. Imports: runner.record, runner.report, runner.model.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from runner.cli.output import write_machine, write_people
from runner.cli.rundir import write_report
from runner.errors import InputError
from runner.exits import EVIDENCE_LOST, INTERRUPTED, OK
from runner.model.address import StepAddress, parse_address, render_token
from runner.model.event import EVENT_KINDS, Event, RunFinished
from runner.model.ids import RunId
from runner.record.store import (
    DamagedRow,
    StoredEvent,
    is_being_written,
    kind_of,
    read_rows,
)
from runner.report.encode import encode_value
from runner.report.json_report import render_json, run_json
from runner.report.junit import render_junit
from runner.report.summary import RunSummary, summarise
from runner.report.text import render_text

_FOLLOW_INTERVAL_S: Final = 0.2
_KEYS: Final = ("address", "attempt", "device", "kind", "plan")


def read_summary(folder: Path) -> tuple[RunSummary, int]:
    """Fold the journal in `folder`; also return how many rows were damaged."""
    events: list[Event] = []
    damaged = 0
    for row in read_rows(folder):
        if isinstance(row, StoredEvent):
            events.append(row.event)
        else:
            damaged += 1
    run_id = events[0].run_id if events else RunId(folder.name)
    return summarise(run_id, events), damaged


def show_report(folder: Path, *, junit: Path | None, as_json: bool) -> int:
    """Write the reports that were asked for; text when none was. Return the exit status."""
    summary, damaged = read_summary(folder)
    if junit is not None:
        write_report(junit, render_junit(summary))
    if as_json:
        write_machine(render_json(run_json(summary)))
    elif junit is None:
        write_machine(render_text(summary))
    if damaged:
        write_people(f"sweepgrid: {damaged} damaged journal rows were left out [journal_damaged]")
    return EVIDENCE_LOST if damaged else OK


def show_events(folder: Path, *, where: Sequence[str], follow: bool) -> int:
    """Write matching events as NDJSON, and with `follow` those to come until the run ends.

    Returns 8 for a damaged journal, and when following 10 for a run that was killed.
    """
    wanted = [_parse_filter(text) for text in where]
    damaged = 0
    has_ended = False
    for row in _rows(folder, follow=follow):
        has_ended = has_ended or _ends_run(row)
        if isinstance(row, DamagedRow):
            damaged += 1
            write_people(f"sweepgrid: row {row.row} is damaged: {row.why} [journal_damaged]")
        elif all(_matches(row.event, key, value) for key, value in wanted):
            write_machine(render_line(row))
    if follow and not has_ended:
        write_people("sweepgrid: the run was killed: nobody writes its journal any more")
    if damaged:
        return EVIDENCE_LOST
    return INTERRUPTED if follow and not has_ended else OK


def render_line(row: StoredEvent) -> str:
    """Return one event as a line of JSON: its fields, its row, its kind, its address token."""
    fields: dict[str, Any] = {"row": row.row, "kind": kind_of(row.event)}
    if row.event.address is not None:
        fields["addressToken"] = render_token(row.event.address)
    fields |= msgspec.to_builtins(row.event)
    return encode_value(fields).decode() + "\n"


def _rows(folder: Path, *, follow: bool) -> Iterator[StoredEvent | DamagedRow]:
    last = 0
    while True:
        # Asked before reading: what the writer left at its end is still read.
        is_written = is_being_written(folder)
        has_ended = False
        for row in read_rows(folder, after=last):
            last = row.row
            has_ended = has_ended or _ends_run(row)
            yield row
        if has_ended or not follow or not is_written:
            return
        time.sleep(_FOLLOW_INTERVAL_S)  # noqa: TID251  # No event loop runs in this command.


def _ends_run(row: StoredEvent | DamagedRow) -> bool:
    return isinstance(row, StoredEvent) and isinstance(row.event.body, RunFinished)


def _parse_filter(text: str) -> tuple[str, str | StepAddress]:
    key, equals, value = text.partition("=")
    if not equals or key not in _KEYS:
        raise InputError(
            reason="filter_invalid",
            message=f"{text!r} is not a filter: write KEY=VALUE with KEY one of {', '.join(_KEYS)}",
            details={"filter": text, "keys": list(_KEYS)},
        )
    if key == "kind" and value not in EVENT_KINDS:
        kinds = sorted(EVENT_KINDS)
        raise InputError(
            reason="filter_invalid",
            message=f"there is no kind of event {value!r}; the kinds are {', '.join(kinds)}",
            details={"filter": text, "kinds": kinds},
        )
    return key, parse_address(value) if key == "address" else value


def _matches(event: Event, key: str, value: str | StepAddress) -> bool:
    match key:
        case "address":
            return event.address == value
        case "attempt":
            return event.attempt_id == value
        case "device":
            return event.device_id == value
        case "kind":
            return kind_of(event) == value
        case _:
            return event.plan_id == value
