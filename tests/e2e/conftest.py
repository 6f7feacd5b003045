from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.tool import lab_of


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The grid file of a lab of two phones of each kind, for one test file."""
    with lab_of(tmp_path_factory.mktemp("lab"), android=2, ios=2) as path:
        yield path
