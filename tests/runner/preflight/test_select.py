from pathlib import Path

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


def test_a_folder_is_walked_sorted_and_without_hidden_names(root: Path) -> None:
    selection = _select(root, ".")

    assert selection.names == ("a.ad", "b.ad", "sub/c.ad", "sub/d.AD")
    assert selection.named == frozenset()
    assert selection.problems == ()


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


def test_another_format_is_a_problem_only_when_it_is_named(root: Path) -> None:
    selection = _select(root, "flow.yaml", "sub/note.txt", ".")

    assert _problems(selection) == ["format_unsupported", "format_unsupported"]
    assert selection.problems[0].path == "flow.yaml"


def test_what_leads_out_of_the_root_is_a_problem_also_in_a_folder(root: Path) -> None:
    inner = root / "sub"
    (inner / "door.ad").symlink_to("../a.ad")

    assert _problems(_select(inner, "../a.ad")) == ["source_unreadable"]
    assert _problems(_select(inner, ".")) == ["source_unreadable"]


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
