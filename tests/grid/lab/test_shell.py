"""The device's shell and its commands: text in, output and status out."""

import shlex

import pytest
import trio
from hypothesis import HealthCheck, given, settings, strategies as st
from trio.testing import MockClock

from grid.lab.android import LIFELIKE
from tests.grid.lab.labkit import SHOP_ID, Hands, ShellKit

PERMISSION = "com.android.permissioncontroller"


@pytest.mark.parametrize(
    ("text", "out", "status"),
    [
        ("echo a 'b  c' \"d $X e\" f\\ g", "a b  c d  e f g\n", 0),
        ("X=1; echo $X${X}y \"$X\" '$X'", "11y 1 $X\n", 0),
        ("X='a  b'; echo $X; echo \"$X\"", "a b\na  b\n", 0),
        ("X=1 true; echo [$X]", "[]\n", 0),
        ("false; echo $?", "1\n", 0),
        ("false && echo no; true && echo yes", "yes\n", 0),
        ("false || echo yes; true || echo no", "yes\n", 0),
        ("! false; echo $?; ! true", "0\n", 1),
        ("echo a; exit 7; echo b", "a\n", 7),
        ("(exit 3); echo $?", "3\n", 0),
        ("(X=2; cd /sdcard); echo [$X]; pwd", "[]\n/\n", 0),
        ("cd /sdcard && pwd", "/sdcard\n", 0),
        ("echo b1 >&2; nothing 2>/dev/null; echo $?", "127\n", 0),
        ("echo one 2>&1 >/dev/null; echo two &>/dev/null", "", 0),
        ("nothing 2>&1 | grep -c 'not found'", "1\n", 0),
        ("echo a >/sdcard/f; echo b >>/sdcard/f; cat </sdcard/f", "a\nb\n", 0),
        ("echo a >/sdcard/f; cat /sdcard/* /sdcard/none 2>/dev/null", "a\n", 1),
        ("echo '*' \"*\" \\*", "* * *\n", 0),
        ("cd /sdcard; echo D*", "Download\n", 0),
        ("echo $(echo a; echo b) \"$(echo 'c  d')\"", "a b c  d\n", 0),
        ("echo -n a; printf '%s-%d\\n' x 3", "ax-3\n", 0),
        ("printf 'a\\nb\\nc\\n' | head -n 2 | wc -l", "2\n", 0),
        ("printf 'a\\nb\\nc\\n' | tail -1", "c\n", 0),
        ("echo abc | head -c 2", "ab", 0),
        ("sh -c 'echo in; exit 4'; echo $?", "in\n4\n", 0),
        ("echo 'echo piped' | sh", "piped\n", 0),
        ("exec echo x; /system/bin/echo y; toybox echo z", "x\ny\nz\n", 0),
        ("[ -e '/sdcard' ] && echo __PASS__", "__PASS__\n", 0),
        ("[ -d /sdcard ] && [ ! -f /sdcard ] && test 2 -gt 1 && echo ok", "ok\n", 0),
        ("[ a = b ]", "", 1),
        ("test -n x -a", "", 2),
        ("echo a=b c=d", "a=b c=d\n", 0),
        ("export A=5; echo $A", "5\n", 0),
        ('echo "" | wc -c', "1\n", 0),
        ("echo $((1 + 2 * (3 - 1))) $((-7 / 2)) $((-7 % 2)) $((1 < 2 ? 5 : 6))", "5 -3 -1 5\n", 0),
        ("X=4; echo $((X * X)) $(($X + 1)) $((0x1f))", "16 5 31\n", 0),
        ("echo $((2147483647 + 1))", "-2147483648\n", 0),
        ('echo "$0 $#"; [ $$ -gt 1 ] && echo ok', "/system/bin/sh 0\nok\n", 0),
        ("echo `echo a` \"`echo 'b  c'`\"", "a b  c\n", 0),
        ("{ X=1; echo a; } | cat; { Y=2; }; echo $Y", "a\n2\n", 0),
        ("if false; then echo a; elif true; then echo b; else echo c; fi", "b\n", 0),
        ("if false; then echo a; fi", "", 0),
        ("for i in 1 2 $(echo 3 4); do echo $i; [ $i = 3 ] && break; done", "1\n2\n3\n", 0),
        ("for i in a b; do continue; echo no; done; echo $i", "b\n", 0),
        ("i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done; echo $i", "3\n", 0),
        ("until false; do exit 7; done; echo no", "", 7),
        ("for i in a; do echo $i; done >/sdcard/f; cat /sdcard/f", "a\n", 0),
        ("echo if then fi done", "if then fi done\n", 0),
        ("printf '%s=%d\\n' a 1 b 2", "a=1\nb=2\n", 0),
        ("printf '%05.1f|%-3s|%x|%%|%c' 2.25 a 255 xyz", "002.2|a  |ff|%|x", 0),
        ("printf '%d' x", "0", 1),
        ("printf '[%s]'", "[]", 0),
        ("seq 3; seq 5 -2 1", "1\n2\n3\n5\n3\n1\n", 0),
        ("seq x", "", 1),
        ("uname; uname -m", "Linux\naarch64\n", 0),
        ("mkdir /sdcard/d; rmdir /sdcard/d && ls -d /sdcard/d 2>/dev/null", "", 1),
        ("df /data | head -n 1 | grep -c Filesystem", "1\n", 0),
        ("logcat -g | grep -c 'ring buffer'", "1\n", 0),
        ("echo hello | base64 | base64 -d", "hello\n", 0),
    ],
)
async def test_the_shell_s_grammar_works(text: str, out: str, status: int) -> None:
    found, _, code = await ShellKit().run(text)

    assert (found, code) == (out, status)


