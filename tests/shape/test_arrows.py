"""The import contracts, each seen failing on a planted import in a copy of the tree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shape import gates

PLANTED = {
    "runner/model/ids.py": ("import runner.compose", "cli > grid"),
    "runner/preflight/__init__.py": ("import runner.schedule", "cli > grid"),
    "runner/record/__init__.py": ("import runner.report", "cli > grid"),
    "drivers/android/__init__.py": ("import runner.formats", "Drivers know no formats"),
    "grid/__init__.py": ("import drivers.ios", "The grid sees drivers"),
    "runner/report/__init__.py": ("import grid", "The runner knows neither"),
    "drivers/ios/__init__.py": ("import adbutils", "adbutils stays"),
    "grid/lab/__init__.py": ("import wda", "facebook-wda stays"),
    "runner/formats/__init__.py": ("import typer", "typer stays"),
}


def _lint(folder: Path) -> str:
    command = [
        sys.executable,
        "-c",
        "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())",
        "--no-cache",
    ]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={"PYTHONPATH": "."}
    )
    return done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for package in (*gates.PACKAGES, "configs"):
        shutil.copytree(
            gates.ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(gates.ROOT / ".importlinter", tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_contracts_are_kept(tree: Path) -> None:
    output = _lint(tree)

    assert "8 kept, 0 broken" in output, output


@pytest.mark.slow
@pytest.mark.parametrize("module", PLANTED)
def test_a_planted_import_breaks_its_contract(tree: Path, module: str) -> None:
    line, contract = PLANTED[module]
    path = tree / module
    path.write_text(f"{path.read_text()}\n{line}\n")

    output = _lint(tree)

    results = re.findall(r"(.+?) (KEPT|BROKEN)", " ".join(output.split()))
    broken = [name for name, state in results if state == "BROKEN"]
    assert any(contract in name for name in broken), output


@pytest.mark.slow
def test_a_planted_cycle_of_siblings_breaks_its_contract(tree: Path) -> None:
    for name, other in (("alpha", "beta"), ("beta", "alpha")):
        folder = tree / "grid" / name
        folder.mkdir()
        (folder / "__init__.py").write_text(f"import grid.{other}\n")

    output = _lint(tree)

    assert "No cycles between sibling packages BROKEN" in output, output
