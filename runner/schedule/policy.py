"""Which plan goes first, and on which devices it may run.

Pure. Longest first, by the number of steps; among equally long plans the one that fewer devices
can take. A plan's needs are a `Requirement`, and plans with equal needs share one queue.

May be imported by: runner.schedule, runner.cli, tests. Imports: runner.model.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from runner.model.device import DeviceFacts
from runner.model.ids import Platform
from runner.model.plan import CheckedPlan

_NAMED: Final = 3


class Requirement(Struct, frozen=True):
    """What a plan needs of a device."""

    platform: Platform
    target: str


def requirement_of(plan: CheckedPlan) -> Requirement:
    """Return what `plan` needs."""
    return Requirement(plan.platform, plan.target)


def satisfies(facts: DeviceFacts, requirement: Requirement) -> bool:
    """Tell whether a device may run plans of `requirement`."""
    return facts.platform == requirement.platform and facts.target == requirement.target


def explain_lack(need: Requirement, devices: Sequence[tuple[DeviceFacts, str]]) -> str:
    """Say why no device can run plans of `need`; `devices` come with what is wrong with each."""
    fitting = [(facts, trouble) for facts, trouble in devices if satisfies(facts, need)]
    wanted = f"{need.platform} ({need.target})"
    if not devices:
        return f"the grid has no device; the plan needs {wanted}"
    if not fitting:
        kinds = sorted({f"{facts.platform} ({facts.target})" for facts, _ in devices})
        return f"no device is {wanted}; the grid has {', '.join(kinds)} alone"
    shown = [f"{facts.id}: {trouble or 'it does not serve'}" for facts, trouble in fitting]
    more = f"; and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return f"no {wanted} device serves: {'; '.join(shown[:_NAMED])}{more}"


def rank_plans(
    plans: Sequence[CheckedPlan], devices: Sequence[DeviceFacts]
) -> tuple[CheckedPlan, ...]:
    """Return `plans` in the order in which they should start."""
    choice = {
        need: sum(satisfies(facts, need) for facts in devices)
        for need in {requirement_of(plan) for plan in plans}
    }
    return tuple(
        sorted(plans, key=lambda p: (-p.step_count, choice[requirement_of(p)], p.path, p.id))
    )
