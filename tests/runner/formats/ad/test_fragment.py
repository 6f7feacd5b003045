"""Admission of fragments, one rule a row."""

import json

import pytest

from runner.compose.source import Source
from runner.formats.ad.reader import AdReader, read_source
from runner.formats.ad.reading import AdSource

HEAD = "fragment-v1\ncontext platform=android target=mobile\n"
EVIDENCE = {"id": "home", "role": "heading", "label": "Home", "verification": "verified"}


def _guard(wait: str, **evidence: object) -> str:
    record = {key: value for key, value in {**EVIDENCE, **evidence}.items() if value is not None}
    return f"# agent-device:target-v1 {json.dumps(record)}\n{wait}\n"


GUARD = _guard("wait id=home 10000")


def _read(text: str, path: str = "f.ad") -> AdSource:
    return read_source(Source(path=path, data=text.encode()))


def test_a_right_fragment_has_a_digest_and_no_fault() -> None:
    source = _read(HEAD + GUARD + 'click "label=\\"Go\\""\n')
    facts = source.facts

    assert source.kind == "fragment"
    assert source.findings == ()
    assert facts.is_fragment
    assert facts.digest is not None
    assert (facts.unsupported, facts.unsafe, facts.entry_missing, facts.entry_mismatch) == (
        None,
        (),
        None,
        None,
    )
    assert (facts.steps, facts.platform, facts.target) == (2, "android", "mobile")


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("open a\n", "flat_script"),
        ("composition-v1\nopen a\n", "composition_root"),
        ("fragment-v2\ncontext platform=android target=mobile\n" + GUARD, "guard_version"),
        ("back\n" + HEAD + GUARD, "guard_position"),
        (
            "fragment-v1\nfragment-v1\ncontext platform=ios target=mobile\n" + GUARD,
            "guard_repeated",
        ),
        ("env A=1\n" + HEAD + GUARD, "env"),
        ("fragment-v1\ncontext target=mobile\n" + GUARD, "context_platform"),
        ("fragment-v1\ncontext platform=ios\n" + GUARD, "context_target"),
        ("fragment-v1\n" + GUARD, "context_platform"),
        (HEAD + GUARD + 'click "open quote\n', "parse_error"),
        (HEAD + "# agent-device:target-v1 {}\n" + GUARD, "parse_error"),
    ],
)
def test_what_cannot_be_included_says_which_feature_is_at_fault(text: str, feature: str) -> None:
    source = _read(text)
    facts = source.facts

    assert facts.unsupported is not None
    assert facts.unsupported.feature == feature
    assert facts.digest is None


def test_parse_errors_of_a_fragment_are_told_with_its_fault_and_not_beside_it() -> None:
    source = _read(HEAD + GUARD + 'click "a\nclick "b\n')

    assert source.findings == ()
    assert source.facts.unsupported is not None
    assert [each["line"] for each in source.facts.unsupported.details["problems"]] == [5, 6]


def test_a_flow_of_another_format_is_no_fragment() -> None:
    facts = _read("appId: com.example\n---\n- launchApp\n", "login.yaml").facts

    assert facts.unsupported is not None
    assert facts.unsupported.feature == "cross_format"


@pytest.mark.parametrize(
    "line",
    [
        "open com.example",
        "close",
        "press @e12",
        'fill @e3 "text"',
        "get text @e3",
        'replay "other.ad"',
        'find text "Go" click',
        "settings wifi on",
        "record start",
        "frobnicate 1",
        "home",
    ],
)
def test_a_command_without_the_safe_trait_has_no_place(line: str) -> None:
    source = _read(HEAD + GUARD + "back\n" + line + "\n")

    assert [fault.line for fault in source.facts.unsafe] == [6]
    assert source.findings == (), "the fault is the including site's, not one of the file"


def test_an_unknown_word_is_told_as_such_with_the_nearest_command() -> None:
    (fault,) = _read(HEAD + GUARD + "presss id=a\n").facts.unsafe

    assert fault.message == "there is no command 'presss'; the closest is `press`"
    assert fault.details == {"command": "presss", "nearest": "press"}


def test_other_mistakes_in_a_fragment_stay_findings_of_the_file() -> None:
    source = _read(HEAD + GUARD + "scroll sideways\nclick label=\n")

    assert [(each.reason, each.line) for each in source.findings] == [
        ("arguments_invalid", 5),
        ("selector_invalid", 6),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "back\n",
        "wait 500\n",
        "wait id=home 10000\n",
        _guard("wait id=home"),
        _guard("wait id=home ${TIMEOUT}"),
        _guard("wait id=home 5s"),
        _guard("wait text Home 10000"),
        _guard("wait absent id=home 10000"),
        _guard("wait stable 500 10000"),
        _guard("wait @e4 10000"),
        _guard("wait Home 10000"),
        _guard("wait label= 10000"),
        _guard("wait 10000"),
        _guard('wait "visible=true" 500'),
        _guard("wait role=heading 500"),
        _guard("wait role=heading visible 500"),
        _guard("wait appname=Shop 500"),
        _guard('wait id="" 500', id=None),
        _guard('wait "id=home || visible=true" 500'),
        _guard('wait "role=heading || id=home" 500'),
        _guard("wait id=home 10000", id=None, label=None),
        _guard("click id=home"),
        "back\n" + GUARD,
    ],
)
def test_without_a_recorded_landmark_wait_first_there_is_no_entry_guard(body: str) -> None:
    facts = _read(HEAD + body).facts

    assert facts.unsupported is None
    assert facts.entry_missing is not None
    assert facts.entry_mismatch is None


