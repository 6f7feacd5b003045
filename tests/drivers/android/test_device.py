"""The device over a scripted server: what goes wrong, and what is said about it."""

import io
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from PIL import Image

from drivers.android.device import open_android_device
from drivers.android.line import Deadlines
from drivers.protocol import Device
from runner.errors import DeviceError
from runner.model.action import (
    AcceptAlert,
    Action,
    CloseApp,
    FillText,
    HideKeyboard,
    OpenApp,
    ReadAlert,
    Tap,
    TypeText,
)
from tests.support.adb_server import Raw, Refuse, Reply, Shell, block, open_scripted_server

APP = "com.example.app"
SIZE = b"Physical size: 100x200\n"
WRITTEN = b"UI hierchary dumped to: x\n"


def focus(package: str, *, keyboard: bool = False) -> bytes:
    window = f"mCurrentFocus=Window{{1 u0 {package}/{package}.Main}}\n".encode()
    return SIZE + window + (b"mInputShown=true\n" if keyboard else b"mInputShown=false\n")


def field_xml(text: str, *, secure: str = "false", focused: str = "true") -> str:
    return (
        f'<node class="android.widget.EditText" resource-id="{APP}:id/name" package="{APP}" '
        f'text="{text}" hint="User name" password="{secure}" focused="{focused}" '
        'clickable="true" bounds="[0,0][100,20]" />'
    )


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (3, 3)).save(out, "PNG")
    return out.getvalue()


@dataclass
class Phone:
    """A scripted phone: patterns of commands and their answers, the first that matches decides.

    An answer may be a list, which is used up one by one, the last staying.
    """

    rules: dict[str, Reply | list[Reply] | Callable[[str], Reply]] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    screen: str = ""
    front: str = APP
    keyboard: bool = False

    def answer(self, request: str) -> Reply:
        if request.startswith("host:transport:"):
            return Raw()
        if request.startswith("host-serial:"):
            return Raw(block("device"))
        command = request.removeprefix("shell,v2,raw:")
        self.commands.append(command)
        for pattern, rule in self.rules.items():
            if re.search(pattern, command):
                if isinstance(rule, list):
                    return rule.pop(0) if len(rule) > 1 else rule[0]
                return rule(command) if callable(rule) else rule
        if "uiautomator" in command:
            tree = f"<hierarchy rotation='0'>{self.screen}</hierarchy>".encode()
            return Shell(focus(self.front, keyboard=self.keyboard) + WRITTEN + tree)
        if command.startswith("wm size"):
            return Shell(focus(self.front, keyboard=self.keyboard))
        return Shell()

    def ran(self, pattern: str) -> list[str]:
        return [command for command in self.commands if re.search(pattern, command)]


@asynccontextmanager
async def opened(phone: Phone, **deadlines: float) -> AsyncIterator[Device]:
    async with (
        open_scripted_server(phone.answer) as server,
        open_android_device(
            host=server.endpoint.host,
            port=server.endpoint.port,
            serial="abc",
            device_id="pixel",
            deadlines=Deadlines(**deadlines),
        ) as device,
    ):
        phone.commands.clear()
        yield device


async def failure(phone: Phone, action: Action) -> DeviceError:
    async with opened(phone) as device:
        with pytest.raises(DeviceError) as caught:
            await device.perform(action)
    return caught.value


@pytest.mark.slow
async def test_a_window_without_a_root_is_tried_again_three_times() -> None:
    null = Shell(SIZE, b"ERROR: null root node returned by UiTestAutomationBridge.")
    good = Shell(SIZE + WRITTEN + b"<hierarchy><node package='a' text='x'/></hierarchy>")
    phone = Phone({"uiautomator": [null, null, null, good]})
    async with opened(phone) as device:
        read = await device.snapshot()

    assert read.snapshot.nodes[0].label == "x"
    assert (read.snapshot.width, read.snapshot.height) == (100, 200)
    assert len(phone.commands) == 4


@pytest.mark.slow
async def test_a_window_that_stays_without_a_root_is_unreadable() -> None:
    null = Shell(SIZE, b"ERROR: null root node returned by UiTestAutomationBridge.")
    phone = Phone({"uiautomator": null})
    async with opened(phone) as device:
        with pytest.raises(DeviceError) as caught:
            await device.snapshot()

    assert (caught.value.kind, caught.value.reason) == ("device_busy", "screen_unreadable")
    assert len(phone.commands) == 4


