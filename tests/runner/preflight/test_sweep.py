from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from runner.formats.ad.program import PlannedStep, composition_digest_of, linearize, open_program
from runner.model.plan import CheckedPlan
from runner.preflight.settings import PlanRule
from runner.reasons import REASONS
from tests.support.ad_tree import UNKNOWN, AdTree, Call, reasons


@pytest.fixture
def tree(tmp_path: Path) -> AdTree:
    return AdTree(tmp_path)


def _platforms(plans: tuple[CheckedPlan, ...]) -> list[tuple[str, str]]:
    return [(plan.path, plan.platform) for plan in plans]


def test_a_flat_flow_without_a_platform_is_one_plan_for_each_of_the_grid(tree: AdTree) -> None:
    tree.write("a.ad", ["open com.example"])
    both = tree.check().plans
    one = tree.check(grid_platforms=("ios",)).plans
    chosen = tree.check(platform="android").plans

    assert [plan.id for plan in both] == ["a.ad@android", "a.ad@ios"]
    assert both[0].composition_digest == both[1].composition_digest
    assert _platforms(one) == [("a.ad", "ios")]
    assert _platforms(chosen) == [("a.ad", "android")]


def test_the_caller_wins_over_the_hint_and_the_hint_over_the_header(tree: AdTree) -> None:
    tree.write("header.ad", ["context platform=ios", "open a"])
    tree.write("hint.ad", ["context platform=ios", "open a --platform android"])

    assert _platforms(tree.check().plans) == [("header.ad", "ios"), ("hint.ad", "android")]
    assert _platforms(tree.check(platform="ios").plans) == [
        ("header.ad", "ios"),
        ("hint.ad", "ios"),
    ]


def test_a_platform_that_no_sweep_has_is_a_problem_unless_the_caller_chooses(tree: AdTree) -> None:
    tree.write("mac.ad", ["context platform=macos", "open a"])

    assert reasons(tree.check()) == [("context_mismatch", "mac.ad:1")]
    assert _platforms(tree.check(platform="ios").plans) == [("mac.ad", "ios")]


def test_a_problem_of_the_platform_stands_at_the_line_that_states_it(tree: AdTree) -> None:
    tree.write("head.ad", ["# why", "context timeout=5000", "context platform=macos", "open a"])
    tree.flow("main.ad", "back", head=["# why", "context platform=vega"])

    assert reasons(tree.check()) == [
        ("context_mismatch", "head.ad:3"),
        ("context_mismatch", "main.ad:2"),
    ]


def test_a_flow_for_a_platform_that_the_grid_does_not_state_is_a_problem(tree: AdTree) -> None:
    tree.write("any.ad", ["open a"])
    tree.write("droid.ad", ["# why", "context platform=android", "open a"])
    tree.write("hint.ad", ["# why", "open a --platform ios"])

    assert tree.check(stated_platforms=None).problems == ()
    assert tree.check(stated_platforms=("android", "ios")).problems == ()
    one = tree.check(stated_platforms=("ios",), grid_platforms=("ios",))
    assert reasons(one) == [("platform_not_in_grid", "droid.ad:2")]
    assert one.problems[0].details == {"platform": "android", "stated": ["ios"]}
    assert _platforms(one.plans) == [("any.ad", "ios"), ("hint.ad", "ios")]
    none = tree.check(stated_platforms=(), grid_platforms=())
    assert reasons(none) == [
        ("platform_not_in_grid", "any.ad:1"),
        ("platform_not_in_grid", "droid.ad:2"),
        ("platform_not_in_grid", "hint.ad:2"),
    ]
    assert none.problems[0].details == {"platform": None, "stated": []}
    forced = tree.check("droid.ad", platform="ios", stated_platforms=("android",))
    assert reasons(forced) == [("platform_not_in_grid", "droid.ad:1")]


def test_a_flow_without_steps_is_a_problem(tree: AdTree) -> None:
    tree.write("a.ad", [])
    tree.write("b.ad", ["# nothing", "context platform=android"])
    tree.write("c.ad", ["context platform=android", "composition-v1"])
    tree.write("d.ad", ['press "a'])
    preflight = tree.check()

    assert reasons(preflight) == [
        ("flow_empty", "a.ad:1"),
        ("flow_empty", "b.ad:1"),
        ("flow_empty", "c.ad:2"),
        ("parse_error", "d.ad:1"),
    ]
    assert preflight.plans == ()


