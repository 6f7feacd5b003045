"""The wheel: it holds the demo's data and no tests, and runs the demo in an empty folder."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.e2e.tool import LIMIT_S, ROOT, environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "-o",
            str(folder),
            str(source),
        ],
        check=True,
        capture_output=True,
        timeout=LIMIT_S,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_data_of_the_demo_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert [] == [name for name in names if "test" in name.lower()]
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {
        "configs",
        "drivers",
        "grid",
        "runner",
    }
    flows = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "configs").rglob("*")
        if path.suffix in {".ad", ".toml"}
    }
    assert flows <= set(names)


def test_the_demo_runs_from_the_installed_wheel_in_an_empty_folder(
    wheel: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)],
        check=True,
        timeout=LIMIT_S,
    )
    # The dependencies come from the environment of the tests; the product must not.
    site = next((tmp_path / "venv" / "lib").glob("python*")) / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    empty = tmp_path / "empty"
    empty.mkdir()

    ended = subprocess.run(
        [tmp_path / "venv" / "bin" / "sweepgrid", "demo", "--out", "run"],
        cwd=empty,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={key: value for key, value in environment().items() if key != "PYTHONPATH"},
    )

    assert 0 == ended.returncode, ended.stderr
    assert "came out as meant" in ended.stderr
    assert str(site) in ended.stderr  # The flows that were checked are the installed ones.
    assert (empty / "run" / "junit.xml").is_file()
