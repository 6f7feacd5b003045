"""An iPhone behind WebDriverAgent, as a `drivers.protocol.Device`.

Invariant: one caller at a time and one session, created at open and deleted at close, which is
shielded and bounded. WDA offers no device log, so `logs` is not among the capabilities and
`read_log` returns the driver's own recent exchanges, and says so. A lost session is opened again
by `check_health` alone: between plans, where nobody relies on what the phone shows.

May be imported by: runner.cli, tests. Imports: runner.{errors,model}, drivers.protocol,
drivers.ios, trio.
"""

import base64
import binascii
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, assert_never, final
from urllib.parse import urlsplit

import trio
from msgspec import Struct
from msgspec.structs import replace

from drivers.ios import apps, text
from drivers.ios.answer import WdaRefusedError
from drivers.ios.gesture import edge_swipe, render_drag
from drivers.ios.health import probe_health
from drivers.ios.http import Dial, HttpConnection, tcp_dial
from drivers.ios.navigation import find_back, find_keyboard_dismissal, find_keyboard_drag
from drivers.ios.source import Frame, find_root_name, mark_focused, read_source, usable_rect
from drivers.ios.usbmux import UsbmuxTarget, usbmux_dial
from drivers.ios.wda import Limits, Wda
from drivers.protocol import Capability, ScreenRead
from runner.errors import DeviceError
from runner.model.action import (
    AcceptAlert,
    Action,
    Back,
    CloseApp,
    DismissAlert,
    Drag,
    FillText,
    HideKeyboard,
    Home,
    KeyboardStatus,
    LongPress,
    OpenApp,
    PressEnter,
    ReadAlert,
    Tap,
    TypeText,
)
from runner.model.device import DeviceFacts, HealthReport
from runner.model.ids import DeviceId
from runner.model.screen import Rect

KEYBOARD: Final = "XCUIElementTypeKeyboard"
MAX_LOG_BYTES: Final = 1024 * 1024

_PNG_HEAD: Final = b"\x89PNG\r\n\x1a\n"
_PNG_END: Final = b"\x00\x00\x00\x00IEND\xaeB\x60\x82"
_KEYBOARD_POLLS: Final = 10
_KEYBOARD_POLL_S: Final = 0.1


class _Foreground(Struct, frozen=True):
    """The app in front: what its tree calls itself, and its bundle id."""

    root: tuple[str, str]
    bundle: str


