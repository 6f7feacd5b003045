"""The table of reasons: each with an example that is true where it can be tried."""

import re
from pathlib import Path
from typing import get_args

import pytest

from runner.cli.docs import render_reasons
from runner.model.ids import PLATFORMS
from runner.model.verdict import NotRunReason
from runner.preflight.digest import digest_file
from runner.preflight.settings import Preflight, PreflightSettings
from runner.preflight.sweep import check_sweep
from runner.reasons import REASONS, VERDICT_REASONS
from runner.reasons.command_line import COMMAND_LINE
from runner.reasons.composition import COMPOSITION
from runner.reasons.device import DEVICE
from runner.reasons.flow import FLOW
from runner.reasons.grid import GRID
from runner.reasons.lab import LAB
from runner.reasons.model import MODEL
from runner.reasons.record import RECORD
from runner.reasons.replay import REPLAY

FAMILIES = (MODEL, COMPOSITION, FLOW, DEVICE, REPLAY, GRID, RECORD, COMMAND_LINE, LAB)
WITH_FILES = [name for name, info in REASONS.items() if info.has_files]
ORDER = (
    "fragment_missing",
    "fragment_unsupported",
    "fragment_bounds",
    "fragment_bounds",
    "fragment_bounds",
    "fragment_cycle",
    "fragment_call_site_invalid",
    "fragment_control_identity_invalid",
    "fragment_stale",
    "fragment_lifecycle",
    "fragment_entry_guard",
    "fragment_entry_guard",
    "fragment_context_mismatch",
    "fragment_variable_unbound",
)


def _check(example: str, root: Path) -> Preflight:
    """Write the files of an example, those that others name first, and check the first of them."""
    settings = PreflightSettings(root=str(root), cwd=str(root), grid_platforms=PLATFORMS)
    parts = re.split(r"^== (.*)\n", example, flags=re.MULTILINE)[1:]
    files = dict(zip(parts[::2], parts[1::2], strict=True))

    def digest(found: re.Match[str]) -> str:
        report = digest_file(found[1], settings=settings)
        return report.fragment_digest or "sha256:" + "0" * 64

    for path, text in reversed(files.items()):
        (root / path).write_text(re.sub("<digest of (.*?)>", digest, text))
    return check_sweep([next(iter(files))], settings)


@pytest.mark.parametrize("name", WITH_FILES)
def test_an_example_of_files_is_a_case_of_its_reason(name: str, tmp_path: Path) -> None:
    preflight = _check(REASONS[name].example, tmp_path)

    assert [name] == [problem.reason for problem in preflight.problems]
    assert set(REASONS[name].details) <= preflight.problems[0].details.keys()


def test_most_reasons_of_flows_and_compositions_have_examples_of_files() -> None:
    assert len(WITH_FILES) >= 20


def test_every_reason_is_told_whole_and_stands_in_one_family() -> None:
    assert sum(map(len, FAMILIES)) == len(REASONS)
    for info in REASONS.values():
        assert all((info.code, info.meaning, info.fix, info.example))


def test_the_places_are_those_of_the_total_order() -> None:
    places = sorted((place, name) for name, info in REASONS.items() for place in info.places)

    assert list(enumerate(ORDER, 1)) == places


def test_the_reasons_of_verdicts_are_documented() -> None:
    page = render_reasons()

    assert set(get_args(NotRunReason)) <= VERDICT_REASONS.keys()
    assert all(f"| `{name}` |" in page for name in VERDICT_REASONS)
