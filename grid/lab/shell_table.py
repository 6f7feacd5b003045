"""All commands of the virtual device's shell. What is not here is not found, as on a phone.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections.abc import Mapping
from typing import Final

from grid.lab.shell_app import APP_COMMANDS
from grid.lab.shell_call import DeviceCommand
from grid.lab.shell_dumpsys import DUMPSYS_COMMANDS
from grid.lab.shell_file import FILE_COMMANDS
from grid.lab.shell_input import INPUT_COMMANDS
from grid.lab.shell_package import PACKAGE_COMMANDS
from grid.lab.shell_screen import SCREEN_COMMANDS
from grid.lab.shell_system import SYSTEM_COMMANDS
from grid.lab.shell_text import TEXT_COMMANDS
from grid.lab.shell_tool import TOOL_COMMANDS

DEVICE_COMMANDS: Final[Mapping[str, DeviceCommand]] = {
    **TEXT_COMMANDS,
    **FILE_COMMANDS,
    **SYSTEM_COMMANDS,
    **APP_COMMANDS,
    **PACKAGE_COMMANDS,
    **INPUT_COMMANDS,
    **SCREEN_COMMANDS,
    **DUMPSYS_COMMANDS,
    **TOOL_COMMANDS,
}
