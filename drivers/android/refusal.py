"""What an adb server means by its FAIL texts, and how losses are spoken of.

Pure. The texts come from the server's source and are stable across protocol version 41; a text
that is not known is a refusal of its own.

May be imported by: drivers.android. Imports: runner.errors.
"""

from runner.errors import DeviceError


def classify_refusal(text: str, *, serial: str, request: str) -> DeviceError:
    """Return the error for `FAIL` with `text`.

    Reasons: `device_unauthorized`, `device_unreachable`, `adb_refused`.
    """
    low = text.lower()
    details = {"serial": serial, "request": request[:200], "answer": text[:500]}
    if "unauthorized" in low or "authorizing" in low or "no permissions" in low:
        return DeviceError(
            kind="device_lost",
            reason="device_unauthorized",
            message=f"device {serial!r} does not trust this computer: {text[:500]}",
            details=details,
        )
    if "offline" in low or "not found" in low or "no devices" in low or "still connecting" in low:
        return DeviceError(
            kind="device_lost",
            reason="device_unreachable",
            message=f"device {serial!r} cannot be reached: {text[:500]}",
            details=details,
        )
    return DeviceError(
        kind="driver_fault",
        reason="adb_refused",
        message=f"the adb server refused {request[:80]!r}: {text[:500] or 'no reason given'}",
        details=details,
    )


def lost_in_command(*, serial: str, request: str) -> DeviceError:
    """Return the error for a stream that ended before its answer was complete."""
    return DeviceError(
        kind="device_lost",
        reason="device_lost",
        message=f"device {serial!r} went away during {request[:80]!r}",
        details={"serial": serial, "request": request[:200]},
    )


def server_lost(*, host: str, port: int, why: str) -> DeviceError:
    """Return the error for an adb server that does not take or hold a connection."""
    return DeviceError(
        kind="driver_fault",
        reason="adb_server_lost",
        message=f"no adb server answers at {host}:{port}: {why}",
        details={"host": host, "port": port},
    )


def answer_invalid(*, host: str, port: int, why: str) -> DeviceError:
    """Return the error for bytes that are not the protocol of an adb server."""
    return DeviceError(
        kind="driver_fault",
        reason="adb_answer_invalid",
        message=f"what answers at {host}:{port} does not speak as an adb server: {why}",
        details={"host": host, "port": port},
    )