async def test_a_busy_screen_is_not_tried_again() -> None:
    phone = Phone({"uiautomator": Shell(SIZE, b"ERROR: could not get idle state.")})
    async with opened(phone) as device:
        with pytest.raises(DeviceError) as caught:
            await device.snapshot()

    assert caught.value.reason == "screen_busy"
    assert len(phone.commands) == 1


async def test_a_command_that_hangs_alone_is_the_fault_of_the_driver() -> None:
    phone = Phone({"input keyevent": Raw(stall=True)}, keyboard=True)
    async with opened(phone, shell_s=0.05) as device:
        with pytest.raises(DeviceError) as caught:
            await device.perform(HideKeyboard())

    assert (caught.value.kind, caught.value.reason) == ("driver_fault", "device_call_deadline")
    assert caught.value.details["limitS"] == 0.05


@pytest.mark.slow
async def test_a_device_that_answers_nothing_any_more_is_lost() -> None:
    phone = Phone()
    async with opened(phone, shell_s=0.05) as device:
        phone.rules[""] = Raw(stall=True)
        with pytest.raises(DeviceError) as caught:
            await device.perform(Tap(x=1, y=1))

    assert (caught.value.kind, caught.value.reason) == ("device_lost", "device_call_deadline")


async def test_a_device_that_went_away_says_so_in_the_middle_of_a_command() -> None:
    phone = Phone({"input tap": Raw(b"\x01\x05\x00")})

    error = await failure(phone, Tap(x=1, y=1))

    assert (error.kind, error.reason) == ("device_lost", "device_lost")


async def test_input_that_is_forbidden_is_said_to_be() -> None:
    words = b"java.lang.SecurityException: requires INJECT_EVENTS permission"
    phone = Phone({"input tap": Shell(b"", words, 0)})

    error = await failure(phone, Tap(x=1, y=1))

    assert (error.kind, error.reason) == ("driver_fault", "input_denied")


async def test_a_command_that_the_device_lacks_has_failed() -> None:
    words = b"/system/bin/sh: input: inaccessible or not found"
    phone = Phone({"input tap": Shell(b"", words, 127)})

    error = await failure(phone, Tap(x=1, y=1))

    assert error.reason == "device_command_failed"
    assert "inaccessible" in error.details["output"]


async def test_an_app_is_opened_by_its_launcher_and_awaited() -> None:
    phone = Phone(
        {
            "resolve-activity": Shell(b"priority=0 preferredOrder=0\n" + f"{APP}/.Main".encode()),
            "am start": Shell(b"Starting: Intent\nStatus: ok\nActivity: x/.Main\nComplete\n"),
        }
    )
    async with opened(phone) as device:
        assert await device.perform(OpenApp(app=APP, relaunch=True)) == ""

    assert phone.commands[0] == f"am force-stop {APP}"
    assert phone.ran("am start")[0].endswith(f"-n {APP}/.Main")


async def test_names_are_quoted_for_the_shell() -> None:
    phone = Phone({"resolve-activity": Shell(b"package:/data/app")}, front="x; reboot")
    async with opened(phone) as device:
        await device.perform(CloseApp(app="x; reboot $(id)"))
        await device.perform(OpenApp(url="https://a.b/?q=1&r='x'; reboot"))

    assert phone.ran("force-stop") == ["am force-stop 'x; reboot $(id)'"]
    assert phone.ran("am start")[0].endswith("-d 'https://a.b/?q=1&r='\"'\"'x'\"'\"'; reboot'")


async def test_an_app_that_is_not_there_is_misuse() -> None:
    phone = Phone({"resolve-activity": Shell(b"No activity found\n", b"", 1)})

    error = await failure(phone, OpenApp(app="com.absent"))

    assert (error.kind, error.reason) == ("misuse", "app_not_installed")


async def test_an_activity_that_does_not_exist_is_misuse_though_the_status_is_zero() -> None:
    words = b"Error type 3\nError: Activity class {a/b} does not exist.\n"
    phone = Phone({"am start": Shell(b"Starting: Intent\n", words)})

    error = await failure(phone, OpenApp(app="com.a/.Absent"))

    assert error.reason == "app_not_installed"


async def test_a_url_that_nothing_opens_is_a_failed_start() -> None:
    words = b"Error: Activity not started, unable to resolve Intent { dat=x:// }\n"
    phone = Phone({"am start": Shell(b"Starting: Intent\n", words)})

    error = await failure(phone, OpenApp(url="x://y"))

    assert (error.kind, error.reason) == ("product", "app_start_failed")
    assert "unable to resolve" in error.message


