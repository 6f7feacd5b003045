"""One flow: its effective context, its scope, its own problems, and its plans.

Pure. The platform of a flow is the caller's, then the runtime hint of its first `open`, then that
of its `context` header; the caller's wins also over a header that says otherwise, so one flat flow
can be tried on the other platform, while the fragments of a composed flow then do not fit. A flat
flow without any platform becomes one plan for each platform of the grid.

May be imported by: runner.preflight. Imports: runner.compose, runner.formats.ad, runner.model,
runner.errors.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import get_args

from msgspec import Raw, Struct

from runner.compose.closure import Scope
from runner.errors import InputError
from runner.formats.ad import digest as ad_digest, variables
from runner.formats.ad.fragment import GUARD_VERSION
from runner.formats.ad.place import Places
from runner.formats.ad.program import FORMAT, PackedFragment, pack_program
from runner.formats.ad.reading import AdSource, pins_of
from runner.model.finding import Finding
from runner.model.ids import PLATFORMS, PlanId, Platform
from runner.model.plan import CheckedPlan, Limits
from runner.preflight.settings import RETRY_LIMIT, PreflightSettings

DEFAULT_TARGET = "mobile"


class Bindings(Struct, frozen=True, kw_only=True):
    """The variables of a flow, and the names that are bound: by them or by the worker."""

    variables: dict[str, str]
    names: frozenset[str]


class FlowContext(Struct, frozen=True, kw_only=True):
    """Where a flow runs and what it binds. `stated` is its one platform, `None` without any."""

    stated: str | None
    target: str
    bindings: Bindings

    def scope(self) -> Scope:
        """Return what fragments inherit."""
        return Scope(platform=self.stated, target=self.target, names=self.bindings.names)


def bind(values: dict[str, str]) -> Bindings:
    """Return the bindings of these variables."""
    return Bindings(variables=values, names=variables.BUILT_INS.union(values))


def caller_bindings(settings: PreflightSettings) -> Bindings:
    """Return what every flow is bound to: the shell's variables, and over them the caller's."""
    return bind({**variables.shell_scope(settings.environ), **settings.variables})


def find_context(source: AdSource, settings: PreflightSettings, caller: Bindings) -> FlowContext:
    """Return the effective context and the variables of a flow.

    What the `caller` binds wins over the script's `env` lines.
    """
    own = {line.key: line.value for line in source.env}
    return FlowContext(
        stated=settings.platform or source.platform_hint or source.context.platform,
        target=source.context.target or DEFAULT_TARGET,
        bindings=bind({**own, **caller.variables}) if own else caller,
    )


def find_flow_problems(
    source: AdSource, context: FlowContext, settings: PreflightSettings, *, data: bytes
) -> Iterator[Finding]:
    """Yield the problems of a flow that are not composition faults of its includes.

    `data` is what the flow was read from; columns are looked up in it.
    """
    yield from source.findings
    if source.guard_fault is not None:
        fault = source.guard_fault
        yield _problem(
            source,
            "fragment_unsupported",
            fault.line,
            fault.message,
            {**fault.details, "source": source.path, "feature": fault.feature},
        )
        if source.guard is not None and source.guard.version != GUARD_VERSION:
            return  # What stands behind a later version's guard is not known.
    if source.is_cut:
        return
    yield from _context_problems(source, context, settings)
    names = context.bindings.names
    places = Places(data, level=settings.ad_level)
    for use in source.facts.variables:
        if use.name not in names:
            yield _problem(
                source,
                "variable_unbound",
                use.line,
                f"nothing binds the variable {use.name}",
                {"name": use.name},
                column=places.variable(use.line, use.name),
            )


def _context_problems(
    source: AdSource, context: FlowContext, settings: PreflightSettings
) -> Iterator[Finding]:
    line = 1 if settings.platform is not None else source.platform_line or 1
    if context.stated is None:
        if source.kind == "flat":
            if settings.stated_platforms == ():
                yield _not_in_grid(source, None, line, ())
        else:
            yield _problem(
                source,
                "fragment_context_mismatch",
                source.guard.line if source.guard else 1,
                "a composed flow must state its platform, so that its fragments can be held to it",
                {"source": source.path, "fact": "platform"},
            )
    elif context.stated not in PLATFORMS:
        yield _problem(
            source,
            "context_mismatch",
            line,
            f"the flow is for platform {context.stated}; sweeps run on {' and '.join(PLATFORMS)}",
            {"platform": context.stated},
        )
    elif settings.stated_platforms is not None and context.stated not in settings.stated_platforms:
        yield _not_in_grid(source, context.stated, line, settings.stated_platforms)


def _not_in_grid(
    source: AdSource, platform: str | None, line: int, stated: tuple[Platform, ...]
) -> Finding:
    what = "runs on any platform" if platform is None else f"is for platform {platform}"
    return _problem(
        source,
        "platform_not_in_grid",
        line,
        f"the flow {what}; the grid file states {' and '.join(stated) or 'no devices at all'}",
        {"platform": platform, "stated": list(stated)},
    )


def tags_of(path: str, settings: PreflightSettings) -> tuple[str, ...]:
    """Return the tags that the rules give to a flow, sorted."""
    if not settings.rules:
        return ()
    rules = (rule for rule in settings.rules if fnmatchcase(path, rule.match))
    return tuple(sorted({tag for rule in rules for tag in rule.tags}))


def is_selected(path: str, settings: PreflightSettings) -> bool:
    """Tell whether a flow's tags are asked for: one of those to include, none to exclude."""
    tags = set(tags_of(path, settings))
    if tags & set(settings.exclude_tags):
        return False
    return not settings.include_tags or bool(tags & set(settings.include_tags))


