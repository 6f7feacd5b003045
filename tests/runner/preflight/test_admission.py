"""Which commands a fragment may hold, asked of the preflight over real files."""

from pathlib import Path

import pytest

from runner.formats.ad.commands import COMMANDS
from tests.support.ad_tree import AdTree, Call

UNSAFE = sorted(word for word, command in COMMANDS.items() if not command.fragment_safe)


@pytest.mark.parametrize("line", [*UNSAFE, "teleport home", "Press id=a", 'find "Go" click'])
def test_a_command_without_the_safe_trait_is_refused_in_a_fragment(
    line: str, tmp_path: Path
) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad", line)
    tree.flow("main.ad", Call("f.ad"))
    (problem,) = tree.check("main.ad").problems

    assert problem.reason == "fragment_lifecycle"
    assert line.split(maxsplit=1)[0] in problem.message


@pytest.mark.parametrize(
    "line",
    [
        *("press id=a", "fill id=a x", "type x", "longpress id=a", "click 1 2", "back", "wait 5"),
        *("scroll down", "swipe 1 2 3 4", "keyboard dismiss", "alert accept", "screenshot"),
        *("get text id=a", "is visible id=a"),
    ],
)
def test_a_command_with_the_safe_trait_is_admitted(line: str, tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad", line)
    tree.flow("main.ad", Call("f.ad"))

    assert tree.check("main.ad").problems == ()
