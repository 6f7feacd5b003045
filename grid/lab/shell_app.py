"""Device commands about running apps: am, monkey, ps, pidof.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from grid.lab.android import activity_class, short_component
from grid.lab.shell_call import Call, DeviceCommand

MAIN: Final = "android.intent.action.MAIN"
VIEW: Final = "android.intent.action.VIEW"
_LAUNCH_MS: Final = 120
_VALUED: Final = frozenset(("-t", "-f", "-e", "--user", "--display", "--windowingMode", "-i"))
_TWO_VALUED: Final = frozenset(("--es", "--ez", "--ei", "--el", "--ef", "--eu", "--esa", "--eia"))


class Intent(Struct, frozen=True, kw_only=True):
    """What `am start` was asked for."""

    action: str = ""
    data: str = ""
    categories: tuple[str, ...] = ()
    component: str = ""
    package: str = ""
    waits: bool = False
    stops_first: bool = False

    def render(self) -> str:
        """Return the intent as `am` prints it."""
        parts = [f"act={self.action}"] if self.action else []
        if self.categories:
            parts.append(f"cat=[{','.join(self.categories)}]")
        if self.data:
            scheme, separator, _ = self.data.partition("://")
            parts.append(f"dat={scheme}{separator}..." if separator else f"dat={self.data}")
        if self.package:
            parts.append(f"pkg={self.package}")
        if self.component:
            parts.append(f"cmp={self.component}")
        return f"Intent {{ {' '.join(parts)} }}"


def parse_intent(words: tuple[str, ...]) -> Intent | str:
    """Read the words behind `am start`; a text says what is wrong with them."""
    values: dict[str, str] = {}
    categories: list[str] = []
    flags: set[str] = set()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-a", "-d", "-n", "-p", "-c") or word in _VALUED:
            if not rest:
                return f'Error: Argument expected after "{word}"'
            value = rest.pop(0)
            if word == "-c":
                categories.append(value)
            else:
                values[word] = value
        elif word in _TWO_VALUED:
            del rest[:2]
        elif word in ("-W", "-S", "--esn", "--grant-read-uri-permission", "-D", "-R", "-P"):
            flags.add(word)
        elif word.startswith("-"):
            return f"Error: Unknown option: {word}"
        elif "://" in word:
            values["-d"] = word
        else:
            values["-n" if "/" in word else "-p"] = word
    default = VIEW if "-d" in values else MAIN if "-n" not in values else ""
    return Intent(
        action=values.get("-a", default),
        data=values.get("-d", ""),
        categories=tuple(categories),
        component=values.get("-n", ""),
        package=values.get("-p", ""),
        waits="-W" in flags,
        stops_first="-S" in flags,
    )


async def run_am(call: Call) -> int:
    """`am start|start-activity|force-stop|kill|broadcast|...`."""
    match call.args:
        case ("start" | "start-activity", *words):
            intent = parse_intent(tuple(words))
            if isinstance(intent, str):
                call.err(f"{intent}\n")
                return 255
            return await _start(call, intent)
        case ("force-stop" | "kill" | "stop-app" | "crash" as verb, *words):
            packages = [word for word in words if not word.startswith("-") and word != "0"]
            for package in packages[-1:]:
                if verb == "crash":
                    call.phone.crash(package)
                else:
                    call.phone.terminate(package)
            return 0
        case ("broadcast", *words):
            intent = parse_intent(tuple(words))
            text = intent if isinstance(intent, str) else intent.render()
            call.out(f"Broadcasting: {text}\nBroadcast completed: result=0\n")
            return 0
        case ("get-current-user",):
            call.out("0\n")
            return 0
        case (verb, *_):
            call.err(f"Unknown command: {verb}\n")
            return 255
        case _:
            call.err("Activity manager (activity) commands:\n  help\n")
            return 255


async def _start(call: Call, intent: Intent) -> int:
    """Start an activity. As on most releases the exit status is 0 whatever happened."""
    phone = call.phone
    package, _, activity = intent.component.partition("/")
    package = package or intent.package
    call.out(f"Starting: {intent.render()}\n")
    app = call.system.find_app(package)
    if intent.component and (
        app is None or activity_class(package, activity) != activity_class(app.id, app.activity)
    ):
        name = f"{package}/{activity_class(package, activity)}"
        call.err(f"Error type 3\nError: Activity class {{{name}}} does not exist.\n")
        return 0
    before = phone.foreground
    was_running = phone.pid_of(package) is not None and not intent.stops_first
    if intent.stops_first:
        phone.terminate(package)
    if intent.data:
        if not phone.open_url(intent.data, package or None):
            call.err(f"Error: Activity not started, unable to resolve {intent.render()}\n")
            return 0
    elif "android.intent.category.HOME" in intent.categories:
        phone.launch(phone.names.launcher)
    elif app is None or not phone.launch(app.id):
        call.err(f"Error: Activity not started, unable to resolve {intent.render()}\n")
        return 0
    elif was_running and before == app.id:
        call.err(
            "Warning: Activity not started, intent has been delivered to currently running "
            "top-most instance.\n"
        )
    if intent.waits:
        _report_start(call, is_hot=was_running)
    return 0


def _report_start(call: Call, *, is_hot: bool) -> None:
    component = short_component(*call.system.resumed_component())
    call.out(
        f"Status: ok\nLaunchState: {'HOT' if is_hot else 'COLD'}\nActivity: {component}\n"
        f"TotalTime: {_LAUNCH_MS}\nWaitTime: {_LAUNCH_MS + 3}\nComplete\n"
    )


async def run_monkey(call: Call) -> int:
    """`monkey -p PACKAGE [-c CATEGORY] 1`, the launcher's way to start an app."""
    words = list(call.args)
    package = words[words.index("-p") + 1] if "-p" in words[:-1] else ""
    if not package or not call.phone.launch(package):
        call.out(f"args: {words}\n** No activities found to run, monkey aborted.\n")
        return 252
    call.out(
        "Events injected: 1\n"
        "## Network stats: elapsed time=12ms (0ms mobile, 0ms wifi, 12ms not connected)\n"
    )
    return 0


async def run_ps(call: Call) -> int:
    """`ps [-A]`: the processes of the apps and a few of the system."""
    call.out("USER           PID  PPID     VSZ    RSS WCHAN            ADDR S NAME\n")
    for pid, name, user in _processes(call):
        call.out(f"{user:<12}{pid:6d}   300 1200000  90000 0                   0 S {name}\n")
    return 0


async def run_pidof(call: Call) -> int:
    """`pidof NAME...`."""
    found = [str(pid) for pid, name, _ in _processes(call) if name in call.args]
    if found:
        call.out(" ".join(found) + "\n")
    return 0 if found else 1


def _processes(call: Call) -> list[tuple[int, str, str]]:
    fixed = [(1, "init", "root"), (410, "system_server", "system"), (520, "adbd", "shell")]
    fixed.append((900, call.phone.names.launcher, "u0_a10"))
    apps = [(call.phone.pid_of(app.id), app.id) for app in call.phone.installed]
    return fixed + [(pid, name, "u0_a120") for pid, name in apps if pid is not None]


APP_COMMANDS: Final[Mapping[str, DeviceCommand]] = {
    "am": run_am,
    "monkey": run_monkey,
    "ps": run_ps,
    "pidof": run_pidof,
}
