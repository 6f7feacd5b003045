import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from runner.formats.ad.reader import read_bytes
from runner.formats.ad.reading import encode_source
from runner.preflight.bulk import CACHE_FROM, open_bulk
from runner.preflight.sweep import check_sweep
from tests.support.ad_tree import AdTree, Call

FILES = [f'open A\npress "label=\\"{number}\\""\n'.encode() for number in range(2 * CACHE_FROM)]
EXPECTED = [encode_source(read_bytes(data)) for data in FILES]

WITHOUT_HELPERS = """
import multiprocessing
from runner.preflight.bulk import open_bulk

if __name__ == "__main__":
    multiprocessing.set_executable("/bin/false")
    with open_bulk(cache_folder=None, helpers=2, helpers_from=1) as bulk:
        read = list(bulk.read([b"open A\\n"] * 60, level="main"))
    print(len(read), all(read), len(bulk.notices))
"""


def test_a_few_files_are_left_to_the_caller(tmp_path: Path) -> None:
    with open_bulk(cache_folder=tmp_path / "c") as bulk:
        assert [None] * 3 == list(bulk.read(FILES[:3], level="main"))

    assert not (tmp_path / "c").exists()


@pytest.mark.slow
def test_helpers_give_what_one_reader_alone_gives(tmp_path: Path) -> None:
    with open_bulk(cache_folder=tmp_path, helpers=2, helpers_from=1) as bulk:
        assert EXPECTED == list(bulk.read(FILES, level="main"))

    assert [] == bulk.notices


def test_what_was_kept_is_given_again_under_its_own_level(tmp_path: Path) -> None:
    with open_bulk(cache_folder=tmp_path, helpers=1) as bulk:
        assert EXPECTED == list(bulk.read(FILES, level="main"))
    quoted = [b"press 'label=a b'\n", *FILES]
    for level in ("0.21", "main", "0.21"):
        with open_bulk(cache_folder=tmp_path, helpers=1) as bulk:
            first = next(iter(list(bulk.read(quoted, level=level))))

        assert encode_source(read_bytes(quoted[0], level=level)) == first


def test_a_file_that_cannot_be_bytes_is_left_to_the_caller(tmp_path: Path) -> None:
    files = [b'press "\\ud800"\n', *FILES]
    with open_bulk(cache_folder=tmp_path, helpers=1) as bulk:
        assert [None, *EXPECTED] == list(bulk.read(files, level="main"))


@pytest.mark.slow
def test_where_helpers_cannot_be_had_the_caller_reads_alone(tmp_path: Path) -> None:
    script = tmp_path / "alone.py"
    script.write_text(WITHOUT_HELPERS)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=True
    )

    assert "60 True 1\n" == done.stdout


@pytest.mark.slow
def test_a_sweep_is_judged_alike_with_and_without_bulk(tmp_path: Path) -> None:
    tree = AdTree(tmp_path / "tree")
    tree.fragment("parts/login.ad", "back")
    tree.fragment("parts/broken.ad", "close")
    for number in range(CACHE_FROM):
        tree.flow(f"flows/{number:02}.ad", Call("parts/login.ad"), f'press "label=\\"{number}\\""')
        tree.write(f"flat/{number:02}.ad", [f"# {number}", "open A", "press ${X}"])
    tree.flow("bad/a.ad", Call("parts/broken.ad"), "frobnicate")
    tree.write("bad/b.ad", ['press "\\ud800"'])
    expected = tree.check()
    for _ in range(2):
        with open_bulk(cache_folder=tmp_path / "c", helpers=2, helpers_from=1) as bulk:
            assert expected == check_sweep(["."], tree.settings(), bulk=bulk)


_READS_FOR_LONG = """
import sys
from pathlib import Path
from runner.preflight.bulk import open_bulk

def main():
    files = [b"press id=a%d\\n" % number * 50 for number in range(20_000)]
    with open_bulk(cache_folder=None, helpers=2, helpers_from=1) as bulk:
        for count, _ in enumerate(bulk.read(files, level="main")):
            if count == 300:
                print("reading", flush=True)

if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
def test_helpers_end_when_the_caller_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "reads.py"
    script.write_text(_READS_FOR_LONG)
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"reading\n"
    assert len(_members(process.pid)) > 1

    process.kill()
    process.wait(10)
    # The pipe is closed once nobody holds it any more: that is what hangs a shell's pipeline.
    with process.stdout as out:
        assert select.select([out], [], [], 10)[0]
        assert out.read() == b""


def _members(session: int) -> list[int]:
    """Return the processes of a session."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if os.getsid(int(folder.name)) == session:
                found.append(int(folder.name))
    return found