@pytest.mark.parametrize("version", [0, 2])
def test_of_a_root_of_another_version_only_that_is_said(tree: AdTree, version: int) -> None:
    body = ["presss ${FREE}", 'include "./gone.ad"', 'press "a']
    tree.write("main.ad", [f"composition-v{version}", *body])

    assert reasons(tree.check()) == [("fragment_unsupported", "main.ad:1")]


def test_an_unknown_word_in_a_fragment_is_named_in_the_problem_of_the_site(tree: AdTree) -> None:
    tree.fragment("f.ad", "close", "presss id=a")
    tree.fragment("g.ad", "presss id=a")
    tree.flow("main.ad", Call("f.ad"), Call("g.ad"))
    both, alone = tree.check("main.ad").problems

    assert both.reason == alone.reason == "fragment_lifecycle"
    assert "line 6: there is no command 'presss'; the closest is `press`" in both.message
    assert alone.message == "g.ad:5: there is no command 'presss'; the closest is `press`"
    assert alone.details["nearest"] == "press"


def test_a_composed_flow_must_state_its_platform(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad"), head=["context target=mobile"])

    assert reasons(tree.check()) == [("fragment_context_mismatch", "main.ad:2")]
    assert _platforms(tree.check(platform="android").plans) == [("main.ad", "android")]


def test_a_platform_that_the_caller_forces_no_longer_fits_the_fragments(tree: AdTree) -> None:
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad"))
    (problem,) = tree.check(platform="ios").problems

    assert problem.reason == "fragment_context_mismatch"
    assert problem.details["value"] == "ios"
    assert problem.details["fragmentValue"] == "android"


def test_an_absent_target_counts_as_mobile_for_the_fragments(tree: AdTree) -> None:
    tree.fragment("tv.ad", context="context platform=android target=tv")
    tree.flow("main.ad", Call("tv.ad"))
    tree.flow("tv-flow.ad", Call("tv.ad"), head=["context platform=android target=tv"])

    assert reasons(tree.check()) == [("fragment_context_mismatch", "main.ad:5")]
    assert tree.check("tv-flow.ad").plans[0].target == "tv"


def test_variables_are_bound_by_caller_shell_and_env_in_this_order(tree: AdTree) -> None:
    tree.write("a.ad", ["env ONE=env", "env TWO=env", "env THREE=env", "open ${ONE}"])
    (plan, _) = tree.check(
        variables={"ONE": "cli"},
        environ={"AD_VAR_ONE": "shell", "AD_VAR_TWO": "shell", "OTHER": "x"},
    ).plans

    assert plan.variables == {"ONE": "cli", "TWO": "shell", "THREE": "env"}
    assert plan.app == "cli"


def test_an_unbound_variable_is_a_problem_at_each_line_that_uses_it(tree: AdTree) -> None:
    tree.write("a.ad", ["open ${APP}", "type ${APP:-x} ${AD_DEVICE}", "type ${APP} ${NAME}"])

    assert [(each.reason, each.line, each.details["name"]) for each in tree.check().problems] == [
        ("variable_unbound", 1, "APP"),
        ("variable_unbound", 3, "APP"),
        ("variable_unbound", 3, "NAME"),
    ]
    assert tree.check(variables={"APP": "a", "NAME": "b"}).problems == ()


def test_a_fragment_inherits_what_its_flow_binds(tree: AdTree) -> None:
    tree.fragment("f.ad", "type ${USER}")
    tree.flow("bound.ad", Call("f.ad"), head=["context platform=android", "env USER=ann"])
    tree.flow("free.ad", Call("f.ad"))
    (problem,) = tree.check().problems

    assert (problem.reason, problem.path) == ("fragment_variable_unbound", "free.ad")
    assert problem.details["names"] == ["USER"]


def test_one_fault_of_a_shared_site_is_one_problem_with_all_its_flows(tree: AdTree) -> None:
    tree.fragment("leaf.ad", "close")
    tree.fragment("mid.ad", Call("leaf.ad"))
    flows = [tree.flow(f"flow{n}.ad", Call("mid.ad")) for n in range(9)]
    preflight = tree.check()
    (problem,) = preflight.problems

    assert (problem.reason, problem.path, problem.flows) == (
        "fragment_lifecycle",
        "mid.ad",
        tuple(flows),
    )
    assert [each.path for each in preflight.blocked] == flows
    assert preflight.plans == ()


def test_a_mistake_in_a_fragment_blocks_every_flow_that_uses_it(tree: AdTree) -> None:
    tree.fragment("f.ad", "scroll sideways")
    tree.flow("one.ad", Call("f.ad"))
    tree.flow("two.ad", Call("f.ad"))
    tree.write("three.ad", ["open a"])
    preflight = tree.check(platform="android")
    (problem,) = preflight.problems

    assert (problem.reason, problem.path, problem.line) == ("arguments_invalid", "f.ad", 5)
    assert problem.flows == ("one.ad", "two.ad")
    assert _platforms(preflight.plans) == [("three.ad", "android")]


def test_fragments_in_a_folder_are_listed_and_a_named_one_is_refused(tree: AdTree) -> None:
    tree.fragment("lib/used.ad")
    tree.fragment("lib/idle.ad")
    tree.fragment("lib/broken.ad", "close")
    tree.flow("main.ad", Call("lib/used.ad"))
    preflight = tree.check()

    assert [(each.path, each.flows) for each in preflight.fragments] == [
        ("lib/broken.ad", ()),
        ("lib/idle.ad", ()),
        ("lib/used.ad", ("main.ad",)),
    ]
    assert preflight.problems == (), "what nobody runs blocks nobody"
    assert preflight.fragments[2].digest == tree.digest("lib/used.ad")
    assert reasons(tree.check("lib/idle.ad")) == [
        ("fragment_composition_required", "lib/idle.ad:1")
    ]


def test_a_later_guard_version_of_a_root_is_not_supported(tree: AdTree) -> None:
    tree.flow("main.ad", guard="composition-v2")

    assert reasons(tree.check()) == [("fragment_unsupported", "main.ad:2")]


def test_an_edited_leaf_names_what_to_pin_upward(tree: AdTree) -> None:
    tree.fragment("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad"))
    tree.flow("main.ad", Call("mid.ad"))
    tree.fragment("leaf.ad", "back")
    (problem,) = tree.check().problems

    assert (problem.reason, problem.path) == ("fragment_stale", "mid.ad")
    assert problem.details["actualDigest"] == tree.digest("leaf.ad")
    tree.fragment("mid.ad", Call("leaf.ad"))
    assert [each["digest"] for each in problem.details["chain"]] == [
        tree.digest("leaf.ad"),
        tree.digest("mid.ad"),
    ]
    assert problem.message.endswith(
        "sweepgrid pin mid.ad --call-site call-1 && sweepgrid pin main.ad --call-site call-2"
    )


