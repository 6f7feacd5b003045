"""The commands of the README, each parsed by the real command line."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from runner.cli.app import app
from tests.support.readme import console_lines


def _calls(line: str) -> Iterator[list[str]]:
    """Yield the words behind each `sweepgrid` of a line, without redirections."""
    inner = re.search(r"\$\((.*)\)", line)
    if inner is not None:
        line = inner[1]
    line = re.sub(r"\d?>&\d|> ?\S+", "", line)
    tokens = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    tokens.whitespace_split = True
    words: list[str] = []
    for token in [*tokens, ";"]:
        if not re.fullmatch(r"[|&;]+", token):
            words.append(token)
            continue
        if words[:1] == ["sweepgrid"]:
            yield words[1:]
        words = []


def _parse(words: list[str]) -> None:
    """Have the options of the named command read `words`; raises what a user would be told."""
    command: Any = typer.main.get_command(app)
    rest = list(words)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    command.make_context(command.name, rest)


CALLS = [words for line in console_lines() for words in _calls(line)]


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_every_command_of_the_readme_is_understood(words: list[str]) -> None:
    _parse(words)


def test_the_readme_shows_what_there_is() -> None:
    command: Any = typer.main.get_command(app)
    shown = {words[0] for words in CALLS}

    assert set() == shown - set(command.commands)
    assert {"check", "run", "devices", "lab", "report", "events", "pin", "graph"} <= shown


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sweepgrid check flows --roof flows", "No such option"),
        ("cd x && sweepgrid lab up --android 2", "Missing parameter: grid_out"),
        ("DEVICE=$(sweepgrid events --where a=b | head)", "Missing parameter: run_directory"),
        ("sweepgrid run flows --retries many > out & sleep 2", "not a valid int"),
    ],
)
def test_a_planted_command_that_does_not_parse_is_seen(line: str, told: str) -> None:
    (words,) = _calls(line)

    with pytest.raises(Exception, match=told):
        _parse(words)
