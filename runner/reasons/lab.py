"""Reasons of the lab.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

LAB: Final[Mapping[str, ReasonInfo]] = {
    "lab_app_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="A lab app file is not valid.",
        fix=(
            "Correct the key that the message names; `configs/lab/shop.toml` is a commented "
            "example."
        ),
        example="sweepgrid lab up --app notes.toml --grid-out grid.toml",
    ),
    "lab_fault_unknown": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "A lab fault or a parameter of it does not exist there, or has a value it cannot have."
        ),
        fix="`sweepgrid lab fault --list` lists the faults with their parameters.",
        example="sweepgrid lab fault 127.0.0.1:16001 sloww latency_ms=200",
    ),
    "lab_frame_invalid": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="A client of a lab device sent bytes that are not the device's protocol.",
        fix="Look at the device's trace; the client and the port may not fit.",
        example="A browser that is pointed at the port of a virtual adbd.",
    ),
    "lab_request_refused": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="A lab device answered a client's request with an error, as a real one would.",
        fix="Look at the message and the device's trace.",
        example="`GET /wda/absent` to a virtual WebDriverAgent.",
    ),
    "lab_control_refused": ReasonInfo(
        code="INVALID_ARGS",
        meaning="The lab's control server was asked for something that it does not have.",
        fix="The routes stand at the top of `grid/lab/control.py` and in the docs.",
        example="`GET /absent` to the lab's control server.",
    ),
    "lab_device_unknown": ReasonInfo(
        code="INVALID_ARGS",
        meaning="The lab has no device with that serial.",
        fix="`sweepgrid lab status` lists its devices.",
        example="sweepgrid lab fault pixel stall",
    ),
    "lab_unreachable": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The lab's control server does not answer.",
        fix="The lab has ended or never started: `sweepgrid lab up` starts one.",
        example="sweepgrid lab fault 127.0.0.1:16001 stall, after the lab was killed",
    ),
    "lab_spec_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="The specification that a lab's process was started with cannot be read.",
        fix="Start labs with `sweepgrid lab up`, which writes it.",
        example="`sweepgrid lab host`, which `lab up` calls, called by hand.",
    ),
    "lab_start_failed": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The lab's process ended, or was not ready in time.",
        fix="Read `details.output`; a smaller lab or a longer limit helps on a slow machine.",
        example="sweepgrid lab up --android 200 --grid-out grid.toml, on a small machine",
    ),
    "lab_stop_failed": ReasonInfo(
        code="COMMAND_FAILED",
        meaning="The lab's process could not be ended, or cannot be told from somebody else's.",
        fix="Look at the process id in `details.pid` and end it yourself if it is the lab's.",
        example="A lab's process in the middle of a system call that does not return.",
    ),
    "lab_exists": ReasonInfo(
        code="INVALID_ARGS",
        meaning="The grid file is there already: a lab runs on it, or it is not a lab's.",
        fix="End that lab with `sweepgrid lab down --grid FILE`, or name another file.",
        example="sweepgrid lab up --grid-out grid.toml, for the second time",
    ),
    "lab_grid_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="The file is not a grid file that `sweepgrid lab up` wrote.",
        fix="Give the file that `sweepgrid lab up` wrote: its `--grid-out` is `--grid` elsewhere.",
        example="sweepgrid lab down --grid flows/main.ad",
    ),
}
