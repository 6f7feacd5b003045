"""Gates over composed plans: what a plan must say, told from the files by other means.

A second, small reader of `.ad` compositions: it knows lines, includes and nothing else, imports
no parser and no expansion of the product, and names what a plan gets wrong. The tests let it judge
the product, and planted violations.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from runner.formats.ad.program import AdProgram, graph_edges
from runner.model.address import Provenance, RootOwner, StepAddress

_PIN = re.compile(r"# agent-device:fragment-ref-v1 (\{.*\})")
_HEADERS = ("context ", "env ", "fragment-v1", "composition-v1", "#")


class Row(Struct, frozen=True):
    """One step as a plan reports it."""

    address: StepAddress
    provenance: Provenance


class Expected(Struct, frozen=True):
    """One step as its files have it; `owner` is a fragment's digest, or `root`."""

    owner: str
    calls: tuple[str, ...]
    local_step: int
    vias: tuple[str, ...]
    place: str


class Site(Struct, frozen=True):
    """One include as its file has it."""

    line: int
    call_site_id: str
    digest: str
    path: str


def read_file(root: Path, path: str) -> Iterator[int | Site]:
    """Yield the lines of the steps of a file, and its includes."""
    pin: dict[str, str] = {}
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        found = _PIN.fullmatch(line)
        if found:
            pin = json.loads(found[1])
        elif line.startswith("include "):
            locator = json.loads(line.removeprefix("include "))
            target = (root / path).parent.joinpath(locator).resolve()
            name = target.relative_to(root.resolve()).as_posix()
            yield Site(number, pin["callSiteId"], pin["digest"], name)
        elif line and not line.startswith(_HEADERS):
            yield number


def expected_rows(
    root: Path,
    path: str,
    owner: str = "root",
    calls: tuple[str, ...] = (),
    vias: tuple[str, ...] = (),
) -> Iterator[Expected]:
    """Yield the steps of a composition in the order in which they run."""
    step = 0
    for item in read_file(root, path):
        if isinstance(item, int):
            step += 1
            yield Expected(owner, calls, step, vias, f"{path}:{item}")
        else:
            yield from expected_rows(
                root,
                item.path,
                item.digest,
                (*calls, item.call_site_id),
                (*vias, f"{path}:{item.line}"),
            )


def address_faults(root: Path, path: str, rows: Sequence[Row]) -> list[str]:
    """Name every step that a plan reports otherwise than its files have it."""
    expected = list(expected_rows(root, path))
    if len(expected) != len(rows):
        return [f"{len(rows)} steps are reported, the files have {len(expected)}"]
    faults = []
    for want, row in zip(expected, rows, strict=True):
        faults += [f"{want.place}: {fault}" for fault in _row_faults(want, row)]
    addresses = [row.address for row in rows]
    if len(set(addresses)) != len(addresses):
        faults.append("two steps have one address")
    return faults


def _row_faults(want: Expected, row: Row) -> Iterator[str]:
    address = row.address
    calls = tuple(part.call_site_id for part in address.invocation_path)
    if calls != want.calls:
        yield f"its invocation path is {calls}, not {want.calls}"
    owner = address.owner
    named = "root" if isinstance(owner, RootOwner) else owner.fragment_digest
    if named != want.owner:
        yield f"its owner is {named}, not {want.owner}"
    if address.local_step != want.local_step:
        yield f"its local step is {address.local_step}, not {want.local_step}"
    place = _place(row.provenance.step_source)
    if place != want.place:
        yield f"its source is {place}"
    vias = tuple(map(_place, row.provenance.invocation_sources))
    if vias != want.vias:
        yield f"its includes are {vias}, not {want.vias}"


def edge_faults(root: Path, path: str, program: AdProgram) -> list[str]:
    """Name every include of the files whose edge, or whose fragment, a program lacks."""
    has = set(graph_edges(program))
    faults = []
    pending = [("root", path)]
    while pending:
        owner, name = pending.pop()
        for item in read_file(root, name):
            if isinstance(item, int):
                continue
            if (owner, item.call_site_id, item.digest) not in has:
                faults.append(f"{name}:{item.line}: no edge {item.call_site_id} from {owner}")
            if item.digest not in program.fragments:
                faults.append(f"{name}:{item.line}: no fragment {item.digest}")
            pending.append((item.digest, item.path))
    return faults


def _place(source: object) -> str:
    return f"{getattr(source, 'path', '?')}:{getattr(source, 'line', '?')}"
