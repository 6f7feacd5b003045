from hashlib import sha256
from pathlib import Path

from runner.preflight.digest import DigestReport, digest_file
from tests.support.ad_tree import UNKNOWN, AdTree, Call


def _digest(tree: AdTree, path: str, **options: str) -> DigestReport:
    return digest_file(path, settings=tree.settings(), **options)  # type: ignore[arg-type]


def test_a_flat_script_has_a_plan_and_a_composition_digest(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.write("a.ad", ['open "com.example"'])
    report = _digest(tree, "a.ad")
    plan = tree.check().plans[0]

    assert report == DigestReport(
        path="a.ad",
        kind="flat",
        plan_digest="0b4d065722618aa6d88d3bdc7a320a34de49cfb45075cc50e073b86a91e0b748",
        composition_digest=plan.composition_digest,
    )
    assert _digest(tree, "a.ad", platform="android").plan_digest == (
        "ca7ad0c607327fc4970ccc686df23ebe2a69a2a8a9007d369c91cbc1440fd583"
    )


def test_a_composed_root_has_the_digest_of_its_plan(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad", "type ${FREE}")
    tree.flow("main.ad", Call("f.ad"), head=["context target=mobile"])
    report = _digest(tree, "main.ad")
    (plan,) = tree.check("main.ad", platform="android", variables={"FREE": "x"}).plans

    assert report == DigestReport(
        path="main.ad", kind="composition", composition_digest=plan.composition_digest
    )


def test_a_fragment_has_its_digest_though_nobody_includes_it(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("lib/f.ad")
    report = _digest(tree, "lib/f.ad")

    assert report.fragment_digest is not None
    assert (report.kind, report.problems) == ("fragment", ())


def test_what_is_wrong_with_a_file_is_told_beside_the_digest_it_still_has(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad", "close", Call("gone.ad", pin=UNKNOWN), guard=["back"])
    report = _digest(tree, "f.ad")

    assert report.fragment_digest is not None
    assert [(each.reason, each.line) for each in report.problems] == [
        ("fragment_entry_guard", 3),
        ("fragment_lifecycle", 4),
        ("fragment_missing", 6),
    ]


def test_a_root_with_a_stale_pin_and_a_fragment_with_parse_errors_have_no_digest(
    tmp_path: Path,
) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", pin=UNKNOWN))
    tree.fragment("bad.ad", 'click "open')

    assert _digest(tree, "main.ad").composition_digest is None
    assert [each.reason for each in _digest(tree, "main.ad").problems] == ["fragment_stale"]
    assert _digest(tree, "bad.ad").fragment_digest is None
    assert [each.reason for each in _digest(tree, "bad.ad").problems] == ["fragment_unsupported"]


def test_what_is_wrong_with_steps_takes_no_digest_of_a_root_away(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad", "scroll sideways")
    tree.flow("main.ad", Call("f.ad"), "presss a")
    lines = ["presss a", "record start", "replay a.ad", "press @e1", "scroll up up", "press label="]
    for number, line in enumerate(lines):
        report = _digest(tree, tree.write(f"{number}.ad", [line]))
        assert (len(report.plan_digest or ""), len(report.composition_digest or "")) == (64, 71)
        assert report.problems or number == 4
    composed = _digest(tree, "main.ad")
    assert composed.composition_digest is not None
    assert [each.reason for each in composed.problems] == ["command_unknown"]
    assert _digest(tree, tree.write("empty.ad", [])).plan_digest is not None


def test_half_a_character_has_a_plan_digest_and_no_composition_digest(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    report = _digest(tree, tree.write("a.ad", ['press "\\ud800"']))

    assert (
        report.plan_digest
        == sha256(
            b'{"platform":null,"steps":[{"command":"press","flags":{},"positionals":["\\ud800"],'
            b'"runtime":null,"source":{"line":1,"path":null},"targetEvidence":null,'
            b'"targetEvidences":null}],"target":null}'
        ).hexdigest()
    )
    assert report.composition_digest is None
    assert "text_unencodable" in [each.reason for each in report.problems]


def test_what_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    for lines in (['press "a'], ["back", "composition-v1"], ["composition-v2", "back"]):
        report = _digest(tree, tree.write("a.ad", lines))
        assert (report.plan_digest, report.composition_digest) == (None, None)
        assert report.problems


def test_what_is_no_single_readable_file_is_a_problem(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.write("sub/a.ad", ["open a"])
    (tmp_path / "pipe.ad").symlink_to("nowhere.ad")
    tree.write("huge.ad", ["#" * (2 * 1024 * 1024)])

    def found(path: str) -> list[str]:
        return [each.reason for each in _digest(tree, path).problems]

    assert found("gone.ad") == ["path_missing"]
    assert found("sub") == ["path_missing"]
    assert found("pipe.ad") == ["source_unreadable"]
    assert found("huge.ad") == ["fragment_bounds"]
