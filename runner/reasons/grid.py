"""Reasons of the grid: its file, leases, channels, limits and health.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

GRID: Final[Mapping[str, ReasonInfo]] = {
    "grid_file_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning=(
            "The grid file is not TOML, or a key in it is unknown, missing or has a wrong value."
        ),
        fix="Correct the key at the line shown; configs/grid.toml is the commented example.",
        example='`[[adb]]` with `serial = "x"`; the key is `serials`.',
    ),
    "grid_file_unreadable": ReasonInfo(
        code="INVALID_ARGS",
        meaning="The grid file does not exist or cannot be read.",
        fix="Give its path with --grid, or write one from configs/grid.toml.",
        example="sweepgrid devices --grid absent.toml",
    ),
    "lease_held": ReasonInfo(
        code="DEVICE_IN_USE",
        meaning="Another run holds the device.",
        fix="Wait for that run, or for the end of the lease when that run has died.",
        example="Two runs on one phone at the same time.",
    ),
    "lease_lapsed": ReasonInfo(
        code="DEVICE_IN_USE",
        meaning=(
            "The run could not renew its lease in time, so the device may belong to somebody else."
        ),
        fix="Look for a computer that slept or was overloaded; the run takes the device anew.",
        example="A laptop that slept in mid-run.",
    ),
    "lease_store_failed": ReasonInfo(
        code="GRID_FAULT",
        meaning="The folder in which runs note who holds which device cannot be used.",
        fix="Check the folder's owner, mode and free space, or give another runtime folder.",
        example="`$XDG_RUNTIME_DIR/sweepgrid` belongs to another user.",
    ),
    "channel_frame_invalid": ReasonInfo(
        code="CHANNEL_FAULT",
        meaning="A frame on a worker's channel is not a message of the protocol.",
        fix="Use the same version of sweepgrid on both sides.",
        example="A worker of another program answers.",
    ),
    "channel_frame_too_large": ReasonInfo(
        code="CHANNEL_FAULT",
        meaning="A frame on a worker's channel is over the bound of 16 MiB.",
        fix="Split the plan; artifacts travel in pieces.",
        example="A plan of more than 16 MiB.",
    ),
    "channel_version": ReasonInfo(
        code="CHANNEL_FAULT",
        meaning="The other side of a worker's channel speaks another version of the protocol.",
        fix="Use the same version of sweepgrid on both sides.",
        example="A coordinator of version 2 and a worker of version 1.",
    ),
    "channel_closed": ReasonInfo(
        code="CHANNEL_FAULT",
        meaning="The other side of a worker's channel closed it in the middle of the work.",
        fix="Read the log of that worker; the plan runs again.",
        example="A worker's process that was killed.",
    ),
    "channel_silent": ReasonInfo(
        code="CHANNEL_FAULT",
        meaning="Nothing came from the other side of a worker's channel, not even heartbeats.",
        fix="Look at the host of that worker; the plan runs again.",
        example="A worker's machine that hangs.",
    ),
    "step_time_limit": ReasonInfo(
        code="TIME_LIMIT",
        meaning="A step took longer than the step limit.",
        fix="Look at the screenshot and device log; raise the step limit when the step needs it.",
        example="`--step-timeout 5s` and a step that waits for ten.",
    ),
    "plan_time_limit": ReasonInfo(
        code="TIME_LIMIT",
        meaning="An attempt took longer than the plan limit.",
        fix="Look at which step took the time; raise the plan limit or split the flow.",
        example="`--timeout 30s` and a flow that takes a minute.",
    ),
    "run_time_limit": ReasonInfo(
        code="TIME_LIMIT",
        meaning="The run reached its time limit while the plan was running.",
        fix="Give the run more time (`--run-timeout`) or more devices, or run a part of it.",
        example="`--run-timeout 10m` and an hour of work.",
    ),
    "attempt_cancelled": ReasonInfo(
        code="CANCELLED",
        meaning="The attempt was ended on request.",
        fix="Run the plan again; what the others did stands in the report.",
        example="Ctrl-C, twice.",
    ),
    "device_duplicate": ReasonInfo(
        code="DEVICE_IN_USE",
        meaning="The device is a phone that this run already uses by another route.",
        fix="Remove one of the two routes from the grid file.",
        example="One iPhone by `url` and by `usbmux` in the same grid file.",
    ),
    "device_unhealthy": ReasonInfo(
        code="DEVICE_UNHEALTHY",
        meaning="The device did not pass the health gate, or did not answer it in time.",
        fix="Read the message; the device is tried again until it is healthy.",
        example="A phone that does not answer its first probe.",
    ),
    "device_not_ready": ReasonInfo(
        code="DEVICE_LOST",
        meaning="The device was gone before the attempt reached it; nothing was tried.",
        fix="Nothing to do: the plan waits for a device.",
        example="A phone that goes away in the moment in which it gets a plan.",
    ),
    "device_black_hole": ReasonInfo(
        code="DEVICE_QUARANTINED",
        meaning="The device ended several plans in a row for reasons of its own and gets no more.",
        fix="Look at the failures of its last attempts; restart or replace the device.",
        example="A phone that lost three plans in a row.",
    ),
    "worker_fault": ReasonInfo(
        code="INTERNAL",
        meaning="A driver or an interpreter broke its contract while a worker used it: a bug.",
        fix="Report the bug with `details.trace`.",
        example="A `ZeroDivisionError` out of a driver.",
    ),
    "artifact_lost": ReasonInfo(
        code="EVIDENCE_LOST",
        meaning="A piece of evidence arrived incomplete, over its bound or could not be collected.",
        fix="Read the message; the verdict of the plan is not affected.",
        example="A screenshot of a phone that hangs.",
    ),
}