@final
class IosDevice:
    """One phone under command. Made by `open_ios_device`."""

    def __init__(self, wda: Wda, facts: DeviceFacts, frame: Frame) -> None:
        self.wda = wda
        self.lock = trio.Lock()
        self._facts = facts
        self._frame = frame
        self._foreground: _Foreground | None = None
        self._expected: str | None = None  # The app that was opened and nobody sent away.

    @property
    def facts(self) -> DeviceFacts:
        """What the phone reported when it was opened."""
        return self._facts

    @property
    def capabilities(self) -> frozenset[Capability]:
        """None of the optional parts: see the module's docstring about logs."""
        return frozenset()

    async def snapshot(self) -> ScreenRead:
        """Capture the UI tree.

        Reasons: `screen_unreadable` (device_busy), `app_crashed` (product), and the losses.
        """
        async with self.lock:
            return await self._capture()

    async def perform(self, action: Action) -> str:
        """Carry out one action; return what it read, else an empty string."""
        async with self.lock:
            return await self._perform(action)

    async def screenshot(self) -> bytes:
        """Return the screen as a complete PNG. Reasons: `screenshot_invalid` (device_busy)."""
        async with self.lock:
            encoded = await self.wda.screenshot()
        try:
            png = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _bad_screenshot("it is not base64") from error
        if not png.startswith(_PNG_HEAD):
            raise _bad_screenshot("it does not begin as a PNG")
        if not png.endswith(_PNG_END):
            raise _bad_screenshot("the PNG is not complete")
        return png

    async def read_log(self) -> bytes:
        """Return the driver's recent exchanges with WDA, newest last, under a heading."""
        await trio.lowlevel.checkpoint()
        lines = "\n".join(self.wda.trace).encode("utf-8", "replace")
        return (
            b"# Exchanges with WebDriverAgent; it offers no device log.\n"
            + lines[-(MAX_LOG_BYTES - 100) :]
        )

    async def check_health(self) -> HealthReport:
        """Probe whether the phone can take a plan now, and open a lost session again."""
        async with self.lock:
            self._foreground = self._expected = None
            return await probe_health(self.wda, self._facts)

    async def _capture(self) -> ScreenRead:
        read = await self.wda.read_source()
        root = find_root_name(read.root)
        if self._foreground is None or self._foreground.root != root:
            self._foreground = None
            bundle = (await self.wda.active_app()).bundle_id
            await self._require_alive(bundle)
            self._foreground = _Foreground(root, bundle)
        frame = replace(self._frame, foreground=self._foreground.bundle, max_depth=read.max_depth)
        snapshot = read_source(read.root, frame)
        if snapshot.keyboard_shown:
            snapshot = mark_focused(snapshot, await self._find_focus())
        return ScreenRead(snapshot=snapshot, raw=read.raw, raw_kind="json")

    async def _require_alive(self, foreground: str) -> None:
        """Check that the opened app did not end. Reasons: `app_crashed` (product).

        WDA itself watches only the app that a session was created for, and ours is for none.
        """
        app = self._expected
        if app is None or app == foreground or await self.wda.app_state(app) != apps.NOT_RUNNING:
            return
        raise DeviceError(
            kind="product",
            reason="app_crashed",
            message=f"{app} ended by itself; {foreground or 'nothing'} is in the foreground",
            details={"app": app, "foreground": foreground},
        )

    async def _find_focus(self) -> Rect | None:
        try:
            element = await self.wda.find_active()
            return None if element is None else usable_rect(await self.wda.element_rect(element))
        except WdaRefusedError as refusal:
            if refusal.error == "stale element reference":
                return None  # The focus moved while it was read: nothing certain holds it.
            raise

    async def _perform(self, action: Action) -> str:
        wda = self.wda
        match action:
            case OpenApp() | CloseApp() | Home():
                await self._change_app(action)
            case Tap():
                await self._tap(action)
            case LongPress(x=x, y=y, duration_ms=duration_ms):
                await self._hold(x, y, duration_ms)
            case Drag():
                limit_s = wda.limits.call_s + action.duration_ms / 1000
                await wda.post("/actions", render_drag(action), limit_s=limit_s)
            case TypeText():
                await text.type_text(wda, action)
            case FillText():
                await text.fill_text(wda, action)
            case Back():
                await self._go_back()
            case HideKeyboard():
                await self._hide_keyboard()
            case PressEnter():
                await text.press_enter(wda)
            case KeyboardStatus():
                return "shown" if await self._is_keyboard_shown() else "hidden"
            case AcceptAlert():
                await wda.post("/alert/accept")
            case DismissAlert():
                await wda.post("/alert/dismiss")
            case ReadAlert():
                return await wda.alert_text()
            case _:
                assert_never(action)
        return ""

    async def _change_app(self, action: OpenApp | CloseApp | Home) -> None:
        expected = self._expected
        self._foreground = self._expected = None
        match action:
            case OpenApp():
                await apps.open_app(self.wda, action)
                # A link without an app may go to the one that is open, which may crash on it.
                self._expected = action.app or expected
            case CloseApp():
                await apps.close_app(self.wda, action)
            case Home():
                await self.wda.press_home()

    async def _tap(self, tap: Tap) -> None:
        for number in range(tap.count):
            if number and tap.interval_ms:
                await trio.sleep(tap.interval_ms / 1000)
            if tap.double:
                await self.wda.post("/wda/doubleTap", {"x": tap.x, "y": tap.y})
            elif tap.hold_ms:
                await self._hold(tap.x, tap.y, tap.hold_ms)
            else:
                await self.wda.post("/wda/tap", {"x": tap.x, "y": tap.y})

    async def _hold(self, x: float, y: float, duration_ms: int) -> None:
        seconds = duration_ms / 1000
        body = {"x": x, "y": y, "duration": seconds}
        limit_s = self.wda.limits.call_s + seconds
        await self.wda.post("/wda/touchAndHold", body, limit_s=limit_s)

    async def _go_back(self) -> None:
        snapshot = (await self._capture()).snapshot
        control = find_back(snapshot)
        if control is not None and control.rect is not None:
            x, y = control.rect.center
            await self.wda.post("/wda/tap", {"x": x, "y": y})
        else:
            swipe = edge_swipe(snapshot.width, snapshot.height)
            await self.wda.post("/actions", render_drag(swipe))

    async def _is_keyboard_shown(self) -> bool:
        return bool(await self.wda.find_all("class name", KEYBOARD))

    async def _hide_keyboard(self) -> None:
        """Ask WDA, else do what a user would. Reasons: `keyboard_not_hidden` (product)."""
        if not await self._is_keyboard_shown():
            return
        refused = ""
        try:
            await self.wda.post("/wda/keyboard/dismiss", {"keyNames": ["Done", "Hide keyboard"]})
        except WdaRefusedError as refusal:
            if refusal.error != "invalid element state" or refusal.reason != "wda_refused":
                raise
            refused = refusal.text
            await self._put_keyboard_away()
        for _ in range(_KEYBOARD_POLLS):
            if not await self._is_keyboard_shown():
                return
            await trio.sleep(_KEYBOARD_POLL_S)
        raise DeviceError(
            kind="product",
            reason="keyboard_not_hidden",
            message="the keyboard is still shown: no key closes it, nor does a drag into it",
            details={"answer": refused[:2000]},
        )

    async def _put_keyboard_away(self) -> None:
        """Tap the control that closes the keyboard, else drag from the content into it.

        The return key is left alone, because it may send the form.
        """
        snapshot = (await self._capture()).snapshot
        control = find_keyboard_dismissal(snapshot)
        drag = find_keyboard_drag(snapshot)
        if control is not None and control.rect is not None:
            x, y = control.rect.center
            await self.wda.post("/wda/tap", {"x": x, "y": y})
        elif drag is not None:
            await self.wda.post("/actions", render_drag(drag))


