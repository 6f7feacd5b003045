"""The command line as users have it: a process with arguments, output and an exit status."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FLOWS = ROOT / "configs" / "flows"
LIMIT_S = 110


class Ended(NamedTuple):
    """What a finished command left."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its machine output."""
        return json.loads(self.out)


def environment() -> dict[str, str]:
    """Return an environment without settings of the caller's."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AD_VAR_")}
    kept.pop("SWEEPGRID_GRID", None)
    return kept


def start(*words: object, cwd: Path | None = None) -> subprocess.Popen[str]:
    """Start `sweepgrid` with `words` in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "runner.cli.entry", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd or ROOT,
        env={**environment(), "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> Ended:
    """Wait for a started command."""
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"the command did not end:\n{out}\n{err}") from None
    return Ended(process.returncode, out, err)


def sweepgrid(*words: object, cwd: Path | None = None) -> Ended:
    """Run `sweepgrid` with `words` to its end."""
    return finish(start(*words, cwd=cwd))


@contextmanager
def lab_of(folder: Path, *, android: int, ios: int) -> Iterator[Path]:
    """Run a lab; yields its grid file."""
    grid = folder / "grid.toml"
    up = sweepgrid("lab", "up", "--android", android, "--ios", ios, "--grid-out", grid, "--json")
    assert up.status == 0, up.err
    try:
        yield grid
    finally:
        down = sweepgrid("lab", "down", "--grid", grid)
        assert down.status == 0, down.err


def truth_url(grid: Path) -> str:
    """Return where the lab of a grid file tells the truth."""
    from grid.lab.gridfile import read_lab  # noqa: PLC0415  # Tests of the wheel do not need it.

    return read_lab(grid).truth_url


def write_flows(folder: Path, flows: dict[str, str]) -> Path:
    """Write flows by name below `folder` and return it."""
    for name, text in flows.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def wait_for(condition: Callable[[], bool], *, limit_s: float = 30) -> None:
    """Wait until another process has brought something about."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "the condition did not come"
        time.sleep(0.05)  # noqa: TID251  # Another process gives no event to wait for.


def committed_kinds(run: Path) -> list[str]:
    """Return the kinds of the events that are committed so far."""
    if not (run / "journal.sqlite").exists():
        return []
    try:
        connection = sqlite3.connect(f"{(run / 'journal.sqlite').as_uri()}?mode=ro", uri=True)
        try:
            return [kind for (kind,) in connection.execute("SELECT kind FROM events ORDER BY id")]
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return []  # It is being created.