def test_an_include_cannot_be_the_entry_guard() -> None:
    pin = "sha256:" + "1" * 64
    reference = f'# agent-device:fragment-ref-v1 {{"callSiteId":"a","digest":"{pin}"}}\n'
    facts = _read(HEAD + reference + 'include "./x.ad"\n' + GUARD).facts

    assert facts.entry_missing is not None


@pytest.mark.parametrize(
    "guard",
    [
        _guard("wait id=HOME 100"),
        _guard('wait "id=\\"home\\" || role=heading label=Home" 100'),
        _guard("wait id=other 100", id=None),
        _guard("wait label=home 100"),
        _guard("wait role=heading label=Home 100"),
        _guard("wait role=button label=Home 100", role="android.widget.button"),
        _guard("wait text=Home visible=true 100"),
        _guard("wait text=anything 100", label=None),
        _guard("wait value=anything label=Home 100"),
        _guard("wait label=${NAME} 100"),
        _guard("wait role=text label=Home 100", role="textview"),
        _guard(f"wait label={'x' * 300} 100", label="x" * 256),
    ],
)
def test_a_guard_whose_selector_can_mean_the_evidence_is_admitted(guard: str) -> None:
    facts = _read(HEAD + guard).facts

    assert facts.entry_missing is None
    assert facts.entry_mismatch is None


@pytest.mark.parametrize(
    "guard",
    [
        _guard("wait id=home 100", verification="unverifiable"),
        _guard("wait id=other 100"),
        _guard("wait id=home label=Other 100"),
        _guard("wait role=button label=Home 100"),
        _guard("wait text=Other 100"),
        _guard('wait "id=\\"home\\" || label=Other" 100'),
        _guard("wait label=Home 100", label=None),
        _guard('wait "id=other || label=Other" 100'),
        _guard(f"wait label={'x' * 9} 100", label="x" * 8),
    ],
)
def test_a_guard_whose_evidence_is_of_something_else_does_not_match(guard: str) -> None:
    facts = _read(HEAD + guard).facts

    assert facts.entry_missing is None
    assert facts.entry_mismatch is not None


def test_comments_blank_lines_and_line_ends_change_no_fragment_digest() -> None:
    plain = HEAD + GUARD + "back\n"
    spaced = "# a comment\n\n" + plain.replace("\nback", "\n\n# why\n  back").replace("\n", "\r\n")

    assert _read(spaced).facts.digest == _read(plain).facts.digest
    assert _read(plain + "back\n").facts.digest != _read(plain).facts.digest


def test_variables_without_default_are_named_with_their_lines() -> None:
    facts = _read(HEAD + GUARD + 'type "${USER} ${CITY:-Rome}"\ntype ${USER}\n').facts

    assert [(use.name, use.line) for use in facts.variables] == [("USER", 5), ("USER", 6)]


def test_an_include_without_a_guard_or_with_a_later_reference_is_not_supported() -> None:
    pin = "sha256:" + "1" * 64
    reference = f'# agent-device:fragment-ref-v1 {{"callSiteId":"a","digest":"{pin}"}}\n'
    flat = _read("open a\n" + reference + 'include "./x.ad"\n').facts.includes[0]
    later = reference.replace("ref-v1", "ref-v2")
    newer = _read("composition-v1\n" + later + 'include "./x.ad"\n').facts.includes[0]

    assert flat.unsupported is not None
    assert flat.unsupported.feature == "include_without_guard"
    assert newer.unsupported is not None
    assert newer.unsupported.feature == "reference_version"


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "# agent-device:fragment-ref-v1\n",
        "# agent-device:fragment-ref-v1 {}\n",
        '# agent-device:fragment-ref-v1 {"callSiteId":"","digest":"sha256:' + "1" * 64 + '"}\n',
        '# agent-device:fragment-ref-v1 {"callSiteId":"a","digest":"sha256:12"}\n',
        '# agent-device:fragment-ref-v1 {"callSiteId":"a"}\n',
    ],
)
def test_a_reference_that_is_missing_or_malformed_is_a_problem_of_the_site(reference: str) -> None:
    source = _read("composition-v1\n" + reference + 'include "./x.ad"\n')

    assert source.findings == ()
    assert source.facts.includes[0].reference_problem
    assert source.facts.includes[0].unsupported is None


def test_a_reader_reads_a_source_once_and_repins_by_the_order_of_includes() -> None:
    def text(first: str, second: str) -> str:
        lines = HEAD + GUARD
        for site, pin in (("a", first), ("b", second)):
            reference = json.dumps({"callSiteId": site, "digest": f"sha256:{pin * 64}"})
            lines += f'# agent-device:fragment-ref-v1 {reference}\ninclude "./{site}.ad"\n'
        return lines

    reader = AdReader()
    source = Source(path="f.ad", data=text("1", "2").encode())
    read = reader.read(source)

    assert reader.read(source) is read
    assert reader.repinned("f.ad", {1: read.facts.includes[0].pin}) == (  # type: ignore[dict-item]
        _read(text("1", "1")).facts.digest
    )
