from pathlib import Path

import msgspec

from runner.preflight.render import preflight_json
from tests.support.ad_tree import UNKNOWN, AdTree, Call


def test_the_json_form_has_plans_problems_and_the_graph(tmp_path: Path) -> None:
    tree = AdTree(tmp_path)
    tree.fragment("f.ad", "back")
    tree.flow("good.ad", Call("f.ad"))
    tree.flow("stale.ad", Call("f.ad", pin=UNKNOWN))
    tree.write("flat.ad", ["context platform=ios retries=1", "open a"])
    form = msgspec.json.decode(msgspec.json.encode(preflight_json(tree.check())))
    flat, good = form["plans"]
    (problem,) = form["problems"]

    assert form["version"] == 1
    assert (good["path"], good["kind"], good["steps"]) == ("good.ad", "composition", 4)
    assert (good["fragments"], good["planDigest"]) == (["f.ad"], None)
    assert (flat["id"], flat["retries"], len(flat["planDigest"])) == ("flat.ad@ios", 1, 64)
    assert "program" not in good
    assert (problem["reason"], problem["path"], problem["line"], problem["column"]) == (
        "fragment_stale",
        "stale.ad",
        5,
        1,
    )
    assert problem["flows"] == ["stale.ad"]
    assert problem["details"]["actualDigest"] == tree.digest("f.ad")
    assert form["blocked"] == [{"path": "stale.ad", "reason": "fragment_stale", "problems": [0]}]
    assert [(edge["path"], edge["fragment"]) for edge in form["graph"]] == [
        ("good.ad", "f.ad"),
        ("stale.ad", "f.ad"),
    ]
    assert form["fragments"][0]["flows"] == ["good.ad", "stale.ad"]