async def test_an_unknown_command_fails_as_on_a_phone_and_is_logged() -> None:
    kit = ShellKit()

    assert await kit.run("turbo x") == (
        "",
        "/system/bin/sh: turbo: inaccessible or not found\n",
        127,
    )
    assert any("turbo" in line.text for line in kit.phone.log_lines())


@pytest.mark.parametrize(
    "text", ["while true; do :; done", "while :; do $(while :; do :; done); done"]
)
async def test_no_loop_runs_for_ever(text: str) -> None:
    _, err, status = await ShellKit().run(text)

    assert 1 == status
    assert "too many rounds of loops" in err


async def test_a_loop_ends_when_its_client_leaves() -> None:
    with trio.move_on_after(0) as scope:
        await ShellKit().run("while true; do :; done")

    assert scope.cancelled_caught


async def test_an_expression_without_a_value_ends_the_shell() -> None:
    assert await ShellKit().run("echo $((1 / 0)); echo no") == (
        "",
        "/system/bin/sh: 1 / 0: zero divisor\n",
        1,
    )


async def test_a_folder_with_files_is_not_removed_by_rmdir() -> None:
    _, err, status = await ShellKit().run("mkdir /sdcard/d; echo >/sdcard/d/f; rmdir /sdcard/d")

    assert (err, status) == ("rmdir: '/sdcard/d': Directory not empty\n", 1)


async def test_logcat_shows_the_tags_that_are_asked_for() -> None:
    kit = ShellKit()
    kit.phone.log("Mine", "one")
    kit.phone.log("Other", "two")

    shown = await kit.out("logcat -d -s Mine:V")

    assert "one" in shown
    assert "two" not in shown


async def test_a_syntax_error_is_told_and_runs_nothing() -> None:
    assert await ShellKit().run("echo a && 'b") == ("", "/system/bin/sh: no closing quote\n", 1)


async def test_a_file_that_cannot_be_made_fails_its_command() -> None:
    out, err, status = await ShellKit().run("echo x > /system/f && echo no")

    assert (out, status) == ("", 1)
    assert err == "/system/bin/sh: can't create /system/f: Read-only file system\n"


async def test_input_reaches_the_first_command_of_a_pipe() -> None:
    assert await ShellKit().run("cat | wc -c", b"12345") == ("5\n", "", 0)


