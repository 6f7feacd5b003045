"""A file of any content is read and checked in a time that its size bounds."""

import time

import pytest

from runner.compose.bound import BYTE_LIMIT, STEP_LIMIT
from runner.formats.ad.check import FINDING_LIMIT, check_actions
from runner.formats.ad.parser import PROBLEM_LIMIT, ReadScript, read_script
from runner.formats.ad.place import Places
from runner.model.finding import Finding

LIMIT_S = 6.0
"""Thrice what the slowest may take, because the computer has other work too."""


def filled(unit: bytes, head: bytes = b"") -> bytes:
    return (head + unit * (BYTE_LIMIT // len(unit) + 1))[:BYTE_LIMIT]


def read_and_check(data: bytes) -> tuple[ReadScript, tuple[Finding, ...]]:
    read = read_script(data, path="a.ad")
    return read, check_actions(read.script, path="a.ad", places=Places(data))


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"".join(b"w%dq\n" % i for i in range(250_000))[:BYTE_LIMIT], id="words"),
        pytest.param(b"".join(b"pres%dabcdef\n" % i for i in range(99_000)), id="long words"),
        pytest.param(filled(b"\xff\n", b'open "'), id="bad bytes behind an open quote"),
        pytest.param(filled(b'\xff "\n'), id="bad bytes and open quotes"),
        pytest.param(filled(b"x\n"), id="lines"),
        pytest.param(filled(b"#\n"), id="comments"),
        pytest.param(filled(b"press a=b\n"), id="bad selectors"),
        pytest.param(filled(b'x "\\ud800"\n'), id="halves of characters"),
        pytest.param(filled(b"id=a ", b"is text "), id="terms of a question"),
        pytest.param(filled(b"a ", b'is text id=" '), id="words in an open quote"),
        pytest.param(filled(b'a=" ', b"is visible "), id="quotes"),
        pytest.param(filled(b"|| ", b"wait "), id="alternatives"),
        pytest.param(filled(b"\\", b"press label="), id="backslashes"),
        pytest.param(filled(b"${A} ", b"press "), id="variables"),
        pytest.param(filled(b"=${A}", b"press "), id="variables as values"),
        pytest.param(filled(b"${A:-", b"type "), id="open defaults"),
        pytest.param(filled(b'""', b"type "), id="tokens"),
        pytest.param(filled(b"9", b"wait "), id="digits"),
    ],
)
def test_no_content_takes_long(data: bytes) -> None:
    began = time.process_time()
    read_and_check(data)

    assert time.process_time() - began < LIMIT_S


def test_reading_stops_at_too_many_problems_and_says_so() -> None:
    read, _ = read_and_check(b'"\n' * (PROBLEM_LIMIT + 5) + b"back\n")

    assert PROBLEM_LIMIT == len(read.findings)
    assert "stops here" in read.findings[-1].message
    assert read.script.nodes == ()


def test_bad_bytes_count_as_problems_too() -> None:
    read, _ = read_and_check(b"\xff\n" * (PROBLEM_LIMIT + 5))

    assert PROBLEM_LIMIT == len(read.findings)
    assert read.findings[-1].line == PROBLEM_LIMIT


def test_the_last_finding_that_is_listed_says_that_more_may_follow() -> None:
    _, findings = read_and_check(b"opne\n" * (FINDING_LIMIT + 5))

    assert FINDING_LIMIT == len(findings)
    assert "not listed" in findings[-1].message
    assert "not listed" not in findings[-2].message


@pytest.mark.slow
def test_steps_beyond_those_of_any_composition_are_not_read() -> None:
    read, _ = read_and_check(b"back\n" * (STEP_LIMIT + 10))

    assert STEP_LIMIT + 1 == len(read.script.nodes)
    assert read.findings == ()


@pytest.mark.slow
def test_a_script_that_is_cut_among_includes_is_a_problem() -> None:
    read, _ = read_and_check(b"include a\n" * (STEP_LIMIT + 10))

    assert [finding.line for finding in read.findings] == [STEP_LIMIT + 1]
