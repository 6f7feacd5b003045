"""The lab judged by an adb that others built: Debian's, generation 29, as server and command line.

The product's own runs use the much newer server that adbutils ships; what both take for a phone is
one.
"""

import io
import os
import random
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import trio
from PIL import Image

from drivers.android.server import PROTOCOL_VERSION, bundled_adb, server_version
from tests.contract.face import PASSWORD, SHOP_ID, USER
from tests.fidelity.adb_program import AdbStand, find_adb, open_stand, read_version

pytestmark = [pytest.mark.fidelity, pytest.mark.slow]

FILE = "/sdcard/window_dump.xml"


async def read_dump(stand: AdbStand) -> ET.Element:
    """Return the tree, by the two calls that everybody makes."""
    said = await stand.on_device("shell", "uiautomator", "dump", FILE)
    assert (said.status, said.text.strip()) == (0, f"UI hierchary dumped to: {FILE}")
    return ET.fromstring((await stand.on_device("exec-out", "cat", FILE)).out)


async def find_center(stand: AdbStand, node_id: str) -> tuple[str, str]:
    """Return where a node is tapped, waiting as long as a transition may take."""
    with trio.fail_after(10):
        while True:
            for node in (await read_dump(stand)).iter("node"):
                if node.get("resource-id", "").endswith(f"/{node_id}"):
                    left, top, right, bottom = map(int, re.findall(r"\d+", node.get("bounds", "")))
                    return str((left + right) // 2), str((top + bottom) // 2)


async def tap(stand: AdbStand, node_id: str) -> None:
    answer = await stand.on_device("shell", "input", "tap", *await find_center(stand, node_id))
    assert (answer.status, answer.out, answer.err) == (0, b"", b"")


def test_it_is_another_adb_than_the_bundled_one() -> None:
    assert read_version(find_adb()).startswith("29.")
    assert not read_version(bundled_adb()).startswith("29.")


async def test_its_server_lists_the_phone_with_what_it_says_of_itself() -> None:
    async with open_stand() as stand:
        version = await server_version(stand.server.host, stand.server.port)
        listed = (await stand.adb("devices", "-l")).text

    assert version == PROTOCOL_VERSION
    assert listed.startswith("List of devices attached\n")
    (line,) = [line for line in listed.splitlines() if line.startswith(stand.serial)]
    words = line.split()
    assert words[1] == "device"
    assert {word.partition(":")[0] for word in words[2:]} == {
        "product",
        "model",
        "device",
        "transport_id",
    }


@pytest.mark.parametrize(
    ("command", "status", "out", "err"),
    [
        ("echo one two", 0, b"one two\n", b""),
        ("exit 7", 7, b"", b""),
        ("echo lost >&2; false", 1, b"", b"lost\n"),
        ("no-such-command", 127, b"", b"inaccessible or not found\n"),
        ("getprop sys.boot_completed", 0, b"1\n", b""),
        ("echo a | grep b", 1, b"", b""),
    ],
)
async def test_a_shell_command_keeps_its_status_and_both_streams(
    command: str, status: int, out: bytes, err: bytes
) -> None:
    async with open_stand() as stand:
        answer = await stand.on_device("shell", command)

    assert (answer.status, answer.out) == (status, out)
    assert answer.err.endswith(err)
    assert bool(err) == bool(answer.err)


async def test_a_screenshot_is_a_whole_picture_of_the_screens_size() -> None:
    async with open_stand() as stand:
        size = (await stand.on_device("shell", "wm", "size")).text
        answer = await stand.on_device("exec-out", "screencap", "-p")

    with Image.open(io.BytesIO(answer.out)) as picture:
        picture.load()
        assert (picture.format, f"Physical size: {picture.width}x{picture.height}") == (
            "PNG",
            size.strip(),
        )


async def test_megabytes_come_back_byte_for_byte(tmp_path: Path) -> None:
    data = random.Random(29).randbytes(3 * 1024 * 1024)
    ours, back = tmp_path / "ours.bin", tmp_path / "back.bin"
    ours.write_bytes(data)
    async with open_stand() as stand:
        pushed = await stand.on_device("push", str(ours), "/data/local/tmp/ours.bin")
        size = (await stand.on_device("shell", "stat", "-c", "%s", "/data/local/tmp/ours.bin")).text
        pulled = await stand.on_device("pull", "/data/local/tmp/ours.bin", str(back))
        absent = await stand.on_device("pull", "/data/local/tmp/absent.bin", str(back))

    assert (pushed.status, pulled.status, size.strip()) == (0, 0, str(len(data)))
    assert data == back.read_bytes()
    assert absent.status != 0


async def test_a_dump_shows_the_app_as_a_phone_does() -> None:
    async with open_stand() as stand:
        await stand.on_device("shell", "monkey", "-p", SHOP_ID, "1")
        await find_center(stand, "username")
        tree = await read_dump(stand)

    assert (tree.tag, tree.get("rotation")) == ("hierarchy", "0")
    nodes = list(tree.iter("node"))
    assert {node.get("package") for node in nodes} == {SHOP_ID}
    (field,) = [node for node in nodes if node.get("resource-id") == f"{SHOP_ID}:id/password"]
    assert (field.get("class"), field.get("password")) == ("android.widget.EditText", "true")


async def test_a_user_logs_in_by_taps_and_keys() -> None:
    async with open_stand() as stand:
        await stand.on_device("shell", "am", "force-stop", SHOP_ID)
        await stand.on_device("shell", "monkey", "-p", SHOP_ID, "1")
        for node_id, text in (("username", USER), ("password", PASSWORD)):
            await tap(stand, node_id)
            await stand.on_device("shell", "input", "text", text)
        await stand.on_device("shell", "input", "keyevent", "KEYCODE_BACK")
        await tap(stand, "login_button")
        await tap(stand, "permission_allow_button")
        await find_center(stand, "open_catalogue")
        truth = stand.phone.truth()

    assert (truth["screen"], truth["state"][SHOP_ID]["user"]) == ("home", "Ann")


def program_of(pid: int) -> Path:
    return Path(f"/proc/{pid}/exe").resolve()


async def test_the_server_is_a_child_of_ours_and_ends_by_its_process_id() -> None:
    async with open_stand() as stand:
        pid = stand.server.pid
        assert find_adb().resolve() == program_of(pid)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
