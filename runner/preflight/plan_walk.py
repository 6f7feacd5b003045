"""The walk over the plan of one file, from its first step to its last.

It goes where a run would go, also through a closure with faults; where it cannot go on it leaves
an include without entries. It makes no more entries than a composition may have steps.

May be imported by: runner.preflight. Imports: runner.compose, runner.formats.ad, runner.preflight,
runner.model, runner.errors.
"""

from collections.abc import Container, Iterator, Mapping
from math import isfinite
from typing import Any, Final, Literal, final

from runner.compose.bound import DEPTH_LIMIT, STEP_LIMIT
from runner.compose.closure import Scope
from runner.compose.graph import Edge
from runner.errors import InputError
from runner.formats.ad import phrase, variables
from runner.formats.ad.display import render_step
from runner.formats.ad.program import FORMAT
from runner.formats.ad.request import WAIT_MS
from runner.formats.ad.script import Action, AdScript, Include
from runner.model.address import (
    FragmentOwner,
    InvocationSegment,
    Owner,
    SourceRef,
    StepAddress,
    render_token,
)
from runner.model.plan import Limits
from runner.preflight.edition import Edition
from runner.preflight.plan_tree import (
    EvidenceEntry,
    IncludeEntry,
    Origin,
    StepEntry,
    TreeEntry,
    VariableEntry,
)
from runner.preflight.settings import PreflightSettings

USE_LIMIT: Final = 50
"""How many uses of one variable are listed."""


class _Heard(dict[str, str]):
    """A scope that binds every name, and keeps what it was asked for."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        self[name] = ""
        return ""


@final
class PlanWalk:
    """One walk over a tree."""

    def __init__(
        self,
        edition: Edition,
        scope: Scope,
        *,
        bound: Mapping[str, str],
        settings: PreflightSettings,
    ) -> None:
        self._edition = edition
        self._bound = bound
        self._settings = settings
        self._scripts: dict[str, AdScript] = {}
        self._uses: dict[str, dict[SourceRef, None]] = {}
        self._needed: set[str] = set()
        self._reasons: dict[tuple[str, int], str] = {}
        for fault in edition.closure(scope).faults:
            self._reasons.setdefault((fault.path, fault.line), fault.reason)
        self.steps = 0
        self.left = STEP_LIMIT

    def entries(
        self,
        path: str,
        *,
        owner: Owner | None,
        calls: tuple[InvocationSegment, ...] | None,
        depth: int,
    ) -> Iterator[TreeEntry]:
        """Yield what one source runs; nothing has an address where `calls` is unknown."""
        if path not in self._scripts:
            self._scripts[path] = self._edition.sources[path].script
        edges = {edge.site.line: edge for edge in self._edition.graph.edges.get(path, ())}
        local_step = 0
        for node in self._scripts[path].nodes:
            self.left -= 1
            if self.left < 0:
                return
            match node:
                case Action():
                    local_step += 1
                    self.steps += 1
                    yield self._step(path, node, local_step, owner=owner, calls=calls)
                case Include():
                    yield self._include(path, node, edges.get(node.line), calls, depth)

    def variables(self) -> Iterator[VariableEntry]:
        """Yield every variable that was met, by name."""
        read = self._edition.read
        header = {} if read.kind == "fragment" else {each.key: each.line for each in read.env}
        scopes: tuple[tuple[Origin, Container[str]], ...] = (
            ("option", self._settings.variables),
            ("environment", variables.shell_scope(self._settings.environ)),
            ("header", header),
            ("built_in", variables.BUILT_INS),
        )
        for name, places in sorted(self._uses.items()):
            free: Origin = "unbound" if name in self._needed else "default"
            origin = next((origin for origin, scope in scopes if name in scope), free)
            yield VariableEntry(
                name=name,
                origin=origin,
                line=header[name] if origin == "header" else None,
                uses=tuple(places)[:USE_LIMIT],
                use_count=len(places),
            )

    def _step(
        self,
        path: str,
        action: Action,
        local_step: int,
        *,
        owner: Owner | None,
        calls: tuple[InvocationSegment, ...] | None,
    ) -> StepEntry:
        address = (
            None
            if owner is None or calls is None
            else StepAddress(owner=owner, invocation_path=calls, local_step=local_step)
        )
        return StepEntry(
            local_step=local_step,
            address=address,
            token=None if address is None else render_token(address),
            path=path,
            line=action.line,
            text=render_step(action),
            wait_ms=self._wait_ms(action),
            step_limit_ms=Limits().step_ms,
            evidence=tuple(_evidence_of(action)),
            variables=self._note_variables(path, action),
        )

    def _include(
        self,
        path: str,
        node: Include,
        edge: Edge | None,
        calls: tuple[InvocationSegment, ...] | None,
        depth: int,
    ) -> IncludeEntry:
        child = None if edge is None else edge.child
        graph = self._edition.graph
        digest = None if child is None else graph.facts[child].digest
        entries: tuple[TreeEntry, ...] = ()
        is_open = edge is not None and edge.is_followed and not graph.is_closing(edge)
        if child is not None and is_open and depth < DEPTH_LIMIT:
            owner = None if digest is None else FragmentOwner(format=FORMAT, fragment_digest=digest)
            below = None
            if calls is not None and node.call_site_id:
                below = (*calls, InvocationSegment(node.call_site_id))
            entries = tuple(self.entries(child, owner=owner, calls=below, depth=depth + 1))
        return IncludeEntry(
            call_site_id=node.call_site_id,
            path=path,
            line=node.line,
            locator=node.locator,
            fragment=child,
            pin=node.digest,
            digest=digest,
            reason=self._reasons.get((path, node.line)),
            entries=entries,
        )

    def _wait_ms(self, action: Action) -> int | None:
        """Return how long a `wait` waits at most, if it can be told."""
        if action.command != "wait":
            return None
        try:
            words = variables.expand_action(action, self._bound).positionals
        except InputError:
            return None  # A variable that nothing binds, or that the worker does.
        wait = phrase.read_wait(words)
        if wait is None:
            return None
        budget = WAIT_MS if wait.ms is None else wait.ms
        return int(budget) if isfinite(budget) else None

    def _note_variables(self, path: str, action: Action) -> tuple[str, ...]:
        heard = _Heard()
        for text in variables.action_texts(action):
            variables.expand(text, heard)
            self._needed.update(variables.required_names(text))
        for name in heard:
            self._uses.setdefault(name, {})[SourceRef(path, action.line)] = None
        return tuple(heard)


def _evidence_of(action: Action) -> Iterator[EvidenceEntry]:
    if action.evidence is not None:
        yield _entry_of("target", action.evidence)
    if action.evidences is not None:
        yield _entry_of("source", action.evidences["source"])
        yield _entry_of("destination", action.evidences["destination"])


def _entry_of(
    end: Literal["target", "source", "destination"], record: Mapping[str, Any]
) -> EvidenceEntry:
    return EvidenceEntry(
        end=end,
        role=record.get("role"),
        id=record.get("id"),
        label=record.get("label"),
        verified=record.get("verification") == "verified",
    )
