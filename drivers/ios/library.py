"""facebook-wda, imported on first use.

The import costs a quarter of a second and most runs need none of it; and its source holds an
invalid escape, which would show as a warning to users. Both are kept in this one place. The
import runs on the event loop's thread on purpose: the warning filters are global to the process,
and two threads that change them at once can leave them changed.

May be imported by: drivers.ios. Imports: wda, lazily.
"""

import importlib
import warnings
from types import ModuleType


def load_wda() -> ModuleType:
    """Return the `wda` package."""
    return _load("wda")


def load_pyusbmux() -> ModuleType:
    """Return `wda.usbmux.pyusbmux`, the plist usbmux client."""
    return _load("wda.usbmux.pyusbmux")


def _load(name: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)
