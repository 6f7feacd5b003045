"""What stays out of an ordinary run: the fidelity tests, which are deselected and never skipped."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fidelity.adb_program import INSTALL, find_adb
from tests.shape import gates


def _collect(*words: str) -> str:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *words], cwd=gates.ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("-m", "slow"), ("-m", "not hardware")])
def test_no_fidelity_test_runs_unless_it_is_asked_for(words: tuple[str, ...]) -> None:
    output = _collect("tests/fidelity", *words)

    assert "::test_" not in output
    assert "deselected" in output


@pytest.mark.slow
def test_the_fidelity_tests_run_when_they_are_asked_for() -> None:
    assert "test_adb29.py::test_" in _collect("tests/fidelity", "-m", "fidelity")


def test_a_missing_program_fails_with_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=INSTALL):
        find_adb([tmp_path / "adb"])
