"""Which plan goes first, and on which devices it may run.

Pure. Longest first, by the number of steps; among equally long plans the one that fewer devices
can take. A plan's needs are a `Requirement`, and plans with equal needs share one queue.

May be imported by: runner.schedule, runner.cli, tests. Imports: runner.model.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
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


class Absence(Struct, frozen=True, kw_only=True):
    """A device that takes no plan now: in which state it is, and why."""

    facts: DeviceFacts
    state: str
    why: str


def requirement_of(plan: CheckedPlan) -> Requirement:
    """Return what `plan` needs."""
    return Requirement(plan.platform, plan.target)


def satisfies(facts: DeviceFacts, requirement: Requirement) -> bool:
    """Tell whether a device may run plans of `requirement`."""
    return facts.platform == requirement.platform and facts.target == requirement.target


def explain_lack(
    need: Requirement, devices: Sequence[Absence], unreached: Sequence[str] = ()
) -> str:
    """Say why no device can run plans of `need`.

    `devices` are all that are known, `unreached` says what else of the grid could not be reached.
    """
    fitting = [each for each in devices if satisfies(each.facts, need)]
    wanted = f"{need.platform} ({need.target})"
    if not devices:
        text = f"the grid has no device; the plan needs {wanted}"
    elif not fitting:
        kinds = _numbers(f"{each.facts.platform} ({each.facts.target})" for each in devices)
        text = f"no device is {wanted}; the grid has {kinds}"
    else:
        shown = [f"{each.facts.id}: {each.why}" for each in fitting[:_NAMED]]
        if len(fitting) > _NAMED:
            shown.append(f"and {len(fitting) - _NAMED} more")
        states = _numbers(each.state for each in fitting)
        text = f"no {wanted} device serves: {states} ({'; '.join(shown)})"
    return "; not reached: ".join([text, *unreached[:_NAMED]])


def _numbers(words: Iterable[str]) -> str:
    """Return `2 lost, 1 unhealthy`."""
    return ", ".join(f"{count} {word}" for word, count in sorted(Counter(words).items()))


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
