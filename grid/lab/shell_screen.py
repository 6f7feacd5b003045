"""Device commands that look at the screen: uiautomator, screencap, wm.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections.abc import Mapping
from typing import Final

from grid.lab.shell_call import Call, DeviceCommand, os_error_text
from grid.lab.uidump import render_uidump

DEFAULT_DUMP: Final = "/sdcard/window_dump.xml"
_IDLE_LIMIT_S: Final = 10.0
_IDLE_ERROR: Final = "ERROR: could not get idle state.\n"


async def run_uiautomator(call: Call) -> int:
    """`uiautomator dump [--compressed] [FILE]`."""
    if not call.args or call.args[0] != "dump":
        call.out("Usage: uiautomator <subcommand> [options]\n\n  dump [--verbose][file]\n")
        return 1
    files = [arg for arg in call.args[1:] if not arg.startswith("--")]
    target = files[0] if files else DEFAULT_DUMP
    await call.pause(call.system.profile.dump_ms)
    if not await _wait_idle(call):
        call.err(_IDLE_ERROR)
        return 0
    xml = render_uidump(call.phone.tree(), scale=call.phone.scale)
    if target == "/dev/tty":
        call.out(xml)
    else:
        try:
            call.system.disk.write(call.path(target), xml.encode())
        except OSError as error:
            call.err(
                f"java.io.FileNotFoundException: {target}: open failed: {os_error_text(error)}\n"
            )
            return 1
    # The misspelling is Android's, and clients look for it.
    call.out(f"UI hierchary dumped to: {target}\n")
    return 0


async def _wait_idle(call: Call) -> bool:
    """Wait until the screen is at rest, as long as UiAutomator does; False when it never is."""
    if not call.system.profile.is_idle_awaited:
        return True
    limit = call.phone.clock() + _IDLE_LIMIT_S
    while (settled := call.phone.settled_at()) > call.phone.clock():
        if call.phone.clock() >= limit:
            return False
        await call.pause((min(settled, limit) - call.phone.clock()) * 1000 + 1)
    return True


async def run_screencap(call: Call) -> int:
    """`screencap -p [-d ID] [FILE]`."""
    words = list(call.args)
    if "-d" in words:
        at = words.index("-d")
        del words[at : at + 2]
    files = [word for word in words if not word.startswith("-")]
    if "-p" not in words and not (files and files[0].endswith(".png")):
        return call.fail("only PNG (-p) is offered by this device")
    await call.pause(call.system.profile.screencap_ms)
    png = call.phone.screenshot_png()
    if not files:
        call.out_bytes(png)
        return 0
    try:
        call.system.disk.write(call.path(files[0]), png)
    except OSError as error:
        call.err(f"Error opening file: {files[0]} ({os_error_text(error)})\n")
        return 1
    return 0


async def run_wm(call: Call) -> int:
    """`wm size` and `wm density`, reading only."""
    match call.args:
        case ("size",):
            width, height = call.system.size_px
            call.out(f"Physical size: {width}x{height}\n")
        case ("density",):
            call.out(f"Physical density: {call.system.density}\n")
        case ("user-rotation",):
            call.out("lock 0\n")
        case ("dismiss-keyguard",):
            call.phone.locked = False
        case _:
            call.err("Error: unknown command or option of wm\n")
            return 255
    return 0


SCREEN_COMMANDS: Final[Mapping[str, DeviceCommand]] = {
    "uiautomator": run_uiautomator,
    "screencap": run_screencap,
    "wm": run_wm,
}
