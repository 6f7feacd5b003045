"""The `.ad` interpreter: plays a composed program as a generator of intents.

For every step: StepStarted, the work, StepFinished. The first failing step ends the program. A
failure of the device, its driver or the way to it is handed on unchanged; a failure of the
product, or a line that makes no sense once it is expanded, is a divergence and is reported as one
before the step's end.

May be imported by: runner.preflight, runner.cli, tests. Imports: runner.machine,
runner.formats.ad, runner.model, runner.errors.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from msgspec.structs import replace

from runner.errors import InputError
from runner.formats.ad import app, observe, pan, touch
from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.display import render_step
from runner.formats.ad.divergence import ARTIFACT_NAME, Divergence, build_report
from runner.formats.ad.lexer import Level
from runner.formats.ad.mask import build_mask, clip, mask_value
from runner.formats.ad.phrase import read_wait
from runner.formats.ad.program import (
    AdProgram,
    EnterFragment,
    LeaveFragment,
    PlannedStep,
    composition_digest_of,
    linearize,
    open_program,
)
from runner.formats.ad.script import Action
from runner.formats.ad.selector import Selector, parse_selector
from runner.formats.ad.stage import Scope, Stage, StepError, Steps, misuse_error
from runner.formats.ad.target import Evidence, read_evidence
from runner.formats.ad.variables import expand_action
from runner.machine.intent import Machine, MachineInputs, Outcome
from runner.model.artifact import artifact_path
from runner.model.event import (
    Diverged,
    InvocationEntered,
    InvocationLeft,
    StepFinished,
    StepStarted,
)
from runner.model.failure import Failure, is_infrastructure
from runner.model.ids import AttemptId
from runner.model.plan import CheckedPlan

Handler: TypeAlias = Callable[[Stage, Action, Evidence | None], Steps[str]]

DETAIL_BYTES: Final = 4_096

HANDLERS: Final[Mapping[str, Handler]] = {
    "open": app.open_app,
    "close": app.close_app,
    "press": touch.press,
    "click": touch.press,
    "longpress": touch.long_press,
    "fill": touch.fill,
    "type": touch.type_text,
    "wait": observe.wait,
    "get": observe.get,
    "is": observe.judge,
    "snapshot": observe.take_snapshot,
    "screenshot": observe.take_screenshot,
    "scroll": pan.scroll,
    "swipe": pan.swipe,
    "back": app.go_back,
    "home": app.go_home,
    "keyboard": app.keyboard,
    "alert": app.alert,
}
"""The commands that this interpreter runs."""


_NO_ATTEMPT: Final = AttemptId("")


def open_machine(plan: CheckedPlan, inputs: MachineInputs, *, level: Level = "main") -> Machine:
    """Make the interpreter of a checked plan, after holding its program to its digest.

    The plan's variables win over the built-ins. Reasons: `program_invalid`, `program_mismatch`.
    """
    program = open_program(plan.program, plan.composition_digest)
    return play(
        program,
        scope={**built_ins(plan, inputs), **plan.variables},
        secrets=frozenset(plan.secrets),
        level=level,
        plan_digest=plan.plan_digest,
        attempt_id=AttemptId(inputs.attempt_id),
    )


def built_ins(plan: CheckedPlan, inputs: MachineInputs) -> dict[str, str]:
    """Return the variables that every script has; `runner.formats.ad.variables` lists them.

    A sweep is one shard of one: plans are not bound to devices beforehand.
    """
    return {
        "AD_SESSION": inputs.attempt_id,
        "AD_FILENAME": plan.path,
        "AD_PLATFORM": inputs.platform,
        "AD_TARGET": inputs.target,
        "AD_DEVICE": inputs.device,
        "AD_DEVICE_ID": inputs.serial,
        "AD_SHARD_INDEX": "0",
        "AD_SHARD_COUNT": "1",
        "AD_ARTIFACTS": f"artifacts/{inputs.attempt_id}",
    }


def play(
    program: AdProgram,
    *,
    scope: Mapping[str, str],
    secrets: frozenset[str] = frozenset(),
    level: Level = "main",
    plan_digest: str = "",
    attempt_id: AttemptId = _NO_ATTEMPT,
) -> Machine:
    """Play `program`; `plan_digest` is what a report names for resuming a flat plan.

    Reasons: those of the steps, in the outcome; `program_invalid` is raised.
    """
    stage = Stage(platform=program.platform, level=level, scope=Scope(scope), secrets=secrets)
    performance = _Performance(program, stage, plan_digest, attempt_id)
    for item in linearize(program):
        stage.begin(item.address, item.provenance)
        match item:
            case EnterFragment(call_site_id=site, locator=locator):
                yield from stage.tell(InvocationEntered(call_site_id=site, locator=locator))
            case LeaveFragment(call_site_id=site, locator=locator):
                yield from stage.tell(InvocationLeft(call_site_id=site, locator=locator))
            case PlannedStep():
                failure = yield from performance.play_step(item)
                if failure is not None:
                    return Outcome(
                        failure=failure, address=item.address, provenance=item.provenance
                    )
    return Outcome()


class _Performance:
    """One run of a program, step by step."""

    def __init__(
        self, program: AdProgram, stage: Stage, plan_digest: str, attempt_id: AttemptId
    ) -> None:
        self._program = program
        self._stage = stage
        self._plan_digest = plan_digest
        self._attempt_id = attempt_id
        self._ordinal = 0
        scope = stage.scope
        self._secrets = build_mask({name: scope[name] for name in stage.secrets if name in scope})
        self._is_composed = any(guard.kind == "composition" for guard in program.root.guards)

    def play_step(self, item: PlannedStep) -> Steps[Failure | None]:
        """Run one step between its events; return its failure."""
        stage = self._stage
        self._ordinal += 1
        action, error = _expand(item.action, stage.scope)
        text = self._secrets(render_step(action))
        yield from stage.tell(StepStarted(command=action.command, text=text))
        began_ms = stage.now_ms
        evidence, detail = None, ""
        if error is None:
            try:
                if action.evidence is not None:
                    evidence = read_evidence(action.evidence)
                detail = yield from HANDLERS[action.command](stage, action, evidence)
            except StepError as failed:
                error = failed
            except InputError as refused:
                error = misuse_error(refused)
        failure = None
        if error is not None:
            failure = self._veil(error.failure)
            if not is_infrastructure(failure.kind):
                yield from self._tell_divergence(item, action, evidence, error)
        yield from stage.tell(
            StepFinished(
                command=action.command,
                passed=failure is None,
                duration_ms=round(stage.now_ms - began_ms),
                failure=failure,
                detail=clip(self._secrets(detail), DETAIL_BYTES),
            )
        )
        return failure

    def _tell_divergence(
        self, item: PlannedStep, action: Action, evidence: Evidence | None, error: StepError
    ) -> Steps[None]:
        stage = self._stage
        if stage.screen is None and stage.unseen == "observation-missing":
            yield from _look_once(stage)
        composition_digest = composition_digest_of(self._program) if self._is_composed else None
        divergence = Divergence(
            kind=error.divergence,
            action=render_step(action),
            failure=error.failure,
            ordinal=self._ordinal,
            address=item.address,
            provenance=item.provenance,
            screen=stage.screen,
            unseen=stage.unseen,
            selector=_selector_of(action),
            evidence=evidence,
            recorded=item.action.evidence,
            binding=error.binding,
            plan_digest=self._plan_digest,
            composition_digest=composition_digest,
            step_count=sum(isinstance(node, Action) for node in self._program.root.nodes),
        )
        path = artifact_path(
            kind="divergence", name=ARTIFACT_NAME, attempt_id=self._attempt_id, address=item.address
        )
        mask = build_mask(stage.scope.used_values())
        report = build_report(divergence, mask, artifact_path=path)
        if report.overflow is not None:
            yield from stage.keep("divergence", ARTIFACT_NAME, report.overflow)
        yield from stage.tell(Diverged(kind=error.divergence, report=report.shown))

    def _veil(self, failure: Failure) -> Failure:
        return replace(
            failure,
            message=self._secrets(failure.message),
            hint=self._secrets(failure.hint),
            details=mask_value(failure.details, self._secrets),
        )


def _expand(action: Action, scope: Scope) -> tuple[Action, StepError | None]:
    """Expand a step, and judge the operands that only now are known."""
    try:
        expanded = expand_action(action, scope)
        _require_runnable(expanded)
    except InputError as error:
        return action, misuse_error(error)
    return expanded, None


def _require_runnable(action: Action) -> None:
    command = COMMANDS.get(action.command)
    if command is None or action.command not in HANDLERS:
        what = "cannot be run by this version" if command is not None else "is no command"
        raise InputError(
            reason="command_unsupported" if command is not None else "command_unknown",
            message=f"{action.command[:80]} {what}",
            details={"command": action.command[:256]},
        )
    for problem in command.judge(action) if command.judge is not None else ():
        raise InputError(
            reason="arguments_invalid", message=problem.message, details={"usage": command.usage}
        )


def _look_once(stage: Stage) -> Steps[None]:
    """Capture the screen for a report; that it cannot be captured must not hide the failure."""
    with suppress(StepError):
        yield from stage.look()


def _selector_of(action: Action) -> Selector | None:
    """Return the selector that a step names, as far as it can be read."""
    command = COMMANDS.get(action.command)
    if command is None or command.targets is None:
        return None
    if action.command == "wait":
        wait = read_wait(action.positionals)
        if wait is None or wait.kind not in {"selector", "absent"}:
            return None
    try:
        return next((parse_selector(text) for text in command.targets(action.positionals)), None)
    except InputError:
        return None
