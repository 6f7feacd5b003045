from runner.schedule.policy import rank_plans, requirement_of, satisfies
from tests.support.plans import make_facts, make_plan


async def test_longer_plans_go_first() -> None:
    plans = [make_plan("short", steps=1), make_plan("long", steps=9), make_plan("mid", steps=4)]

    assert [p.id for p in rank_plans(plans, [])] == ["long", "mid", "short"]


async def test_of_equally_long_plans_the_one_with_fewer_devices_goes_first() -> None:
    plans = [make_plan("a", steps=3), make_plan("i", steps=3, platform="ios")]
    devices = [make_facts("a1"), make_facts("a2"), make_facts("i1", platform="ios")]

    assert [p.id for p in rank_plans(plans, devices)] == ["i", "a"]


async def test_a_device_serves_only_its_platform_and_target() -> None:
    phone = make_facts("a1")

    assert satisfies(phone, requirement_of(make_plan("p")))
    assert not satisfies(phone, requirement_of(make_plan("p", platform="ios")))
    assert not satisfies(phone, requirement_of(make_plan("p", target="tv")))