def build_plans(
    source: AdSource,
    context: FlowContext,
    *,
    fragments: Sequence[AdSource],
    step_count: int,
    settings: PreflightSettings,
) -> Iterator[CheckedPlan]:
    """Yield the plans of a flow without problems. Reasons: `program_invalid`."""
    closure = (source, *fragments)
    bodies = {
        each.facts.digest: PackedFragment(path=each.path, script=_packed(each))
        for each in fragments
        if each.facts.digest is not None
    }
    composition_digest = ad_digest.composition_digest_of(
        source.steps, source.context, graph=chain.from_iterable(map(pins_of, closure))
    )
    plan_digest = (
        ad_digest.plan_digest_of(
            source.numbered_steps, platform=context.stated, target=source.context.target
        )
        if source.kind == "flat"
        else ""
    )
    for platform in _platforms(context, settings):
        yield CheckedPlan(
            id=PlanId(f"{source.path}@{platform}"),
            path=source.path,
            format=FORMAT,
            kind="flat" if source.kind == "flat" else "composition",
            platform=platform,
            target=context.target,
            composition_digest=composition_digest,
            plan_digest=plan_digest,
            program=pack_program(
                _packed(source),
                path=source.path,
                platform=platform,
                target=context.target,
                fragments=bodies,
            ),
            variables=context.bindings.variables,
            secrets=_secrets_of(source.path, settings),
            tags=tags_of(source.path, settings),
            step_count=step_count,
            limits=_limits_of(source, settings),
            retries=_retries_of(source, settings),
            app=_app_of(source, context.bindings.variables),
        )


def _packed(source: AdSource) -> Raw:
    if source.packed is None:
        raise InputError(
            reason="program_invalid",
            message=f"{source.path} holds a value that cannot travel",
            details={"path": source.path},
        )
    return Raw(source.packed)


def _platforms(context: FlowContext, settings: PreflightSettings) -> Iterator[Platform]:
    for platform in get_args(Platform):
        if platform == context.stated or (
            context.stated is None and platform in settings.grid_platforms
        ):
            yield platform


def _limits_of(source: AdSource, settings: PreflightSettings) -> Limits:
    plan_ms = source.context.timeout_ms if settings.timeout_ms is None else settings.timeout_ms
    return Limits(plan_ms=plan_ms)


def _retries_of(source: AdSource, settings: PreflightSettings) -> int:
    if settings.retries is not None:
        return settings.retries
    return min(source.context.retries or 0, RETRY_LIMIT)


def _secrets_of(path: str, settings: PreflightSettings) -> tuple[str, ...]:
    rules = (rule for rule in settings.rules if fnmatchcase(path, rule.match))
    names = {name for rule in rules for name in rule.secrets}
    return tuple(sorted(names.union(settings.secrets)))


def _app_of(source: AdSource, scope: Mapping[str, str]) -> str:
    try:
        app = variables.expand(source.app, scope)
    except InputError:
        return ""  # The name is known on the device only.
    return "" if "://" in app else app


def _problem(
    source: AdSource,
    reason: str,
    line: int,
    message: str,
    details: dict[str, object],
    *,
    column: int = 1,
) -> Finding:
    return Finding(
        reason=reason,
        path=source.path,
        line=line,
        column=column,
        message=message,
        details=details,
    )
