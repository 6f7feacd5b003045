"""Whether a phone behind WDA can take a plan: the probe between plans, and its first remedies.

WDA's `/status` answers off the main queue: it tells that the process is up, not that it can do
anything. `/window/size` runs on the main queue, so a short limit on it finds a hang; deleting the
session then frees the calls that WDA has queued. A session that WDA lost by a restart is opened
again here. One that another client took is left to it: two controllers would only fight.

May be imported by: drivers.ios. Imports: runner.{errors,model}, drivers.ios.wda.
"""

from drivers.ios.wda import Wda
from runner.errors import DeviceError
from runner.model.device import DeviceFacts, HealthReport


async def probe_health(wda: Wda, facts: DeviceFacts) -> HealthReport:
    """Probe the phone; errors become the report."""
    try:
        await _probe(wda)
    except DeviceError as error:
        return HealthReport(
            health="lost" if error.kind == "device_lost" else "unhealthy",
            reason=error.reason,
            message=f"{error.message}; {error.hint}",
            facts=facts,
        )
    return HealthReport(health="healthy", facts=facts)


async def _probe(wda: Wda) -> None:
    _, theirs = await wda.read_status()
    if theirs is not None and theirs != wda.session:
        wda.session = None
        raise DeviceError(
            kind="device_busy",
            reason="wda_session_stolen",
            message=f"another client has the session on WebDriverAgent ({theirs:.80})",
            details={"session": theirs[:200]},
        )
    if wda.session is not None and theirs is None:
        wda.session = None  # WDA was started anew.
    try:
        if wda.session is None:
            await wda.open_session(limit_s=wda.limits.probe_s)
        await wda.window_size(limit_s=wda.limits.probe_s)
        await _unlock(wda)
    except DeviceError as error:
        if error.reason != "device_call_deadline":
            raise
        raise DeviceError(
            kind="driver_fault",
            reason="wda_hung",
            message="WebDriverAgent runs but its main thread does not answer"
            f" ({await _end_session(wda)})",
            details=error.details,
        ) from error


async def _end_session(wda: Wda) -> str:
    """End the session of a hung WDA, and tell how that went."""
    try:
        await wda.delete_session()
    except DeviceError as error:
        return f"ending its session failed too: {error.message}"
    return "its session was ended"


async def _unlock(wda: Wda) -> None:
    """Wake a locked phone. Reasons: `device_locked` (device_busy)."""
    limit_s = wda.limits.probe_s
    if not await wda.is_locked(limit_s=limit_s):
        return
    await wda.post("/wda/unlock", limit_s=limit_s)
    if await wda.is_locked(limit_s=limit_s):
        raise DeviceError(
            kind="device_busy",
            reason="device_locked",
            message="the phone is locked and asks for its passcode",
        )
