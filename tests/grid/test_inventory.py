from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from grid.inventory import (
    AdbEntry,
    WdaEntry,
    duration_ms,
    load_inventory,
    parse_inventory,
    stated_facts,
)
from runner.errors import InputError

ROOT = Path(__file__).resolve().parents[2]

LAB = """\
version = 1
[[adb]]
host = "127.0.0.1"
port = 15037
owned = false
connect = ["127.0.0.1:16001"]
serials = ["127.0.0.1:16001", "127.0.0.1:16002"]
tags = ["lab"]
[[wda]]
url = "http://127.0.0.1:8100"
udid = "lab-ios-1"
tags = ["lab"]
[[wda]]
udid = "lab-ios-2"
usbmux = "/run/lab/usbmux"
[lab]
pid = 123
truth_url = "http://127.0.0.1:9000"
usbmux_socket = "/tmp/lab/usbmux"
"""


def refused(text: str) -> tuple[str, int]:
    with pytest.raises(InputError) as caught:
        parse_inventory(text, name="grid.toml")

    assert caught.value.reason == "grid_file_invalid"
    assert f"grid.toml:{caught.value.details['line']}" in caught.value.message
    return caught.value.details["key"], caught.value.details["line"]


async def test_the_file_of_a_lab_is_read_whole() -> None:
    inventory = parse_inventory(LAB, name="grid.toml")

    assert inventory.adb == (
        AdbEntry(
            port=15037,
            connect=("127.0.0.1:16001",),
            serials=("127.0.0.1:16001", "127.0.0.1:16002"),
            tags=("lab",),
        ),
    )
    assert inventory.wda == (
        WdaEntry(url="http://127.0.0.1:8100", udid="lab-ios-1", tags=("lab",)),
        WdaEntry(udid="lab-ios-2", usbmux="/run/lab/usbmux"),
    )
    assert inventory.lab is not None
    assert inventory.lab.pid == 123


async def test_what_the_file_states_of_devices_is_known_without_them() -> None:
    facts = stated_facts(parse_inventory(LAB, name="grid.toml"))

    assert [(f.id, f.platform, f.serial, f.tags, f.is_virtual) for f in facts] == [
        ("127.0.0.1:16001", "android", "127.0.0.1:16001", ("lab",), True),
        ("127.0.0.1:16002", "android", "127.0.0.1:16002", ("lab",), True),
        ("lab-ios-1", "ios", "lab-ios-1", ("lab",), True),
        ("lab-ios-2", "ios", "lab-ios-2", (), True),
    ]
    nameless = parse_inventory('version = 1\n[[wda]]\nurl = "http://10.0.0.9:8100"', name="g")

    assert stated_facts(nameless)[0].id == "10.0.0.9:8100"


async def test_the_example_file_is_valid_also_with_its_commented_keys() -> None:
    path = ROOT / "configs" / "grid.toml"
    inventory = load_inventory(path)

    assert len(inventory.adb) == len(inventory.wda) == 1
    lines = path.read_text().splitlines()
    keys = [line.removeprefix("# ") if " = " in line or "[[" in line else line for line in lines]
    widened = parse_inventory("\n".join(keys), name="grid.toml")

    assert widened.wda[1].usbmux == "/var/run/usbmuxd"
    assert widened.limits.run == "1h"


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("version = 1\n[[adb]\n", "", 2),
        ("", "version", 1),
        ("version = 2\n", "version", 1),
        ("version = 1\nfoo = 3\n", "foo", 2),
        ('version = 1\n[[adb]]\n[[adb]]\nport = "x"\n', "adb[1].port", 4),
        ("version = 1\n\n[[adb]]\nport = 70000\n", "adb[0].port", 4),
        ("version = 1\n[[adb]]\nport = 5037\nprot = 1\n", "adb[0].prot", 4),
        ('version = 1\n[[adb]]\nserials = ["a", 7]\n', "adb[0].serials[1]", 3),
        ("version = 1\n[[adb]]\nport = 0\n", "adb[0].port", 3),
        ('version = 1\n[[adb]]\nserials = ["a", "a"]\n', "adb[0].serials", 3),
        ("version = 1\n[[wda]]\nport = 8100\n", "wda[0]", 2),
        ('version = 1\n[[wda]]\nurl = "ftp://x"\n', "wda[0].url", 3),
        ('version = 1\n[[wda]]\nurl = "http://[::1"\n', "wda[0].url", 3),
        ('version = 1\n[[wda]]\nurl = "http://h:99999"\n', "wda[0].url", 3),
        ('version = 1\n[[wda]]\nurl = "http://h:1"\nusbmux = "/s"\n', "wda[0].usbmux", 4),
        ('version = 1\n[[wda]]\nudid = "u"\n[[wda]]\nudid = "u"\n', "wda[1]", 4),
        ('version = 1\n[limits]\nstep = "9 parsecs"\n', "limits.step", 3),
        ("version = 1\n[limits]\nlease_ttl = -5\n", "limits.lease_ttl", 3),
        ("version = 1\n[lab]\npid = 3\n", "lab.truth_url", 2),
        ("adb = 3\nversion = 1\n", "adb", 1),
    ],
)
async def test_every_fault_names_its_key_and_line(text: str, key: str, line: int) -> None:
    assert refused(text) == (key, line)


async def test_a_file_that_is_not_there_or_not_text_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_inventory(tmp_path / "grid.toml")

    assert caught.value.reason == "grid_file_unreadable"
    (tmp_path / "grid.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError) as caught:
        load_inventory(tmp_path / "grid.toml")

    assert caught.value.reason == "grid_file_invalid"


@pytest.mark.parametrize(
    ("duration", "expected"),
    [(250, 250), ("500ms", 500), ("30s", 30_000), ("2m", 120_000), ("1h", 3_600_000)],
)
async def test_durations_have_units(duration: int | str, expected: int) -> None:
    assert duration_ms(duration) == expected


pieces = st.sampled_from([*LAB.splitlines(keepends=True), "[[wda]]\n", "version = ", "[", "= 3\n"])


@given(st.lists(pieces, max_size=14).map("".join) | st.text(max_size=80))
def test_no_text_raises_anything_but_a_typed_error(text: str) -> None:
    line = 1
    try:
        stated_facts(parse_inventory(text, name="grid.toml"))
    except InputError as error:
        line = error.details["line"]

    assert 1 <= line <= text.count("\n") + 1
