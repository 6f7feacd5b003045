"""One `.ad` file as preflight sees it: the script, its own problems, and its composition facts.

`read_source` is a pure function of the bytes. `AdReader` remembers its results for the time of one
preflight, so a fragment that many flows share is read once.

May be imported by: runner.preflight, runner.cli. Imports: runner.compose, runner.formats.ad,
runner.model.
"""

from typing import Literal, TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from runner.compose.fact import IncludeSite, LocalFault, SourceFacts, VariableUse
from runner.compose.source import Source
from runner.formats.ad import digest as ad_digest, fragment
from runner.formats.ad.check import check_actions
from runner.formats.ad.fragment import ScriptKind
from runner.formats.ad.parser import ReadScript, read_script
from runner.formats.ad.place import Places
from runner.formats.ad.script import Action, AdNode, AdScript, Include
from runner.formats.ad.variables import script_names
from runner.model.finding import Finding
from runner.model.ids import Digest

AdLevel: TypeAlias = Literal["main", "0.21"]
_FOREIGN_SUFFIXES = (".yaml", ".yml")
_HEAD_BYTES = 64 * 1024


class AdSource(Struct, frozen=True, kw_only=True):
    """What was read from one file.

    `findings` are problems of the file by itself. In a fragment they leave out what is a
    composition fault of whoever includes it: parse errors, unsafe commands, a bad entry guard.
    Where a later version's guard stands, nothing is said about the body, whose grammar is not
    known. `platform_line` is the line that states the platform, 0 without any. Of an oversized
    file only the kind, the guards and the header of its beginning are there (`is_cut`).
    `places` finds the columns of what is found later.
    """

    path: str
    kind: ScriptKind
    script: AdScript
    findings: tuple[Finding, ...]
    facts: SourceFacts
    guard_fault: LocalFault | None = None
    platform_line: int = 0
    is_cut: bool = False
    places: Places | None = None

    @property
    def is_readable(self) -> bool:
        """Whether the grammar was followed from the first line to the last."""
        has_errors = any(finding.reason == "parse_error" for finding in self.findings)
        return self.guard_fault is None and not self.is_cut and not has_errors


def read_source(source: Source, *, level: AdLevel = "main") -> AdSource:
    """Read one file. Never fails: what is wrong is in the result."""
    if source.is_oversized:
        return _read_head(source, level)
    read = read_script(source.data, path=source.path, level=level)
    places = Places(source.data, level=level)
    kind = fragment.kind_of_script(read.script)
    guards = read.script.guards
    findings: tuple[Finding, ...]
    if kind == "fragment":
        checked = check_actions(read.script, path=source.path, places=places)
        facts = _fragment_facts(source.path, read)
        findings = _not_composed(checked, facts)
    elif guards and guards[0].version != fragment.GUARD_VERSION:
        facts = SourceFacts(unsupported=fragment.find_unsupported(read.script, ()))
        findings = ()
    else:
        checked = check_actions(read.script, path=source.path, places=places)
        facts = _root_facts(source.path, read, kind)
        findings = (*read.findings, *checked, *_find_empty(source.path, read))
    return AdSource(
        path=source.path,
        kind=kind,
        script=read.script,
        findings=findings,
        facts=facts,
        guard_fault=fragment.find_guard_fault(read.script),
        platform_line=ad_digest.find_platform_hint(read.script)[1] or read.platform_line,
        places=places,
    )


@final
class AdReader:
    """Reads sources for the walk over closures and keeps what it read."""

    def __init__(self, *, level: AdLevel = "main") -> None:
        self._level = level
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
        script = replace(known.script, nodes=tuple(nodes))
        return ad_digest.fragment_digest(
            script, platform=script.context.platform, target=script.context.target
        )


def _read_head(source: Source, level: AdLevel) -> AdSource:
    """Read what stands in the first whole lines of a file that is too large."""
    head = source.data[:_HEAD_BYTES].rpartition(b"\n")[0]
    read = read_script(head, path=source.path, level=level)
    kind = fragment.kind_of_script(read.script)
    guard_fault = fragment.find_guard_fault(read.script)
    unsupported = _foreign(source.path) or guard_fault
    if unsupported is None and kind != "fragment":
        unsupported = fragment.find_unsupported(read.script, ())
    return AdSource(
        path=source.path,
        kind=kind,
        script=replace(read.script, nodes=()),
        findings=(),
        facts=SourceFacts(
            is_fragment=kind == "fragment" and guard_fault is None, unsupported=unsupported
        ),
        guard_fault=guard_fault,
        platform_line=read.platform_line,
        is_cut=True,
    )


def _find_empty(path: str, read: ReadScript) -> tuple[Finding, ...]:
    """Find a flow without any step; one with unreadable lines may have had some."""
    if read.script.nodes or read.findings:
        return ()
    line = read.script.guards[0].line if read.script.guards else 1
    message = "the flow has no steps, so there is nothing to run"
    return (Finding(reason="flow_empty", path=path, line=line, message=message),)


def _fragment_facts(path: str, read: ReadScript) -> SourceFacts:
    script = read.script
    unsupported = _foreign(path) or fragment.find_unsupported(script, read.findings)
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
        digest=ad_digest.fragment_digest(
            script, platform=script.context.platform, target=script.context.target
        )
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


def _root_facts(path: str, read: ReadScript, kind: ScriptKind) -> SourceFacts:
    script = read.script
    return SourceFacts(
        unsupported=_foreign(path) or fragment.find_unsupported(script, ()),
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


def _foreign(path: str) -> LocalFault | None:
    if not path.lower().endswith(_FOREIGN_SUFFIXES):
        return None
    return LocalFault(
        feature="cross_format", message="it is a flow of another format; include `.ad` fragments"
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
