"""Plan digests and refusals of a thousand scripts: ours at level 0.21, and agent-device's own."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct

from runner.formats.ad.commands import COMMANDS
from runner.model.ids import Platform
from runner.preflight.digest import DigestReport, digest_file
from runner.preflight.settings import PreflightSettings
from tests.e2e.tool import sweepgrid
from tests.fidelity.agent_device import Program, find_program, read_plans
from tests.fidelity.corpus import FAULT_EVERY, SIZE, Case, make_corpus
from tests.fidelity.faults import FAULTS
from tests.fidelity.lab_phone import open_lab_reader

pytestmark = [pytest.mark.fidelity, pytest.mark.slow]

SHOWN: Final = 5
GOLDEN: Final = {
    'open "com.example"\n': "0b4d065722618aa6d88d3bdc7a320a34de49cfb45075cc50e073b86a91e0b748",
    'open "com.example"\r\nclose\r\n': (
        "847257a75eee06a23163e8786515d8885144d80efac4d793bb199385e6c88d8c"
    ),
}
ANCHORS: Final = 20
INERT: Final = frozenset({"press", "click", "fill", "get", "is", "type", "scroll", "back", "swipe"})
"""First commands that need a session: a replay without one ends there and touches nothing."""


class Caller(Struct, frozen=True):
    """What the caller of a plan states beside the script."""

    platform: Platform | None = None
    target: str | None = None

    def options(self) -> Mapping[str, str]:
        """The statements, as agent-device takes them."""
        stated = {"platform": self.platform, "target": self.target}
        return {key: value for key, value in stated.items() if value is not None}


CALLERS: Final = (Caller(), Caller(platform="android"), Caller(platform="ios", target="tv"))


class Stand(Struct, frozen=True):
    """The corpus on the disk."""

    program: Program
    folder: Path
    cases: tuple[Case, ...]

    def settings(self) -> PreflightSettings:
        root = str(self.folder)
        return PreflightSettings(root=root, cwd=root, ad_level="0.21")

    def read(self, name: str, caller: Caller = CALLERS[0]) -> DigestReport:
        """Return what this project's `digest` says of one script."""
        return digest_file(
            name, platform=caller.platform, target=caller.target, settings=self.settings()
        )


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Stand:
    folder = tmp_path_factory.mktemp("corpus")
    cases = make_corpus()
    for case in cases:
        (folder / case.name).write_bytes(case.text.encode())
    return Stand(find_program(), folder, cases)


@pytest.fixture(scope="module")
def theirs(stand: Stand) -> dict[str, list[str]]:
    return read_plans(stand.program, stand.folder, [caller.options() for caller in CALLERS])


def is_digest(verdict: str) -> bool:
    return len(verdict) == 64 and set(verdict) <= set("0123456789abcdef")


def is_refused(report: DigestReport) -> bool:
    """Tell whether the reader cannot read the script; what the check adds is not the reader's."""
    return any(problem.reason == "parse_error" for problem in report.problems)


def test_the_plans_come_from_the_package_as_its_command_line_prints_them(
    stand: Stand, tmp_path: Path
) -> None:
    for number, text in enumerate(GOLDEN):
        (tmp_path / f"{number}.ad").write_bytes(text.encode())
    plans = read_plans(stand.program, tmp_path, [{}])

    assert list(GOLDEN.values()) == [plans[f"{number}.ad"][0] for number in range(len(GOLDEN))]


def test_each_script_has_their_digest_or_is_refused_as_they_refuse_it(
    stand: Stand, theirs: dict[str, list[str]]
) -> None:
    differences = []
    for case in stand.cases:
        for caller, their in zip(CALLERS, theirs[case.name], strict=True):
            report = stand.read(case.name, caller)
            our = report.plan_digest or "no digest"
            if is_digest(their):
                agrees = our == their and not is_refused(report)
            else:
                agrees = report.plan_digest is None and is_refused(report)
            if not agrees:
                problems = [problem.message for problem in report.problems]
                differences.append(
                    f"{case.name} ({case.fault or 'no fault'}, {caller}):\n{case.text!r}\n"
                    f"ours:   {our} {problems}\ntheirs: {their}"
                )

    shown = "\n\n".join(differences[:SHOWN])
    assert not differences, f"{len(differences)} differences, the first:\n\n{shown}"


def test_every_refusal_of_theirs_is_one_of_a_bad_script(theirs: dict[str, list[str]]) -> None:
    refusals = {each for verdicts in theirs.values() for each in verdicts if not is_digest(each)}

    assert [] == [each for each in refusals if not each.startswith("INVALID_ARGS: ")]


def test_the_corpus_is_large_and_of_every_kind(stand: Stand, theirs: dict[str, list[str]]) -> None:
    read = [case for case in stand.cases if is_digest(theirs[case.name][0])]
    options = {
        f"{word} {name}"
        for word, command in COMMANDS.items()
        for option in command.options
        for name in option.names
        if not option.is_retired
    }

    faults = {f"{kind} {form}" for kind, fault in FAULTS.items() for form in range(fault.forms)}

    assert SIZE == len({case.text for case in stand.cases}) == len(theirs)
    assert len(read) > 600
    assert SIZE - len(read) > 180
    assert faults == {case.fault for case in stand.cases} - {""}
    assert set(COMMANDS) <= {word for case in read for word in case.commands} | {"include"}
    assert options <= {name for case in read for name in case.options}


def test_the_corpus_is_the_same_on_every_run() -> None:
    assert make_corpus(3 * FAULT_EVERY) == make_corpus()[: 3 * FAULT_EVERY]


def test_the_corpus_tells_the_newer_level_from_this_one(
    stand: Stand, theirs: dict[str, list[str]]
) -> None:
    settings = PreflightSettings(root=str(stand.folder), cwd=str(stand.folder), ad_level="main")
    told = [
        case.name
        for case in stand.cases
        if is_digest(their := theirs[case.name][0])
        and digest_file(case.name, settings=settings).plan_digest != their
    ]

    assert len(told) > 20


@pytest.mark.timeout(300)
def test_both_command_lines_say_the_same(
    stand: Stand, theirs: dict[str, list[str]], tmp_path: Path
) -> None:
    """The functions above are the ones behind the commands that users run."""
    read = (
        case
        for case in stand.cases
        if is_digest(theirs[case.name][0]) and case.commands[0] in INERT
    )
    refused = (case for case in stand.cases if not is_digest(theirs[case.name][0]))
    with open_lab_reader(tmp_path) as (old, _):
        for case in (*islice(read, ANCHORS), *islice(refused, ANCHORS)):
            path = stand.folder / case.name
            error = old.run("replay", str(path), "--json").error
            words = ("--root", stand.folder, "--ad-level", "0.21", "--json")
            ours = sweepgrid("digest", path, *words).json
            if is_digest(their := theirs[case.name][0]):
                resume = error["details"]["divergence"]["resume"]

                assert (their, their) == (resume["planDigest"], ours["planDigest"]), case
            else:
                assert (their, None) == (
                    f"{error['code']}: {error['message']}",
                    ours.get("planDigest"),
                ), case
