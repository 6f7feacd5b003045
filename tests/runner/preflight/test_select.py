import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from runner.compose.source import SourceLoader
from runner.preflight.select import Selection, find_root, select_sources


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("b.ad", "a.ad", "sub/c.ad", "sub/note.txt", "sub/d.AD", ".git/e.ad", ".f.ad"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("open a\n")
    (tmp_path / "flow.yaml").write_text("appId: a\n---\n")
    return tmp_path


def _select(root: Path, *paths: str, cwd: Path | None = None) -> Selection:
    return select_sources(paths, cwd=str(cwd or root), loader=SourceLoader(str(root)))


def _problems(selection: Selection) -> list[str]:
    return [problem.reason for problem in selection.problems]


def _places(selection: Selection) -> list[tuple[str, str]]:
    return sorted((problem.reason, problem.path) for problem in selection.problems)


def test_a_folder_is_walked_sorted_and_without_hidden_names(root: Path) -> None:
    selection = _select(root, ".")

    assert selection.names == ("a.ad", "b.ad", "sub/c.ad", "sub/d.AD")
    assert selection.named == frozenset()
    assert [(each.reason, each.path) for each in selection.problems] == [
        ("format_unsupported", "flow.yaml")
    ]


def test_names_are_relative_to_the_root_and_come_once(root: Path) -> None:
    selection = _select(root, "c.ad", "../sub", "../a.ad", str(root / "a.ad"), cwd=root / "sub")

    assert selection.names == ("a.ad", "sub/c.ad", "sub/d.AD")
    assert selection.named == {"a.ad", "sub/c.ad"}


def test_patterns_name_files_and_folders_but_not_one_by_one(root: Path) -> None:
    assert _select(root, "*.ad").names == ("a.ad", "b.ad")
    assert _select(root, "**/c.ad").names == ("sub/c.ad",)
    assert _select(root, "su*").names == ("sub/c.ad", "sub/d.AD")
    assert _select(root, "*.ad").named == frozenset()


def test_a_file_whose_name_looks_like_a_pattern_is_taken_as_it_is(root: Path) -> None:
    (root / "[1].ad").write_text("open a\n")

    assert _select(root, "[1].ad").named == {"[1].ad"}


def test_what_names_nothing_is_a_problem(root: Path) -> None:
    assert _problems(_select(root, "gone.ad", "gone/*.ad", "x\0.ad")) == ["path_missing"] * 3


def test_any_file_of_another_format_is_a_problem_when_it_is_named(root: Path) -> None:
    selection = _select(root, "flow.yaml", "sub/note.txt")

    assert _problems(selection) == ["format_unsupported", "format_unsupported"]
    assert selection.problems[0].path == "flow.yaml"


def test_flows_of_other_formats_in_folders_and_patterns_are_problems(root: Path) -> None:
    (root / "sub" / "spec.abs.yaml").write_text("session: a\n")
    (root / "sub" / "ci.yml").write_text("jobs: {}\n")
    (root / "sub" / "door.yaml").symlink_to("../flow.yaml")

    assert _places(_select(root, "sub")) == [
        ("format_unsupported", "flow.yaml"),
        ("format_unsupported", "sub/spec.abs.yaml"),
    ]
    assert _places(_select(root, "**/*.y*ml")) == [
        ("format_unsupported", "flow.yaml"),
        ("format_unsupported", "flow.yaml"),
        ("format_unsupported", "sub/spec.abs.yaml"),
    ]


def test_what_leads_out_of_the_root_is_a_problem_also_in_a_folder(root: Path) -> None:
    inner = root / "sub"
    (inner / "door.ad").symlink_to("../a.ad")

    assert _problems(_select(inner, "../a.ad")) == ["source_unreadable"]
    assert _places(_select(inner, ".")) == [("source_unreadable", "door.ad")]
    assert _places(_select(inner, "*.ad")) == [("source_unreadable", "door.ad")]


def test_a_linked_folder_is_followed_inside_the_root_and_named_outside_of_it(root: Path) -> None:
    (root / "far").mkdir()
    (root / "far" / "x.ad").write_text("open a\n")
    (root / "sub" / "near").symlink_to("../far")
    (root / "sub" / "up").symlink_to("..")
    (root / "far" / "back").symlink_to("../sub")
    selection = _select(root, "sub")

    assert selection.names == ("far/x.ad", "sub/c.ad", "sub/d.AD")
    assert selection.problems == ()
    assert _places(_select(root / "sub", ".")) == [("source_unreadable", "near")]


def _plant_deep(top: Path, name: str, depth: int) -> None:
    here = Path.cwd()
    top.mkdir()
    try:
        os.chdir(top)
        for _ in range(depth):
            Path(name).mkdir()
            os.chdir(name)
        Path("z.ad").write_text("open a\n")
    finally:
        os.chdir(here)


@pytest.mark.slow
def test_no_depth_of_folders_is_an_error(root: Path) -> None:
    _plant_deep(root / "deep", "d", 1500)
    _plant_deep(root / "long", "d" * 200, 30)

    for pattern in ("deep", "deep/**/z.ad"):
        selection = _select(root, pattern)
        assert (selection.names, selection.problems) == (("deep/" + "d/" * 1500 + "z.ad",), ())
    ((reason, path),) = _places(_select(root, "long"))
    assert (reason, path[:10]) == ("source_unreadable", "long/ddddd")
    for name in ("deep", "long"):
        subprocess.run(["rm", "-r", str(root / name)], check=True)


@pytest.mark.slow
def test_a_long_chain_of_links_is_a_problem_and_no_error(root: Path) -> None:
    for number in range(1500):
        (root / f"l{number}.ad").symlink_to(f"l{number + 1}.ad")

    assert _places(_select(root, "l0.ad")) == [("source_unreadable", "l0.ad")]


@pytest.fixture
def locked() -> Iterator[Path]:
    with TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        inner = folder / "locked"
        inner.mkdir()
        (inner / "a.ad").write_text("open a\n")
        (folder / "secret.yaml").write_text("jobs: {}\n")
        for path in (inner, folder / "secret.yaml"):
            path.chmod(0)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)  # Nothing is locked for the superuser.
        try:
            yield folder
        finally:
            os.seteuid(user)
            inner.chmod(0o755)


def test_what_may_not_be_looked_at_is_named_from_the_root(locked: Path) -> None:
    assert _places(_select(locked, ".")) == [
        ("source_unreadable", "locked"),
        ("source_unreadable", "secret.yaml"),
    ]
    assert _places(_select(locked, "locked/a.ad")) == [("source_unreadable", "locked/a.ad")]
    assert _places(_select(locked, "*/a.ad")) == [("source_unreadable", "locked/a.ad")]
    assert _places(_select(locked, "locked/*.ad")) == [("source_unreadable", "locked")]


def test_a_dangling_link_is_selected_so_that_loading_reports_it(root: Path) -> None:
    (root / "link.ad").symlink_to("nowhere.ad")

    assert _select(root, "link.ad").names == ("nowhere.ad",)


def test_the_source_root_is_the_top_of_the_repository_or_the_folder_itself(root: Path) -> None:
    plain = root / "plain"
    plain.mkdir()

    assert find_root(str(root / "sub")) == str(root)
    (root / ".git" / "e.ad").unlink()
    (root / ".git").rmdir()
    assert find_root(str(plain)) == str(plain)