async def test_files_are_listed_copied_summed_and_removed() -> None:
    kit = ShellKit()
    await kit.out("mkdir -p /sdcard/a/b; echo hi > /sdcard/a/f; cp /sdcard/a/f /sdcard/a/b")

    assert await kit.out("ls /sdcard/a; ls -d /sdcard/a") == "b\nf\n/sdcard/a\n"
    assert (await kit.out("ls -l /sdcard/a/f")).startswith("-rw-r--r-- 1 shell shell        3 ")
    assert await kit.out("md5sum /sdcard/a/b/f") == (
        "764efa883dda1e11db47671c4a3bbd9e  /sdcard/a/b/f\n"
    )
    assert await kit.out("stat -c '%s %a %F' /sdcard/a/f") == "3 644 regular file\n"
    await kit.out("mv /sdcard/a/f /sdcard/g; touch /sdcard/h; rm -r /sdcard/a; rm -f /sdcard/none")
    assert await kit.out("ls /sdcard") == "Download\nPictures\ng\nh\n"
    assert await kit.run("rm /sdcard/none") == (
        "",
        "rm: /sdcard/none: No such file or directory\n",
        1,
    )


@pytest.mark.parametrize(
    ("text", "out", "status"),
    [
        ("grep -i B", "abc\nB\n", 0),
        ("grep -v b", "B\n", 0),
        ("grep -E 'a|B'", "abc\nB\n", 0),
        ("grep 'a\\|B'", "abc\nB\n", 0),
        ("grep -o 'b.'", "bc\n", 0),
        ("grep -n B", "2:B\n", 0),
        ("grep -F .", "", 1),
        ("grep -q abc", "", 0),
        ("grep -P x", "", 2),
        ("grep -E '('", "", 2),
    ],
)
async def test_grep_finds_lines(text: str, out: str, status: int) -> None:
    found, _, code = await ShellKit().run(text, b"abc\nB\n")

    assert (found, code) == (out, status)


async def test_properties_and_settings_read_back() -> None:
    kit = ShellKit()

    assert await kit.out("getprop ro.product.model; getprop sys.boot_completed") == "Lab Phone\n1\n"
    assert await kit.out("getprop none; getprop none x") == "\nx\n"
    assert "[ro.build.version.sdk]: [34]" in await kit.out("getprop")
    await kit.out("setprop debug.a 'b c'; settings put global x 5")
    assert await kit.out("getprop debug.a; settings get global x") == "b c\n5\n"
    assert await kit.out("settings delete global x; settings get global x") == (
        "Deleted 1 rows\nnull\n"
    )
    assert (await kit.run("setprop ro.x y"))[2] == 1


async def test_an_app_is_resolved_started_and_stopped() -> None:
    kit = ShellKit()
    resolved = await kit.out(f"cmd package resolve-activity --brief {SHOP_ID}")
    assert resolved.splitlines()[-1] == f"{SHOP_ID}/.MainActivity"

    started = await kit.out(f"am start -W -n {SHOP_ID}/.MainActivity")
    assert f"Status: ok\nLaunchState: COLD\nActivity: {SHOP_ID}/.MainActivity\n" in started
    assert kit.phone.foreground == SHOP_ID
    pid = (await kit.out(f"pidof {SHOP_ID}")).strip()
    assert f" {pid} " in await kit.out(f"ps -A | grep {SHOP_ID}")
    out, err, status = await kit.run(f"am start -n {SHOP_ID}/{SHOP_ID}.MainActivity")
    assert (out.startswith("Starting:"), err.startswith("Warning: "), status) == (True, True, 0)
    await kit.out(f"am force-stop {SHOP_ID}")

    assert kit.phone.foreground == "com.android.launcher"
    assert (await kit.run(f"pidof {SHOP_ID}"))[2] == 1


@pytest.mark.parametrize(
    "text",
    [
        f"monkey -p {SHOP_ID} -c android.intent.category.LAUNCHER 1",
        f"am start -a android.intent.action.MAIN -c android.intent.category.LAUNCHER -p {SHOP_ID}",
        f"am start-activity -W -S -n {SHOP_ID}/.MainActivity -f 0x10200000 --es a b",
        f"cmd activity start {SHOP_ID}/.MainActivity",
    ],
)
async def test_every_way_to_start_an_app_starts_it(text: str) -> None:
    kit = ShellKit()

    await kit.out(text)

    assert kit.phone.foreground == SHOP_ID


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("am start -n com.none/.X", "Error type 3\nError: Activity class {com.none/com.none.X}"),
        (f"am start -n {SHOP_ID}/.Other", "Error type 3"),
        (
            "am start -a android.intent.action.VIEW -d none://x",
            "Error: Activity not started, unable",
        ),
        ("am start -p com.none", "Error: Activity not started, unable to resolve"),
    ],
)
async def test_a_start_that_fails_says_so_on_stderr_with_status_zero(text: str, error: str) -> None:
    _, err, status = await ShellKit().run(text)

    assert err.startswith(error)
    assert status == 0


