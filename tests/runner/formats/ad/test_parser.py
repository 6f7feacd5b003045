"""The reader of `.ad` sources."""

import json

import pytest
from hypothesis import given, strategies as st

from runner.formats.ad.digest import composition_digest, plan_digest
from runner.formats.ad.lexer import Level
from runner.formats.ad.parser import ReadScript, read_script
from runner.formats.ad.script import Action, AdScript, Context, EnvLine, Guard, Include

PIN = "sha256:" + "0a" * 32
REF = f'# agent-device:fragment-ref-v1 {{"callSiteId":"login","digest":"{PIN}"}}'
EVIDENCE = '# agent-device:target-v1 {"role":"button","verification":"verified"}'


def read(text: str, level: Level = "main") -> ReadScript:
    return read_script(text.encode(), path="flow.ad", level=level)


def script(text: str) -> AdScript:
    result = read(text)
    assert result.findings == ()
    return result.script


def problems(text: str) -> list[tuple[int, int, str]]:
    found = read(text).findings
    assert all(f.reason == "parse_error" and f.path == "flow.ad" and f.hint for f in found)
    return [(f.line, f.column, f.message) for f in found]


def actions(text: str) -> list[Action]:
    return [node for node in script(text).nodes if isinstance(node, Action)]


def test_a_script_keeps_physical_lines_and_columns() -> None:
    assert actions("\n# c\n  open A\r\n\nclose") == [
        Action(command="open", positionals=("A",), line=3, column=3),
        Action(command="close", line=5),
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n#comments", "\ufeff# x", "\ufeff"])
def test_a_source_without_commands_has_no_nodes(text: str) -> None:
    assert script(text) == AdScript()


@pytest.mark.parametrize(
    ("line", "command", "positionals"),
    [
        ("OPEN A", "OPEN", ("A",)),
        ("frobnicate 1", "frobnicate", ("1",)),
        ('"press" a', "press", ("a",)),
        ("env\u00a0A=1", "env", ("A=1",)),
        ('"env" A=1', "env", ("A=1",)),
        ("\ufeffopen\u00a0A", "open", ("A",)),
        ('replay "x.ad"', "replay", ("x.ad",)),
        ("fragment-v1x", "fragment-v1x", ()),
        ("fragment-v01", "fragment-v01", ()),
        ('"" a', "", ("a",)),
    ],
)
def test_any_word_is_an_action(line: str, command: str, positionals: tuple[str, ...]) -> None:
    assert [(a.command, a.positionals) for a in actions(line)] == [(command, positionals)]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            "context platform=ios target=mobile timeout=5000 retries=2",
            Context(platform="ios", target="mobile", timeout_ms=5000, retries=2),
        ),
        ("context timeout=5s", Context(timeout_ms=5)),
        ("context timeout=0 retries=0 platform=web target=watch", Context(retries=0)),
        ('context device="x platform=ios y" platform=android', Context(platform="ios")),
        ('context device="x platform=ios" platform=android', Context()),
        ("context xplatform=ios", Context()),
        ("context\u00a0platform=ios", Context()),
        ("context\tplatform=ios", Context()),
        ("context timeout=x timeout=7", Context(timeout_ms=7)),
        ("context\ncontext platform=ios", Context()),
        ('"context" x\ncontext platform=ios', Context()),
        ("open A\ncontext platform=ios", Context()),
        ("# c\n\nenv A=1\ncontext platform=ios", Context(platform="ios")),
        ("context platform=ios\ncontext target=tv", Context(platform="ios", target="tv")),
        ("context timeout=" + "9" * 400, Context()),
    ],
)
def test_the_header_is_scanned_until_its_first_other_line(header: str, expected: Context) -> None:
    assert script(header).context == expected


def test_a_key_on_two_context_lines_is_a_problem_equal_or_not() -> None:
    text = "context platform=ios timeout=5\ncontext platform=ios timeout=6\n"

    assert problems(text) == [
        (2, 1, "the header states platform twice"),
        (2, 1, "the header states timeoutMs as 5 and as 6"),
    ]
    assert read(text).script.context == Context(platform="ios", timeout_ms=5)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("env X=a # b", ("X", "a # b")),
        ("env\tX=", ("X", "")),
        ("env \u00a0 X= a", ("X", " a")),
        ('env X="a\\n\\"b\\""', ("X", 'a\n"b"')),
        ("env _1=a=b", ("_1", "a=b")),
        ("env X=a'b", ("X", "a'b")),
        ("env X=${Y}", ("X", "${Y}")),
    ],
)
def test_env_lines_bind_values(line: str, expected: tuple[str, str]) -> None:
    assert script(line).env == (EnvLine(*expected, 1),)


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("env", 4),
        ("env X", 5),
        ("env =1", 5),
        ("env x=1", 5),
        ("env X =1", 5),
        ("env AD_X=1", 5),
        ('  env X="a" b', 9),
        ('env X="a', 7),
        ('env X="\\x"', 7),
    ],
)
def test_bad_env_lines_are_problems(line: str, column: int) -> None:
    (problem,) = problems(f"{line}\nopen A\n")

    assert problem[:2] == (1, column)


