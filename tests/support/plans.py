"""Makes checked plans and device facts for tests of the schedule and the grid."""

from runner.model.device import DeviceFacts
from runner.model.ids import DeviceId, Digest, PlanId, Platform
from runner.model.plan import CheckedPlan, Limits


def make_plan(
    name: str,
    *,
    platform: Platform = "android",
    steps: int = 1,
    retries: int = 0,
    program: bytes = b"tap ok",
    limits: Limits | None = None,
    target: str = "mobile",
) -> CheckedPlan:
    return CheckedPlan(
        id=PlanId(name),
        path=f"flows/{name}.ad",
        format="ad",
        kind="flat",
        platform=platform,
        target=target,
        composition_digest=Digest("sha256:" + "0" * 64),
        program=program,
        step_count=steps,
        retries=retries,
        limits=limits or Limits(),
    )


def make_facts(name: str, *, platform: Platform = "android", hardware_id: str = "") -> DeviceFacts:
    return DeviceFacts(id=DeviceId(name), platform=platform, serial=name, hardware_id=hardware_id)
