import re
import subprocess
import sys
from pathlib import Path

import pytest

from runner.formats.ad.digest import composition_bytes, fragment_bytes
from runner.formats.ad.parser import read_script
from runner.formats.ad.reader import read_bytes
from runner.formats.ad.reading import pins_of
from runner.model.digest import digest_of
from tests.shape import gates

PAGE = gates.ROOT / "docs" / "formats" / "ad-c14n-1.md"
SCRIPT = Path(__file__).with_name("check_ad_c14n_1.py")
VECTORS = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]


def _check(page: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), str(page)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def _blocks(vector: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}(?: \S+)?\n(.*?)^```$", vector, flags=re.MULTILINE | re.DOTALL)


def test_the_second_implementation_agrees_and_imports_nothing_of_ours() -> None:
    imports = re.findall(r"^(?:import|from) (\w+)", SCRIPT.read_text(), flags=re.MULTILINE)
    status, said = _check(PAGE)

    assert set() == set(imports) - sys.stdlib_module_names
    assert (0, f"{len(VECTORS)} vectors, 0 differ") == (status, said.splitlines()[-1])


@pytest.mark.parametrize(
    ("old", "new"), [('"sibling":0', '"sibling":1'), ("Digest: `sha256:", "Digest: `sha256:0")]
)
def test_the_second_implementation_sees_a_change(tmp_path: Path, old: str, new: str) -> None:
    page = tmp_path / "page.md"
    first, *rest = PAGE.read_text().split("\n### F2")
    page.write_text("\n### F2".join([first[::-1].replace(old[::-1], new[::-1], 1)[::-1], *rest]))
    status, said = _check(page)

    assert 1 == status
    assert "F1: " in said


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.split(":")[0] for vector in VECTORS])
def test_the_reader_has_the_bytes_and_the_digest_of_the_page(vector: str) -> None:
    sources = [source.encode() for source in _blocks(vector, "ad")]
    scripts = [read_script(source, path="x").script for source in sources]
    context = scripts[0].context
    if scripts[0].guards and scripts[0].guards[0].kind == "fragment":
        data = fragment_bytes(scripts[0], platform=context.platform, target=context.target)
    else:
        pins = [pin for source in sources for pin in pins_of(read_bytes(source))]
        data = composition_bytes(scripts[0], graph=pins)
    (expected,) = _blocks(vector, "json")

    assert expected == f"{data.decode()}\n"
    assert f"Digest: `{digest_of(data)}`" in vector


def test_vectors_that_differ_in_nothing_that_counts_share_their_digest() -> None:
    digests = {
        vector.split(":")[0]: re.findall(r"^Digest: `(.*)`$", vector, flags=re.MULTILINE)[0]
        for vector in VECTORS
    }

    assert digests["F1"] == digests["F2"]
    assert digests["C3"] == digests["C6"]
    assert len(digests) - 2 == len(set(digests.values()))
