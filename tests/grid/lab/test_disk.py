import errno

import pytest

from grid.lab.disk import MAX_BYTES, VirtualDisk, resolve_path
from tests.grid.lab.labkit import START, HandClock


@pytest.fixture
def disk() -> VirtualDisk:
    return VirtualDisk(HandClock())


def test_a_file_reads_back_under_all_names_of_the_shared_storage(disk: VirtualDisk) -> None:
    disk.write("/sdcard/Download/../a.txt", b"one")
    disk.append("/storage/emulated/0/a.txt", b" two")

    assert disk.read("/sdcard/a.txt") == b"one two"
    assert disk.stat("/sdcard/a.txt").size == 7
    assert disk.stat("/sdcard/a.txt").mtime == START
    assert disk.list_folder("/sdcard") == ("Download", "Pictures", "a.txt")


def test_folders_are_made_listed_and_removed_with_what_is_in_them(disk: VirtualDisk) -> None:
    disk.make_folder("/sdcard/x/y", parents=True)
    disk.write("/sdcard/x/y/f", b"1")
    assert disk.list_folder("/sdcard/x") == ("y",)
    assert disk.stat("/sdcard/x/y").is_folder

    disk.remove("/sdcard/x", recursive=True)

    assert not disk.exists("/sdcard/x/y/f")


@pytest.mark.parametrize(
    ("action", "number"),
    [
        (lambda d: d.read("/sdcard/none"), errno.ENOENT),
        (lambda d: d.read("/sdcard"), errno.EISDIR),
        (lambda d: d.write("/system/x", b""), errno.EROFS),
        (lambda d: d.write("/data/x", b""), errno.EACCES),
        (lambda d: d.write("/sdcard/no/x", b""), errno.ENOENT),
        (lambda d: d.write("/sdcard/Download", b""), errno.EISDIR),
        (lambda d: d.write("/sdcard/big", bytes(MAX_BYTES + 1)), errno.ENOSPC),
        (lambda d: d.remove("/sdcard/Download"), errno.EISDIR),
        (lambda d: d.remove("/sdcard/none"), errno.ENOENT),
        (lambda d: d.make_folder("/sdcard/Download"), errno.EEXIST),
        (lambda d: d.make_folder("/sdcard/a/b"), errno.ENOENT),
        (lambda d: d.list_folder("/none"), errno.ENOENT),
        (lambda d: d.stat("/none"), errno.ENOENT),
    ],
)
def test_what_cannot_be_done_fails_with_the_system_s_number(
    disk: VirtualDisk, action: object, number: int
) -> None:
    assert callable(action)

    with pytest.raises(OSError) as caught:
        action(disk)

    assert caught.value.errno == number


def test_a_replaced_file_frees_its_space(disk: VirtualDisk) -> None:
    half = bytes(MAX_BYTES // 2 + 1)
    for _ in range(3):
        disk.write("/sdcard/f", half)

    disk.remove("/sdcard/f")
    disk.write("/sdcard/g", half)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/sdcard", "/storage/emulated/0"),
        ("//data//local/./tmp/", "/data/local/tmp"),
        ("/../../etc", "/etc"),
        ("/sdcardx", "/sdcardx"),
        ("", "/"),
    ],
)
def test_paths_are_made_absolute_and_plain(path: str, expected: str) -> None:
    assert resolve_path(path) == expected