@asynccontextmanager
async def open_ios_device(
    *,
    device_id: str,
    url: str | None = None,
    usbmux: UsbmuxTarget | None = None,
    udid: str = "",
    tags: tuple[str, ...] = (),
    is_virtual: bool | None = None,
    limits: Limits | None = None,
) -> AsyncGenerator[IosDevice]:
    """Open the phone whose WDA answers at `url`, or behind `usbmux`; exactly one of them.

    `is_virtual` overrides what WDA tells. Leaving the context deletes the session.

    Reasons: `device_unreachable`, `usbmux_unreachable`, `device_lost` (device_lost),
    `wda_refused`, `wda_answer_invalid`, `device_call_deadline` (driver_fault),
    `device_address_invalid` (misuse).
    """
    dial, where, host = _route(url, usbmux)
    wda = Wda(HttpConnection(dial, where=where, host=host), limits or Limits())
    try:
        status, _ = await wda.read_status()
        info = await wda.read_info()
        await wda.open_session()
        size = await wda.window_size()
        frame = Frame(width=size.width, height=size.height, scale=await wda.screen_scale())
        serial = udid or (usbmux.udid if usbmux is not None else "")
        facts = DeviceFacts(
            id=DeviceId(device_id),
            platform="ios",
            serial=serial,
            model=status.device,
            os_version=status.os.version,
            is_virtual="simulatorVersion" in status.ios if is_virtual is None else is_virtual,
            tags=tags,
            hardware_id=info.uuid or serial,
        )
        yield IosDevice(wda, facts, frame)
    finally:
        await _release(wda)


async def identify_ios_device(
    *, url: str | None = None, usbmux: UsbmuxTarget | None = None, limits: Limits | None = None
) -> str:
    """Return what the phone there says that it is, without taking its session from anybody.

    Empty where its WDA does not tell. Reasons: those of `open_ios_device`.
    """
    dial, where, host = _route(url, usbmux)
    wda = Wda(HttpConnection(dial, where=where, host=host), limits or Limits())
    try:
        info = await wda.read_info()
    finally:
        await wda.aclose()
    return info.uuid


async def _release(wda: Wda) -> None:
    limit = trio.current_time() + wda.limits.release_s
    with trio.CancelScope(deadline=limit, shield=True):
        try:
            await wda.delete_session()
        except DeviceError:
            # The phone is gone or has no such session: there is nothing left to release, and the
            # exchange stands in the trace.
            return
        finally:
            await wda.aclose()


def _route(url: str | None, usbmux: UsbmuxTarget | None) -> tuple[Dial, str, str]:
    """Return how to dial, the place for messages, and the HTTP host."""
    if usbmux is not None and url is None:
        where = f"WebDriverAgent on {usbmux.udid}:{usbmux.port} (usbmux)"
        return usbmux_dial(usbmux), where, "localhost"
    if url is not None and usbmux is None:
        host, port = _parse_url(url)
        return tcp_dial(host, port), f"WebDriverAgent at {host}:{port}", f"{host}:{port}"
    raise _bad_address("a phone has either a url or a usbmux address", url)


def _parse_url(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 8100
    except ValueError as error:
        raise _bad_address(f"{url!r} is not a URL: {error}", url) from error
    if parts.scheme != "http" or not host or parts.path.strip("/") or parts.query:
        raise _bad_address(f"{url!r} is not http://HOST:PORT", url)
    return host, port


def _bad_address(message: str, url: str | None) -> DeviceError:
    return DeviceError(
        kind="misuse", reason="device_address_invalid", message=message, details={"url": url}
    )


def _bad_screenshot(why: str) -> DeviceError:
    return DeviceError(
        kind="device_busy",
        reason="screenshot_invalid",
        message=f"WebDriverAgent's screenshot cannot be used: {why}",
    )
