"""A checked plan: what preflight admits and a worker runs.

The type lives here so that the scheduler needs no preflight; only `runner.preflight` may make
one. `program` is the composed, typed program in the bytes of its format (self-contained: no file
is read on the worker); the worker decodes it, recomputes the composition digest and refuses on a
difference.

May be imported by: everyone. Imports: runner.model.ids.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from runner.model.ids import Digest, PlanId, Platform

PlanKind: TypeAlias = Literal["flat", "composition"]


class Limits(Struct, frozen=True, kw_only=True, rename="camel"):
    """Time limits in milliseconds; `None` means none."""

    step_ms: int = 90_000
    plan_ms: int | None = None


class CheckedPlan(Struct, frozen=True, kw_only=True, rename="camel"):
    """One flow for one platform, ready to run.

    `plan_digest` is the flat plan digest (bare hex) or empty. `variables` are the bound names
    of the flow's static scope (CLI, shell, `env`), without the built-ins that the worker adds.
    `secrets` names variables whose values are redacted everywhere. `app` is the first app that
    the plan opens, for diagnostics.
    """

    id: PlanId
    path: str
    format: str
    kind: PlanKind
    platform: Platform
    target: str = "mobile"
    composition_digest: Digest
    plan_digest: str = ""
    program: bytes
    variables: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    step_count: int
    limits: Limits = Limits()
    retries: int = 0
    app: str = ""
