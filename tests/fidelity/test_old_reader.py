"""agent-device 0.21.5 is given our fragments and composed parents, and refuses each untouched.

It must fail at the guard line, and the phone must not notice. "Untouched" is measured, not
believed: what the phone is asked meanwhile is held to what the same program asks of it to list
devices, which it does whatever the file says.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import Struct

from tests.e2e.tool import FLOWS
from tests.fidelity.agent_device import OldReader
from tests.fidelity.lab_phone import LabPhone, open_lab_reader
from tests.support.ad_tree import GUARD, AdTree, Call, reasons

pytestmark = [pytest.mark.fidelity, pytest.mark.slow, pytest.mark.timeout(300)]

GUARDS: Final = re.compile(r"^[ ]*(fragment|composition)-v1$", re.MULTILINE)
SHIPPED: Final = sorted(
    path.relative_to(FLOWS).as_posix()
    for path in FLOWS.rglob("*.ad")
    if GUARDS.search(path.read_text())
)
SHOP: Final = "com.sweepgrid.shop"
SESSION: Final = ("--session", "open-before")
DISCOVERY: Final = frozenset(
    {
        "getprop sys.boot_completed",
        "getprop ro.build.characteristics",
        "cmd package has-feature android.software.leanback",
        "cmd package has-feature android.software.leanback_only",
        "cmd package has-feature android.hardware.type.television",
        "pm list features",
    }
)
"""What it asks of a phone to list it: whether it has started, and whether it is a television."""


class Stand(Struct, frozen=True):
    """The program, the phone, and a folder for files."""

    reader: OldReader
    phone: LabPhone
    folder: Path

    def watch(self, *words: str) -> tuple[dict[str, Any], list[str]]:
        """Run a command that must fail; return its error, and what the phone was asked for it."""
        before = len(self.phone.requests())
        error = self.reader.run(*words, "--json").error
        return error, [shell_text(each) for each in self.phone.requests()[before:]]

    def asked_for(self, *words: str) -> set[str]:
        """Run a command, whatever comes of it; return what the phone was asked for it."""
        before = len(self.phone.requests())
        self.reader.run(*words, "--json")
        return {shell_text(each) for each in self.phone.requests()[before:]}


def shell_text(request: str) -> str:
    """Return a request of a shell without its framing; another one as it is."""
    return request.removeprefix("shell,v2,raw:").removeprefix("shell:")


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("old")
    with open_lab_reader(folder) as (reader, phone):
        yield Stand(reader, phone, folder)


OWN: Final = (
    *("leaf.ad", "inner.ad", "late.ad", "bare.ad"),
    *("parent.ad", "with-env.ad", "guard-first.ad"),
)


@pytest.fixture(scope="module")
def tree(stand: Stand) -> AdTree:
    """A composition with the guards in every place where they may stand."""
    tree = AdTree(stand.folder / "tree")
    leaf = tree.fragment("leaf.ad", "press 10 20", "back")
    inner = tree.fragment("inner.ad", Call(leaf), "press 30 40")
    late = tree.fragment("late.ad", "press 1 2", head="# A note.\n\n  fragment-v1")
    context = "context platform=android target=mobile"
    bare = tree.write("bare.ad", [context, "fragment-v1", *GUARD, "press 3 4"])
    tree.flow("parent.ad", Call(leaf), Call(inner), "press 5 6")
    tree.flow("with-env.ad", Call(leaf), head=["# A note.", context, "env NAME=x"])
    tree.flow("guard-first.ad", Call(late), Call(bare), head=[])
    return tree


def guard_of(path: Path) -> str:
    """Return the guard of a file."""
    found = GUARDS.search(path.read_text())
    assert found, path
    return found[0].strip()


def failed_step(error: dict[str, Any]) -> tuple[str, int, str]:
    """Return how a replay ended: the code, the step and its command."""
    details = error["details"]
    return error["code"], details["step"], details["action"]


def test_the_files_are_sound_to_this_project(tree: AdTree) -> None:
    checked = tree.check(platform="android")

    assert [] == reasons(checked)
    assert sorted(OWN) == sorted(path.name for path in tree.root.iterdir())
    assert len(SHIPPED) >= 16


def test_what_it_asks_of_a_phone_to_list_it(stand: Stand) -> None:
    assert DISCOVERY == stand.asked_for("devices", "--platform", "android")


@pytest.mark.parametrize("with_device", [False, True])
@pytest.mark.parametrize("name", [*OWN, *SHIPPED])
def test_it_refuses_the_guard_and_asks_no_more_of_the_phone_than_to_list_it(
    stand: Stand, tree: AdTree, name: str, *, with_device: bool
) -> None:
    path = (tree.root if name in OWN else FLOWS) / name
    device = ("--platform", "android", "--serial", stand.phone.serial) if with_device else ()
    before = stand.phone.truth()
    error, asked = stand.watch("replay", str(path), *device)

    assert ("REPLAY_DIVERGENCE", 1, guard_of(path)) == failed_step(error)
    assert error["details"]["divergence"]["cause"]["code"] == "SESSION_NOT_FOUND"
    assert set() == set(asked) - DISCOVERY
    assert before == stand.phone.truth()


@pytest.fixture(scope="module")
def look(stand: Stand) -> Iterator[set[str]]:
    """What it asks of a phone to look at it, in a session that is open then."""
    device = ("--platform", "android", "--serial", stand.phone.serial)
    opened = stand.reader.run("open", SHOP, *device, *SESSION, "--json")
    assert opened.status == 0, opened
    yield stand.asked_for("snapshot", *SESSION)
    closed = stand.reader.run("close", *SESSION, "--json")
    assert closed.status == 0, closed


@pytest.mark.parametrize("name", [*OWN, *(each for each in SHIPPED if "ios" not in each)])
def test_in_an_open_session_it_refuses_the_guard_and_only_looks(
    stand: Stand, tree: AdTree, look: set[str], name: str
) -> None:
    """It ends every failure with a look at the screen, for its report; so it does here."""
    path = (tree.root if name in OWN else FLOWS) / name
    before = stand.phone.truth()
    error, asked = stand.watch("replay", str(path), *SESSION)

    assert ("REPLAY_DIVERGENCE", 1, guard_of(path)) == failed_step(error)
    assert error["details"]["divergence"]["cause"]["code"] == "COMMAND_FAILED"
    assert error["details"]["reason"] == "generic-route-runtime-missing"
    assert set() == set(asked) - look - DISCOVERY
    assert not [each for each in asked if each.split()[0] == "input" or SHOP in each]
    assert before == stand.phone.truth()


def test_the_trace_tells_of_a_replay_that_acts(stand: Stand, look: set[str]) -> None:
    """What the tests above look for is there as soon as a script is one of its own."""
    path = stand.folder / "own.ad"
    path.write_text("press 100 200\n")
    before = len(stand.phone.requests())
    stand.reader.run("replay", str(path), *SESSION, "--json")
    asked = {shell_text(each) for each in stand.phone.requests()[before:]}

    assert {each for each in asked - look if each.startswith("input tap 100 200")}
