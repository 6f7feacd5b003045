import os
import stat
from pathlib import Path

import pytest

from runner.cli.rewrite import rewrite_file
from runner.errors import InputError
from runner.model.finding import Finding


def _rewrite(path: Path, before: bytes = b"old", after: bytes = b"new") -> Finding | None:
    return rewrite_file(path, name="a.ad", before=before, after=after)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.ad"
    path.write_bytes(b"old")
    return path


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o664])
def test_the_bytes_are_replaced_and_the_mode_stays(file: Path, mode: int) -> None:
    file.chmod(mode)
    inode = file.stat().st_ino

    assert _rewrite(file) is None
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert file.stat().st_ino != inode, "it is another file, so no reader sees a half"
    assert os.listdir(file.parent) == ["a.ad"]  # noqa: PTH208  # Hidden ones too.


@pytest.mark.parametrize("now", [b"other", b"old and more", b"ol", b""])
def test_a_file_that_somebody_changed_is_left_to_them(file: Path, now: bytes) -> None:
    file.write_bytes(now)
    problem = _rewrite(file)
    assert problem is not None

    assert (problem.reason, problem.path) == ("source_changed", "a.ad")
    assert file.read_bytes() == now
    assert [file] == list(file.parent.iterdir())


def test_a_file_that_is_gone_or_none_any_more_was_changed_too(file: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a.ad")
    found = [_rewrite(tmp_path / name) for name in ("gone", "pipe", "link")]

    assert [problem and problem.reason for problem in found] == ["source_changed"] * 3
    assert file.read_bytes() == b"old"


def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_left(
    file: Path, tmp_path: Path
) -> None:
    # Nobody, not even an administrator, makes files in a process folder.
    proc = Path("/proc/self/comm")
    with pytest.raises(InputError) as caught:
        _rewrite(proc, before=proc.read_bytes())

    assert caught.value.reason == "output_unwritable"
    assert [file] == list(tmp_path.iterdir())
