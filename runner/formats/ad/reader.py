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
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import Action, AdNode, AdScript, Include
from runner.formats.ad.variables import script_names
from runner.model.finding import Finding
from runner.model.ids import Digest

AdLevel: TypeAlias = Literal["main", "0.21"]
_FOREIGN_SUFFIXES = (".yaml", ".yml")


class AdSource(Struct, frozen=True, kw_only=True):
    """What was read from one file.

    `findings` are problems of the file by itself. In a fragment they leave out what is a
    composition fault of whoever includes it: parse errors, unsafe commands, a bad entry guard.
    """

    path: str
    kind: ScriptKind
    script: AdScript
    findings: tuple[Finding, ...]
    facts: SourceFacts
    guard_fault: LocalFault | None = None


def read_source(source: Source, *, level: AdLevel = "main") -> AdSource:
    """Read one file. Never fails: what is wrong is in the result."""
    read = read_script(source.data, path=source.path, level=level)
    kind = fragment.kind_of_script(read.script)
    checked = check_actions(read.script, path=source.path)
    if kind == "fragment":
        facts = _fragment_facts(source.path, read.script, read.findings)
        findings = _not_composed(checked, facts)
    else:
        facts = _root_facts(source.path, read.script, kind)
        findings = read.findings + checked
    return AdSource(
        path=source.path,
        kind=kind,
        script=read.script,
        findings=findings,
        facts=facts,
        guard_fault=fragment.find_guard_fault(read.script),
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


def _fragment_facts(path: str, script: AdScript, problems: tuple[Finding, ...]) -> SourceFacts:
    unsupported = _foreign(path) or fragment.find_unsupported(script, problems)
    includes = _include_sites(script, kind="fragment")
    is_pinned = all(site.pin is not None and not site.reference_problem for site in includes)
    missing = fragment.find_entry_missing(script)
    guard = script.guards[0]
    return SourceFacts(
        # The grammar behind a later version is not known, so what looks like includes may be none.
        is_fragment=guard.version == fragment.GUARD_VERSION,
        unsupported=unsupported,
        includes=includes,
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


def _root_facts(path: str, script: AdScript, kind: ScriptKind) -> SourceFacts:
    return SourceFacts(
        unsupported=_foreign(path) or fragment.find_unsupported(script, ()),
        includes=_include_sites(script, kind=kind),
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
