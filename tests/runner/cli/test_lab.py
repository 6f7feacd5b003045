"""`sweepgrid lab`: what is refused before anything starts, and what is told."""

from pathlib import Path

import pytest

from runner.cli.guard import run_guarded

Capture = pytest.CaptureFixture[str]


def test_up_refuses_a_bad_app_and_a_place_that_cannot_be_written_before_it_starts(
    tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where a lab would leave its folder, nothing appears.
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    bad = tmp_path / "bad.toml"
    bad.write_text("version = 7\n")
    grid = tmp_path / "grid.toml"

    assert 2 == run_guarded(["lab", "up", "--app", str(bad), "--grid-out", str(grid)])
    assert "[lab_app_invalid]" in capfd.readouterr().err
    absent = tmp_path / "absent" / "grid.toml"
    assert 2 == run_guarded(["lab", "up", "--grid-out", str(absent)])
    assert "--grid-out" in capfd.readouterr().err
    assert [] == list((tmp_path / "tmp").iterdir())


def test_the_list_of_faults_shows_their_parameters(capfd: Capture) -> None:
    assert 0 == run_guarded(["lab", "fault", "--list"])

    shown = capfd.readouterr().err
    assert "latency_ms=200 for_s=0" in shown
    assert "no parameters" in shown
