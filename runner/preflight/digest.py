"""The digests of one file, for people who write pins: `sweepgrid digest`.

A fragment has its fragment digest, also when nobody includes it. A root that can be read has its
composition digest once its whole closure is right, and a flat script also the flat plan digest.
What is wrong with the steps takes no digest away; it is told beside them.

May be imported by: runner.cli. Imports: runner.compose, runner.formats.ad, runner.preflight,
runner.model.
"""

from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from runner.compose.closure import Scope, check_closure
from runner.compose.graph import build_graph
from runner.compose.pin import explain_stale
from runner.compose.site import find_site_faults
from runner.compose.source import Absent, SourceLoader
from runner.formats.ad import digest as ad_digest
from runner.formats.ad.fragment import ScriptKind
from runner.formats.ad.reader import AdReader
from runner.formats.ad.reading import AdSource, pins_of
from runner.model.finding import Finding
from runner.model.ids import Digest, Platform
from runner.preflight.calls import pin_calls
from runner.preflight.problem import ProblemBook
from runner.preflight.select import select_sources
from runner.preflight.settings import PreflightSettings


class DigestReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The digests that a file has; `problems` say why one is missing."""

    path: str
    kind: ScriptKind | None = None
    plan_digest: str | None = None
    fragment_digest: Digest | None = None
    composition_digest: Digest | None = None
    problems: tuple[Finding, ...] = ()


def digest_file(
    path: str,
    *,
    platform: Platform | None = None,
    target: str | None = None,
    settings: PreflightSettings,
) -> DigestReport:
    """Return the digests of one file. `platform` and `target` are the caller's, as for a run.

    Variables and the effective context change no digest and are not judged here.
    """
    loader = SourceLoader(settings.root)
    reader = AdReader(level=settings.ad_level)
    selection = select_sources([path], cwd=settings.cwd, loader=loader)
    name = next(iter(selection.named), None)
    if name is None:
        return DigestReport(path=path, problems=_refused(path, selection.problems))
    source = loader.load(name)
    if isinstance(source, Absent):
        finding = Finding(reason="source_unreadable", path=name, message=source.message)
        return DigestReport(path=name, problems=(finding,))
    graph = build_graph([name], loader=loader, reader=reader)
    call = pin_calls(settings)
    faults = explain_stale(graph, find_site_faults(graph), reader=reader, call=call)
    scope = Scope(platform=None, target=None, names=None)
    closure = check_closure(graph, name, site_faults=faults, scope=scope)
    book = ProblemBook()
    if source.is_oversized:
        book.add_flow(name, (), closure.faults)
        return DigestReport(path=name, problems=book.problems())
    read = reader.read(source)
    book.add_flow(name, _own_problems(read), closure.faults)
    report = DigestReport(path=name, kind=read.kind, problems=book.problems())
    if read.kind == "fragment":
        return replace(report, fragment_digest=read.facts.digest)
    if closure.faults or not read.is_readable:
        return report
    sources = [reader.sources[each] for each in closure.sources]
    pins = chain.from_iterable(map(pins_of, sources))
    # Half a character has canonical bytes in a flat plan digest only.
    has_bytes = all(
        finding.reason != "text_unencodable" for each in sources for finding in each.findings
    )
    return replace(
        report,
        composition_digest=ad_digest.composition_digest_of(read.steps, read.context, graph=pins)
        if has_bytes
        else None,
        plan_digest=ad_digest.plan_digest_of(
            read.numbered_steps,
            platform=platform or read.platform_hint or read.context.platform,
            target=target or read.context.target,
        )
        if read.kind == "flat"
        else None,
    )


def _own_problems(read: AdSource) -> tuple[Finding, ...]:
    """Return what is wrong with the file itself, for a fragment also as an include target."""
    findings = list(read.findings)
    locals_ = [("fragment_unsupported", read.guard_fault)]
    if read.kind == "fragment":
        facts = read.facts
        locals_ = [("fragment_unsupported", facts.unsupported)]
        locals_ += [("fragment_lifecycle", fault) for fault in facts.unsafe]
        locals_.append(("fragment_entry_guard", facts.entry_missing or facts.entry_mismatch))
    findings += [
        Finding(
            reason=reason,
            path=read.path,
            line=fault.line,
            column=fault.column,
            message=fault.message,
            details={**fault.details, "source": read.path, "feature": fault.feature},
        )
        for reason, fault in locals_
        if fault is not None
    ]
    return tuple(findings)


def _refused(path: str, problems: tuple[Finding, ...]) -> tuple[Finding, ...]:
    if problems:
        return problems
    return (
        Finding(
            reason="path_missing",
            path=path,
            message=f"{path}: digests are of files, and this names none",
            details={"argument": path},
        ),
    )
