"""`wait`: poll the screen until a condition holds, and say truthfully why it did not.

A look that ended after the deadline still counts when it succeeds: a wait never throws away the
proof that it asked for. Where the first look alone used up the time, another one follows, because
one look by a slow device says nothing about the app. When a wait fails:

    no readable look                                    wait_capture_stalled
    the same, the screen's reader died in the last      wait_runner_restart_exhausted
    earlier looks readable, the last one was not        wait_deadline_exceeded
    the last look readable, condition not met           the condition's own reason

May be imported by: runner.formats.ad, tests. Imports: runner.machine, runner.formats.ad,
runner.model.
"""

from typing import Any, Final, Protocol, final

from runner.formats.ad.match import holds_text, text_of
from runner.formats.ad.request import (
    ForAbsence,
    ForSelector,
    ForStillness,
    ForText,
    Sleep,
    WaitFor,
)
from runner.formats.ad.resolve import find_matches
from runner.formats.ad.selector import Selector, fold
from runner.formats.ad.stage import Stage, StepError, Steps, readable_screen, step_error
from runner.formats.ad.target import Binding, Evidence, denotes, explain
from runner.machine.intent import Seen, Unseen
from runner.machine.polling import PROGRESS_EVERY_MS, Deadline, Poll, PollOutcome, Timeline
from runner.model.event import WaitProgress
from runner.model.screen import Snapshot

POLL_MS: Final = 300
_DIED: Final = "screen_reader_died"
_NAMED: Final = 5


class Condition(Protocol):
    """What a wait waits for."""

    def is_met(self, snapshot: Snapshot | None, now_ms: float) -> bool:
        """Judge one look; None is a look that showed nothing."""
        ...

    def failure(self, timeout_ms: int, details: dict[str, Any]) -> StepError:
        """Return the error for a wait whose last look was readable."""
        ...


def wait_for(stage: Stage, what: WaitFor, evidence: Evidence | None) -> Steps[str]:
    """Wait for `what`; return a note about how long it took."""
    match what:
        case Sleep(ms=ms):
            if ms:
                yield from stage.pause(ms)
            return ""
        case ForText(text=text, timeout_ms=timeout_ms):
            return (yield from poll_until(stage, _TextShown(text), timeout_ms))
        case ForSelector(selector=selector, timeout_ms=timeout_ms):
            if evidence is None:
                return (yield from poll_until(stage, _Matched(stage, selector), timeout_ms))
            landmark = _Landmark(stage, selector, evidence)
            return (yield from poll_until(stage, landmark, timeout_ms))
        case ForAbsence(selector=selector, timeout_ms=timeout_ms):
            return (yield from poll_until(stage, _Gone(stage, selector), timeout_ms))
        case ForStillness(quiet_ms=quiet_ms, timeout_ms=timeout_ms):
            return (yield from poll_until(stage, _Still(quiet_ms), timeout_ms))


def poll_until(stage: Stage, condition: Condition, timeout_ms: int) -> Steps[str]:
    """Look until `condition` is met or the time is up; return a note about the waiting."""
    deadline = Deadline(stage.now_ms, timeout_ms)
    timeline = Timeline()
    told_ms = stage.now_ms
    while True:
        began_ms = stage.now_ms
        seen = yield from stage.look()
        snapshot = readable_screen(seen)
        if condition.is_met(snapshot, stage.now_ms):
            return f"waited {deadline.waited_ms(stage.now_ms)} ms"
        is_over = deadline.is_over(stage.now_ms)
        timeline = timeline.add(
            Poll(
                started_ms=deadline.waited_ms(began_ms),
                duration_ms=round(stage.now_ms - began_ms),
                outcome=_outcome(seen, snapshot, is_over=is_over),
            )
        )
        if is_over and (timeline.captures > 1 or not timeout_ms):
            details = timeline.details(deadline.waited_ms(stage.now_ms))
            raise _timeout_error(condition, seen, timeline, timeout_ms, details)
        if stage.now_ms - told_ms >= PROGRESS_EVERY_MS:
            told_ms = stage.now_ms
            yield from stage.tell(
                WaitProgress(
                    waited_ms=deadline.waited_ms(told_ms),
                    timeout_ms=timeout_ms,
                    polls=timeline.captures,
                )
            )
        yield from stage.pause(deadline.pause_ms(stage.now_ms, POLL_MS))


def _outcome(seen: Seen | Unseen, snapshot: Snapshot | None, *, is_over: bool) -> PollOutcome:
    if snapshot is not None:
        return "readable"
    if _has_died(seen):
        return "runner-restart"
    return "deadline" if is_over else "unreadable"


def _has_died(seen: Seen | Unseen) -> bool:
    return isinstance(seen, Unseen) and seen.failure.reason == _DIED


def _timeout_error(
    condition: Condition,
    seen: Seen | Unseen,
    timeline: Timeline,
    timeout_ms: int,
    details: dict[str, Any],
) -> StepError:
    if not timeline.readable:
        # A failed look is the device's business; only a shown but empty screen is the app's.
        cause = seen.failure if isinstance(seen, Unseen) else None
        return step_error(
            "wait_runner_restart_exhausted" if _has_died(seen) else "wait_capture_stalled",
            f"no readable screen within {timeout_ms} ms, in {timeline.captures} captures",
            details={**details, "cause": cause.reason if cause else "capture_sparse"},
            kind=cause.kind if cause else "product",
        )
    if readable_screen(seen) is None:
        return step_error(
            "wait_deadline_exceeded",
            f"the last capture used up the {timeout_ms} ms; earlier ones did not meet the wait",
            details=details,
        )
    return condition.failure(timeout_ms, details)


