import os
from pathlib import Path

from runner.compose.bound import BYTE_LIMIT
from runner.compose.source import Absent, Source, SourceLoader


def _kind(found: object) -> str:
    assert isinstance(found, Absent)
    return found.kind


def test_a_locator_is_taken_from_the_folder_of_the_including_source(tmp_path: Path) -> None:
    loader = SourceLoader(str(tmp_path))

    assert loader.locate("./login.ad", base="flows/main.ad") == "flows/login.ad"
    assert loader.locate("../shared/login.ad", base="flows/main.ad") == "shared/login.ad"
    assert loader.locate("login.ad", base="main.ad") == "login.ad"


def test_bytes_are_read_once_and_a_later_change_on_the_disk_is_not_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.ad"
    file.write_text("open one\n")
    loader = SourceLoader(str(tmp_path))
    first = loader.load("a.ad")
    file.write_text("open two\n")

    assert Source(path="a.ad", data=b"open one\n") == first
    assert loader.load("a.ad") is first
    assert loader.read_count == 1


def test_a_link_is_named_by_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "real.ad").write_text("back\n")
    (tmp_path / "link.ad").symlink_to("real.ad")
    loader = SourceLoader(str(tmp_path))

    assert loader.locate("link.ad", base="main.ad") == "real.ad"
    assert loader.adopt(str(tmp_path / "link.ad")) == "real.ad"


def test_the_root_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.ad").write_text("back\n")
    (tmp_path / "alias").symlink_to("root")
    loader = SourceLoader(str(tmp_path / "alias"))

    assert loader.adopt(str(tmp_path / "root" / "a.ad")) == "a.ad"


def test_nothing_outside_the_root_has_a_name(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.ad").write_text("open secret\n")
    (root / "door.ad").symlink_to("../secret.ad")
    (tmp_path / "root2").mkdir()
    loader = SourceLoader(str(root))

    assert _kind(loader.locate("../secret.ad", base="main.ad")) == "outside_root"
    assert _kind(loader.locate("../../../../etc/passwd", base="main.ad")) == "outside_root"
    assert _kind(loader.locate("door.ad", base="main.ad")) == "outside_root"
    assert _kind(loader.locate("../root2/a.ad", base="main.ad")) == "outside_root"
    assert _kind(loader.adopt(str(tmp_path / "secret.ad"))) == "outside_root"
    assert _kind(loader.locate(".", base="main.ad")) == "outside_root"


def test_an_absolute_locator_is_refused_also_inside_the_root(tmp_path: Path) -> None:
    (tmp_path / "a.ad").write_text("back\n")
    loader = SourceLoader(str(tmp_path))

    assert _kind(loader.locate(str(tmp_path / "a.ad"), base="main.ad")) == "not_relative"


def test_what_is_no_readable_regular_file_is_absent_and_never_blocks(tmp_path: Path) -> None:
    (tmp_path / "folder.ad").mkdir()
    os.mkfifo(tmp_path / "pipe.ad")
    loader = SourceLoader(str(tmp_path))

    assert _kind(loader.load("none.ad")) == "missing"
    assert _kind(loader.load("pipe.ad/x.ad")) == "missing"
    assert _kind(loader.load("folder.ad")) == "not_a_file"
    assert _kind(loader.load("pipe.ad")) == "not_a_file"
    assert _kind(loader.load("x" * 5000)) == "denied"


def test_locators_that_are_no_file_names_are_missing_and_not_errors(tmp_path: Path) -> None:
    loader = SourceLoader(str(tmp_path))

    assert _kind(loader.locate("a\0b.ad", base="main.ad")) == "missing"
    assert _kind(loader.locate("\ud800.ad", base="main.ad")) == "missing"


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.ad")).write_text("back\n")
    loader = SourceLoader(str(tmp_path))

    assert _kind(loader.adopt(str(tmp_path / os.fsdecode(b"\xff.ad")))) == "missing"


def test_a_file_over_the_bound_is_cut_behind_it(tmp_path: Path) -> None:
    (tmp_path / "just.ad").write_bytes(b"#" * BYTE_LIMIT)
    (tmp_path / "over.ad").write_bytes(b"#" * (BYTE_LIMIT + 500))
    loader = SourceLoader(str(tmp_path))
    just, over = loader.load("just.ad"), loader.load("over.ad")

    assert isinstance(just, Source)
    assert not just.is_oversized
    assert isinstance(over, Source)
    assert over.is_oversized
    assert len(over.data) == BYTE_LIMIT + 1
