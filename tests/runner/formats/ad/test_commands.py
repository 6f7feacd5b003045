"""The registry of commands and its traits."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from runner.formats.ad.command import Command
from runner.formats.ad.commands import (
    COMMANDS,
    RENAMED,
    has_ref,
    is_fragment_safe,
    readers,
    target_operands,
)
from runner.formats.ad.parser import read_script
from runner.formats.ad.script import Action

SAFE = {
    *("click", "press", "longpress", "fill", "type", "focus", "scroll", "swipe", "gesture"),
    *("back", "keyboard", "alert", "clipboard", "wait", "get", "is", "screenshot"),
    *("orientation", "find"),
}
UNSAFE = {
    *("open", "close", "home", "snapshot", "hover", "record", "runtime", "replay", "fold"),
    *("app-switcher", "tv-remote", "settings", "push", "trigger-app-event", "install"),
    *("reinstall", "install-from-source", "react-native", "viewport", "diff", "trace", "perf"),
    *("devices", "capabilities", "apps", "boot", "shutdown", "appstate", "logs", "events"),
    *("network", "audio", "test", "batch", "prepare", "doctor", "session", "lease", "connect"),
    "disconnect",
}
MILESTONE = {
    *("open", "close", "press", "click", "fill", "type", "longpress", "wait", "get", "is"),
    *("scroll", "swipe", "back", "home", "screenshot", "keyboard", "alert", "snapshot"),
}


def action(line: str) -> Action:
    (node,) = read_script(line.encode(), path="f").script.nodes
    assert isinstance(node, Action)
    return node


def unclassified(commands: Mapping[str, Command]) -> set[str]:
    """Return the words whose trait is not the one that was decided for them here."""
    decided = {**dict.fromkeys(SAFE, True), **dict.fromkeys(UNSAFE, False)}
    return {word for word, each in commands.items() if decided.get(word) is not each.fragment_safe}


def test_every_command_is_classified_as_safe_or_unsafe_in_fragments() -> None:
    assert not SAFE & UNSAFE
    assert SAFE | UNSAFE == set(COMMANDS)
    assert unclassified(COMMANDS) == set()


@pytest.mark.parametrize("trait", [True, False])
def test_a_planted_command_that_nobody_classified_is_seen(*, trait: bool) -> None:
    planted = Command(word="teleport", operands="", help="Go.", fragment_safe=trait)

    assert unclassified({**COMMANDS, "teleport": planted}) == {"teleport"}
    assert unclassified({**COMMANDS, "press": replace(COMMANDS["press"], fragment_safe=False)}) == {
        "press"
    }


def test_a_command_cannot_be_made_without_its_classification() -> None:
    with pytest.raises(TypeError, match="fragment_safe"):
        Command(word="teleport", operands="", help="Go.")  # type: ignore[call-arg]


def test_the_commands_that_run_are_these_and_no_others() -> None:
    assert {word for word, command in COMMANDS.items() if command.supported} == MILESTONE


def test_life_cycle_commands_are_never_fragment_safe() -> None:
    owners = {word for word, command in COMMANDS.items() if command.lifecycle}

    assert {"open", "close", "install", "replay", "session"} <= owners
    assert not owners & SAFE


def test_evidence_is_carried_by_commands_that_aim_at_elements() -> None:
    timing = {word: c.evidence for word, c in COMMANDS.items() if c.evidence is not None}

    assert timing == {
        **dict.fromkeys(("press", "click", "longpress", "hover", "fill", "get", "is"), "pre"),
        "wait": "post",
        "gesture": "dual",
    }
    assert all(COMMANDS[word].element for word in timing)


def test_every_command_is_described_once_under_its_own_word() -> None:
    for word, command in COMMANDS.items():
        assert command.word == word
        assert command.help.endswith(".")
        assert command.usage.startswith(word)
        assert command.judge is None or command.supported


def test_words_that_are_often_mistaken_are_no_commands_but_point_to_one() -> None:
    for word, meant in RENAMED.items():
        assert word not in COMMANDS
        assert meant.split()[0] in COMMANDS


def test_usage_shows_operands_and_options() -> None:
    assert COMMANDS["swipe"].usage == (
        "swipe x1 y1 x2 y2 [--count N] [--pause-ms N] [--pattern one-way|ping-pong]"
    )


def test_every_word_has_a_reader_at_both_levels() -> None:
    assert readers("main").keys() == readers("0.21").keys() == {*COMMANDS, ""}


@pytest.mark.parametrize(
    ("line", "targets"),
    [
        ("press id=a label=b", ("id=a label=b",)),
        ("press 1 2", ()),
        ("press @e1 shown", ("@e1",)),
        ("press", ()),
        ("longpress id=a label=b 500", ("id=a label=b",)),
        ("longpress 1 2 500", ()),
        ("longpress @e1 500", ("@e1",)),
        ('fill "id=a" @john', ("id=a",)),
        ("fill 1 2 @john", ()),
        ("get text id=a", ("id=a",)),
        ("get text", ()),
        ("is visible id=a label=b", ("id=a label=b",)),
        ("is id=a visible", ("id=a",)),
        ('is text id=a "@john"', ("id=a",)),
        ("is visible", ()),
        ("wait 500", ()),
        ("wait id=a 500", ("id=a",)),
        ("wait absent id=a 500", ("id=a",)),
        ("wait @e1", ("@e1",)),
        ('wait text "@john"', ()),
        ("wait Welcome", ()),
        ("gesture drag id=a @e2 1", ("id=a", "@e2")),
        ("gesture pan 1 2 3 4", ()),
        ("type @john", ()),
        ("frobnicate @e1", ()),
    ],
)
def test_targets_are_the_operands_that_name_elements(line: str, targets: tuple[str, ...]) -> None:
    assert target_operands(action(line)) == targets
    assert has_ref(action(line)) == any(text.startswith("@") for text in targets)


@pytest.mark.parametrize(
    "line",
    [
        *("press id=a", "press 1 2", 'type "@john"', 'fill id=a "@john"', "back", "wait 500"),
        *('wait text "@john"', "find text Bob exists", "find Bob wait 500", "find role b list"),
        *("find id a get text", "find Bob get attrs", "gesture drag id=a id=b", "is absent id=a"),
    ],
)
def test_these_may_stand_in_a_fragment(line: str) -> None:
    assert is_fragment_safe(action(line))


@pytest.mark.parametrize(
    "line",
    [
        *("open A", "close", "home", "snapshot", "app-switcher", "settings wifi on", "record stop"),
        *("replay x.ad", "frobnicate", "press @e1", "fill @e1 a", "get text @e1", "wait @e1"),
        *("wait absent @e1", "is visible @e1", "is @e1 visible", "gesture drag id=a @e2"),
        *("longpress @e1 500", "find Bob", "find text Bob", "find text exists", "find Bob click"),
        *("find Bob get", "find Bob get value", "find Bob fill x", "find", "runtime"),
    ],
)
def test_these_may_not(line: str) -> None:
    assert not is_fragment_safe(action(line))