async def test_what_am_and_monkey_do_not_know_fails() -> None:
    kit = ShellKit()

    assert (await kit.run("am start -x"))[2] == 255
    assert (await kit.run("am start -n"))[2] == 255
    assert (await kit.run("am turbo"))[2] == 255
    out, _, status = await kit.run("monkey -p com.none 1")
    assert ("monkey aborted" in out, status) == (True, 252)


async def test_a_link_opens_its_screen() -> None:
    hands = Hands()
    hands.enter_home()
    kit = ShellKit(hands)

    await kit.out("am start -W -a android.intent.action.VIEW -d 'shop://product/12'")
    hands.wait(0.2)

    assert hands.see("product_title").text == "Product 12"


async def test_packages_are_listed_located_and_cleared() -> None:
    hands = Hands()
    hands.enter_home()
    kit = ShellKit(hands)

    assert await kit.out("pm list packages -3") == f"package:{SHOP_ID}\n"
    assert await kit.out("cmd package list packages --show-versioncode shop") == (
        f"package:{SHOP_ID} versionCode:14\n"
    )
    assert await kit.out(f"pm path {SHOP_ID}") == f"package:/data/app/{SHOP_ID}-1/base.apk\n"
    assert (await kit.run("pm path com.none"))[2] == 1
    assert await kit.out(f"pm clear {SHOP_ID}") == "Success\n"
    assert await kit.run("pm clear com.none") == ("Failed\n", "", 1)
    await kit.out(f"pm grant {SHOP_ID} android.permission.POST_NOTIFICATIONS")
    assert (await kit.run("pm grant com.none x"))[2] == 255
    hands.phone.launch(SHOP_ID)
    assert hands.phone.truth()["screen"] == "login"


async def test_the_clipboard_and_the_paste_key_carry_any_text() -> None:
    kit = ShellKit()
    kit.phone.launch(SHOP_ID)
    kit.hands.tap("username")

    await kit.out(f"cmd clipboard set text {shlex.quote('Jürgen 👋')}; input keyevent 279")

    assert await kit.out("cmd clipboard get text") == "Jürgen 👋\n"
    assert kit.hands.see("username").value == "Jürgen 👋"


async def test_touches_are_in_pixels() -> None:
    kit = ShellKit()
    kit.phone.launch(SHOP_ID)
    x, y = kit.hands.see("username").rect.center

    await kit.out(f"input tap {round(x * 2.7)} {round(y * 2.7)}")

    assert kit.hands.see("username").focused


async def test_input_text_types_percent_s_as_a_space() -> None:
    kit = ShellKit()
    kit.phone.launch(SHOP_ID)
    kit.hands.tap("username")

    await kit.out("input text 'a%sb%c'; input keyevent KEYCODE_D 12 DEL 62")

    assert kit.hands.see("username").value == "a b%cd "


async def test_input_text_breaks_on_what_no_key_map_has() -> None:
    kit = ShellKit()
    kit.phone.launch(SHOP_ID)
    kit.hands.tap("username")

    out, err, status = await kit.run("input text 'Jürgen'")

    assert (out, status) == ("", 255)
    assert "java.lang.NullPointerException: Attempt to get length of null array" in err
    assert kit.hands.see("username").value == ""


@pytest.mark.parametrize(
    "text",
    [
        "input",
        "input text a b",
        "input tap 1",
        "input tap a b",
        "input tap nan 1",
        "input swipe 1 1 1 1 -5",
        "input keyevent NOPE",
        "input motionevent TURN 1 1",
        "input turbo",
    ],
)
async def test_wrong_input_is_refused(text: str) -> None:
    _, err, status = await ShellKit().run(text)

    assert status == 255
    assert err


