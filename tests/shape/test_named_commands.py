"""Every command and option that a text names exists: README, docs, hints and messages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from runner.cli.app import app
from runner.reasons import REASONS, VERDICT_REASONS
from tests.shape import gates

_SPAN = re.compile(
    r"`(sweepgrid [^`]+)`|^\$ (sweepgrid .*)$|(?<=```\n)(sweepgrid .*)$", re.MULTILINE
)
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")
_FOREIGN = {"--save-script"}
"""Options of what the founding decision record names and this version does not have."""
PAGES = (
    "README.md",
    *(path.relative_to(gates.ROOT).as_posix() for path in (gates.ROOT / "docs").rglob("*.md")),
)


def _calls(text: str) -> Iterator[str]:
    """Yield the calls that a text holds, each part of a shell list by itself."""
    for found in _SPAN.finditer(text):
        whole = next(group for group in found.groups() if group)
        for part in re.split(r"&&|\|\||[;|]", whole):
            if part.strip().startswith("sweepgrid "):
                yield part.strip()


def _fault(call: str) -> str:
    """Return what is wrong with a call, empty for a right one."""
    command: Any = typer.main.get_command(app)
    words = re.split(r"\s+", call)[1:]
    while words and _WORD.fullmatch(words[0]) and hasattr(command, "commands"):
        if words[0] not in command.commands:
            return f"{call!r}: there is no command {words[0]!r}"
        command = command.commands[words.pop(0)]
    options = {"--help", *(name for each in command.params for name in each.opts)}
    unknown = [name for name in _OPTION.findall(" ".join(words)) if name not in options]
    return f"{call!r}: there is no option {unknown[0]}" if unknown else ""


def _faults(text: str) -> list[str]:
    return [fault for call in _calls(text) if (fault := _fault(call))]


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_commands_that_exist(page: str) -> None:
    assert [] == _faults((gates.ROOT / page).read_text())


@pytest.mark.parametrize("name", gates.product_modules())
def test_texts_of_the_product_name_commands_that_exist(name: str) -> None:
    source: Path = gates.product_modules()[name]

    # Adjacent literals are one text; `"` and line ends between them are not part of it.
    joined = re.sub(r'"\s*\n\s*f?"', "", source.read_text())
    assert [] == _faults(joined)


def _all_options(command: Any) -> set[str]:
    below = [_all_options(each) for each in getattr(command, "commands", {}).values()]
    own = {name for each in command.params for name in each.opts}
    return own.union({"--help"}, *below)


def test_reasons_name_options_that_exist() -> None:
    known = _all_options(typer.main.get_command(app)) | _FOREIGN
    texts = [f"{info.meaning} {info.fix} {info.example}" for info in REASONS.values()]
    texts += [" ".join(words) for words in VERDICT_REASONS.values()]

    assert set() == {name for text in texts for name in _OPTION.findall(text)} - known


def test_planted_commands_and_options_are_named() -> None:
    assert ["'sweepgrid resume RUN': there is no command 'resume'"] == _faults(
        "Finish it with `sweepgrid resume RUN`."
    )
    assert ["'sweepgrid run x --shard 1/2': there is no option --shard"] == _faults(
        "$ sweepgrid run x --shard 1/2 && sweepgrid check x --json\n"
    )
    assert [] == _faults("`sweepgrid lab fault --list`, and sweepgrid itself")
