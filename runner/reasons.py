"""Every machine-readable reason: its family, what it means and what to do.

An API: a reason is never renamed, and a shape test holds that each is produced by the product
and by a test. `docs/reasons.md` is generated from this table.

May be imported by: runner.errors, runner.cli. Imports: nothing of ours.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class ReasonInfo(NamedTuple):
    """What one reason says."""

    code: str
    meaning: str
    fix: str


_MODEL: Final = {
    "address_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A step address is neither the JSON form nor the text token.",
        "Copy the address from a report, `sweepgrid events` or `sweepgrid check --json`.",
    ),
}

# The source-closure reasons of the founding decision record, in its total order.
_COMPOSITION: Final = {
    "fragment_missing": ReasonInfo(
        "INVALID_ARGS",
        "An included file does not exist inside the source root.",
        "Correct the locator, or add the file; locators are relative to the including file.",
    ),
    "fragment_unsupported": ReasonInfo(
        "INVALID_ARGS",
        "An included source, guard, reference or format version is not a supported fragment.",
        "Look at `details.feature`; record the fragment anew or use a newer sweepgrid.",
    ),
    "fragment_bounds": ReasonInfo(
        "INVALID_ARGS",
        "A closure is over a bound: sources, depth, bytes or expanded steps.",
        "Look at `details.bound`; split the flow or its fragments.",
    ),
    "fragment_cycle": ReasonInfo(
        "INVALID_ARGS",
        "Fragments include each other in a cycle.",
        "Remove one include of the cycle that `details.cycle` shows.",
    ),
    "fragment_call_site_invalid": ReasonInfo(
        "INVALID_ARGS",
        "An include's reference comment, call site id or digest is missing, malformed or doubled, "
        "or the comment stands before no include.",
        "Give every include its own `# agent-device:fragment-ref-v1` comment on the line before.",
    ),
    "fragment_control_identity_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A repeat or retry control has no id, or the same id as another in its owner.",
        "Give each control an id that is unique in its owner.",
    ),
    "fragment_stale": ReasonInfo(
        "INVALID_ARGS",
        "A pinned digest differs from the digest of the fragment that stands there.",
        "Review the change, then repin from the leaf upward as the printed chain shows.",
    ),
    "fragment_lifecycle": ReasonInfo(
        "INVALID_ARGS",
        "A fragment holds a command that is not safe in fragments (`open`, `close`, refs, ...).",
        "Move the command to the composing flow, or correct the word (`details.nearest`).",
    ),
    "fragment_entry_guard": ReasonInfo(
        "INVALID_ARGS",
        "A fragment's first step is not a verified selector wait, or its evidence does not fit.",
        "Record the fragment anew with an entry selector.",
    ),
    "fragment_context_mismatch": ReasonInfo(
        "INVALID_ARGS",
        "A fragment's platform or target is not that of the flow, or the flow states none.",
        "Use the fragment of that platform, or state `context platform=` in the flow.",
    ),
    "fragment_variable_unbound": ReasonInfo(
        "INVALID_ARGS",
        "A fragment uses a variable that nothing binds.",
        "Bind it with `-e NAME=VALUE`, `AD_VAR_NAME`, or an `env` line of the flow.",
    ),
    "fragment_composition_required": ReasonInfo(
        "INVALID_ARGS",
        "A fragment was given as a flow of its own.",
        "Run a flow that includes it.",
    ),
    "fragment_resume_mismatch": ReasonInfo(
        "INVALID_ARGS",
        "A resume is about another composition than the one that stands there now.",
        "Run the plan from its beginning, or restore what it was when the address was taken.",
    ),
    "fragment_resume_unsupported": ReasonInfo(
        "INVALID_ARGS",
        "A composed plan cannot begin there: a number, a later iteration, or the middle of a "
        "fragment.",
        "Begin at a step of the root, or at local step 1 of a fragment.",
    ),
    "fragment_capture_conflict": ReasonInfo(
        "INVALID_ARGS",
        "A session records a fragment, or has, and the request does not go with it.",
        "Save or abort the capture, or begin a fresh session.",
    ),
    "fragment_repair_unsupported": ReasonInfo(
        "INVALID_ARGS",
        "A composed plan is never repaired by writing one script for it.",
        "Record the fragment anew, then repin its callers from the leaf upward.",
    ),
}

# What is wrong with one source or with the request.
_FLOW: Final[Mapping[str, ReasonInfo]] = {
    "selector_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A selector does not follow its grammar.",
        "Correct it at `details.offset`; terms are key=value, alternatives are joined by ||.",
    ),
    "parse_error": ReasonInfo(
        "INVALID_ARGS",
        "A line of a flow does not follow the grammar of its format.",
        "Correct the line; the message names the column and the accepted form.",
    ),
    "script_unwritable": ReasonInfo(
        "INVALID_ARGS",
        "A script holds a value that no text of its format says, so nothing was written.",
        "Change what `details` names; a word that reads as an option cannot be an operand.",
    ),
    "command_unknown": ReasonInfo(
        "INVALID_ARGS",
        "A flow uses a word that is no command of its format.",
        "Correct the word; `details.nearest` names the closest command.",
    ),
    "command_unsupported": ReasonInfo(
        "UNSUPPORTED_OPERATION",
        "A flow uses a command of its format that this version cannot run.",
        "Remove the step, or express it with the commands listed in the docs.",
    ),
    "arguments_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A command has operands with which it could never work.",
        "Follow the usage in `details.usage`.",
    ),
    "variable_unbound": ReasonInfo(
        "INVALID_ARGS",
        "A flow uses a variable that nothing binds.",
        "Bind it with `-e NAME=VALUE`, `AD_VAR_NAME` or an `env` line, or give it a default.",
    ),
    "variable_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A variable assignment is not `KEY=VALUE` with a usable key.",
        "Write KEY in upper-case letters, digits and underscores, not beginning with `AD_`.",
    ),
    "text_unencodable": ReasonInfo(
        "INVALID_ARGS",
        "A text holds half of a surrogate pair, which no device and no file can carry.",
        "Write the whole character, or both halves of its escape.",
    ),
    "path_missing": ReasonInfo(
        "INVALID_ARGS",
        "A path or pattern on the command line names no file.",
        "Correct the path; it is taken from the current folder.",
    ),
    "source_unreadable": ReasonInfo(
        "INVALID_ARGS",
        "A flow file cannot be read, or lies outside the source root.",
        "Check its permissions, or give the folder above it with `--root`.",
    ),
    "format_unsupported": ReasonInfo(
        "INVALID_ARGS",
        "A file that was named, or a flow in a folder, is in no format that this version runs.",
        "Name `.ad` scripts, or folders and patterns without flows of other formats.",
    ),
    "context_mismatch": ReasonInfo(
        "INVALID_ARGS",
        "A flow is for a platform that no device of a sweep can have.",
        "State `context platform=android` or `platform=ios`, or pass `--platform`.",
    ),
    "platform_not_in_grid": ReasonInfo(
        "INVALID_ARGS",
        "A flow is for a platform of which the grid file states no devices.",
        "Add such devices to the grid file, or choose the flows or `--platform` to fit it.",
    ),
    "flow_empty": ReasonInfo(
        "INVALID_ARGS",
        "A flow has no steps.",
        "Write its steps, or remove the file.",
    ),
    "program_invalid": ReasonInfo(
        "INVALID_ARGS",
        "The composed program of a plan cannot be encoded, or its bytes are damaged.",
        "Run the preflight again with the same version on both sides.",
    ),
    "program_mismatch": ReasonInfo(
        "INVALID_ARGS",
        "A composed program has another composition digest than its plan states.",
        "Run the preflight again; never edit a plan by hand.",
    ),
}

# What devices and drivers answer.
_DEVICE: Final[Mapping[str, ReasonInfo]] = {
    "device_lost": ReasonInfo(
        "DEVICE_LOST",
        "The device, or the connection to it, went away in the middle of a command.",
        "Check the cable, the network and `adb devices`; the plan runs again on another device.",
    ),
    "device_unreachable": ReasonInfo(
        "DEVICE_LOST",
        "The device does not answer at the address or serial that the grid file gives.",
        "Check that it is on, connected and authorised for debugging on this computer.",
    ),
    "device_unauthorized": ReasonInfo(
        "DEVICE_UNAUTHORIZED",
        "The device does not trust this computer's adb key.",
        "Unlock the device and accept the debugging dialog.",
    ),
    "device_call_deadline": ReasonInfo(
        "DEVICE_CALL_TIMEOUT",
        "A device call did not finish within its deadline.",
        "Look at the device; a restart helps when its system or its agent hangs.",
    ),
    "device_command_failed": ReasonInfo(
        "DEVICE_COMMAND_FAILED",
        "The device refused or failed a command of the driver.",
        "Read `details.output`; the device's system may lack the command.",
    ),
    "device_booting": ReasonInfo(
        "DEVICE_NOT_READY",
        "The device has not finished its start.",
        "Wait; it is used once its start has finished.",
    ),
    "device_battery_low": ReasonInfo(
        "DEVICE_NOT_READY",
        "The device's battery is almost empty.",
        "Charge the device.",
    ),
    "device_storage_low": ReasonInfo(
        "DEVICE_NOT_READY",
        "The device's storage is almost full.",
        "Free space on the device.",
    ),
    "device_locked": ReasonInfo(
        "DEVICE_NOT_READY",
        "The device shows its lock screen.",
        "Unlock it and switch the lock screen off for test devices.",
    ),
    "screen_busy": ReasonInfo(
        "SCREEN_BUSY",
        "The screen never became idle, so its tree could not be captured.",
        "Wait for the animation to end, or switch animations off on the device.",
    ),
    "screen_unreadable": ReasonInfo(
        "SCREEN_UNREADABLE",
        "The device could not produce a tree of what it shows.",
        "Look at the screenshot and the log; a secure or crashed window shows no tree.",
    ),
    "screenshot_invalid": ReasonInfo(
        "SCREENSHOT_INVALID",
        "The device answered a screenshot request with something that is not a complete image.",
        "Try again; a screen that is off or protected cannot be captured.",
    ),
    "app_not_installed": ReasonInfo(
        "APP_NOT_INSTALLED",
        "The app to open is not installed on the device, or has no screen to start.",
        "Install the build under test, or correct the app id.",
    ),
    "app_start_failed": ReasonInfo(
        "APP_START_FAILED",
        "The device refused to start the app, or it did not reach the foreground.",
        "Read `details.output` and the device log.",
    ),
    "app_crashed": ReasonInfo(
        "APP_CRASHED",
        "The app ended by itself while the flow was using it.",
        "Read the device log of the attempt.",
    ),
    "text_not_accepted": ReasonInfo(
        "TEXT_NOT_ACCEPTED",
        "After typing, the field does not show the text that was typed.",
        "Check that the field accepts these characters and that no other control took the focus.",
    ),
    "text_not_typeable": ReasonInfo(
        "UNSUPPORTED_OPERATION",
        "The device has no way to enter these characters.",
        "Use ASCII text, or a device whose clipboard can be set.",
    ),
    "text_input_not_focused": ReasonInfo(
        "TEXT_INPUT_NOT_FOCUSED",
        "Text was to be typed while no text field had the focus.",
        "Press the field before `type`, or use `fill`.",
    ),
    "keyboard_not_hidden": ReasonInfo(
        "KEYBOARD_NOT_HIDDEN",
        "The keyboard is still shown after it was dismissed.",
        "Press another control, or a keyboard key of the app.",
    ),
    "alert_absent": ReasonInfo(
        "ALERT_ABSENT",
        "An alert was to be answered, but none is shown.",
        "Wait for the alert first, or remove the step.",
    ),
    "action_unsupported": ReasonInfo(
        "UNSUPPORTED_OPERATION",
        "The device or its driver cannot carry out this action.",
        "See the table of commands by platform in the docs.",
    ),
    "input_denied": ReasonInfo(
        "INPUT_DENIED",
        "The device forbids the shell to inject touches and keys.",
        "Switch on `USB debugging (Security settings)` in the developer options.",
    ),
    "adb_server_failed": ReasonInfo(
        "ADB_SERVER_FAILED",
        "The adb server could not be started, or does not speak the protocol of this client.",
        "Read `details.output`; check the port and the adb version.",
    ),
    "adb_server_lost": ReasonInfo(
        "ADB_SERVER_FAILED",
        "The adb server does not take or hold connections.",
        "The run starts its own server again; check the log when this repeats.",
    ),
    "adb_answer_invalid": ReasonInfo(
        "ADB_SERVER_FAILED",
        "What answers on the adb server's port does not speak its protocol.",
        "Check the port, and that no other program listens there.",
    ),
    "adb_refused": ReasonInfo(
        "ADB_REFUSED",
        "The adb server refused a request.",
        "Read the message; `adb devices` shows the server's view.",
    ),
    "device_address_invalid": ReasonInfo(
        "INVALID_ARGS",
        "The address of a device in the grid file is not one that its driver can dial.",
        'Give `url = "http://HOST:PORT"`, or `udid` with `usbmux`.',
    ),
    "wda_session_lost": ReasonInfo(
        "DRIVER_FAULT",
        "WebDriverAgent does not know the session any more: it was restarted, or replaced.",
        "The device is set up anew before its next plan; look why WebDriverAgent restarted.",
    ),
    "wda_session_stolen": ReasonInfo(
        "DEVICE_BUSY",
        "Another client has opened its own session on the device's WebDriverAgent.",
        "Stop the other client; WebDriverAgent serves one at a time.",
    ),
    "wda_hung": ReasonInfo(
        "DRIVER_FAULT",
        "WebDriverAgent's process runs, but its main thread answers nothing.",
        "Its session was ended; restart WebDriverAgent when it does not recover.",
    ),
    "wda_refused": ReasonInfo(
        "DRIVER_FAULT",
        "WebDriverAgent refused a request that should work.",
        "Read `details.error` and `details.message`; check the version of WebDriverAgent.",
    ),
    "wda_answer_invalid": ReasonInfo(
        "DRIVER_FAULT",
        "What came from WebDriverAgent is not an answer of its protocol.",
        "Read `details.head`; check that the port is WebDriverAgent's and no proxy answers.",
    ),
    "wda_element_absent": ReasonInfo(
        "ELEMENT_ABSENT",
        "A facebook-wda selector found no element, or its element did not disappear, in time.",
        "Check the selector against a snapshot of the screen.",
    ),
    "usbmux_unreachable": ReasonInfo(
        "DEVICE_LOST",
        "usbmuxd does not answer at its socket.",
        "Start usbmuxd, or correct the socket's path in the grid file.",
    ),
    "usbmux_answer_invalid": ReasonInfo(
        "DRIVER_FAULT",
        "What answers at the usbmuxd socket does not speak its protocol.",
        "Check the path of the socket in the grid file.",
    ),
}

# What a replay finds on the screen.
_REPLAY: Final[Mapping[str, ReasonInfo]] = {
    "selector_not_found": ReasonInfo(
        "COMMAND_FAILED",
        "No element of the screen matches the selector.",
        "Compare the selector with the screen in the report; a suggestion may fit.",
    ),
    "selector_ambiguous": ReasonInfo(
        "AMBIGUOUS_MATCH",
        "Several elements match the selector and nothing tells which one is meant.",
        "Make the selector narrower; `details.candidates` lists what matches.",
    ),
    "target_off_screen": ReasonInfo(
        "COMMAND_FAILED",
        "The element exists, but no part of it is on the screen.",
        "Scroll it into view before the step.",
    ),
    "target_covered": ReasonInfo(
        "COMMAND_FAILED",
        "Another element lies over the point that would be touched.",
        "Close or wait out what `details.cover` names before the step.",
    ),
    "capture_sparse": ReasonInfo(
        "COMMAND_FAILED",
        "The screen was read, but it showed no content of an app.",
        "See the screenshot; the app may have crashed or still be starting.",
    ),
    "wait_target_absent": ReasonInfo(
        "COMMAND_FAILED",
        "A wait ended with a readable screen that does not show the target.",
        "Check whether the app reached that screen, or raise the timeout.",
    ),
    "wait_capture_stalled": ReasonInfo(
        "COMMAND_FAILED",
        "A wait ended without one readable screen, so nothing is known about the target.",
        "Look at the device; a screen that never rests cannot be read.",
    ),
    "wait_deadline_exceeded": ReasonInfo(
        "COMMAND_FAILED",
        "A capture used up the rest of a wait's time after earlier ones were readable.",
        "Raise the timeout, or look at why the device answers slowly.",
    ),
    "wait_target_present": ReasonInfo(
        "COMMAND_FAILED",
        "What should have gone away was still there when the wait ended.",
        "Check whether the app closes it, or raise the timeout.",
    ),
    "wait_stable_timeout": ReasonInfo(
        "COMMAND_FAILED",
        "The screen kept changing until the wait ended.",
        "Wait for an element instead, or raise the timeout.",
    ),
    "wait_alert_absent": ReasonInfo(
        "COMMAND_FAILED",
        "No alert was shown until the wait ended.",
        "Check whether the app asks there, or raise the timeout.",
    ),
    "wait_landmark_identity_mismatch": ReasonInfo(
        "COMMAND_FAILED",
        "A wait saw elements that match its selector, but never the recorded one.",
        "Check that this is the right screen; record the landmark anew if it changed.",
    ),
    "predicate_false": ReasonInfo(
        "COMMAND_FAILED",
        "The element is not as `is` demands.",
        "Compare `details.actual` with the flow.",
    ),
    "identity_mismatch": ReasonInfo(
        "COMMAND_FAILED",
        "The element that matches is not the one that was recorded.",
        "Check that this is the right screen; record the step anew if the app changed.",
    ),
    "identity_unverifiable": ReasonInfo(
        "COMMAND_FAILED",
        "Nothing tells whether the element is the one that was recorded.",
        "Record the step anew with a more telling selector.",
    ),
    "scroll_edge_not_reached": ReasonInfo(
        "COMMAND_FAILED",
        "The content did not come to its end within the allowed number of pans.",
        "Scroll to an element instead of to the edge.",
    ),
    "ref_without_session": ReasonInfo(
        "INVALID_ARGS",
        "A flow uses an `@ref`, which has a meaning only in the session that gave it.",
        "Replace the ref with a selector.",
    ),
    "observation_unexpected": ReasonInfo(
        "INTERNAL",
        "An interpreter was resumed with an answer that does not fit what it asked.",
        "Report it with the run directory; it is a bug.",
    ),
    "playbook_mismatch": ReasonInfo(
        "INTERNAL",
        "An interpreter did not do what its playbook says.",
        "Compare the two conversations in the message.",
    ),
}

# The grid, the channel and the schedule.
_GRID: Final = {
    "grid_file_invalid": ReasonInfo(
        "INVALID_ARGS",
        "The grid file is not TOML, or a key in it is unknown, missing or has a wrong value.",
        "Correct the key at the line shown; configs/grid.toml is the commented example.",
    ),
    "grid_file_unreadable": ReasonInfo(
        "INVALID_ARGS",
        "The grid file does not exist or cannot be read.",
        "Give its path with --grid, or write one from configs/grid.toml.",
    ),
    "lease_held": ReasonInfo(
        "DEVICE_IN_USE",
        "Another run holds the device.",
        "Wait for that run, or for the end of the lease when that run has died.",
    ),
    "lease_lapsed": ReasonInfo(
        "DEVICE_IN_USE",
        "The run could not renew its lease in time, so the device may belong to somebody else.",
        "Look for a computer that slept or was overloaded; the run takes the device anew.",
    ),
    "lease_store_failed": ReasonInfo(
        "GRID_FAULT",
        "The folder in which runs note who holds which device cannot be used.",
        "Check the folder's owner, mode and free space, or give another runtime folder.",
    ),
    "channel_frame_invalid": ReasonInfo(
        "CHANNEL_FAULT",
        "A frame on a worker's channel is not a message of the protocol.",
        "Use the same version of sweepgrid on both sides.",
    ),
    "channel_frame_too_large": ReasonInfo(
        "CHANNEL_FAULT",
        "A frame on a worker's channel is over the bound of 16 MiB.",
        "Split the plan; artifacts travel in pieces.",
    ),
    "channel_version": ReasonInfo(
        "CHANNEL_FAULT",
        "The other side of a worker's channel speaks another version of the protocol.",
        "Use the same version of sweepgrid on both sides.",
    ),
    "channel_closed": ReasonInfo(
        "CHANNEL_FAULT",
        "The other side of a worker's channel closed it in the middle of the work.",
        "Read the log of that worker; the plan runs again.",
    ),
    "channel_silent": ReasonInfo(
        "CHANNEL_FAULT",
        "Nothing came from the other side of a worker's channel, not even heartbeats.",
        "Look at the host of that worker; the plan runs again.",
    ),
    "step_time_limit": ReasonInfo(
        "TIME_LIMIT",
        "A step took longer than the step limit.",
        "Look at the screenshot and device log; raise the step limit when the step needs it.",
    ),
    "plan_time_limit": ReasonInfo(
        "TIME_LIMIT",
        "An attempt took longer than the plan limit.",
        "Look at which step took the time; raise the plan limit or split the flow.",
    ),
    "run_time_limit": ReasonInfo(
        "TIME_LIMIT",
        "The run reached its time limit while the plan was running.",
        "Raise the run limit, add devices, or split the sweep with --shard.",
    ),
    "attempt_cancelled": ReasonInfo(
        "CANCELLED",
        "The attempt was ended on request.",
        "Finish the run with `sweepgrid resume`.",
    ),
    "device_duplicate": ReasonInfo(
        "DEVICE_IN_USE",
        "The device is a phone that this run already uses by another route.",
        "Remove one of the two routes from the grid file.",
    ),
    "device_unhealthy": ReasonInfo(
        "DEVICE_UNHEALTHY",
        "The device did not pass the health gate, or did not answer it in time.",
        "Read the message; the device is tried again until it is healthy.",
    ),
    "device_not_ready": ReasonInfo(
        "DEVICE_LOST",
        "The device was gone before the attempt reached it; nothing was tried.",
        "Nothing to do: the plan waits for a device.",
    ),
    "device_black_hole": ReasonInfo(
        "DEVICE_QUARANTINED",
        "The device ended several plans in a row for reasons of its own and gets no more.",
        "Look at the failures of its last attempts; restart or replace the device.",
    ),
    "worker_fault": ReasonInfo(
        "INTERNAL",
        "A driver or an interpreter broke its contract while a worker used it: a bug.",
        "Report the bug with `details.trace`.",
    ),
    "artifact_lost": ReasonInfo(
        "EVIDENCE_LOST",
        "A piece of evidence arrived incomplete, over its bound or could not be collected.",
        "Read the message; the verdict of the plan is not affected.",
    ),
}

# The journal and artifacts.
_RECORD: Final[Mapping[str, ReasonInfo]] = {
    "run_directory_used": ReasonInfo(
        "EVIDENCE",
        "The folder given for a new run already holds a run.",
        "Give another `--out` folder, or remove the old run first.",
    ),
    "run_directory_unwritable": ReasonInfo(
        "EVIDENCE",
        "The folder for the run cannot be created or written.",
        "Give an `--out` folder on a local disk that you may write to.",
    ),
    "run_not_found": ReasonInfo(
        "EVIDENCE",
        "A folder that should be a run directory holds no journal.",
        "Give the folder that `sweepgrid run --out` wrote.",
    ),
    "journal_network_filesystem": ReasonInfo(
        "EVIDENCE",
        "The run directory is on a network file system, where the journal would not be durable.",
        "Give an `--out` folder on a local disk, and copy it when the run has ended.",
    ),
    "journal_unwritable": ReasonInfo(
        "EVIDENCE",
        "The journal could not be written (full disk, lost rights, broken disk).",
        "Free space or repair the disk; the verdicts printed as *not stored* are all there is.",
    ),
    "journal_overflow": ReasonInfo(
        "EVIDENCE",
        "The disk took events so slowly that the bounded queue before the journal ran full.",
        "Use a faster disk for `--out`; what came after the first loss is not stored.",
    ),
    "journal_unsupported": ReasonInfo(
        "EVIDENCE",
        "A journal was written in a layout that this version does not read.",
        "Read it with the sweepgrid version that wrote it, or a newer one.",
    ),
    "journal_damaged": ReasonInfo(
        "EVIDENCE",
        "A journal file, or rows of it, cannot be read or fail their checksum.",
        "Restore the run directory from a copy; undamaged rows are still reported.",
    ),
    "artifact_unwritable": ReasonInfo(
        "EVIDENCE",
        "A file of evidence could not be written into the run directory.",
        "Free space in the `--out` folder, then run again.",
    ),
}

# The command line.
_COMMAND_LINE: Final[Mapping[str, ReasonInfo]] = {
    "grid_file_absent": ReasonInfo(
        "INVALID_ARGS",
        "A run needs a grid file and none was given or found.",
        "Give `--grid FILE`; `sweepgrid lab up --grid-out grid.toml` makes one without phones.",
    ),
    "duration_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A duration on the command line is malformed or out of range.",
        "Write 500ms, 30s, 2m or 1h; a bare number is milliseconds.",
    ),
    "option_invalid": ReasonInfo(
        "INVALID_ARGS",
        "An option has a value that it does not know.",
        "Use one of the values that the message lists.",
    ),
    "filter_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A `--where` filter is not KEY=VALUE with a known key.",
        "Filter by address, attempt, device, kind or plan.",
    ),
    "output_lost": ReasonInfo(
        "EVIDENCE",
        "Standard output could not be written (full disk, closed descriptor).",
        "Send the output somewhere that can be written; the run directory holds the same facts.",
    ),
    "output_unwritable": ReasonInfo(
        "INVALID_ARGS",
        "A report or grid file cannot be written where it was asked for.",
        "Give a path in a folder that you may write to.",
    ),
    "include_place_invalid": ReasonInfo(
        "INVALID_ARGS",
        "An include behind the line that was given would change what the rest of the file says.",
        "Give another line; `details.near` is the next that will do, for example `--after 7`.",
    ),
    "source_changed": ReasonInfo(
        "COMMAND_FAILED",
        "A file was changed by somebody else between being read and being written; it was left.",
        "Look at the change, for example with `git diff FILE`, and give the command again.",
    ),
}

# The lab.
_LAB: Final[Mapping[str, ReasonInfo]] = {
    "lab_app_invalid": ReasonInfo(
        "INVALID_ARGS",
        "A lab app file is not valid.",
        "Correct the key that the message names; `configs/lab/shop.toml` is a commented example.",
    ),
    "lab_fault_unknown": ReasonInfo(
        "INVALID_ARGS",
        "A lab fault or a parameter of it does not exist there, or has a value it cannot have.",
        "`sweepgrid lab fault --list` lists the faults with their parameters.",
    ),
    "lab_frame_invalid": ReasonInfo(
        "COMMAND_FAILED",
        "A client of a lab device sent bytes that are not the device's protocol.",
        "Look at the device's trace; the client and the port may not fit.",
    ),
    "lab_request_refused": ReasonInfo(
        "COMMAND_FAILED",
        "A lab device answered a client's request with an error, as a real one would.",
        "Look at the message and the device's trace.",
    ),
    "lab_control_refused": ReasonInfo(
        "INVALID_ARGS",
        "The lab's control server was asked for something that it does not have.",
        "The routes stand at the top of `grid/lab/control.py` and in the docs.",
    ),
    "lab_device_unknown": ReasonInfo(
        "INVALID_ARGS",
        "The lab has no device with that serial.",
        "`sweepgrid lab status` lists its devices.",
    ),
    "lab_unreachable": ReasonInfo(
        "COMMAND_FAILED",
        "The lab's control server does not answer.",
        "The lab has ended or never started: `sweepgrid lab up` starts one.",
    ),
    "lab_spec_invalid": ReasonInfo(
        "INVALID_ARGS",
        "The specification that a lab's process was started with cannot be read.",
        "Start labs with `sweepgrid lab up`, which writes it.",
    ),
    "lab_start_failed": ReasonInfo(
        "COMMAND_FAILED",
        "The lab's process ended, or was not ready in time.",
        "Read `details.output`; a smaller lab or a longer limit helps on a slow machine.",
    ),
    "lab_stop_failed": ReasonInfo(
        "COMMAND_FAILED",
        "The lab's process could not be ended, or cannot be told from somebody else's.",
        "Look at the process id in `details.pid` and end it yourself if it is the lab's.",
    ),
    "lab_exists": ReasonInfo(
        "INVALID_ARGS",
        "The grid file is there already: a lab runs on it, or it is not a lab's.",
        "End that lab with `sweepgrid lab down --grid FILE`, or name another file.",
    ),
    "lab_grid_invalid": ReasonInfo(
        "INVALID_ARGS",
        "The file is not a grid file that `sweepgrid lab up` wrote.",
        "Give the file that `sweepgrid lab up` wrote: its `--grid-out` is `--grid` elsewhere.",
    ),
}

REASONS: Final[Mapping[str, ReasonInfo]] = {
    **_MODEL,
    **_COMPOSITION,
    **_FLOW,
    **_DEVICE,
    **_REPLAY,
    **_GRID,
    **_RECORD,
    **_COMMAND_LINE,
    **_LAB,
}
