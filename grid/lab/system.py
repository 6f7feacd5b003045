"""What stands on every virtual phone besides the app under test: names, launcher, settings.

Pure. The dialogs and the launcher are drawn here, because the system owns them on real phones too.

May be imported by: grid.lab, tests. Imports: grid.lab, runner.model.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from grid.lab.appfile import AppSpec, ButtonSpec, PromptSpec, parse_app
from grid.lab.layout import SCREEN, WIDTH, alert_rects, icon_rects
from grid.lab.node import SimAlert, SimNode
from runner.model.ids import Platform
from runner.model.screen import Rect


class SystemNames(Struct, frozen=True, kw_only=True):
    """The bundles of a platform's own parts."""

    launcher: str
    settings: str
    permissions: str
    keyboard: str
    lock_screen: str


SYSTEM_NAMES: Final[Mapping[Platform, SystemNames]] = {
    "android": SystemNames(
        launcher="com.android.launcher",
        settings="com.android.settings",
        permissions="com.android.permissioncontroller",
        keyboard="com.android.inputmethod.latin",
        lock_screen="com.android.systemui",
    ),
    "ios": SystemNames(
        launcher="com.apple.springboard",
        settings="com.apple.Preferences",
        permissions="com.apple.springboard",
        keyboard="com.apple.springboard",
        lock_screen="com.apple.springboard",
    ),
}

_SETTINGS: Final = """
version = 1
id = "{bundle}"
name = "Settings"
activity = ".Settings"
start = [{{ goto = "main" }}]
memory = {{ airplane = false }}

[[screen]]
id = "main"
back = [{{ leave = true }}]
node = [
  {{ kind = "heading", id = "title_settings", text = "Settings" }},
  {{ kind = "switch", id = "airplane_mode", label = "Airplane mode", bind = "airplane" }},
  {{ kind = "text", id = "about", text = "About phone" }},
]
"""


def settings_app(platform: Platform) -> AppSpec:
    """Return the system's settings app, a stub with one screen."""
    return parse_app(_SETTINGS.format(bundle=SYSTEM_NAMES[platform].settings), source="settings")


def button_label(button: ButtonSpec, platform: Platform) -> str:
    """Return how a platform spells a dialog's button."""
    return button.ios_label if platform == "ios" and button.ios_label else button.label


def describe_prompt(prompt: PromptSpec, *, app_id: str, platform: Platform) -> SimAlert:
    """Return a dialog as the user sees it."""
    names = SYSTEM_NAMES[platform]
    return SimAlert(
        bundle=names.permissions if prompt.kind == "permission" else app_id,
        title=prompt.title,
        text=prompt.text,
        buttons=tuple(button_label(button, platform) for button in prompt.button),
        dismiss=next(button_label(button, platform) for button in prompt.button if button.dismiss),
    )


def draw_prompt(prompt: PromptSpec, *, app_id: str, platform: Platform) -> SimNode:
    """Return the node of a dialog. A button's ref is `alert:` and its id."""
    alert = describe_prompt(prompt, app_id=app_id, platform=platform)
    is_permission = prompt.kind == "permission"
    box, title_rect, text_rect, button_rects = alert_rects(
        len(prompt.button), titled=bool(prompt.title)
    )
    parts: list[SimNode] = []
    for text, rect, own_id in (
        (prompt.title, title_rect, "android:id/alertTitle"),
        (prompt.text, text_rect, "permission_message" if is_permission else "android:id/message"),
    ):
        if text:
            parts.append(
                SimNode(
                    kind="text",
                    id=own_id,
                    text=text,
                    label=text,
                    rect=rect,
                    bundle=alert.bundle,
                    ref=f"alert-text:{own_id}",
                )
            )
    for button, rect in zip(prompt.button, button_rects, strict=True):
        label = button_label(button, platform)
        dialog_id = "android:id/button2" if button.dismiss else "android:id/button1"
        parts.append(
            SimNode(
                kind="button",
                id=button.id if is_permission else dialog_id,
                text=label,
                label=label,
                rect=rect,
                bundle=alert.bundle,
                ref=f"alert:{button.id}",
                clickable=True,
            )
        )
    return SimNode(
        kind="alert",
        label=prompt.title or prompt.text,
        rect=box,
        bundle=alert.bundle,
        ref="alert",
        children=tuple(parts),
    )


def draw_app_window(app: AppSpec, nodes: tuple[SimNode, ...]) -> SimNode:
    """Return the window of an app in front."""
    return SimNode(
        kind="window",
        label=app.name,
        rect=SCREEN,
        bundle=app.id,
        ref=f"window:{app.id}",
        children=nodes,
    )


def draw_launcher(apps: Sequence[AppSpec], platform: Platform) -> SimNode:
    """Return the home screen: an icon for each app. An icon's ref is `launch:` and the app's id."""
    bundle = SYSTEM_NAMES[platform].launcher
    icons = tuple(
        SimNode(
            kind="icon",
            id=app.name if platform == "ios" else "",
            text=app.name,
            label=app.name,
            rect=rect,
            bundle=bundle,
            ref=f"launch:{app.id}",
            clickable=True,
        )
        for app, rect in zip(apps, icon_rects(len(apps)), strict=True)
    )
    return SimNode(kind="window", rect=SCREEN, bundle=bundle, ref="launcher", children=icons)


def draw_lock_screen(platform: Platform) -> SimNode:
    """Return the lock screen."""
    bundle = SYSTEM_NAMES[platform].lock_screen
    text = SimNode(
        kind="text",
        id="keyguard_message" if platform == "android" else "",
        text="Locked",
        label="Locked",
        rect=Rect(16, 200, WIDTH - 32, 40),
        bundle=bundle,
        ref="lock-text",
    )
    return SimNode(kind="window", rect=SCREEN, bundle=bundle, ref="lock", children=(text,))
