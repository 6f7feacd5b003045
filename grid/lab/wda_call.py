"""One request to the virtual WebDriverAgent, as its handlers see it, and the table's row type.

May be imported by: grid.lab, tests. Imports: grid.lab.
"""

import math
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, final

from msgspec import Struct

from grid.lab.phone import SimPhone
from grid.lab.wda_error import NO_SESSION, WdaError
from grid.lab.wda_session import W3C_KEY, WdaProcess, WdaSession
from grid.lab.wda_source import XcuiElement

_SPECIAL: Final = re.compile("([\r\n\b\t\x7f\ue003\ue004\ue006\ue007\ue017])")
_KEYS: Final = {
    "\r": "enter",
    "\n": "enter",
    "\ue006": "enter",
    "\ue007": "enter",
    "\b": "delete",
    "\x7f": "delete",
    "\ue003": "delete",
    "\ue017": "forward_delete",
    "\t": "tab",
    "\ue004": "tab",
}


@final
class WdaCall:
    """A matched request: its arguments, the parts of its path, and what it acts on."""

    def __init__(
        self,
        *,
        process: WdaProcess,
        path: Mapping[str, str],
        query: Mapping[str, str],
        arguments: dict[str, Any],
    ) -> None:
        self.process = process
        self.path = path
        self.query = query
        self.arguments = arguments

    @property
    def phone(self) -> SimPhone:
        """The phone."""
        return self.process.phone

    @property
    def session(self) -> WdaSession:
        """The active session. Raises *invalid session id* without one."""
        if self.process.session is None:
            raise WdaError("invalid session id", NO_SESSION)
        return self.process.session

    def element(self, name: str = "e") -> XcuiElement:
        """Return the element that the path names. Raises *stale element reference*."""
        return self.session.recall(self.path[name], self.process.application())

    def reference(self, element: XcuiElement) -> dict[str, str]:
        """Return an element as the wire has it, under its old and its new key."""
        element_id = self.session.remember(element)
        return {"ELEMENT": element_id, W3C_KEY: element_id}

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text argument. Raises *invalid argument*."""
        value = self.arguments.get(name, default)
        if not isinstance(value, str):
            raise WdaError("invalid argument", f"{name!r} argument must be a string")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Return a finite number argument, also one written as text. Raises *invalid argument*."""
        value = self.arguments.get(name, default)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                value = None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise WdaError("invalid argument", f"{name!r} argument must be a number")
        if not math.isfinite(value) or abs(value) > 1e6:
            raise WdaError("invalid argument", f"{name!r} argument is out of range")
        return float(value)

    def seconds(self, name: str, default: float | None = None) -> float:
        """Return a duration argument of at most a minute. Raises *invalid argument*."""
        value = self.number(name, default)
        if not 0 <= value <= 60:
            raise WdaError("invalid argument", f"{name!r} argument must be 0 to 60 seconds")
        return value

    def type_text(self, text: str) -> None:
        """Type what is text, and press what stands for a key."""
        for part in _SPECIAL.split(text):
            if part in _KEYS:
                self.phone.key(_KEYS[part])
            elif part:
                self.phone.type_text(part)


Handler: TypeAlias = Callable[[WdaCall], Awaitable[Any]]
"""Carries out a request and returns the envelope's value."""


class Route(Struct, frozen=True, kw_only=True):
    """One row of the table.

    A path part that begins with a colon is a parameter. `scope` says whether the path stands under
    `/session/:s`, outside, or either. `off_queue` routes do not wait for the main queue.
    """

    method: str
    path: str
    handler: Handler
    scope: str = "session"
    off_queue: bool = False