def test_an_expected_digest_holds_a_plan_to_it(tree: AdTree) -> None:
    tree.write("flat.ad", ["context platform=ios", "open a"])
    tree.fragment("f.ad")
    tree.flow("main.ad", Call("f.ad"))
    flat, composed = tree.check().plans

    def found(path: str, digest: str) -> list[str]:
        return [each.reason for each in tree.check(expect_digests={path: digest}).problems]

    assert found("flat.ad", flat.plan_digest) == []
    assert found("flat.ad", flat.composition_digest) == []
    assert found("main.ad", composed.composition_digest) == []
    assert found("main.ad", UNKNOWN) == ["fragment_stale"]
    assert found(str(tree.root / "main.ad"), composed.composition_digest) == []
    assert found("f.ad", UNKNOWN) == ["path_missing"]
    assert found("gone.ad", UNKNOWN) == ["path_missing"]


def test_a_flow_of_two_platforms_has_one_digest_and_one_problem(tree: AdTree) -> None:
    tree.write("both.ad", ["open a"])
    android, ios = tree.check().plans

    assert android.plan_digest == ios.plan_digest
    assert android.composition_digest == ios.composition_digest
    stale = tree.check(expect_digests={"both.ad": UNKNOWN})
    assert reasons(stale) == [("fragment_stale", "both.ad:1")]
    assert stale.plans == ()