def test_env_must_come_first_and_once() -> None:
    assert problems("env A=1\nenv A=1\nopen A\nenv B=2\n") == [
        (2, 1, "env A is set again (first on line 1)"),
        (4, 1, "env stands behind the first action"),
    ]


def test_env_behind_an_ended_header_says_nothing() -> None:
    assert script("context\nenv A=1\nenv a b\nopen A\n").env == ()


def test_every_problem_of_a_file_is_reported_and_the_rest_is_read() -> None:
    text = 'open "A\npress id=a\n  swipe 1 2 3 4 5\ntype "\\x"\nrecord start --max-size 5\nback\n'

    assert [(line, column) for line, column, _ in problems(text)] == [
        (1, 6),
        (3, 3),
        (4, 7),
        (5, 1),
    ]
    assert [n.line for n in read(text).script.nodes] == [2, 6]


@pytest.mark.parametrize("text", ['{"a":1}', "  \n\ufeff[1]"])
def test_the_retired_json_form_is_refused_as_a_whole(text: str) -> None:
    ((line, column, message),) = problems(text)

    assert (line, column) == (text.count("\n") + 1, 2 if "\n" in text else 1)
    assert "JSON" in message


def test_bytes_that_are_not_utf8_are_located() -> None:
    found = read_script(b"open A\nty\xffpe \xc3\x28\nclose \xe4\n", path="f").findings

    assert [(f.line, f.column) for f in found] == [(2, 3), (3, 7)]
    assert "0xff" in found[0].message


def test_evidence_binds_to_the_very_next_action() -> None:
    first, second = actions(f"{EVIDENCE}\nopen A\npress id=a\n")

    assert first.evidence is not None
    assert first.evidence["role"] == "button"
    assert second.evidence is None


def test_drag_evidence_is_kept_apart() -> None:
    one = '{"role":"cell","verification":"verified"}'
    pair = f'# agent-device:targets-v1 {{"source":{one},"destination":{one}}}'
    (drag,) = actions(f"{pair}\ngesture drag id=a id=b\n")

    assert drag.evidence is None
    assert drag.evidences is not None
    assert set(drag.evidences) == {"source", "destination"}


@pytest.mark.parametrize(
    ("following", "why"),
    [
        ("\nopen A", "blank"),
        ("# note\nopen A", "a comment"),
        ("# agent-device:target-v2 {}\nopen A", "a comment"),
        (f"{REF}\ninclude a", "a comment"),
        ("env A=1\nopen A", "an env line"),
        (f"{EVIDENCE}\nopen A", "another target comment"),
        ("context platform=ios", "a context line"),
        ("fragment-v1", "a format guard"),
        ("include a.ad", "an include"),
        ("", "the file ends"),
    ],
)
def test_evidence_without_its_action_is_a_problem(following: str, why: str) -> None:
    (problem, *_) = problems(f"\n {EVIDENCE}" + (f"\n{following}" if following else ""))

    assert problem[:2] == (2, 2)
    assert why in problem[2]


def test_bad_evidence_is_one_problem_and_its_action_is_read() -> None:
    text = "# agent-device:target-v1 {}\npress id=a\n# agent-device:targets-v1\nback\n"

    assert [line for line, _, _ in problems(text)] == [1, 3]
    assert len(read(text).script.nodes) == 2


@pytest.mark.parametrize("kind", ["fragment", "composition"])
def test_a_guard_is_no_action_and_the_header_goes_on_behind_it(kind: str) -> None:
    result = script(f"# c\n{kind}-v1\n\ncontext\tplatform=ios\n# c\ncontext target=tv\nback\n")

    assert result.guards == (Guard(kind=kind, version=1, line=2),)  # type: ignore[arg-type]
    assert result.guard_is_first
    assert result.context == Context(platform="ios", target="tv")
    assert len(result.nodes) == 1


def test_a_guard_may_follow_context_and_env() -> None:
    result = script("context platform=ios\nenv A=1\ncomposition-v1\nopen A\n")

    assert result.guard_is_first
    assert result.context.platform == "ios"
    assert result.env[0].key == "A"


def test_context_behind_the_first_action_of_a_guarded_script_says_nothing() -> None:
    assert script("fragment-v1\nback\ncontext platform=ios\n").context == Context()


def test_env_behind_a_guard_is_kept_for_a_fragment_and_refused_for_a_composition() -> None:
    assert script("fragment-v1\nenv A=1\n").env == (EnvLine("A", "1", 2),)
    assert problems("composition-v1\nenv A=1\n") == [
        (2, 1, "env stands behind the composition guard")
    ]


