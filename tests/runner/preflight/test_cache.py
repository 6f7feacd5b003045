import os
import sqlite3
import time
from pathlib import Path

import pytest

from runner.preflight.cache import ReadingCache, default_folder, reader_version

KEY, OTHER = b"k" * 32, b"o" * 32


def _file(folder: Path) -> Path:
    (path,) = folder.glob(f"reading-{reader_version()}.sqlite")
    return path


def test_what_is_kept_is_found_again_by_its_key(tmp_path: Path) -> None:
    ReadingCache(tmp_path / "c").put([(KEY, b"one"), (OTHER, b"")])

    assert [b"one", None, b""] == ReadingCache(tmp_path / "c").get([KEY, b"?", OTHER])


def test_a_kept_reading_that_was_changed_is_not_found(tmp_path: Path) -> None:
    cache = ReadingCache(tmp_path)
    cache.put([(KEY, b"one"), (OTHER, b"two")])
    with sqlite3.connect(_file(tmp_path)) as connection:
        connection.execute("UPDATE reading SET value = ? WHERE key = ?", (b"1234one", KEY))
    connection.close()

    assert [None, b"two"] == cache.get([KEY, OTHER])
    assert [] == cache.notices


@pytest.mark.parametrize("damage", [b"no database at all" * 99, b"SQLite format 3\0" + b"\1" * 999])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, damage: bytes) -> None:
    ReadingCache(tmp_path).put([(KEY, b"one")])
    _file(tmp_path).write_bytes(damage)
    cache = ReadingCache(tmp_path)

    assert [None] == cache.get([KEY])
    cache.put([(KEY, b"one")])

    assert [b"one"] == cache.get([KEY])
    assert [] == cache.notices


def test_a_folder_that_cannot_be_used_is_a_notice_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ReadingCache(tmp_path / "file" / "sweepgrid")
    cache.put([(KEY, b"one")])

    assert [None] == cache.get([KEY])
    (notice,) = cache.notices

    assert str(tmp_path) in notice


def test_a_linked_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    cache = ReadingCache(tmp_path / "link")
    cache.put([(KEY, b"one")])

    assert [] == list((tmp_path / "real").iterdir())
    assert 1 == len(cache.notices)


def test_files_that_nobody_opened_for_long_are_removed(tmp_path: Path) -> None:
    old, young = tmp_path / "reading-old.sqlite", tmp_path / "reading-young.sqlite"
    for path in (old, young):
        path.write_text("")
    month = time.time() - 31 * 24 * 3600
    os.utime(old, (month, month))
    ReadingCache(tmp_path).put([(KEY, b"one")])

    assert [False, True] == [old.exists(), young.exists()]


def test_only_the_user_may_read_the_cache(tmp_path: Path) -> None:
    ReadingCache(tmp_path / "c").put([(KEY, b"one")])

    assert "0o700" == oct((tmp_path / "c").stat().st_mode & 0o777)
    assert "0o600" == oct(_file(tmp_path / "c").stat().st_mode & 0o777)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, Path("/x/sweepgrid")),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, Path("/h/.cache/sweepgrid")),
        ({}, None),
    ],
)
def test_the_folder_is_the_users_own(environ: dict[str, str], expected: Path | None) -> None:
    assert expected == default_folder(environ)