def test_plans_carry_limits_retries_tags_and_secrets(tree: AdTree) -> None:
    tree.write("a/b.ad", ["context platform=ios timeout=5000 retries=9", "open https://x.example"])
    rules = (
        PlanRule(match="a/*", tags=("smoke",), secrets=("TOKEN",)),
        PlanRule(match="*.ad", tags=("all",)),
    )
    (plan,) = tree.check(rules=rules, secrets=("PIN",)).plans
    (forced,) = tree.check(timeout_ms=7, retries=0).plans

    assert (plan.limits.plan_ms, plan.retries) == (5000, 3)
    assert (plan.tags, plan.secrets, plan.app) == (("all", "smoke"), ("PIN", "TOKEN"), "")
    assert (forced.limits.plan_ms, forced.retries) == (7, 0)


def test_tags_choose_flows_before_they_are_checked(tree: AdTree) -> None:
    tree.write("good.ad", ["context platform=ios", "open a"])
    tree.write("bad.ad", ["context platform=ios", "frobnicate"])
    rules = (PlanRule(match="good.ad", tags=("smoke",)), PlanRule(match="bad.ad", tags=("wip",)))

    assert tree.check(rules=rules, include_tags=("smoke",)).problems == ()
    assert _platforms(tree.check(rules=rules, exclude_tags=("wip",)).plans) == [("good.ad", "ios")]
    assert tree.check(rules=rules, include_tags=("none",)).plans == ()


def test_what_was_checked_is_what_runs_whatever_happens_to_the_files(tree: AdTree) -> None:
    tree.fragment("f.ad", "back")
    tree.flow("main.ad", Call("f.ad"))
    bytes_before = (tree.root / "f.ad").read_bytes()
    preflight = tree.check()
    tree.fragment("f.ad", "close")
    (plan,) = preflight.plans
    program = open_program(plan.program, plan.composition_digest)

    assert preflight.sources["f.ad"] == bytes_before
    assert composition_digest_of(program) == plan.composition_digest
    assert [
        item.action.command for item in linearize(program) if isinstance(item, PlannedStep)
    ] == ["open", "wait", "back", "close"]


def test_all_kinds_of_problems_of_a_flow_come_in_one_run(tree: AdTree) -> None:
    tree.write(
        "a.ad",
        [
            "context platform=tizen platform=linux",
            'click "id=',
            "frobnicate",
            "scroll sideways",
            "click label=",
            "type ${FREE}",
            "focus 1 2",
        ],
    )
    preflight = tree.check(platform="android")

    assert reasons(preflight) == [
        ("parse_error", "a.ad:2"),
        ("command_unknown", "a.ad:3"),
        ("arguments_invalid", "a.ad:4"),
        ("selector_invalid", "a.ad:5"),
        ("variable_unbound", "a.ad:6"),
        ("command_unsupported", "a.ad:7"),
    ]
    assert preflight.blocked[0].reason == "parse_error"


def test_a_locator_with_half_a_character_is_one_problem_of_its_include(tree: AdTree) -> None:
    tree.write("main.ad", ["context platform=ios", "composition-v1", 'include "\\ud800"'])

    assert reasons(tree.check("main.ad")) == [("fragment_missing", "main.ad:3")]


def test_a_value_that_no_plan_can_carry_is_a_problem_and_not_a_crash(tree: AdTree) -> None:
    tree.write("a.ad", [f"context platform=ios timeout={'9' * 40}", "click id=a"])
    preflight = tree.check()

    assert reasons(preflight) == [("program_invalid", "a.ad:1")]
    assert preflight.plans == ()