@final
class _TextShown:
    """Some node shows the text, whole or in part; case and spacing do not matter."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = fold(text)

    def is_met(self, snapshot: Snapshot | None, now_ms: float) -> bool:
        del now_ms
        return snapshot is not None and any(
            holds_text(text, self._folded)
            for node in snapshot.nodes
            for text in (text_of(node), node.value)
        )

    def failure(self, timeout_ms: int, details: dict[str, Any]) -> StepError:
        return step_error(
            "wait_target_absent",
            f"the text {self._text[:120]!r} did not appear within {timeout_ms} ms",
            details={"text": self._text, **details},
        )


@final
class _Matched:
    """The selector matches some node."""

    def __init__(self, stage: Stage, selector: Selector) -> None:
        self._level = stage.level
        self._selector = selector

    def is_met(self, snapshot: Snapshot | None, now_ms: float) -> bool:
        del now_ms
        return snapshot is not None and bool(
            find_matches(self._selector, snapshot, level=self._level)
        )

    def failure(self, timeout_ms: int, details: dict[str, Any]) -> StepError:
        return _absent_error(self._selector, timeout_ms, details)


@final
class _Landmark:
    """Some match has the recorded identity and ancestry; its place among equals is free."""

    def __init__(self, stage: Stage, selector: Selector, evidence: Evidence) -> None:
        if evidence.verification == "unverifiable":
            # Recorders write no such landmark; accepting any match would be a false proof.
            raise step_error(
                "identity_unverifiable",
                f"the recording of {selector.source[:120]} says that it could not be verified",
                details={"selector": selector.source},
                divergence="identity-unverifiable",
                binding=Binding(classification="identity-unverifiable"),
            )
        self._level = stage.level
        self._selector = selector
        self._evidence = evidence
        self._binding: Binding | None = None

    def is_met(self, snapshot: Snapshot | None, now_ms: float) -> bool:
        del now_ms
        if snapshot is None:
            return False
        found = find_matches(self._selector, snapshot, level=self._level)
        if any(denotes(snapshot, at, self._evidence) for at in found):
            return True
        if found:
            self._binding = Binding(
                classification="identity-mismatch",
                match_count=len(found),
                node=found[0],
                mismatches=explain(snapshot, found[0], self._evidence),
                candidates=found[:_NAMED],
                screen=snapshot,  # A later look may show another tree.
            )
        return False

    def failure(self, timeout_ms: int, details: dict[str, Any]) -> StepError:
        if self._binding is None:
            return _absent_error(self._selector, timeout_ms, details)
        return step_error(
            "wait_landmark_identity_mismatch",
            f"{self._selector.source[:120]} matched within {timeout_ms} ms, but never the recorded "
            f"element: {'; '.join(self._binding.mismatches)}",
            details={"selector": self._selector.source, **details},
            divergence="identity-mismatch",
            binding=self._binding,
        )


@final
class _Gone:
    """A complete screen on which nothing matches; hidden and off-screen matches count."""

    def __init__(self, stage: Stage, selector: Selector) -> None:
        self._level = stage.level
        self._selector = selector
        self._matched = 0

    def is_met(self, snapshot: Snapshot | None, now_ms: float) -> bool:
        del now_ms
        if snapshot is None:
            return False
        self._matched = len(find_matches(self._selector, snapshot, level=self._level))
        return not self._matched and not snapshot.truncated

    def failure(self, timeout_ms: int, details: dict[str, Any]) -> StepError:
        facts = {"selector": self._selector.source, "matchCount": self._matched, **details}
        if self._matched:
            return step_error(
                "wait_target_present",
                f"{self._selector.source[:120]} was still there after {timeout_ms} ms",
                details=facts,
            )
        return step_error(
            "wait_capture_stalled",
            "the platform cut every capture short, so absence cannot be proved",
            details={**facts, "truncated": True},
        )


@final
class _Still:
    """Readable screens that are equal over the quiet time; an unreadable one starts it anew."""

    def __init__(self, quiet_ms: int) -> None:
        self._quiet_ms = quiet_ms
        self._last: Snapshot | None = None
        self._since_ms = 0.0

    def is_met(self, snapshot: Snapshot | None, now_ms: float) -> bool:
        if snapshot is None or snapshot != self._last:
            self._last = snapshot
            self._since_ms = now_ms
        return snapshot is not None and now_ms - self._since_ms >= self._quiet_ms

    def failure(self, timeout_ms: int, details: dict[str, Any]) -> StepError:
        return step_error(
            "wait_stable_timeout",
            f"the screen was never still for {self._quiet_ms} ms within {timeout_ms} ms",
            details={"quietMs": self._quiet_ms, **details},
        )


def _absent_error(selector: Selector, timeout_ms: int, details: dict[str, Any]) -> StepError:
    return step_error(
        "wait_target_absent",
        f"nothing matched {selector.source[:120]} within {timeout_ms} ms",
        details={"selector": selector.source, **details},
    )