def test_late_second_and_future_guards_are_recorded() -> None:
    result = script("open A\nfragment-v1\ncomposition-v7\n")

    assert not result.guard_is_first
    assert [(g.kind, g.version) for g in result.guards] == [("fragment", 1), ("composition", 7)]


def test_a_guard_takes_no_operands() -> None:
    assert problems("fragment-v1 a\n") == [(1, 1, "fragment-v1 takes no operands")]


def test_an_include_carries_its_reference() -> None:
    result = script(f'composition-v1\nopen A\n{REF}\n  include "./login.ad"\n')

    assert result.nodes[1] == Include(
        locator="./login.ad",
        call_site_id="login",
        digest=PIN,  # type: ignore[arg-type]
        reference_version=1,
        line=4,
        column=3,
    )


@pytest.mark.parametrize(
    ("before", "problem", "version"),
    [
        ("", "no fragment-ref-v1 comment", None),
        (f"{REF}\n\n", "line 1 is not directly before", None),
        (f"{REF}\n# c\n", "line 1 is not directly before", None),
        (f"{REF}\nback\n", "line 1 is not directly before", None),
        ("# agent-device:fragment-ref-v1\n", "JSON", 1),
        ('# agent-device:fragment-ref-v1 {"callSiteId":"a"}\n', "digest", 1),
        (f"{REF.replace('-v1', '-v2')}\n", "version 2", 2),
    ],
)
def test_a_bad_reference_is_a_problem_of_the_include_alone(
    before: str, problem: str, version: int | None
) -> None:
    include = script(f"{before}include ./a.ad\n").nodes[-1]

    assert isinstance(include, Include)
    assert problem in include.problem
    assert include.reference_version == version


def test_a_reference_serves_one_include() -> None:
    first, second = script(f"{REF}\ninclude a\ninclude b\n").nodes

    assert isinstance(first, Include)
    assert isinstance(second, Include)
    assert first.problem == ""
    assert second.problem


@pytest.mark.parametrize("line", ["include", "include a b", 'include ""'])
def test_an_include_takes_one_locator(line: str) -> None:
    assert [p[:2] for p in problems(f" {line}")] == [(1, 2)]


def test_single_quotes_mean_one_text_at_the_main_level_alone() -> None:
    main = read("type 'a b'").script.nodes[0]
    older = read("type 'a b'", "0.21").script.nodes[0]

    assert isinstance(main, Action)
    assert isinstance(older, Action)
    assert main.positionals == ("a b",)
    assert older.positionals == ("'a", "b'")


LINES = st.sampled_from(
    [
        *("", "# c", EVIDENCE, REF, "env A=1", "env", "context platform=ios", "fragment-v1"),
        *("composition-v1", "include a", "include", "open A", 'press "id=\\"a\\""', "swipe 1 2"),
        *('"', "'", "context", "fill id=a ${B}", "\ufeff", "type '", "gesture pan 1 2 3 4 5 6"),
    ]
)
TEXTS = st.lists(LINES | st.text(max_size=12), max_size=8).map("\n".join)


@pytest.mark.slow
@given(TEXTS, st.sampled_from(["main", "0.21"]))
def test_no_text_raises_and_every_problem_has_a_place(text: str, level: Level) -> None:
    result = read_script(text.encode("utf-8", "surrogatepass"), path="f", level=level)

    count = text.count("\n") + 1
    assert all(1 <= f.line <= count and f.column >= 1 and f.message for f in result.findings)
    assert [f.line for f in result.findings] == sorted(f.line for f in result.findings)
    lines = [node.line for node in result.script.nodes]
    assert lines == sorted(set(lines))


@pytest.mark.slow
@given(st.binary(max_size=60))
def test_no_bytes_raise(data: bytes) -> None:
    read_script(data, path="f")


@pytest.mark.slow
@given(TEXTS.filter(lambda text: "\r" not in text))
def test_line_ends_of_windows_change_nothing(text: str) -> None:
    unix = read(text)
    windows = read(text.replace("\n", "\r\n"))

    assert windows == unix
    assert plan_digest(windows.script, platform=None, target=None) == plan_digest(
        unix.script, platform=None, target=None
    )


@pytest.mark.slow
@given(st.lists(st.sampled_from(["open A", "back", 'press "id=\\"é\\""', "wait 5"]), max_size=5))
def test_comments_and_blank_lines_change_the_flat_digest_alone(lines: list[str]) -> None:
    plain = script("\n".join(lines))
    spaced = script("# note\n\n" + "\n\n# note\n".join(lines))

    assert composition_digest(plain, graph=()) == composition_digest(spaced, graph=())
    if lines:
        assert plan_digest(plain, platform=None, target=None) != plan_digest(
            spaced, platform=None, target=None
        )


@pytest.mark.slow
@given(st.text())
def test_a_quoted_text_arrives_unchanged(text: str) -> None:
    (action,) = actions(f"frobnicate {json.dumps(text)}")

    assert action.positionals == (text,)
