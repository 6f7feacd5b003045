"""Reasons of the composition model, as the founding decision record on composed scripts has them.

Those with places belong to sources and come in that total order; the others answer requests.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

COMPOSITION: Final[Mapping[str, ReasonInfo]] = {
    "fragment_missing": ReasonInfo(
        code="INVALID_ARGS",
        meaning="An included file does not exist inside the source root.",
        fix="Correct the locator, or add the file; locators are relative to the including file.",
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"login","digest":"sha256:000000'
            '0000000000000000000000000000000000000000000000000000000000"}\n'
            'include "./gone.ad"\n'
        ),
        places=(1,),
        details=("source", "locator", "callSiteId", "expectedDigest"),
    ),
    "fragment_unsupported": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "An included source, guard, reference or format version is not a supported fragment."
        ),
        fix="Look at `details.feature`; record the fragment anew or use a newer sweepgrid.",
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"login","digest":"<digest of lo'
            'gin.ad>"}\n'
            'include "./login.ad"\n'
            "== login.ad\n"
            "fragment-v2\n"
            "context platform=android target=mobile\n"
            '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verif'
            'ied"}\n'
            "wait id=home 10000\n"
        ),
        places=(2,),
        details=("source", "locator", "callSiteId", "expectedDigest", "feature"),
    ),
    "fragment_bounds": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A closure is over a bound: sources, depth, bytes or expanded steps.",
        fix="Look at `details.bound`; split the flow or its fragments.",
        example=(
            "A chain of 17 fragments that include each other: `main.ad:5: the closure is 17 "
            "levels deep, over the bound of 16`"
        ),
        places=(3, 4, 5),
        details=("source", "locator", "callSiteId", "expectedDigest", "bound"),
    ),
    "fragment_cycle": ReasonInfo(
        code="INVALID_ARGS",
        meaning="Fragments include each other in a cycle.",
        fix="Remove one include of the cycle that `details.cycle` shows.",
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"login","digest":"<digest of lo'
            'gin.ad>"}\n'
            'include "./login.ad"\n'
            "== login.ad\n"
            "fragment-v1\n"
            "context platform=android target=mobile\n"
            '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verif'
            'ied"}\n'
            "wait id=home 10000\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"again","digest":"sha256:000000'
            '0000000000000000000000000000000000000000000000000000000000"}\n'
            'include "./login.ad"\n'
        ),
        places=(6,),
        details=("source", "locator", "callSiteId", "expectedDigest", "cycle"),
    ),
    "fragment_call_site_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "An include's reference comment, call site id or digest is missing, malformed or "
            "doubled, or the comment stands before no include."
        ),
        fix=(
            "Give every include its own `# agent-device:fragment-ref-v1` comment on the line "
            "before."
        ),
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            'include "./login.ad"\n'
            "== login.ad\n"
            "fragment-v1\n"
            "context platform=android target=mobile\n"
            '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verif'
            'ied"}\n'
            "wait id=home 10000\n"
        ),
        places=(7,),
        details=("source", "locator", "callSiteId", "expectedDigest"),
    ),
    "fragment_control_identity_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A repeat or retry control has no id, or the same id as another in its owner.",
        fix="Give each control an id that is unique in its owner.",
        example=(
            "Two retries of one owner with the control id `again`; `.ad` has no controls, other "
            "formats have."
        ),
        places=(8,),
        details=("source", "controlId"),
    ),
    "fragment_stale": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A pinned digest differs from the digest of the fragment that stands there.",
        fix="Review the change, then repin from the leaf upward as the printed chain shows.",
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"login","digest":"sha256:000000'
            '0000000000000000000000000000000000000000000000000000000000"}\n'
            'include "./login.ad"\n'
            "== login.ad\n"
            "fragment-v1\n"
            "context platform=android target=mobile\n"
            '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verif'
            'ied"}\n'
            "wait id=home 10000\n"
        ),
        places=(9,),
        details=("source", "locator", "callSiteId", "expectedDigest", "actualDigest", "chain"),
    ),
    "fragment_lifecycle": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "A fragment holds a command that is not safe in fragments (`open`, `close`, refs, ...)."
        ),
        fix="Move the command to the composing flow, or correct the word (`details.nearest`).",
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"login","digest":"<digest of lo'
            'gin.ad>"}\n'
            'include "./login.ad"\n'
            "== login.ad\n"
            "fragment-v1\n"
            "context platform=android target=mobile\n"
            '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verif'
            'ied"}\n'
            "wait id=home 10000\n"
            "close\n"
        ),
        places=(10,),
        details=("source", "locator", "callSiteId", "expectedDigest", "actualDigest", "command"),
    ),
    "fragment_entry_guard": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "A fragment's first step is not a verified selector wait, or its evidence does not fit."
        ),
        fix="Record the fragment anew with an entry selector.",
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"login","digest":"<digest of lo'
            'gin.ad>"}\n'
            'include "./login.ad"\n'
            "== login.ad\n"
            "fragment-v1\n"
            "context platform=android target=mobile\n"
            "press id=home\n"
        ),
        places=(11, 12),
        details=("source", "locator", "callSiteId", "expectedDigest", "actualDigest"),
    ),
    "fragment_context_mismatch": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A fragment's platform or target is not that of the flow, or the flow states none.",
        fix="Use the fragment of that platform, or state `context platform=` in the flow.",
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"login","digest":"<digest of lo'
            'gin.ad>"}\n'
            'include "./login.ad"\n'
            "== login.ad\n"
            "fragment-v1\n"
            "context platform=ios target=mobile\n"
            '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verif'
            'ied"}\n'
            "wait id=home 10000\n"
        ),
        places=(13,),
        details=("source", "locator", "callSiteId", "expectedDigest", "actualDigest"),
    ),
    "fragment_variable_unbound": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A fragment uses a variable that nothing binds.",
        fix="Bind it with `-e NAME=VALUE`, `AD_VAR_NAME`, or an `env` line of the flow.",
        example=(
            "== main.ad\n"
            "context platform=android\n"
            "composition-v1\n"
            "open com.example\n"
            '# agent-device:fragment-ref-v1 {"callSiteId":"login","digest":"<digest of lo'
            'gin.ad>"}\n'
            'include "./login.ad"\n'
            "== login.ad\n"
            "fragment-v1\n"
            "context platform=android target=mobile\n"
            '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verif'
            'ied"}\n'
            "wait id=home 10000\n"
            'fill id=user "${USER}"\n'
        ),
        places=(14,),
        details=("source", "locator", "callSiteId", "expectedDigest", "actualDigest", "names"),
    ),
    "fragment_composition_required": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A fragment was given as a flow of its own.",
        fix="Run a flow that includes it.",
        example=(
            "== login.ad\n"
            "fragment-v1\n"
            "context platform=android target=mobile\n"
            '# agent-device:target-v1 {"id":"home","role":"heading","verification":"verif'
            'ied"}\n'
            "wait id=home 10000\n"
        ),
        details=("source", "kind"),
    ),
    "fragment_resume_mismatch": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A resume is about another composition than the one that stands there now.",
        fix="Run the plan from its beginning, or restore what it was when the address was taken.",
        example="A resume names `sha256:aa…`, and the flow, edited since, is `sha256:bb…` now.",
        details=("expectedCompositionDigest", "currentCompositionDigest"),
    ),
    "fragment_resume_unsupported": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "A composed plan cannot begin there: a number, a later iteration, or the middle of a "
            "fragment."
        ),
        fix="Begin at a step of the root, or at local step 1 of a fragment.",
        example="A resume names `ad:f:<hex>/login.0#2`: the second step of a fragment.",
        details=("expectedCompositionDigest", "currentCompositionDigest"),
    ),
    "fragment_capture_conflict": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A session records a fragment, or has, and the request does not go with it.",
        fix="Save or abort the capture, or begin a fresh session.",
        example="`session open --save-script` while the session records a fragment.",
        details=("sessionState", "conflictingOperation"),
    ),
    "fragment_repair_unsupported": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A composed plan is never repaired by writing one script for it.",
        fix="Record the fragment anew, then repin its callers from the leaf upward.",
        example="`run main.ad --save-script` on a flow with includes.",
        details=("command", "format"),
    ),
}
