"""Apps on the phone: bring one to the front, open a URL, terminate one.

WDA's `launch` only activates an app that runs already, so a fresh start terminates it first. It
says yes before the app has settled, so the state is looked at afterwards.

May be imported by: drivers.ios. Imports: runner.{errors,model}, drivers.ios.{answer,wda}, trio.
"""

from typing import Final

import trio

from drivers.ios.answer import WdaRefusedError
from drivers.ios.wda import Wda
from runner.errors import DeviceError
from runner.model.action import CloseApp, OpenApp

NOT_RUNNING: Final = 1
_FOREGROUND: Final = 4
_START_WAIT_S: Final = 5.0
_POLL_S: Final = 0.1
_STOP_POLLS: Final = 20
_NOT_INSTALLED: Final = ("unknown to FrontBoard", "not installed", "InvalidBundle")


async def open_app(wda: Wda, action: OpenApp) -> None:
    """Carry out `OpenApp`.

    Reasons: `app_not_installed`, `action_unsupported` (misuse), `app_start_failed`, `app_crashed`
    (product).
    """
    if action.app is None and action.url is None:
        raise DeviceError(
            kind="misuse",
            reason="action_unsupported",
            message="open names neither an app nor a URL",
            hint="give a bundle id, a URL, or both",
        )
    if action.app is not None and action.relaunch:
        await _terminate(wda, action.app)
    if action.url is not None:
        await _start(wda, "/url", {"url": action.url}, action)
    else:
        await _start(wda, "/wda/apps/launch", {"shouldWaitForQuiescence": False}, action)
    if action.app is not None:
        await _wait_foreground(wda, action.app)


async def close_app(wda: Wda, action: CloseApp) -> None:
    """Carry out `CloseApp`. An app that is not running is closed already."""
    await _terminate(wda, action.app)


async def _start(wda: Wda, route: str, body: dict[str, object], action: OpenApp) -> None:
    if action.app is not None:
        body = {**body, "bundleId": action.app}
    try:
        await wda.post(route, body)
    except WdaRefusedError as refusal:
        if refusal.reason != "wda_refused":
            raise
        is_missing = any(mark in refusal.text for mark in _NOT_INSTALLED)
        what = action.app or action.url or ""
        raise DeviceError(
            kind="misuse" if is_missing else "product",
            reason="app_not_installed" if is_missing else "app_start_failed",
            message=f"iOS did not open {what:.200}: {refusal.text[:500]}",
            details={
                "app": action.app,
                "url": (action.url or "")[:2000] or None,
                "output": refusal.text[:2000],
            },
        ) from refusal


async def _wait_foreground(wda: Wda, app: str) -> None:
    state = await wda.app_state(app)
    give_up = trio.current_time() + _START_WAIT_S
    while state != _FOREGROUND and trio.current_time() < give_up:
        await trio.sleep(_POLL_S)
        state = await wda.app_state(app)
    if state == _FOREGROUND:
        return
    has_ended = state == NOT_RUNNING
    raise DeviceError(
        kind="product",
        reason="app_crashed" if has_ended else "app_start_failed",
        message=f"{app} ended right after it was started"
        if has_ended
        else f"{app} did not reach the foreground within {_START_WAIT_S:g} s (state {state})",
        details={"app": app, "state": state},
    )


async def _terminate(wda: Wda, app: str) -> None:
    await wda.post("/wda/apps/terminate", {"bundleId": app})
    for _ in range(_STOP_POLLS):
        if await wda.app_state(app) != _FOREGROUND:
            return
        await trio.sleep(_POLL_S)