@pytest.mark.slow
def test_a_tree_of_hundreds_of_flows_reports_exactly_what_was_planted(tree: AdTree) -> None:
    names = [tree.fragment(f"lib/f{n}.ad", *["back"] * (n + 1)) for n in range(10)]
    pins = {name: tree.digest(name) for name in names}
    tree.fragment("lib/unsafe.ad", "home")
    unsafe_pin = tree.digest("lib/unsafe.ad")
    planted = set()
    for number in range(300):
        calls = [Call(name, pin=pins[name]) for name in names[number % 8 : number % 8 + 3]]
        path = f"flows/g{number % 7}/flow{number:03}.ad"
        extra = []
        match number:
            case 17:
                calls[1] = Call(calls[1].to, pin=UNKNOWN)
                planted.add(("fragment_stale", f"{path}:7"))
            case 99:
                extra = ["type ${FREE}"]
                planted.add(("variable_unbound", f"{path}:9"))
            case 150:
                calls.append(Call("lib/gone.ad", pin=UNKNOWN))
                planted.add(("fragment_missing", f"{path}:11"))
            case 201 | 202:
                calls.append(Call("lib/unsafe.ad", pin=unsafe_pin))
                planted.add(("fragment_lifecycle", f"{path}:11"))
            case 250:
                extra = ["clik id=a"]
                planted.add(("command_unknown", f"{path}:9"))
        tree.flow(path, *calls[:2], *extra, *calls[2:])
    planted = {(reason, place.replace(":9", ":8")) for reason, place in planted}
    preflight = tree.check()

    assert set(reasons(preflight)) == planted
    assert len(preflight.problems) == len(planted)
    assert len(preflight.plans) == 300 - len(preflight.blocked)


_SHAPES = st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=6)


@pytest.mark.slow
@given(_SHAPES)
@settings(deadline=None, max_examples=25)
def test_a_random_composition_runs_what_inlining_by_hand_gives(
    tmp_path_factory: pytest.TempPathFactory, shape: list[list[int]]
) -> None:
    tree = AdTree(tmp_path_factory.mktemp("tree"))
    bodies: dict[int, list[str]] = {}
    for number in reversed(range(len(shape))):
        below = [target for target in shape[number] if number < target < len(shape)]
        tree.fragment(f"f{number}.ad", f"type f{number}", *[Call(f"f{t}.ad") for t in below])
        bodies[number] = ["wait", f"f{number}", *[step for t in below for step in bodies[t]]]
    tree.flow("main.ad", Call("f0.ad"), Call("f0.ad", "again"))
    (plan,) = tree.check("main.ad").plans
    program = open_program(plan.program, plan.composition_digest)
    steps = [item for item in linearize(program) if isinstance(item, PlannedStep)]
    words = [
        step.action.command if step.action.command != "type" else step.action.positionals[0]
        for step in steps
    ]

    assert words == ["open", *bodies[0], *bodies[0], "close"]
    assert plan.step_count == len(steps)
    assert len({step.address for step in steps}) == len(steps)


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 6), max_size=3), min_size=1, max_size=5))
@settings(deadline=None, max_examples=25)
def test_any_include_graph_ends_in_typed_problems(
    tmp_path_factory: pytest.TempPathFactory, shape: list[list[int]]
) -> None:
    tree = AdTree(tmp_path_factory.mktemp("tree"))
    for number, targets in enumerate(shape):
        calls = [Call(f"f{target}.ad", pin=UNKNOWN) for target in targets]
        tree.fragment(f"f{number}.ad", *calls)
    tree.flow("main.ad", Call("f0.ad"))
    preflight = tree.check()

    assert {each.reason for each in preflight.problems} <= {
        "fragment_missing",
        "fragment_cycle",
        "fragment_stale",
    }
    places = [(each.path, each.line) for each in preflight.problems]
    assert len(places) == len(set(places))


@pytest.mark.slow
@given(st.binary(max_size=120), st.text(max_size=80))
@settings(deadline=None, max_examples=60)
def test_no_content_of_a_file_makes_anything_but_findings(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, text: str
) -> None:
    tree = AdTree(tmp_path_factory.mktemp("tree"))
    (tree.root / "bytes.ad").write_bytes(data)
    (tree.root / "text.ad").write_text(text, errors="replace")
    (tree.root / "f.ad").write_bytes(b"fragment-v1\n" + data)
    tree.flow("main.ad", Call("f.ad", pin=UNKNOWN), Call("bytes.ad", pin=UNKNOWN))
    preflight = tree.check()

    assert {each.reason for each in preflight.problems} <= REASONS.keys()
    assert {plan.path for plan in preflight.plans}.isdisjoint(
        flow for each in preflight.problems for flow in each.flows
    )