async def test_what_a_start_says_of_a_long_url_is_told_in_short() -> None:
    words = b"Error: Activity not started, unable to resolve " + b"x" * 50_000 + b"\n"
    phone = Phone({"am start": Shell(b"Starting: Intent\n", words)})

    error = await failure(phone, OpenApp(url="x://" + "y" * 10_000))

    assert len(error.message) < 800
    assert all(len(str(value)) <= 2_000 for value in error.details.values())


async def test_a_warning_of_the_start_is_no_error() -> None:
    words = b"Warning: Activity not started, its current task has been brought to the front\n"
    phone = Phone({"am start": Shell(b"Starting: Intent\n", words)})
    async with opened(phone) as device:
        await device.perform(OpenApp(app=f"{APP}/.Main"))


@pytest.mark.parametrize(
    ("alive", "reason"), [(b"4711\n", "app_start_failed"), (b"", "app_crashed")]
)
async def test_an_app_that_never_comes_to_the_front_failed_or_crashed(
    autojump_clock: trio.abc.Clock, alive: bytes, reason: str
) -> None:
    assert autojump_clock.current_time() >= 0
    phone = Phone({"pidof": Shell(alive)}, front="com.android.launcher")

    error = await failure(phone, OpenApp(app=f"{APP}/.Main"))

    assert (error.kind, error.reason) == ("product", reason)


async def test_a_slow_phone_gets_three_looks_before_its_app_counts_as_not_started(
    autojump_clock: trio.abc.Clock,
) -> None:
    assert autojump_clock.current_time() >= 0
    other = Shell(focus("com.android.launcher"), after_s=4)
    open_at_last = Phone({"^wm size": [other, other, Shell(focus(APP), after_s=4)]})
    async with opened(open_at_last) as device:
        await device.perform(OpenApp(app=f"{APP}/.Main"))
    never = Phone({"^wm size": other, "pidof": Shell(b"4711\n")})

    assert "app_start_failed" == (await failure(never, OpenApp(app=f"{APP}/.Main"))).reason
    assert 3 == len(never.ran("^wm size"))


async def test_a_phone_that_is_too_slow_to_be_looked_at_is_no_fault_of_the_app(
    autojump_clock: trio.abc.Clock,
) -> None:
    assert autojump_clock.current_time() >= 0
    phone = Phone({"^wm size": Shell(focus(APP), after_s=30)})

    error = await failure(phone, OpenApp(app=f"{APP}/.Main"))

    assert ("device_call_deadline", "driver_fault") == (error.reason, error.kind)


async def test_an_app_behind_a_permission_prompt_is_open() -> None:
    prompt = focus("com.android.permissioncontroller")
    behind = f"mFocusedApp=ActivityRecord{{2 u0 {APP}/.Main t1}}\n".encode()
    phone = Phone({"^wm size": Shell(prompt + behind)})
    async with opened(phone) as device:
        await device.perform(OpenApp(app=f"{APP}/.Main"))


async def test_an_app_without_one_launcher_is_started_through_the_launcher() -> None:
    resolver = b"android/com.android.internal.app.ResolverActivity\npackage:/data/app/x.apk\n"
    phone = Phone({"resolve-activity": Shell(resolver)})
    async with opened(phone) as device:
        await device.perform(OpenApp(app=APP))

    assert phone.ran("monkey") == [f"monkey -p {APP} -c android.intent.category.LAUNCHER 1"]


async def test_closing_waits_until_another_app_is_in_front() -> None:
    phone = Phone({"^wm size": [Shell(focus(APP)), Shell(focus(APP)), Shell(focus("home"))]})
    async with opened(phone) as device:
        await device.perform(CloseApp(app=f"{APP}/.Main"))

    assert len(phone.ran("^wm size")) == 3


async def test_typing_without_a_focused_field_is_a_product_failure() -> None:
    phone = Phone(screen=field_xml("", focused="false"))

    error = await failure(phone, TypeText(text="ann"))

    assert (error.kind, error.reason) == ("product", "text_input_not_focused")
    assert phone.ran("input text") == []


async def test_a_shown_keyboard_spares_the_look_at_the_tree() -> None:
    phone = Phone(keyboard=True)
    async with opened(phone) as device:
        await device.perform(TypeText(text="ann lee\n"))

    assert phone.ran("uiautomator") == []
    assert phone.commands[1:] == ["input text ann%slee", "input keyevent 66"]


