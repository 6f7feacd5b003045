"""The structure of the product, and each gate seen failing on a planted violation."""

import re
from pathlib import Path

import pytest

from runner.reasons import REASONS
from tests.shape import gates

# Modules that must be pure: values in, values out. Files named here are the reasoned exceptions.
PURE_PACKAGES = (
    "runner/errors.py",
    "runner/reasons/",
    "runner/exits.py",
    "runner/model/",
    "runner/compose/",
    "runner/machine/",
    "runner/formats/",
    "runner/schedule/",
    "runner/report/",
)
IMPURE_EXCEPTIONS = {
    "runner/compose/source.py": "the loader: the one place of preflight that touches the disk",
    "runner/preflight/bulk.py": "reads on all processors, and keeps what it read",
    "runner/preflight/cache.py": "the file of what was read before",
    "runner/schedule/ports.py": "declares the asynchronous port that the grid implements",
    "runner/schedule/scheduler.py": "the trio shell around the books",
}
SIZE_EXCEPTIONS: dict[str, str] = {}
LONG_FUNCTIONS = {
    "runner/cli/app.py": {"run": "typer reads a command's options from its signature"},
}


def _pure_modules() -> list[str]:
    return [
        name
        for name in gates.product_modules()
        if name.startswith(PURE_PACKAGES) and name not in IMPURE_EXCEPTIONS
    ]


@pytest.mark.parametrize("name", _pure_modules())
def test_pure_modules_do_not_wait_read_or_tell_the_time(name: str) -> None:
    assert [] == list(gates.impurities(gates.product_modules()[name].read_text()))


@pytest.mark.parametrize("name", gates.product_modules())
def test_no_module_keeps_what_changes(name: str) -> None:
    assert [] == list(gates.module_states(gates.product_modules()[name].read_text()))


@pytest.mark.parametrize("name", gates.product_modules())
def test_modules_and_functions_hold_one_concept(name: str) -> None:
    if name in SIZE_EXCEPTIONS:
        return
    source = gates.product_modules()[name].read_text()
    assert [] == list(gates.oversizes(source, allowed=LONG_FUNCTIONS.get(name, {})))


@pytest.mark.parametrize(
    "name", [name for name in gates.product_modules() if not name.endswith("__init__.py")]
)
def test_every_module_says_who_may_import_it(name: str) -> None:
    assert [] == list(gates.missing_docstring_lines(gates.product_modules()[name].read_text()))


def _texts(paths: list[Path]) -> dict[str, str]:
    return {path.as_posix(): path.read_text() for path in paths}


def test_every_reason_is_produced_and_tested() -> None:
    product = [
        path
        for name, path in gates.product_modules().items()
        if not name.startswith("runner/reasons/")
    ]
    tests = [path for path in (gates.ROOT / "tests").rglob("*.py") if "shape" not in path.parts]

    assert [] == list(gates.unproduced_reasons(REASONS, _texts(product), _texts(tests)))


@pytest.mark.parametrize("name", gates.product_modules())
def test_every_reason_is_declared(name: str) -> None:
    source = gates.product_modules()[name].read_text()

    assert [] == list(gates.undeclared_reasons(REASONS, source))


def test_every_reason_is_documented() -> None:
    page = (gates.ROOT / "docs" / "reasons.md").read_text()

    assert sorted(REASONS) == sorted(re.findall(r"^### `(\w+)`$", page, flags=re.MULTILINE))


@pytest.mark.parametrize("table", [IMPURE_EXCEPTIONS, SIZE_EXCEPTIONS, LONG_FUNCTIONS])
def test_exceptions_name_modules_that_exist(table: dict[str, object]) -> None:
    assert set() == set(table) - set(gates.product_modules())


@pytest.mark.parametrize(
    "planted",
    [
        "import trio\n",
        "from time import monotonic\n",
        "async def wait() -> None: ...\n",
        "text = open('x')\n",
        "from datetime import datetime\nnow = datetime.now()\n",
        "import os\nhome = os.environ\n",
        "from runner.clock import SystemClock\n",
        "def f():\n    global x\n    x = 1\n",
        "from pathlib import Path\nPath('x').open()\n",
        "def f(path):\n    path.write_text('x')\n",
        "def f(path):\n    return path.is_file()\n",
    ],
)
def test_the_purity_gate_sees_a_planted_violation(planted: str) -> None:
    assert list(gates.impurities(planted))


@pytest.mark.parametrize(
    "planted",
    [
        "SEEN = []\n",
        "SEEN: set[str] = set()\n",
        "SEEN: Final = {}\ndef f(x):\n    SEEN[x] = 1\n",
        "SEEN: Final[list[int]] = []\ndef f(x):\n    SEEN.append(x)\n",
        "SEEN = defaultdict(list)\n",
    ],
)
def test_the_state_gate_sees_a_planted_violation(planted: str) -> None:
    assert list(gates.module_states(planted))


def test_the_state_gate_takes_constants() -> None:
    assert [] == list(gates.module_states("__all__ = ['x']\nTABLE: Final = {'x': 1}\nx = 1\n"))


def test_the_size_gate_sees_a_planted_violation() -> None:
    long_function = "def f():\n" + "    x = 1\n" * 61

    assert ["module has 401 lines"] == list(gates.oversizes("x = 1\n" * 401))
    assert ["f has 62 lines"] == list(gates.oversizes(long_function))


def test_the_docstring_gate_sees_a_planted_violation() -> None:
    assert list(gates.missing_docstring_lines("x = 1\n"))
    assert list(gates.missing_docstring_lines('"""A thing."""\n'))


def test_the_reason_gates_see_planted_violations() -> None:
    product = {"a.py": 'raise InputError(reason="made", message="m")'}
    compares = {
        "a.py": 'x == "unmade"',
        "b.py": 'match x:\n    case "unmade":\n        pass\n',
        "c.py": 'Kind = Literal["unmade"]',
    }

    assert [
        "made: no test sees it",
        "unmade: no product module produces it",
    ] == list(gates.unproduced_reasons(["made", "unmade"], product, {"t.py": '"unmade"'}))
    assert ["unmade: no product module produces it"] == list(
        gates.unproduced_reasons(["unmade"], compares, {"t.py": '"unmade"'})
    )
    assert ["line 1: 'made' is not declared"] == list(
        gates.undeclared_reasons(["other"], product["a.py"])
    )
