"""The generated pages of the documentation."""

import re

import pytest

from runner.cli.docs import pages, render_commands
from runner.formats.ad.commands import COMMANDS
from tests.shape import gates

PAGES = dict(pages())
_CELL_END = re.compile(r"(?<!\\)\|")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_what_is_committed_is_what_is_generated(name: str) -> None:
    assert (gates.ROOT / "docs" / name).read_text() == PAGES[name], "run `make docs`"


def test_every_command_is_one_row_of_five_cells_whatever_its_options_accept() -> None:
    rows = [_CELL_END.split(line) for line in render_commands().splitlines() if line[:1] == "|"]
    cells = {row[1].strip(" `").split(maxsplit=1)[0]: row for row in rows[2:]}

    assert sorted(cells) == sorted(COMMANDS)
    assert {len(row) for row in rows} == {7}
    assert "`--pattern one-way\\|ping-pong`" in cells["swipe"][4]


def test_retired_options_are_not_offered() -> None:
    assert "--max-size" not in render_commands()
    assert "--max-size" not in COMMANDS["record"].usage
