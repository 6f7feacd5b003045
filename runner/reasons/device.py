"""Reasons that come from devices, and from the agents and servers on the way to them.

May be imported by: runner.reasons. Imports: runner.reasons.info.
"""

from collections.abc import Mapping
from typing import Final

from runner.reasons.info import ReasonInfo

DEVICE: Final[Mapping[str, ReasonInfo]] = {
    "device_lost": ReasonInfo(
        code="DEVICE_LOST",
        meaning="The device, or the connection to it, went away in the middle of a command.",
        fix=(
            "Check the cable, the network and `adb devices`; the plan runs again on another device."
        ),
        example="`press id=buy` while the cable is pulled.",
    ),
    "device_unreachable": ReasonInfo(
        code="DEVICE_LOST",
        meaning="The device does not answer at the address or serial that the grid file gives.",
        fix="Check that it is on, connected and authorised for debugging on this computer.",
        example='`[[wda]]` with `url = "http://10.0.0.7:8100"`, where nothing listens.',
    ),
    "device_unauthorized": ReasonInfo(
        code="DEVICE_UNAUTHORIZED",
        meaning="The device does not trust this computer's adb key.",
        fix="Unlock the device and accept the debugging dialog.",
        example='A phone that asks "Allow USB debugging?", and nobody tapped.',
    ),
    "device_call_deadline": ReasonInfo(
        code="DEVICE_CALL_TIMEOUT",
        meaning="A device call did not finish within its deadline.",
        fix="Look at the device; a restart helps when its system or its agent hangs.",
        example="`input tap 10 20` that does not return in 20 s.",
    ),
    "device_command_failed": ReasonInfo(
        code="DEVICE_COMMAND_FAILED",
        meaning="The device refused or failed a command of the driver.",
        fix="Read `details.output`; the device's system may lack the command.",
        example="`input tap 10 20` that ends with the exit status 255.",
    ),
    "device_booting": ReasonInfo(
        code="DEVICE_NOT_READY",
        meaning="The device has not finished its start.",
        fix="Wait; it is used once its start has finished.",
        example="A phone that shows its start animation.",
    ),
    "device_battery_low": ReasonInfo(
        code="DEVICE_NOT_READY",
        meaning="The device's battery is almost empty.",
        fix="Charge the device.",
        example="A phone at 3 % without a charger.",
    ),
    "device_storage_low": ReasonInfo(
        code="DEVICE_NOT_READY",
        meaning="The device's storage is almost full.",
        fix="Free space on the device.",
        example="A phone with 40 MB left.",
    ),
    "device_locked": ReasonInfo(
        code="DEVICE_NOT_READY",
        meaning="The device shows its lock screen.",
        fix="Unlock it and switch the lock screen off for test devices.",
        example="An iPhone that asks for its passcode.",
    ),
    "screen_busy": ReasonInfo(
        code="SCREEN_BUSY",
        meaning="The screen never became idle, so its tree could not be captured.",
        fix="Wait for the animation to end, or switch animations off on the device.",
        example="A screen with an endless animation: `could not get idle state`.",
    ),
    "screen_unreadable": ReasonInfo(
        code="SCREEN_UNREADABLE",
        meaning="The device could not produce a tree of what it shows.",
        fix="Look at the screenshot and the log; a secure or crashed window shows no tree.",
        example="A screen with a protected window, or a second tool that reads the screen.",
    ),
    "screen_reader_died": ReasonInfo(
        code="SCREEN_UNREADABLE",
        meaning="The tool that reads the screen ended without a tree, also when started again.",
        fix="Look at the device's memory and load; a restart of the device helps.",
        example="`uiautomator dump` that the system kills for want of memory: `Killed`.",
    ),
    "screenshot_invalid": ReasonInfo(
        code="SCREENSHOT_INVALID",
        meaning=(
            "The device answered a screenshot request with something that is not a complete image."
        ),
        fix="Try again; a screen that is off or protected cannot be captured.",
        example="`screencap` that sends half a PNG.",
    ),
    "app_not_installed": ReasonInfo(
        code="APP_NOT_INSTALLED",
        meaning="The app to open is not installed on the device, or has no screen to start.",
        fix="Install the build under test, or correct the app id.",
        example="`open com.absent`.",
    ),
    "app_start_failed": ReasonInfo(
        code="APP_START_FAILED",
        meaning="The device refused to start the app, or it did not reach the foreground.",
        fix="Read `details.output` and the device log.",
        example="`open com.example`, and a minute later the launcher is still in front.",
    ),
    "app_crashed": ReasonInfo(
        code="APP_CRASHED",
        meaning="The app ended by itself, or stopped responding, while the flow was using it.",
        fix="Read `details.log`, where there is one, and the device log of the attempt.",
        example=(
            "`press id=buy`, and the next look finds the launcher: `com.example ended by itself: "
            "FATAL EXCEPTION: main`."
        ),
    ),
    "text_not_accepted": ReasonInfo(
        code="TEXT_NOT_ACCEPTED",
        meaning="After typing, the field does not show the text that was typed.",
        fix=(
            "Check that the field accepts these characters and that no other control took the "
            "focus."
        ),
        example='`fill id=age "ten"` into a field that takes digits.',
    ),
    "text_not_typeable": ReasonInfo(
        code="UNSUPPORTED_OPERATION",
        meaning="The device has no way to enter these characters.",
        fix="Use ASCII text, or a device whose clipboard can be set.",
        example='`type "😀"` where neither the keyboard nor the clipboard takes it.',
    ),
    "text_input_not_focused": ReasonInfo(
        code="TEXT_INPUT_NOT_FOCUSED",
        meaning="Text was to be typed while no text field had the focus.",
        fix="Press the field before `type`, or use `fill`.",
        example='`type "ann"` before any field was pressed.',
    ),
    "keyboard_not_hidden": ReasonInfo(
        code="KEYBOARD_NOT_HIDDEN",
        meaning="The keyboard is still shown after it was dismissed.",
        fix="Press another control, or a keyboard key of the app.",
        example="`keyboard dismiss` on a screen that brings its keyboard back.",
    ),
    "alert_absent": ReasonInfo(
        code="ALERT_ABSENT",
        meaning="An alert was to be answered, but none is shown.",
        fix="Wait for the alert first, or remove the step.",
        example="`alert accept` with no alert on the screen.",
    ),
    "action_unsupported": ReasonInfo(
        code="UNSUPPORTED_OPERATION",
        meaning="The device or its driver cannot carry out this action.",
        fix="See the table of commands by platform in the docs.",
        example="`open` with neither an app nor a URL.",
    ),
    "input_denied": ReasonInfo(
        code="INPUT_DENIED",
        meaning="The device forbids the shell to inject touches and keys.",
        fix="Switch on `USB debugging (Security settings)` in the developer options.",
        example="A phone whose maker forbids adb to touch: `INJECT_EVENTS permission`.",
    ),
    "adb_server_failed": ReasonInfo(
        code="ADB_SERVER_FAILED",
        meaning=(
            "The adb server could not be started, or does not speak the protocol of this client."
        ),
        fix="Read `details.output`; check the port and the adb version.",
        example="A port that another program holds, or an adb of another protocol version.",
    ),
    "adb_server_lost": ReasonInfo(
        code="ADB_SERVER_FAILED",
        meaning="The adb server does not take or hold connections.",
        fix="The run starts its own server again; check the log when this repeats.",
        example="`kill` of the adb server in mid-run, four times within a minute.",
    ),
    "adb_answer_invalid": ReasonInfo(
        code="ADB_SERVER_FAILED",
        meaning="What answers on the adb server's port does not speak its protocol.",
        fix="Check the port, and that no other program listens there.",
        example="`[[adb]]` with the port of a web server.",
    ),
    "adb_refused": ReasonInfo(
        code="ADB_REFUSED",
        meaning="The adb server refused a request.",
        fix="Read the message; `adb devices` shows the server's view.",
        example="`FAIL closed` from the server for a service that the phone does not have.",
    ),
    "device_address_invalid": ReasonInfo(
        code="INVALID_ARGS",
        meaning="The address of a device in the grid file is not one that its driver can dial.",
        fix='Give `url = "http://HOST:PORT"`, or `udid` with `usbmux`.',
        example='`[[wda]]` with `url = "phone:8100"`, which has no `http://`.',
    ),
    "wda_session_lost": ReasonInfo(
        code="DRIVER_FAULT",
        meaning="WebDriverAgent does not know the session any more: it was restarted, or replaced.",
        fix="The device is set up anew before its next plan; look why WebDriverAgent restarted.",
        example="WebDriverAgent was started anew while a plan ran.",
    ),
    "wda_session_stolen": ReasonInfo(
        code="DEVICE_BUSY",
        meaning="Another client has opened its own session on the device's WebDriverAgent.",
        fix="Stop the other client; WebDriverAgent serves one at a time.",
        example="Appium connects to the same phone.",
    ),
    "wda_hung": ReasonInfo(
        code="DRIVER_FAULT",
        meaning="WebDriverAgent's process runs, but its main thread answers nothing.",
        fix="Its session was ended; restart WebDriverAgent when it does not recover.",
        example="`/status` answers, `/window/size` does not.",
    ),
    "wda_refused": ReasonInfo(
        code="DRIVER_FAULT",
        meaning="WebDriverAgent refused a request that should work.",
        fix="Read `details.error` and `details.message`; check the version of WebDriverAgent.",
        example="`unknown error` for a tap.",
    ),
    "wda_answer_invalid": ReasonInfo(
        code="DRIVER_FAULT",
        meaning="What came from WebDriverAgent is not an answer of its protocol.",
        fix="Read `details.head`; check that the port is WebDriverAgent's and no proxy answers.",
        example="A proxy answers with a page of HTML.",
    ),
    "wda_element_absent": ReasonInfo(
        code="ELEMENT_ABSENT",
        meaning=(
            "A facebook-wda selector found no element, or its element did not disappear, in time."
        ),
        fix="Check the selector against a snapshot of the screen.",
        example='`client.bridge.find(id="absent")` of the Python API.',
    ),
    "usbmux_unreachable": ReasonInfo(
        code="DEVICE_LOST",
        meaning="usbmuxd does not answer at its socket.",
        fix="Start usbmuxd, or correct the socket's path in the grid file.",
        example='`usbmux = "/var/run/usbmuxd"` on a machine without usbmuxd.',
    ),
    "usbmux_answer_invalid": ReasonInfo(
        code="DRIVER_FAULT",
        meaning="What answers at the usbmuxd socket does not speak its protocol.",
        fix="Check the path of the socket in the grid file.",
        example="`usbmux` names the socket of another service.",
    ),
}
