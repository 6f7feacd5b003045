"""The tour of the README, pasted in order: it works, and shows what it says."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.tool import FLOWS, LIMIT_S, environment
from tests.support.readme import console_lines

BIN = Path(sys.executable).parent


@pytest.mark.slow
def test_the_tour_of_the_readme_can_be_pasted(tmp_path: Path) -> None:
    shutil.copytree(FLOWS, tmp_path / "configs" / "flows")
    variables = {**environment(), "PATH": f"{BIN}:{environment()['PATH']}"}
    try:
        ended = subprocess.run(
            ["bash", "-c", "\n".join(console_lines())],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=LIMIT_S,
            env=variables,
        )
    finally:
        # Where the tour broke off, its lab still runs.
        subprocess.run(
            [BIN / "sweepgrid", "lab", "down", "--grid", tmp_path / "tour" / "grid.toml"],
            capture_output=True,
            check=False,
            timeout=LIMIT_S,
        )

    for shown in (
        "lab is up: 2 Android and 2 iPhones",
        "22 plans, 6 fragments, 0 problems",
        "17 plans, 6 fragments, 5 problems, 5 flows blocked",
        "fragments/android/login.ad: reached by 5 flows and 1 fragment",
        "android/buy-one.ad: 1 include pinned",
        "12 plans: 10 passed, 2 failed",
        '"kind":"verdict"',
        "drop set on ",
        "10 plans: 10 passed",
        "lab ended",
    ):
        assert shown in ended.stdout, ended.stdout
    assert "[option_invalid]" not in ended.stdout
