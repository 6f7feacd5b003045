"""The state of one virtual WebDriverAgent: its process, its one session, and the elements it knows.

An element id stands for a node of the screen for as long as that node is shown; a redraw without
it makes the id stale. A session remembers the newest 1,024 ids. Identifiers are derived from the
phone's serial and seed, so a run can be repeated.

May be imported by: grid.lab, tests. Imports: grid.lab, trio.
"""

import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, final

import trio

from grid.lab.phone import SimPhone
from grid.lab.wda_error import WdaError
from grid.lab.wda_source import XcuiElement, application_of

MAX_ELEMENTS: Final = 1_024
W3C_KEY: Final = "element-6066-11e4-a52e-4f735466cecf"
_MAX_IDLE_WAIT_S: Final = 60.0

DEFAULT_SETTINGS: Final[Mapping[str, Any]] = {
    "snapshotMaxDepth": 50,
    "snapshotMaxChildren": 2_147_483_647,
    "waitForIdleTimeout": 10,
    "animationCoolOffTimeout": 2,
    "screenshotQuality": 3,
    "maxTypingFrequency": 60,
    "respectSystemAlerts": False,
    "acceptAlertButtonSelector": "",
    "dismissAlertButtonSelector": "",
    "autoClickAlertSelector": "",
    "defaultAlertAction": "",
    "defaultActiveApplication": "auto",
    "activeAppDetectionPoint": "64.00,64.00",
    "useFirstMatch": False,
    "boundElementsByIndex": False,
    "reduceMotion": False,
    "limitXPathContextScope": True,
    "useClearTextShortcut": True,
    "mjpegServerFramerate": 10,
    "mjpegScalingFactor": 100,
    "mjpegServerScreenshotQuality": 25,
    "accessibilityDeadline": 0,
}


@final
class WdaSession:
    """One session. `bundle` is the app that it was created for, if any."""

    def __init__(self, session_id: str, *, bundle: str, capabilities: Mapping[str, Any]) -> None:
        self.id = session_id
        self.bundle = bundle
        self.capabilities = capabilities
        self.settings: dict[str, Any] = dict(DEFAULT_SETTINGS)
        for key in ("waitForIdleTimeout", "maxTypingFrequency", "defaultAlertAction"):
            if key in capabilities:
                self.settings[key] = capabilities[key]
        self.waits_for_quiescence = capabilities.get("shouldWaitForQuiescence", True) is not False
        self.terminates_app = capabilities.get("shouldTerminateApp", True) is not False
        self.expects_app = bool(bundle)
        self.queued: set[trio.CancelScope] = set()
        self._elements: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def remember(self, element: XcuiElement) -> str:
        """Return the id of an element; the same element gets the same one."""
        key = (element.kind, element.ref)
        element_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.id}/{key}")).upper()
        self._elements[element_id] = key
        self._elements.move_to_end(element_id)
        if len(self._elements) > MAX_ELEMENTS:
            self._elements.popitem(last=False)
        return element_id

    def recall(self, element_id: str, root: XcuiElement) -> XcuiElement:
        """Return the element of an id as it is now. Raises *stale element reference*."""
        key = self._elements.get(element_id)
        if key is not None:
            self._elements.move_to_end(element_id)
            for element in root.walk():
                if (element.kind, element.ref) == key:
                    return element
        raise WdaError(
            "stale element reference",
            f"The element identified by {element_id!r} is either not present or it has expired "
            "from the internal cache. Try to find it again",
        )


@final
class WdaProcess:
    """The WebDriverAgent of one phone. `queue` is its main queue."""

    def __init__(self, phone: SimPhone) -> None:
        self.phone = phone
        self.session: WdaSession | None = None
        self.queue = trio.Lock()
        self._sessions_made = 0

    def make_session(self, *, bundle: str, capabilities: Mapping[str, Any]) -> WdaSession:
        """Replace the session; the old one's queued requests end with it."""
        self.end_session()
        self._sessions_made += 1
        name = f"{self.phone.serial}/{self.phone.seed}/{self._sessions_made}"
        session_id = str(uuid.uuid5(uuid.NAMESPACE_URL, name)).upper()
        self.session = WdaSession(session_id, bundle=bundle, capabilities=capabilities)
        return self.session

    def end_session(self) -> None:
        """Forget the session and abandon what is queued for it; stop its app if it asked so."""
        session, self.session = self.session, None
        if session is None:
            return
        for scope in tuple(session.queued):
            scope.cancel()
        if session.terminates_app and session.bundle:
            self.phone.terminate(session.bundle)

    def restart(self) -> None:
        """Lose all that a new process does not know."""
        session, self.session = self.session, None
        for scope in tuple(session.queued) if session else ():
            scope.cancel()

    def application(self) -> XcuiElement:
        """Return what is on the screen, as the session's settings want it."""
        names = {spec.id: spec.name for spec in self.phone.installed}
        wants = self.session is not None and self.session.settings["respectSystemAlerts"] is True
        return application_of(self.phone.tree(), names=names, system_alerts=wants)

    def check_app(self) -> None:
        """Raise *invalid element state* when the session's app ended by itself."""
        session = self.session
        if session is not None and session.expects_app and self.phone.app_state(session.bundle) < 2:
            raise WdaError(
                "invalid element state",
                f"The application under test with bundle id '{session.bundle}' is not running, "
                "possibly crashed",
            )

    async def wait_idle(self) -> None:
        """Wait until nothing moves on the screen, as long as the session's settings allow."""
        limit_s: float = DEFAULT_SETTINGS["waitForIdleTimeout"]
        if self.session is not None:
            if not self.session.waits_for_quiescence:
                return
            limit_s = self.session.settings["waitForIdleTimeout"]
        moving_s = self.phone.settled_at() - self.phone.clock()
        await trio.sleep(max(0.0, min(moving_s, limit_s, _MAX_IDLE_WAIT_S)))

    def answer_by_default(self) -> None:
        """Press an alert's button where the session said that alerts are to be answered so."""
        session, alert = self.session, self.phone.alert()
        wish = session.settings["defaultAlertAction"] if session is not None else ""
        if alert is not None and wish in {"accept", "dismiss"}:
            others = [button for button in alert.buttons if button != alert.dismiss]
            accept = others[-1] if others else alert.dismiss
            self.phone.press_alert(accept if wish == "accept" else alert.dismiss)
