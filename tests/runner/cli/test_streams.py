"""Standard streams that are closed, full or no longer read: what a command says and ends with."""

import subprocess
import sys
from pathlib import Path

import pytest

from runner.cli.guard import BROKEN_PIPE
from tests.shape import gates

CHECK = "check flat.ad --json"
LOST = "[output_lost]"
TOOL = f"{sys.executable} -m runner.cli.entry"
RUN = "run flat.ad --grid grid.toml --out run"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a flow, and a grid whose one phone does not answer."""
    (tmp_path / "flat.ad").write_text('open "com.example"\n')
    (tmp_path / "grid.toml").write_text('version = 1\n[[wda]]\nurl = "http://127.0.0.1:9"\n')
    return tmp_path


def _bash(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=folder,
        env={"PYTHONPATH": str(gates.ROOT), "SWEEPGRID_CACHE": "off", "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize(
    ("words", "redirection", "status", "said"),
    [
        (CHECK, "> /dev/full", 8, LOST),
        (CHECK, ">&-", 8, "standard output cannot be written: it is closed [output_lost]"),
        (CHECK, "2> /dev/full", 0, ""),
        (CHECK, "2>&-", 0, ""),
        (CHECK, ">&- 2>&-", 8, ""),
        (CHECK, "<&-", 0, ""),
        ("check flat.ad", ">&-", 0, "0 fragments"),
        ("--help", "> /dev/full", 8, LOST),
        ("run --help", ">&-", 8, LOST),
        ("--version", "> /dev/full", 8, LOST),
        ("-V", ">&-", 8, LOST),
        ("bogus", "2> /dev/full", 2, ""),
        ("bogus", "2>&-", 2, ""),
        ("bogus", "> /dev/full", 2, "No such command 'bogus'"),
        ("demo --out", "2>&-", 2, ""),
        (RUN, "2> /dev/full", 5, ""),
        (RUN, ">&- 2>&-", 5, ""),
        (f"{RUN} --json", "> /dev/full", 8, LOST),
        (f"{RUN} --json", "2>&-", 5, ""),
    ],
)
def test_output_that_cannot_be_written_is_said_or_not_needed(
    folder: Path, words: str, redirection: str, status: int, said: str
) -> None:
    ended = _bash(folder, f"{TOOL} {words} {redirection}")

    assert status == ended.returncode, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "internal error" not in ended.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (CHECK, BROKEN_PIPE),
        ("--help", BROKEN_PIPE),
        ("--version", BROKEN_PIPE),
        (f"{RUN} --json", BROKEN_PIPE),
        ("check flat.ad", 0),
        ("bogus", 2),
        (RUN, 5),
    ],
)
def test_a_reader_that_has_gone_ends_the_command_without_a_word(
    folder: Path, words: str, status: int
) -> None:
    ended = _bash(
        folder, f"set -o pipefail; {{ {TOOL} {words} 2>&1; echo $? > status; }} | exec true"
    )

    assert f"{status}\n" == (folder / "status").read_text()
    assert ("", "") == (ended.stdout, ended.stderr)


def test_what_is_meant_for_a_closed_stderr_goes_nowhere_else(folder: Path) -> None:
    assert "" == _bash(folder, f"{TOOL} bogus 2>&-").stdout

    ended = _bash(folder, f"{TOOL} {RUN} >&- 2>&-; {TOOL} report run --json")
    assert '"complete": true' in ended.stdout
