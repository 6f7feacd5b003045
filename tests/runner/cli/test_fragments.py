import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from runner.cli.guard import run_guarded
from tests.support.ad_tree import UNKNOWN, AdTree, Call

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AdTree:
    monkeypatch.chdir(tmp_path)
    return AdTree(tmp_path)


def test_the_printed_calls_of_a_check_make_everything_right(tree: AdTree, capfd: Capture) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("my lib/mid.ad", Call("leaf.ad", site="the leaf"))
    tree.flow("flows/main.ad", Call("my lib/mid.ad", site="m"))
    tree.fragment("leaf.ad", "back")
    assert 3 == run_guarded(["check", "flows"])
    printed = capfd.readouterr().err
    calls = printed.partition("; after a review: ")[2].splitlines()[0].split(" && ")

    assert 2 == len(calls)
    for call in calls:
        assert 0 == run_guarded(shlex.split(call)[1:]), call
    assert 0 == run_guarded(["check", "flows"])


def test_pin_writes_the_digest_and_tells_what_it_was(tree: AdTree, capfd: Capture) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a", pin=UNKNOWN))
    file = tree.root / "main.ad"
    file.chmod(0o640)
    before = file.read_bytes()

    assert 0 == run_guarded(["pin", "main.ad", "--call-site", "a"])
    told = capfd.readouterr()
    assert "" == told.out
    assert [
        "main.ad:5: a > f.ad",
        f"    - {UNKNOWN}",
        f"    + {tree.digest('f.ad')}",
        "main.ad: 1 include pinned",
    ] == told.err.splitlines()
    assert before.replace(UNKNOWN.encode(), tree.digest("f.ad").encode()) == file.read_bytes()
    assert 0o640 == file.stat().st_mode & 0o777


def test_a_pin_that_is_right_is_not_written_again(tree: AdTree, capfd: Capture) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a"))
    file = tree.root / "main.ad"
    os.utime(file, ns=(1, 1))

    assert 0 == run_guarded(["pin", "main.ad", "--all"])
    assert "every pin is right already; nothing was written" in capfd.readouterr().err
    assert 1 == file.stat().st_mtime_ns


def test_a_dry_run_prints_a_diff_that_git_takes_and_writes_nothing(
    tree: AdTree, capfd: Capture
) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a", pin=UNKNOWN))
    file = tree.root / "main.ad"
    before = file.read_bytes()

    assert 0 == run_guarded(["pin", "main.ad", "--call-site", "a", "--dry-run"])
    told = capfd.readouterr()
    assert "1 include would be pinned; nothing was written" in told.err
    assert before == file.read_bytes()
    subprocess.run(["git", "init", "-q"], cwd=tree.root, check=True)
    subprocess.run(["git", "apply", "-"], cwd=tree.root, input=told.out.encode(), check=True)
    assert 0 == run_guarded(["check", "main.ad"])