async def test_a_character_that_the_device_cannot_type_is_said_without_the_text() -> None:
    words = b"java.lang.NullPointerException: Attempt to get length of null array"
    phone = Phone({"input text": Shell(b"", words, 255)}, keyboard=True)

    error = await failure(phone, TypeText(text="hunter2"))

    assert error.reason == "text_not_typeable"
    assert "hunter2" not in f"{error} {error.details}"


@pytest.mark.parametrize(
    "reply",
    [Shell(b"", b"oops", 1), Raw(b""), Refuse("closed")],
)
async def test_no_failure_of_typing_repeats_the_text(reply: Reply) -> None:
    phone = Phone({"input text": reply}, keyboard=True)

    error = await failure(phone, TypeText(text="hunter2", secret=True))

    assert "hunter2" not in f"{error} {error.details}"


async def test_text_beyond_ascii_needs_a_clipboard() -> None:
    phone = Phone({"clipboard": Shell(b"No shell command implementation.\n")}, keyboard=True)

    error = await failure(phone, TypeText(text="Grüße"))

    assert (error.kind, error.reason) == ("misuse", "text_not_typeable")


async def test_text_beyond_ascii_is_pasted_and_the_clipboard_put_back() -> None:
    phone = Phone({"clipboard get": [Shell(b"mine\n"), Shell("Grüße\n".encode())]}, keyboard=True)
    async with opened(phone) as device:
        await device.perform(TypeText(text="Grüße"))

    assert phone.commands[1:] == [
        "cmd clipboard get text",
        "cmd clipboard set text 'Grüße'",
        "cmd clipboard get text",
        "input keyevent 279",
        "cmd clipboard set text mine",
    ]


def tree(text: str, *, secure: str = "false") -> Shell:
    xml = f"<hierarchy>{field_xml(text, secure=secure)}</hierarchy>"
    return Shell(focus(APP, keyboard=True) + WRITTEN + xml.encode())


async def test_fill_clears_what_stands_there_and_verifies() -> None:
    phone = Phone({"uiautomator": [tree("old"), tree("new one")]})
    async with opened(phone) as device:
        await device.perform(FillText(x=10, y=10, text="new one"))

    assert [command for command in phone.commands if command.startswith("input")] == [
        "input tap 10 10",
        "input keyevent 123",
        "input keyevent 67 67 67",
        "input text new%sone",
    ]


async def test_fill_types_once_more_what_the_keyboard_lost() -> None:
    phone = Phone({"uiautomator": [tree(""), tree("an"), tree("ann")]})
    async with opened(phone) as device:
        await device.perform(FillText(x=10, y=10, text="ann"))

    assert len(phone.ran("input text ann")) == 2
    assert phone.ran("input keyevent 67") == ["input keyevent 67 67"]


async def test_fill_that_is_not_taken_is_a_product_failure() -> None:
    phone = Phone({"uiautomator": tree("5")})

    error = await failure(phone, FillText(x=10, y=10, text="five"))

    assert (error.kind, error.reason) == ("product", "text_not_accepted")
    assert "'5' instead of 'five'" in error.message
    assert {"expected": "five", "shown": "5"}.items() <= error.details.items()


async def test_a_long_text_that_is_not_taken_is_told_in_short() -> None:
    phone = Phone({"uiautomator": tree("x" * 5_000)})

    error = await failure(phone, FillText(x=10, y=10, text="y" * 400))

    assert len(error.message) < 300
    assert (5_000, 2_000) == (error.details["shownLength"], len(error.details["shown"]))


async def test_a_secure_field_is_verified_by_length_and_never_shown() -> None:
    phone = Phone({"uiautomator": [tree("", secure="true"), tree("••••", secure="true")]})
    async with opened(phone) as device:
        await device.perform(FillText(x=10, y=10, text="s3cr"))

    phone = Phone({"uiautomator": tree("••", secure="true")})
    error = await failure(phone, FillText(x=10, y=10, text="s3cr"))

    assert "s3cr" not in f"{error} {error.details}"
    assert "2 characters instead of 4" in error.message


async def test_a_hint_that_shows_in_an_empty_field_is_not_its_text() -> None:
    phone = Phone({"uiautomator": tree("User name")})
    async with opened(phone) as device:
        await device.perform(FillText(x=10, y=10, text=""))


