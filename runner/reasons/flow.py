"""Reasons about what a flow's text says, and about plans that travel.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

FLOW: Final[Mapping[str, ReasonInfo]] = {
    "selector_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A selector does not follow its grammar.",
        fix="Correct it at `details.offset`; terms are key=value, alternatives are joined by ||.",
        example=("== main.ad\npress id=\n"),
    ),
    "parse_error": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A line of a flow does not follow the grammar of its format.",
        fix="Correct the line; the message names the column and the accepted form.",
        example=('== main.ad\npress "id=buy\n'),
    ),
    "script_unwritable": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A script holds a value that no text of its format says, so nothing was written.",
        fix="Change what `details` names; a word that reads as an option cannot be an operand.",
        example="A recorded text that its own line would be read back as an option of the command.",
    ),
    "command_unknown": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A flow uses a word that is no command of its format.",
        fix="Correct the word; `details.nearest` names the closest command.",
        example=("== main.ad\npresss id=buy\n"),
    ),
    "command_unsupported": ReasonInfo(
        code="UNSUPPORTED_OPERATION",
        meaning="A flow uses a command of its format that this version cannot run.",
        fix="Remove the step, or express it with the commands listed in the docs.",
        example=("== main.ad\norientation landscape-left\n"),
    ),
    "arguments_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A command has operands with which it could never work.",
        fix="Follow the usage in `details.usage`.",
        example=("== main.ad\nscroll\n"),
    ),
    "variable_unbound": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A flow uses a variable that nothing binds.",
        fix="Bind it with `-e NAME=VALUE`, `AD_VAR_NAME` or an `env` line, or give it a default.",
        example=('== main.ad\ntype "${NAME}"\n'),
    ),
    "variable_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A variable assignment is not `KEY=VALUE` with a usable key.",
        fix="Write KEY in upper-case letters, digits and underscores, not beginning with `AD_`.",
        example="sweepgrid run flows/ -e 1NAME=x",
    ),
    "text_unencodable": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A text holds half of a surrogate pair, which no device and no file can carry.",
        fix="Write the whole character, or both halves of its escape.",
        example=('== main.ad\ntype "\\ud800"\n'),
    ),
    "path_missing": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A path or pattern on the command line names no file.",
        fix="Correct the path; it is taken from the current folder.",
        example="sweepgrid check flows/absent.ad",
    ),
    "source_unreadable": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A flow file cannot be read, or lies outside the source root.",
        fix="Check its permissions, or give the folder above it with `--root`.",
        example="A flow without the right to read it, or a link to a place outside of `--root`.",
    ),
    "format_unsupported": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "A file that was named, or a flow in a folder, is in no format that this version runs."
        ),
        fix="Name `.ad` scripts, or folders and patterns without flows of other formats.",
        example="sweepgrid check notes.txt",
    ),
    "context_mismatch": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A flow is for a platform that no device of a sweep can have.",
        fix="State `context platform=android` or `platform=ios`, or pass `--platform`.",
        example=("== main.ad\ncontext platform=macos\nopen com.example\n"),
    ),
    "platform_not_in_grid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A flow is for a platform of which the grid file states no devices.",
        fix="Add such devices to the grid file, or choose the flows or `--platform` to fit it.",
        example="A flow with `context platform=ios`, and a grid file with `[[adb]]` alone.",
    ),
    "flow_empty": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A flow has no steps.",
        fix="Write its steps, or remove the file.",
        example=("== main.ad\n# nothing yet\n"),
    ),
    "program_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="The composed program of a plan cannot be encoded, or its bytes are damaged.",
        fix="Run the preflight again with the same version on both sides.",
        example="A plan of a remote worker arrives with bytes that are no program.",
    ),
    "program_mismatch": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A composed program has another composition digest than its plan states.",
        fix="Run the preflight again; never edit a plan by hand.",
        example="A plan of a remote worker arrives with a fragment whose content is another.",
    ),
}
