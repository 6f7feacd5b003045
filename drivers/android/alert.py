"""Finding the alert that a screen shows: system dialogs, permission prompts, alert dialogs.

Pure. An alert is known by the resource ids of its buttons, which the platform's dialogs and the
permission controller have kept over many releases; texts are translated and tell nothing.

May be imported by: drivers.android, tests. Imports: runner.model.screen.
"""

from typing import Final

from msgspec import Struct

from runner.model.screen import Node, Snapshot

# In the order of preference, most complete grant and least lasting refusal first.
_ACCEPT: Final = (
    "permission_allow_button",
    "permission_allow_foreground_only_button",
    "permission_allow_one_time_button",
    "permission_allow_always_button",
    "button1",
    "aerr_wait",
    "aerr_restart",
)
_DISMISS: Final = (
    "permission_deny_button",
    "permission_deny_and_dont_ask_again_button",
    "permission_no_upgrade_button",
    "button2",
    "button3",
    "aerr_close",
)
_TEXTS: Final = ("alertTitle", "permission_message", "message")

_PERMISSION_BUNDLES: Final = frozenset(
    {
        "com.android.permissioncontroller",
        "com.google.android.permissioncontroller",
        "com.android.packageinstaller",
        "com.google.android.packageinstaller",
    }
)


class Alert(Struct, frozen=True, kw_only=True):
    """An alert: its text, and where it is accepted and dismissed. A lone button does both."""

    text: str
    accept: tuple[float, float]
    dismiss: tuple[float, float]


def find_alert(snapshot: Snapshot) -> Alert | None:
    """Return the alert on the screen, if there is one."""
    ids = {name: node for node in snapshot.nodes if (name := _system_id(node))}
    accept = _first_center(ids, _ACCEPT)
    dismiss = _first_center(ids, _DISMISS)
    # One of the two is a point when there is any button at all.
    either = accept or dismiss
    if either is None:
        return None
    texts = (ids[name].label for name in _TEXTS if name in ids)
    return Alert(
        text="\n".join(text for text in texts if text),
        accept=accept or either,
        dismiss=dismiss or either,
    )


def _system_id(node: Node) -> str:
    """Return the last part of an id that belongs to the platform or its permission dialogs."""
    owner, _, name = node.identifier.partition(":id/")
    if owner == "android" or (owner in _PERMISSION_BUNDLES and owner == node.bundle):
        return name
    # Dialog classes that apps bring along keep the platform's ids, except for the title.
    return name if name == "alertTitle" else ""


def _first_center(ids: dict[str, Node], names: tuple[str, ...]) -> tuple[float, float] | None:
    for name in names:
        node = ids.get(name)
        if node is not None and node.rect is not None and node.rect.area > 0:
            return node.rect.center
    return None
