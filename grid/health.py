"""The health gate: whether a device may take plans, asked before its first one.

May be imported by: grid, runner.cli, tests. Imports: drivers.protocol, runner.model, trio.
"""

from typing import Final

import trio

from drivers.protocol import Device
from grid.play import failure_of_any
from runner.model.device import HealthReport

PROBE_S: Final = 15.0


async def check_gate(device: Device, *, limit_s: float = PROBE_S) -> HealthReport:
    """Probe `device`; one that does not answer in time, or answers with an error, is not healthy.

    Reasons in the report: the driver's own, or `device_unhealthy`.
    """
    try:
        with trio.fail_after(limit_s):
            report = await device.check_health()
    except trio.TooSlowError:
        return HealthReport(
            health="unhealthy",
            reason="device_unhealthy",
            message=f"the device did not answer the health probe in {limit_s:g} s",
        )
    except Exception as error:  # noqa: BLE001  # A probe that breaks is an ill device, with the cause.
        failure = failure_of_any(error)
        lost = failure.kind == "device_lost"
        return HealthReport(
            health="lost" if lost else "unhealthy", reason=failure.reason, message=failure.message
        )
    if report.health != "healthy" and not report.reason:
        return HealthReport(health=report.health, reason="device_unhealthy", message=report.message)
    return report