async def test_fill_outside_of_any_field_is_a_product_failure() -> None:
    phone = Phone(screen="<node class='android.widget.Button' bounds='[0,0][9,9]' />")

    error = await failure(phone, FillText(x=5, y=5, text="x"))

    assert error.reason == "text_input_not_focused"


async def test_a_keyboard_that_stays_is_a_product_failure(
    autojump_clock: trio.abc.Clock,
) -> None:
    assert autojump_clock.current_time() >= 0
    phone = Phone(keyboard=True)

    error = await failure(phone, HideKeyboard())

    assert (error.kind, error.reason) == ("product", "keyboard_not_hidden")
    assert phone.ran("input keyevent") == ["input keyevent 111"] * 2


async def test_no_keyboard_needs_no_key() -> None:
    phone = Phone()
    async with opened(phone) as device:
        await device.perform(HideKeyboard())

    assert phone.ran("input") == phone.ran("dumpsys input_method")


async def test_an_absent_alert_is_a_product_failure_and_reads_as_nothing() -> None:
    phone = Phone(screen=field_xml("x"))
    async with opened(phone) as device:
        assert await device.perform(ReadAlert()) == ""
        with pytest.raises(DeviceError) as caught:
            await device.perform(AcceptAlert())

    assert (caught.value.kind, caught.value.reason) == ("product", "alert_absent")


async def test_a_broken_screenshot_is_taken_another_way() -> None:
    mangled = png().replace(b"\n", b"\r\n")
    phone = Phone({"exec:screencap": Raw(mangled), "screencap": Shell(png())})
    async with opened(phone) as device:
        assert await device.screenshot() == png()


async def test_half_an_image_is_never_returned() -> None:
    phone = Phone(
        {"exec:screencap": Raw(png()[:-5]), "screencap": Shell(png()[:40], b"Capture failed", 1)}
    )
    async with opened(phone) as device:
        with pytest.raises(DeviceError) as caught:
            await device.screenshot()

    assert (caught.value.kind, caught.value.reason) == ("device_busy", "screenshot_invalid")
    assert caught.value.details["output"] == "Capture failed"


async def test_a_long_log_is_cut_at_a_line() -> None:
    lines = "".join(f"line {number} ä\n" for number in range(120_000))
    phone = Phone({"logcat": Shell(lines.encode())})
    async with opened(phone) as device:
        log = await device.read_log()

    assert len(log) <= 1024 * 1024
    assert log.startswith(b"line ")
    assert log.endswith("line 119999 ä\n".encode())


async def test_a_sleeping_device_is_woken_before_it_is_judged() -> None:
    asleep, awake = Shell(b"1\nmWakefulness=Asleep\n"), Shell(b"1\nmWakefulness=Awake\n")
    phone = Phone({"boot_completed": [asleep, awake]})
    async with opened(phone) as device:
        report = await device.check_health()

    assert report.health == "healthy"
    assert phone.ran("input keyevent") == ["input keyevent 224"]


async def test_the_health_of_a_lost_device_is_an_answer_and_not_an_error() -> None:
    phone = Phone()
    async with opened(phone) as device:
        phone.rules[""] = Raw(b"")
        report = await device.check_health()

    assert (report.health, report.reason) == ("lost", "device_lost")


async def test_a_device_that_is_not_there_cannot_be_opened() -> None:
    async with open_scripted_server(lambda _: Refuse("device 'abc' not found")) as server:
        with pytest.raises(DeviceError) as caught:
            async with open_android_device(
                host=server.endpoint.host,
                port=server.endpoint.port,
                serial="abc",
                device_id="pixel",
            ):
                raise AssertionError

    assert caught.value.reason == "device_unreachable"


async def test_calls_take_turns_and_a_cancelled_one_frees_the_line() -> None:
    phone = Phone({"input tap": [Raw(stall=True), Shell()]})
    async with opened(phone) as device, trio.open_nursery() as nursery:
        started = trio.current_time()

        async def give_up() -> None:
            with trio.move_on_after(0.05):
                await device.perform(Tap(x=1, y=1))

        nursery.start_soon(give_up)
        await trio.sleep(0.01)
        await device.perform(Tap(x=2, y=2))

    assert phone.commands == ["input tap 1 1", "input tap 2 2"]
    assert trio.current_time() - started < 0.05 + 0.05


async def test_to_open_nothing_is_misuse() -> None:
    error = await failure(Phone(), OpenApp())

    assert (error.kind, error.reason) == ("misuse", "action_unsupported")
