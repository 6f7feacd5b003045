"""Answers of `uiautomator dump`, and the facts beside them."""

import pytest
from hypothesis import given, strategies as st

from drivers.android.dump import (
    Dump,
    DumpProblem,
    ScreenFacts,
    dump_command,
    dump_error,
    is_worth_retry,
    read_dump,
    read_facts,
)
from drivers.android.hierarchy import Display
from drivers.android.smartsocket import ShellAnswer

HEAD = b"""Physical size: 1080x2400
  mCurrentFocus=Window{8f2c1b u0 com.example.app/com.example.app.MainActivity}
  mFocusedApp=ActivityRecord{1a2b3c u0 com.example.app/.MainActivity t42}
    mShowRequested=true mInputShown=true
"""
DOCUMENT = b"<?xml version='1.0' ?><hierarchy rotation=\"0\"><node /></hierarchy>"


def answer(stdout: bytes, stderr: bytes = b"", exit_code: int = 0) -> ShellAnswer:
    return ShellAnswer(stdout=stdout, stderr=stderr, exit_code=exit_code)


def test_the_document_is_cut_out_of_what_stands_around_it() -> None:
    written = b"UI hierchary dumped to: /data/local/tmp/x.xml\n"
    dump = read_dump(answer(HEAD + b"WARNING: linker\n" + written + DOCUMENT + b"\nKilled\n"))

    assert dump == Dump(
        document=DOCUMENT,
        facts=ScreenFacts(size=(1080, 2400), foreground="com.example.app", keyboard_shown=True),
    )


def test_the_message_counts_on_either_output_and_in_both_spellings() -> None:
    assert isinstance(read_dump(answer(DOCUMENT, b"UI hierarchy dumped to: x")), Dump)


def test_a_document_that_nobody_said_to_have_written_is_not_taken() -> None:
    assert read_dump(answer(HEAD + DOCUMENT)) == "died"


@pytest.mark.parametrize(
    ("stdout", "stderr", "exit_code", "problem"),
    [
        (b"", b"ERROR: could not get idle state.\n", 0, "busy"),
        (b"ERROR: could not get idle state.\n", b"cat: x: No such file", 1, "busy"),
        (b"", b"ERROR: null root node returned by UiTestAutomationBridge.\n", 0, "no_root"),
        (b"", b"UiAutomationService android.acc... already registered!", 1, "taken"),
        (b"", b"Killed \n", 137, "died"),
        (b"", b"", 0, "died"),
        (b"java.lang.NullPointerException at childNafCheck", b"", 1, "died"),
    ],
)
def test_a_failed_dump_is_told_by_its_words(
    stdout: bytes, stderr: bytes, exit_code: int, problem: DumpProblem
) -> None:
    assert read_dump(answer(HEAD + stdout, stderr, exit_code)) == problem


def test_words_on_the_screen_are_not_taken_for_a_failure() -> None:
    page = b"<hierarchy><node text='Killed: could not get idle state' /></hierarchy>"

    assert isinstance(read_dump(answer(b"UI hierchary dumped to: x\n" + page)), Dump)


def test_only_what_may_pass_by_itself_is_tried_again() -> None:
    problems: tuple[DumpProblem, ...] = ("busy", "no_root", "taken", "died")

    assert [is_worth_retry(problem) for problem in problems] == [False, True, False, True]


def test_a_busy_screen_and_an_unreadable_one_have_reasons_of_their_own() -> None:
    busy = dump_error("busy", answer(HEAD, b"ERROR: could not get idle state."), serial="abc")
    died = dump_error("died", answer(HEAD, b"Killed", 137), serial="abc")

    assert (busy.kind, busy.reason) == ("device_busy", "screen_busy")
    assert (died.kind, died.reason) == ("device_busy", "screen_reader_died")
    assert died.details["exitCode"] == 137
    assert "Killed" in died.details["output"]


def test_the_file_is_removed_before_and_after() -> None:
    command = dump_command("/data/local/tmp/x.xml")

    assert command.count("rm -f /data/local/tmp/x.xml") == 2
    assert command.index("rm -f") < command.index("uiautomator dump") < command.index("cat ")


def test_an_override_size_wins() -> None:
    facts = read_facts("Physical size: 1440x3200\nOverride size: 1080x2400\n")

    assert facts.size == (1080, 2400)


def test_a_dialog_has_the_focus_before_the_app_behind_it() -> None:
    facts = read_facts(
        "mCurrentFocus=Window{1 u0 com.android.permissioncontroller/com.x.GrantActivity}\n"
        "mFocusedApp=ActivityRecord{2 u0 com.example.app/.Main t1}\n"
    )

    assert facts.foreground == "com.android.permissioncontroller"


@pytest.mark.parametrize(
    "window", ["mCurrentFocus=null", "mCurrentFocus=Window{1 u0 PopupWindow:8f2c}"]
)
def test_a_window_without_a_package_leaves_the_focused_app(window: str) -> None:
    facts = read_facts(f"{window}\nmFocusedApp=ActivityRecord{{2 u0 com.example.app/.Main t1}}\n")

    assert facts.foreground == "com.example.app"


def test_what_is_not_told_is_unknown_and_the_size_stays_as_it_was() -> None:
    facts = read_facts("")

    assert facts == ScreenFacts()
    assert facts.to_display((1, 2)) == Display(width=1, height=2)


@given(st.binary(max_size=300), st.binary(max_size=60), st.integers(0, 255))
def test_every_answer_is_a_dump_or_a_problem(stdout: bytes, stderr: bytes, code: int) -> None:
    result = read_dump(answer(stdout, stderr, code))

    assert isinstance(result, Dump) or result in {"busy", "no_root", "taken", "died"}
