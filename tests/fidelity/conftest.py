"""Keeps these tests out of every run that does not ask for them by `-m fidelity`.

They need programs beyond the dependencies. Asked for, a missing program is a failure: a skip would
look like fidelity.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "fidelity" in str(config.getoption("markexpr")):
        return
    left_out = [item for item in items if HERE in item.path.parents]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
