"""Commands that cannot do what they were asked: why, and with which exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.cli.guard import run_guarded
from runner.cli.sources import default_root, grid_path
from tests.support.ad_tree import AdTree

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder in which nothing names a grid."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SWEEPGRID_GRID", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "words", [["devices"], ["lab", "down"], ["lab", "status"], ["run", "one.ad"]]
)
def test_a_command_that_needs_a_grid_says_so(
    folder: Path, capfd: Capture, words: list[str]
) -> None:
    (folder / "one.ad").write_text('open "com.a"\n')

    assert 2 == run_guarded(words)
    assert "[grid_file_absent]" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["check", "one.ad", "--expect-digest", "one.ad"], "option_invalid"),
        (["check", "one.ad", "--expect-digest", "one.ad=sha256:12"], "option_invalid"),
        (
            [
                *("check", "one.ad", "--expect-digest", f"one.ad={'0' * 64}"),
                *("--expect-digest", f"one.ad={'1' * 64}"),
            ],
            "option_invalid",
        ),
        (["run", "one.ad", "--grid", "absent.toml"], "grid_file_unreadable"),
        (["check", "one.ad", "--grid", "bad.toml"], "grid_file_invalid"),
        (["check", "one.ad", "--platform", "windows"], "option_invalid"),
        (["check", "one.ad", "-e", "lower=1"], "variable_invalid"),
        (["lab", "up", "--android", "0", "--ios", "0", "--grid-out", "g.toml"], "option_invalid"),
        (["lab", "fault", "X"], "option_invalid"),
        (["lab", "down", "--grid", "one.ad"], "lab_grid_invalid"),
        (["run", "one.ad", "--grid", "good.toml", "--out", "one.ad/x"], "run_directory_unwritable"),
    ],
)
def test_bad_input_is_refused_with_its_reason(
    folder: Path, capfd: Capture, words: list[str], reason: str
) -> None:
    (folder / "one.ad").write_text('open "com.a"\n')
    (folder / "bad.toml").write_text("version = 1\nphones = 3\n")
    (folder / "good.toml").write_text('version = 1\n[[wda]]\nurl = "http://127.0.0.1:9"\n')

    assert 2 == run_guarded(words)
    assert f"[{reason}]" in capfd.readouterr().err


def test_check_json_has_plans_and_problems_with_positions(folder: Path, capfd: Capture) -> None:
    (folder / "bad.ad").write_text('open "com.a"\n  press "colour=red"\nfrobnicate\n')
    (folder / "good.ad").write_text('context platform=ios\nopen "com.a"\n')

    assert 3 == run_guarded(["check", ".", "--json"])
    report = json.loads(capfd.readouterr().out)

    assert ["good.ad"] == [plan["path"] for plan in report["plans"]]
    assert [("selector_invalid", 2, ["bad.ad"]), ("command_unknown", 3, ["bad.ad"])] == [
        (one["reason"], one["line"], one["flows"]) for one in report["problems"]
    ]
    keys = {"reason", "path", "line", "column", "message", "details", "flows"}
    assert all(keys <= set(one) for one in report["problems"])


def test_an_expected_digest_holds_or_is_a_problem(folder: Path, capfd: Capture) -> None:
    (folder / "one.ad").write_text('open "com.a"\n')
    run_guarded(["digest", "one.ad", "--json"])
    digest = json.loads(capfd.readouterr().out)["compositionDigest"]

    assert 0 == run_guarded(["check", "one.ad", "--expect-digest", f"one.ad={digest}"])
    capfd.readouterr()
    other = "sha256:" + "0" * 64
    assert 3 == run_guarded(["check", "one.ad", "--expect-digest", f"one.ad={other}", "--json"])
    (problem,) = json.loads(capfd.readouterr().out)["problems"]
    assert ("fragment_stale", other) == (problem["reason"], problem["details"]["expectedDigest"])


def test_digest_json_has_the_digests_that_apply(folder: Path, capfd: Capture) -> None:
    (folder / "flat.ad").write_text('open "com.example"\n')

    assert 0 == run_guarded(["digest", "flat.ad", "--platform", "android", "--json"])
    report = json.loads(capfd.readouterr().out)

    assert ("flat.ad", "flat", None) == (
        report["path"],
        report["kind"],
        report["fragmentDigest"],
    )
    assert (
        "ca7ad0c607327fc4970ccc686df23ebe2a69a2a8a9007d369c91cbc1440fd583" == report["planDigest"]
    )
    assert report["compositionDigest"].startswith("sha256:")


def test_a_text_that_utf8_cannot_say_stops_no_report(folder: Path, capfd: Capture) -> None:
    (folder / "bad.ad").write_text('open "com.a"\npress "\\ud800"\n')
    (folder / "good.ad").write_text('open "com.a"\n')

    assert 3 == run_guarded(["check", ".", "--json"])
    report = json.loads(capfd.readouterr().out)

    assert ["text_unencodable"] == [one["reason"] for one in report["problems"]]
    assert {"good.ad"} == {plan["path"] for plan in report["plans"]}
    assert 3 == run_guarded(["digest", "bad.ad", "--json"])
    assert "text_unencodable" == json.loads(capfd.readouterr().out)["problems"][0]["reason"]


def test_names_that_are_no_text_are_problems_and_reach_no_terminal_raw(
    folder: Path, capfd: Capture
) -> None:
    odd = os.fsencode(folder) + b"/odd\xff\x1b[31m.ad"
    with open(odd, "wb") as file:  # noqa: PTH123  # A name of bytes.
        file.write(b"frobnicate\n")

    assert 3 == run_guarded(["check", ".", "--json"])
    json.loads(capfd.readouterr().out)
    assert 3 == run_guarded(["digest", os.fsdecode(odd), "--json"])
    json.loads(capfd.readouterr().out)
    assert 3 == run_guarded(["check", "."])
    assert "\x1b" not in capfd.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["a" * 300, "?" * 300, "a/" * 3000])
def test_a_path_that_is_too_long_is_missing(capfd: Capture, name: str) -> None:
    assert 3 == run_guarded(["check", name])
    assert "path_missing" in capfd.readouterr().err
    assert 3 == run_guarded(["digest", name])


def test_digest_knows_three_targets(folder: Path, capfd: Capture) -> None:
    (folder / "flat.ad").write_text('open "com.example"\n')

    assert 2 == run_guarded(["digest", "flat.ad", "--target", "watch"])
    assert "[option_invalid]" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["check", "run", "explain", "graph", "digest"])
def test_a_root_that_is_no_folder_is_refused(folder: Path, capfd: Capture, command: str) -> None:
    (folder / "one.ad").write_text('open "com.a"\n')

    assert 2 == run_guarded([command, "one.ad", "--root", str(folder / "absent")])
    assert "--root is" in capfd.readouterr().err


def test_a_demo_into_the_folder_of_a_run_is_refused_before_it_starts(
    folder: Path, capfd: Capture
) -> None:
    (folder / "journal.sqlite").write_text("")

    assert 2 == run_guarded(["demo", "--out", str(folder)])
    shown = capfd.readouterr().err
    assert "[run_directory_used]" in shown
    assert "starting a lab" not in shown


def test_a_variable_of_the_shell_that_is_no_text_is_refused(
    folder: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "one.ad").write_text('open "com.a"\ntype "${NAME}"\n')
    monkeypatch.setenv("AD_VAR_NAME", os.fsdecode(b"\xff"))

    assert 2 == run_guarded(["check", "one.ad"])
    assert "'AD_VAR_NAME' in the environment is not UTF-8 [variable_invalid]" in (
        capfd.readouterr().err
    )


def test_check_of_nothing_is_four(folder: Path, capfd: Capture) -> None:
    assert 4 == run_guarded(["check", str(folder)])
    assert "nothing was selected" in capfd.readouterr().err


def test_flows_outside_the_current_repository_have_a_root_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = folder / "repository"
    (here / ".git").mkdir(parents=True)
    other = folder / "other" / "flows"
    other.mkdir(parents=True)
    for name in (here / "a.ad", other / "b.ad", other / "c.ad"):
        name.write_text("")
    monkeypatch.chdir(here)

    assert str(here) == default_root(["a.ad"])
    assert str(other) == default_root([str(other / "b.ad"), str(other / "c.ad")])
    assert str(other) == default_root([str(other)])
    # What else is named moves no boundary.
    assert str(here) == default_root(["a.ad", str(other)])
    assert str(other) == default_root([str(other), "a.ad"])
    (other.parent / ".git").mkdir()
    assert str(other.parent) == default_root([str(other / "b.ad")])


def test_an_include_of_what_lies_outside_of_the_root_is_refused(
    folder: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = folder / "repository"
    (here / ".git").mkdir(parents=True)
    tree = AdTree(here)
    tree.flow("main.ad")
    AdTree(folder).fragment("leaf.ad")
    before = (here / "main.ad").read_bytes()
    monkeypatch.chdir(here)

    words = ["include", "main.ad", "../leaf.ad", "--after", "3", "--call-site", "q"]
    assert 3 == run_guarded(words)
    assert "leads out of the source root" in capfd.readouterr().err
    assert before == (here / "main.ad").read_bytes()


def test_an_empty_path_is_no_folder(capfd: Capture) -> None:
    assert 2 == run_guarded(["check", ""])
    assert "[path_missing]" in capfd.readouterr().err


def test_a_current_folder_that_was_removed_is_said_to_be_gone(
    folder: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()

    assert 2 == run_guarded(["check", "."])
    assert "the current folder cannot be told" in capfd.readouterr().err


def test_a_named_link_that_leads_nowhere_is_said_to(folder: Path, capfd: Capture) -> None:
    (folder / "link.ad").symlink_to("nowhere")

    assert 3 == run_guarded(["check", "link.ad"])
    assert "it is a link that leads nowhere" in capfd.readouterr().err


def test_a_file_name_with_a_line_end_forges_no_line(folder: Path, capfd: Capture) -> None:
    (folder / "a\nb.ad").write_text("nope\n")

    assert 3 == run_guarded(["check", "."])
    assert "a\\nb.ad:1:1: command_unknown" in capfd.readouterr().err


def test_the_grid_file_is_the_given_one_then_the_environment_then_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert grid_path(None) is None
    (folder / "grid.toml").write_text("")
    assert Path("grid.toml") == grid_path(None)
    monkeypatch.setenv("SWEEPGRID_GRID", "named.toml")
    assert Path("named.toml") == grid_path(None)
    assert Path("given.toml") == grid_path(Path("given.toml"))


def test_a_folder_in_place_of_a_journal_is_no_run(folder: Path, capfd: Capture) -> None:
    (folder / "run" / "journal.sqlite").mkdir(parents=True)

    assert 2 == run_guarded(["report", "run"])
    assert "[run_not_found]" in capfd.readouterr().err


def test_a_bug_is_seventy_and_its_report_is_saved(folder: Path) -> None:
    (folder / "typer.py").write_text("raise RuntimeError('planted')\n")
    root = Path(__file__).parents[3]

    ended = subprocess.run(
        [sys.executable, "-m", "runner.cli.entry", "check", "x.ad"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{folder}:{root}", "TMPDIR": str(folder)},
    )

    (report,) = folder.glob("sweepgrid-bug-*.txt")
    assert 70 == ended.returncode
    assert str(report) in ended.stderr
    assert "planted" in report.read_text()