async def test_a_swipe_takes_its_time_and_flings(autojump_clock: MockClock) -> None:
    hands = Hands()
    hands.enter_home()
    hands.go("open_catalogue")
    kit = ShellKit(hands)
    before = autojump_clock.current_time()

    await kit.out("input touchscreen swipe 540 1890 540 810 400")
    hands.wait(5)

    assert autojump_clock.current_time() - before == pytest.approx(0.4)
    assert hands.nodes("row_5") == []


async def test_a_swipe_in_place_is_a_long_press(autojump_clock: MockClock) -> None:
    del autojump_clock  # It lets the gesture's time pass at once.
    hands = Hands()
    hands.enter_home()
    kit = ShellKit(hands)
    x, y = (round(at * 2.7) for at in hands.see("open_cart").rect.center)

    await kit.out(f"input swipe {x} {y} {x} {y} 900")
    hands.wait(0.2)

    assert hands.phone.truth()["screen"] == "cart"


async def test_motion_events_and_drags_move_a_list_without_fling(autojump_clock: MockClock) -> None:
    del autojump_clock  # It lets the gesture's time pass at once.
    hands = Hands()
    hands.enter_home()
    hands.go("open_catalogue")
    kit = ShellKit(hands)
    top = hands.see("row_8").rect.y

    await kit.out("input motionevent DOWN 540 1890; input motionevent MOVE 540 1620")
    hands.wait(1)
    await kit.out("input motionevent UP 540 1620; input draganddrop 540 1890 540 1755 500")
    hands.wait(1)

    assert hands.see("row_8").rect.y == pytest.approx(top - 150)


async def test_a_dump_is_written_where_asked_and_says_so() -> None:
    kit = ShellKit()
    kit.phone.launch(SHOP_ID)

    said = await kit.out("uiautomator dump /data/local/tmp/x.xml")
    assert said == "UI hierchary dumped to: /data/local/tmp/x.xml\n"
    assert "Welcome" in await kit.out("cat /data/local/tmp/x.xml")
    assert await kit.out("uiautomator dump --compressed") == (
        "UI hierchary dumped to: /sdcard/window_dump.xml\n"
    )
    mixed = await kit.out("uiautomator dump /dev/tty")
    assert mixed.endswith("</hierarchy>UI hierchary dumped to: /dev/tty\n")
    assert (await kit.run("uiautomator dump /system/x"))[2] == 1
    assert (await kit.run("uiautomator test"))[2] == 1


async def test_a_lifelike_dump_waits_for_the_screen_to_rest(autojump_clock: MockClock) -> None:
    kit = ShellKit(profile=LIFELIKE)
    kit.hands.clock.now = 0.0
    started = autojump_clock.current_time()

    await kit.out("uiautomator dump")

    assert autojump_clock.current_time() - started == pytest.approx(1.22)


async def test_a_screenshot_goes_to_stdout_or_a_file() -> None:
    kit = ShellKit()
    await kit.out("screencap -p /sdcard/s.png")

    assert kit.system.disk.read("/sdcard/s.png") == kit.phone.screenshot_png()
    assert (await kit.run("screencap"))[2] == 1
    assert (await kit.run("screencap -p /system/s.png"))[2] == 1


async def test_window_facts_are_in_pixels() -> None:
    kit = ShellKit()

    assert await kit.out("wm size; wm density") == (
        "Physical size: 1080x2322\nPhysical density: 432\n"
    )
    assert (await kit.run("wm turbo"))[2] == 255


