"""Reasons that a step of a flow ends with.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

REPLAY: Final[Mapping[str, ReasonInfo]] = {
    "selector_not_found": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="No element of the screen matches the selector.",
        fix="Compare the selector with the screen in the report; a suggestion may fit.",
        example="`press id=buy` on a screen without it.",
    ),
    "selector_ambiguous": ReasonInfo(
        code="AMBIGUOUS_MATCH",
        meaning="Several elements match the selector and nothing tells which one is meant.",
        fix="Make the selector narrower; `details.candidates` lists what matches.",
        example="`press label=Add` on a list with ten such buttons.",
    ),
    "target_off_screen": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The element exists, but no part of it is on the screen.",
        fix="Scroll it into view before the step.",
        example="`press id=terms` at the end of a page that was not scrolled.",
    ),
    "target_covered": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="Another element lies over the point that would be touched.",
        fix="Close or wait out what `details.cover` names before the step.",
        example="`press id=buy` under a cookie banner.",
    ),
    "capture_sparse": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The screen was read, but it showed no content of an app.",
        fix="See the screenshot; the app may have crashed or still be starting.",
        example="`get text id=total` while the screen shows the system's bars alone.",
    ),
    "wait_target_absent": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="A wait ended with a readable screen that does not show the target.",
        fix="Check whether the app reached that screen, or raise the timeout.",
        example="`wait id=home 10000`, and ten seconds later it is not there.",
    ),
    "wait_capture_stalled": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="A wait ended without one readable screen, so nothing is known about the target.",
        fix="Look at the device; a screen that never rests cannot be read.",
        example="`wait id=home 10000` on a phone of which no tree could be read meanwhile.",
    ),
    "wait_runner_restart_exhausted": ReasonInfo(
        code="COMMAND_FAILED",
        meaning=(
            "A wait ended while the tool that reads the screen died at each start, so nothing is "
            "known about the target."
        ),
        fix="Look at the device's memory and load; the run tries another device.",
        example="`wait id=home 10000` on a phone that kills `uiautomator` again and again.",
    ),
    "wait_deadline_exceeded": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="A capture used up the rest of a wait's time after earlier ones were readable.",
        fix="Raise the timeout, or look at why the device answers slowly.",
        example="`wait id=home 2000` on a phone whose second look took three seconds.",
    ),
    "wait_target_present": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="What should have gone away was still there when the wait ended.",
        fix="Check whether the app closes it, or raise the timeout.",
        example="`wait absent id=spinner 5000`, and it still turns.",
    ),
    "wait_stable_timeout": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The screen kept changing until the wait ended.",
        fix="Wait for an element instead, or raise the timeout.",
        example="`wait stable 500 5000` on a screen with a ticker.",
    ),
    "wait_alert_absent": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="No alert was shown until the wait ended.",
        fix="Check whether the app asks there, or raise the timeout.",
        example="`alert wait 5000`, and none comes.",
    ),
    "wait_landmark_identity_mismatch": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="A wait saw elements that match its selector, but never the recorded one.",
        fix="Check that this is the right screen; record the landmark anew if it changed.",
        example='`wait id=title 10000`, recorded on "Home", sees "Log in" under the same id.',
    ),
    "predicate_false": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The element is not as `is` demands.",
        fix="Compare `details.actual` with the flow.",
        example='`is text id=total "9.99"` where it shows 19.98.',
    ),
    "identity_mismatch": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The element that matches is not the one that was recorded.",
        fix="Check that this is the right screen; record the step anew if the app changed.",
        example='`press id=row`, recorded on "Milk", would press "Bread".',
    ),
    "identity_unverifiable": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="Nothing tells whether the element is the one that was recorded.",
        fix="Record the step anew with a more telling selector.",
        example="`press label=Add`, recorded on one of two equal buttons.",
    ),
    "scroll_edge_not_reached": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The content did not come to its end within the allowed number of pans.",
        fix="Scroll to an element instead of to the edge.",
        example="`scroll bottom` in a feed without an end.",
    ),
    "ref_without_session": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A flow uses an `@ref`, which has a meaning only in the session that gave it.",
        fix="Replace the ref with a selector.",
        example=("== main.ad\npress @e7\n"),
    ),
    "observation_unexpected": ReasonInfo(
        code="INTERNAL",
        meaning="An interpreter was resumed with an answer that does not fit what it asked.",
        fix="Report it with the run directory; it is a bug.",
        example="A pause that is answered with a screen.",
    ),
    "playbook_mismatch": ReasonInfo(
        code="INTERNAL",
        meaning="An interpreter did not do what its playbook says.",
        fix="Compare the two conversations in the message.",
        example="A playbook that expects a tap where the interpreter looks.",
    ),
}