def test_a_link_stays_a_link_and_its_file_is_pinned(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("real.ad", Call("f.ad", site="a", pin=UNKNOWN))
    (tree.root / "main.ad").symlink_to("real.ad")

    assert 0 == run_guarded(["pin", "main.ad", "--all"])
    assert "real.ad" == os.readlink(tree.root / "main.ad")  # noqa: PTH115  # As it was spelled.
    assert UNKNOWN not in (tree.root / "real.ad").read_text()


def test_a_refused_pin_prints_the_order_and_writes_nothing(tree: AdTree, capfd: Capture) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad", site="l", pin=UNKNOWN))
    tree.flow("main.ad", Call("mid.ad", site="m", pin=UNKNOWN))
    before = (tree.root / "main.ad").read_bytes()

    assert 3 == run_guarded(["pin", "main.ad", "--all"])
    told = capfd.readouterr().err
    assert "mid.ad:6:1: fragment_stale" in told
    assert [
        "main.ad: nothing was written",
        "pin in this order, each after a review:",
        "  sweepgrid pin mid.ad --call-site l",
        "  sweepgrid pin main.ad --call-site m",
    ] == told.splitlines()[-4:]
    assert before == (tree.root / "main.ad").read_bytes()
    assert 3 == run_guarded(["pin", "main.ad", "--all", "--json"])
    value = json.loads(capfd.readouterr().out)
    assert (False, "", [], ["mid.ad", "main.ad"]) == (
        value["written"],
        value["diff"],
        value["changes"],
        [each["path"] for each in value["repinFirst"]],
    )


def test_calls_for_a_tree_elsewhere_name_their_root(
    tree: AdTree, capfd: Capture, tmp_path_factory: pytest.TempPathFactory
) -> None:
    far = AdTree(tmp_path_factory.mktemp("far away"))
    far.fragment("leaf.ad")
    far.fragment("mid.ad", Call("leaf.ad", site="l", pin=UNKNOWN))
    far.flow("main.ad", Call("mid.ad", site="m"))
    del tree

    assert 3 == run_guarded(["pin", str(far.root / "main.ad"), "--all"])
    calls = [line for line in capfd.readouterr().err.splitlines() if line.startswith("  sweep")]
    for call in calls:
        assert 0 == run_guarded(shlex.split(call)[1:]), call
    assert far.check().problems == ()


def test_a_long_order_is_cut_for_people_and_whole_for_machines(
    tree: AdTree, capfd: Capture
) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad", site="l", pin=UNKNOWN))
    for number in range(7):
        sites = (Call("mid.ad", site=f"{each}", pin=UNKNOWN) for each in range(30))
        tree.flow(f"{number}.ad", *sites)

    assert 0 == run_guarded(["pin", "mid.ad", "--all", "--dry-run"])
    assert "  and 10 more, which --json lists" == capfd.readouterr().err.splitlines()[-1]
    assert 0 == run_guarded(["pin", "mid.ad", "--all", "--json"])
    assert 210 == len(json.loads(capfd.readouterr().out)["repinNext"])


def test_include_writes_a_pinned_include(tree: AdTree, capfd: Capture) -> None:
    tree.fragment("lib/f.ad")
    tree.flow("flows/main.ad")
    words = ["include", "flows/main.ad", "lib/f.ad", "--after", "3", "--call-site", "f"]

    assert 0 == run_guarded([*words, "--dry-run"])
    assert '+include "../lib/f.ad"\n' in capfd.readouterr().out
    assert 0 == run_guarded([*words, "--json"])
    value = json.loads(capfd.readouterr().out)
    assert (True, 5, None) == (
        value["written"],
        value["changes"][0]["line"],
        value["changes"][0]["old"],
    )
    assert 0 == run_guarded(["check", "."])
    assert 3 == run_guarded(words)
    assert "fragment_call_site_invalid" in capfd.readouterr().err
    words[-1] = "g"
    words[4] = "4"
    assert 3 == run_guarded(words)
    assert "include_place_invalid" in capfd.readouterr().err


def test_graph_prints_machine_forms_on_stdout_and_the_rest_on_stderr(
    tree: AdTree, capfd: Capture
) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad", site="a", pin=UNKNOWN))
    shown = {}
    for layout in ("text", "dot", "mermaid", "json"):
        assert 0 == run_guarded(["graph", ".", "--format", layout])
        shown[layout] = capfd.readouterr()

    assert "" == shown["text"].out
    assert "    5: a > f.ad: stale [fragment_stale]" in shown["text"].err.splitlines()
    assert "2 sources, 1 include, 1 stale" == shown["text"].err.splitlines()[-1]
    assert shown["dot"].out.startswith("digraph")
    assert shown["mermaid"].out.startswith("flowchart")
    assert "stale" == json.loads(shown["json"].out)["edges"][0]["state"]
    assert ["", "", ""] == [shown[each].err for each in ("dot", "mermaid", "json")]


def test_graph_tells_who_uses_a_fragment(tree: AdTree, capfd: Capture) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad"))

    assert 0 == run_guarded(["graph", ".", "--uses", "f.ad"])
    assert "f.ad: reached by 1 flow and 0 fragments" in capfd.readouterr().err
    assert 0 == run_guarded(["graph", ".", "--uses", "f.ad", "--json"])
    assert "main.ad" == json.loads(capfd.readouterr().out)["uses"]["users"][0]["path"]


def test_graph_says_when_there_is_nothing_and_what_it_could_not_draw(
    tree: AdTree, capfd: Capture
) -> None:
    (tree.root / "empty").mkdir()

    assert 4 == run_guarded(["graph", "empty"])
    assert "nothing was selected" in capfd.readouterr().err
    assert 3 == run_guarded(["graph", "gone.ad", "--format", "dot"])
    told = capfd.readouterr()
    assert "path_missing" in told.err
    assert told.out.startswith("digraph")


def test_explain_shows_the_plan_for_people_and_for_machines(tree: AdTree, capfd: Capture) -> None:
    tree.fragment("f.ad", "type ${USER}")
    tree.flow("main.ad", Call("f.ad", site="a"))
    flow, fragment = (
        json.loads(text)
        for text in (_printed(capfd, "digest", "main.ad"), _printed(capfd, "digest", "f.ad"))
    )
    root, leaf = flow["compositionDigest"], fragment["fragmentDigest"]

    evidence = "evidence id='home' role='heading' label='Home' (verified)"
    assert 0 == run_guarded(["explain", "main.ad", "-e", "USER=ann"])
    told = capfd.readouterr()
    assert "" == told.out
    assert [
        "main.ad: composition for android, mobile, 4 steps",
        f"  compositionDigest  {root}",
        "  each step is cut off after 1 min 30 s, unless the run says otherwise",
        '  1 open "com.example"',
        f"      main.ad:3; ad:r:{root[7:15]}#1",
        f"  include a > f.ad (main.ad:5) {leaf}",
        '    1 wait "id=\\"home\\"" 10000',
        f"        f.ad:4; ad:f:{leaf[7:15]}/a.0#1; waits 10.0 s at most; {evidence}",
        "    2 type <text>",
        f"        f.ad:5; ad:f:{leaf[7:15]}/a.0#2; uses USER",
        "  2 close",
        f"      main.ad:6; ad:r:{root[7:15]}#2",
        "variables:",
        "  USER bound by -e; used at f.ad:5",
    ] == told.err.splitlines()
    assert 3 == run_guarded(["explain", "main.ad", "--json"])
    value = json.loads(capfd.readouterr().out)
    assert "unbound" == value["variables"][0]["origin"]
    assert "fragment_variable_unbound" == value["problems"][0]["reason"]
    assert f"ad:f:{leaf[7:]}/a.0#2" == value["entries"][1]["entries"][1]["token"]


def _printed(capfd: Capture, *words: str) -> str:
    run_guarded([*words, "--json"])
    return capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pin", "main.ad"], "option_invalid"),
        (["pin", "main.ad", "--all", "--call-site", "a"], "option_invalid"),
        (["pin"], "Missing argument"),
        (["include", "main.ad", "f.ad", "--call-site", "a"], "Missing option"),
        (["include", "main.ad", "f.ad", "--call-site", "a", "--after", "99"], "option_invalid"),
        (["graph", ".", "--format", "svg"], "option_invalid"),
        (["graph"], "Missing argument"),
        (["explain", "main.ad", "--platform", "tv"], "option_invalid"),
        (["explain", "main.ad", "-e", "novalue"], "variable_invalid"),
    ],
)
def test_bad_requests_end_with_two(
    tree: AdTree, capfd: Capture, words: list[str], said: str
) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad")

    assert 2 == run_guarded(words)
    assert said in capfd.readouterr().err