async def test_dumpsys_tells_focus_keyboard_battery_and_power() -> None:
    kit = ShellKit()
    kit.phone.launch(SHOP_ID)
    kit.hands.tap("username")
    window = await kit.out("dumpsys window windows")
    assert f"mCurrentFocus=Window{{a1b2c3 u0 {SHOP_ID}/{SHOP_ID}.MainActivity}}" in window
    assert f"u0 {SHOP_ID}/.MainActivity t14}}" in await kit.out("dumpsys activity activities")
    assert f"ACTIVITY {SHOP_ID}/.MainActivity" in await kit.out("dumpsys activity top")
    assert "mInputShown=true" in await kit.out("dumpsys input_method")
    assert "level: 100" in await kit.out("dumpsys battery")
    assert "orientation=0" in await kit.out("dumpsys display")
    assert "versionName=1.4.0" in await kit.out(f"dumpsys package {SHOP_ID}")
    assert "Unable to find package: x" in await kit.out("dumpsys package x")
    assert "(HWC display 0)" in await kit.out("dumpsys SurfaceFlinger --display-id")
    assert "input_method" in await kit.out("dumpsys -l")
    assert "mWakefulness=Awake" in await kit.out("dumpsys power")

    await kit.out("input keyevent KEYCODE_SLEEP")
    assert "mWakefulness=Asleep" in await kit.out("dumpsys power")
    assert await kit.run("dumpsys nope") == ("", "Can't find service: nope\n", 0)


async def test_the_focus_is_the_permission_controller_s_while_its_dialog_is_shown() -> None:
    hands = Hands()
    hands.log_in()

    window = await ShellKit(hands).out("dumpsys window")

    assert f"u0 {PERMISSION}/{PERMISSION}.permission.ui.GrantPermissionsActivity}}" in window


async def test_the_log_is_read_limited_and_cleared() -> None:
    kit = ShellKit()
    kit.phone.log("Shop", "one\ntwo")

    lines = (await kit.out("logcat -d")).splitlines()
    assert [line.split("I Shop: ")[1] for line in lines[1:]] == ["one", "two"]
    assert lines[1].startswith("06-15 15:06:40.000 ")
    assert (await kit.out("logcat -d -t 1")).splitlines()[1].endswith("two")
    await kit.out("logcat -c")
    assert await kit.out("logcat -d") == ""


async def test_a_followed_log_shows_new_lines_until_the_client_leaves(
    autojump_clock: MockClock,
) -> None:
    del autojump_clock  # It lets the waits pass at once.
    kit = ShellKit()

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            nursery.start_soon(_write_later, kit, scope)
            await kit.run("logcat > /sdcard/log")

    assert scope.cancelled_caught
    assert "later" in kit.system.disk.read("/sdcard/log").decode()


async def _write_later(kit: ShellKit, scope: trio.CancelScope) -> None:
    await trio.sleep(1)
    kit.phone.log("Shop", "later")
    await trio.sleep(1)
    scope.cancel()


async def test_sleep_date_and_identity(autojump_clock: MockClock) -> None:
    kit = ShellKit()
    before = autojump_clock.current_time()

    assert await kit.out("sleep 1.5; date +%s; id -u; whoami") == "1750000000\n2000\nshell\n"
    assert autojump_clock.current_time() - before == pytest.approx(1.5)
    assert (await kit.run("sleep x"))[2] == 1


async def test_the_input_method_and_services_answer() -> None:
    kit = ShellKit()
    ime = "com.android.inputmethod.latin/.LatinIME"

    assert await kit.out("ime list -s -a") == f"{ime}\n"
    assert await kit.out("settings get secure default_input_method") == f"{ime}\n"
    await kit.out("svc wifi enable; cmd statusbar collapse")
    assert (await kit.run("cmd nope x"))[2] == 20
    assert await kit.run("cmd package has-feature android.software.leanback") == ("false\n", "", 1)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    "echo",
                    "cat",
                    "input",
                    "am",
                    "pm",
                    "cmd",
                    "wm",
                    "dumpsys",
                    "settings",
                    "logcat -d",
                ]
            ),
            st.sampled_from(["ls", "rm", "stat", "test", "[", "grep", "head", "uiautomator", "sh"]),
            st.sampled_from(
                [";", "|", "&&", ">", "<", "2>&1", "'", '"', "$(", ")", "$X", "-c", "/"]
            ),
            st.text(alphabet="ab -/\\*?%s1\u00e9", max_size=6),
        ),
        max_size=10,
    )
)
def test_no_command_text_breaks_the_shell(words: list[str]) -> None:
    async def run() -> None:
        _, _, status = await ShellKit().run(" ".join(words))
        assert 0 <= status <= 255

    trio.run(run)
