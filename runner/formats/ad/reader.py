"""Reading one `.ad` file: the script, its own problems, and its composition facts.

`read_source` is a pure function of the bytes: where a file stands is told afterwards, so equal
bytes are read once. `AdReader` remembers its results for the time of one preflight, so a fragment
that many flows share is read once too. What many files say may come from a cache or from helper
processes, by way of the `Bulk` that a reader is given.

May be imported by: runner.preflight, runner.cli. Imports: runner.compose, runner.formats.ad,
runner.model.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias, final

from msgspec.structs import replace

from runner.compose.bound import BYTE_LIMIT
from runner.compose.fact import IncludeSite, LocalFault, SourceFacts, VariableUse
from runner.compose.source import Source
from runner.formats.ad import digest as ad_digest, fragment
from runner.formats.ad.check import check_actions
from runner.formats.ad.fragment import ScriptKind
from runner.formats.ad.parser import ReadScript, read_script
from runner.formats.ad.place import Places
from runner.formats.ad.reading import AdSource, decode_source, pack_script, place_source
from runner.formats.ad.script import Action, AdNode, AdScript, Include
from runner.formats.ad.variables import script_names
from runner.model.finding import Finding
from runner.model.ids import Digest

AdLevel: TypeAlias = Literal["main", "0.21"]
_HEAD_BYTES = 64 * 1024


class Bulk(Protocol):
    """Reads many files at once, each to the bytes of its `AdSource`."""

    def read(self, files: Sequence[bytes], *, level: AdLevel) -> Iterable[bytes | None]:
        """Yield, for each file in order, what was read; `None` where the caller must read."""
        ...


def read_source(source: Source, *, level: AdLevel = "main") -> AdSource:
    """Read one file. Never fails: what is wrong is in the result."""
    return place_source(read_bytes(source.data, level=level), source.path)


def read_bytes(data: bytes, *, level: AdLevel = "main") -> AdSource:
    """Read the bytes of a file, wherever it stands."""
    if len(data) > BYTE_LIMIT:
        return _read_head(data, level)
    read = read_script(data, path="", level=level)
    script = read.script
    kind = fragment.kind_of_script(script)
    steps = ad_digest.render_steps(script.nodes)
    places = Places(data, level=level)
    packed = pack_script(script)
    is_sound = packed is not None  # Then every text in it is one.
    findings: tuple[Finding, ...]
    if kind == "fragment":
        facts = _fragment_facts(read, steps)
        checked = check_actions(script, path="", places=places, is_encodable=is_sound)
        findings = _not_composed(checked, facts)
    elif script.guards and script.guards[0].version != fragment.GUARD_VERSION:
        facts = SourceFacts(unsupported=fragment.find_unsupported(script, ()))
        findings = ()
    else:
        facts = _root_facts(read, kind)
        checked = check_actions(script, path="", places=places, is_encodable=is_sound)
        findings = (*read.findings, *checked, *_find_empty(read))
    hint, hint_line = ad_digest.find_platform_hint(script)
    return AdSource(
        kind=kind,
        context=script.context,
        env=script.env,
        guard=next(iter(script.guards), None),
        guard_fault=fragment.find_guard_fault(script),
        findings=findings,
        facts=facts,
        platform_hint=hint,
        platform_line=hint_line or read.platform_line,
        app=_first_app(script),
        steps=steps,
        numbered_steps=ad_digest.render_numbered_steps(script.nodes) if kind == "flat" else "",
        packed=packed,
        unpacked=script if packed is None else None,
    )


@final
class AdReader:
    """Reads sources for the walk over closures and keeps what it read."""

    def __init__(self, *, level: AdLevel = "main", bulk: Bulk | None = None) -> None:
        self._level = level
        self._bulk = bulk
        self.sources: dict[str, AdSource] = {}

    def facts(self, source: Source) -> SourceFacts:
        """Return the facts of `source`."""
        return self.read(source).facts

    def read(self, source: Source) -> AdSource:
        """Return what stands in `source`, reading it the first time."""
        known = self.sources.get(source.path)
        if known is None:
            known = read_source(source, level=self._level)
            self.sources[source.path] = known
        return known

    def read_all(self, sources: Sequence[Source]) -> None:
        """Read many sources, in bulk where there is a way to."""
        if self._bulk is None:
            return
        files = [source.data for source in sources]
        for source, data in zip(sources, self._bulk.read(files, level=self._level), strict=True):
            read = None if data is None else decode_source(data)
            if read is not None:
                self.sources[source.path] = place_source(read, source.path)

    def repinned(self, path: str, pins: dict[int, Digest]) -> Digest | None:
        """Return the fragment digest of a file that was read, with some pins replaced."""
        known = self.sources[path]
        if known.facts.digest is None:
            return None
        nodes: list[AdNode] = []
        ordinal = 0
        for node in known.script.nodes:
            if isinstance(node, Include):
                nodes.append(replace(node, digest=pins.get(ordinal, node.digest)))
                ordinal += 1
            else:
                nodes.append(node)
        return ad_digest.fragment_digest_of(ad_digest.render_steps(nodes), known.context)


def _read_head(data: bytes, level: AdLevel) -> AdSource:
    """Read what stands in the first whole lines of a file that is too large."""
    head = data[:_HEAD_BYTES].rpartition(b"\n")[0]
    read = read_script(head, path="", level=level)
    kind = fragment.kind_of_script(read.script)
    guard_fault = fragment.find_guard_fault(read.script)
    unsupported = guard_fault
    if unsupported is None and kind != "fragment":
        unsupported = fragment.find_unsupported(read.script, ())
    return AdSource(
        kind=kind,
        context=read.script.context,
        env=read.script.env,
        guard=next(iter(read.script.guards), None),
        guard_fault=guard_fault,
        facts=SourceFacts(
            is_fragment=kind == "fragment" and guard_fault is None, unsupported=unsupported
        ),
        platform_line=read.platform_line,
        is_cut=True,
        unpacked=replace(read.script, nodes=()),
    )


def _first_app(script: AdScript) -> str:
    for node in script.nodes:
        if isinstance(node, Action) and node.command == "open" and node.positionals:
            return node.positionals[0]
    return ""


def _find_empty(read: ReadScript) -> tuple[Finding, ...]:
    """Find a flow without any step; one with unreadable lines may have had some."""
    if read.script.nodes or read.findings:
        return ()
    line = read.script.guards[0].line if read.script.guards else 1
    message = "the flow has no steps, so there is nothing to run"
    return (Finding(reason="flow_empty", path="", line=line, message=message),)


def _fragment_facts(read: ReadScript, steps: str) -> SourceFacts:
    script = read.script
    unsupported = fragment.find_unsupported(script, read.findings)
    includes = _include_sites(script, kind="fragment")
    is_pinned = all(site.pin is not None and not site.reference_problem for site in includes)
    missing = fragment.find_entry_missing(script)
    guard = script.guards[0]
    return SourceFacts(
        # The grammar behind a later version is not known, so what looks like includes may be none.
        is_fragment=guard.version == fragment.GUARD_VERSION,
        unsupported=unsupported,
        includes=includes,
        loose_references=_loose_references(read),
        digest=ad_digest.fragment_digest_of(steps, script.context)
        if unsupported is None and is_pinned
        else None,
        steps=_own_steps(script),
        platform=script.context.platform,
        target=script.context.target,
        unsafe=fragment.find_unsafe(script),
        entry_missing=missing,
        entry_mismatch=fragment.find_entry_mismatch(script) if missing is None else None,
        variables=_variables(script),
    )


def _root_facts(read: ReadScript, kind: ScriptKind) -> SourceFacts:
    script = read.script
    return SourceFacts(
        unsupported=fragment.find_unsupported(script, ()),
        includes=_include_sites(script, kind=kind),
        # To a flat script, which has no includes, the comment is like any other.
        loose_references=() if kind == "flat" else _loose_references(read),
        steps=_own_steps(script),
        platform=script.context.platform,
        target=script.context.target,
        variables=_variables(script),
    )


def _include_sites(script: AdScript, *, kind: ScriptKind) -> tuple[IncludeSite, ...]:
    return tuple(
        IncludeSite(
            locator=node.locator,
            call_site_id=node.call_site_id,
            pin=node.digest,
            unsupported=_site_unsupported(node, kind),
            reference_problem=_reference_problem(node),
            line=node.line,
            column=node.column,
        )
        for node in script.nodes
        if isinstance(node, Include)
    )


def _site_unsupported(node: Include, kind: ScriptKind) -> LocalFault | None:
    if kind == "flat":
        return LocalFault(
            line=node.line,
            feature="include_without_guard",
            message="the including file has no format guard; begin it with composition-v1",
        )
    if node.reference_version not in {None, 1}:
        return LocalFault(
            line=node.line,
            feature="reference_version",
            message=f"its reference is fragment-ref-v{node.reference_version}; write v1",
            details={"version": node.reference_version},
        )
    return None


def _reference_problem(node: Include) -> str:
    if node.problem:
        return node.problem
    if not node.call_site_id:
        return "it has no callSiteId"
    if node.digest is None:
        return "it has no digest"
    return ""


def _loose_references(read: ReadScript) -> tuple[LocalFault, ...]:
    return tuple(
        LocalFault(
            line=line,
            message="this fragment-ref-v1 comment has no include on the line after it",
            details={"callSiteId": reference.call_site_id, "expectedDigest": reference.digest},
        )
        for line, reference in read.loose_references
        if reference.version == 1  # A later one is an ordinary comment until an include has it.
    )


def _own_steps(script: AdScript) -> int:
    return sum(isinstance(node, Action) for node in script.nodes)


def _variables(script: AdScript) -> tuple[VariableUse, ...]:
    return tuple(VariableUse(name, line) for name, line in script_names(script))


def _not_composed(findings: tuple[Finding, ...], facts: SourceFacts) -> tuple[Finding, ...]:
    """Leave out findings on lines that are the including site's fault already."""
    lines = {fault.line for fault in facts.unsafe}
    lines |= {fault.line for fault in (facts.entry_missing, facts.entry_mismatch) if fault}
    return tuple(each for each in findings if each.line not in lines)
