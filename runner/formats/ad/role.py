"""Roles: what kind of element a platform's type name stands for.

Pure. `normalize_type` is the spelling that recordings carry; `kind_of` the neutral word that a
selector may use for the same element on both platforms.

May be imported by: runner.formats, tests. Imports: runner.formats.ad.numbers, runner.model.
"""

import re
from collections.abc import Mapping
from typing import Final

from runner.formats.ad.numbers import SPACES
from runner.model.ids import Platform

_XCUI: Final = re.compile("XCUIElementType", re.IGNORECASE)
_LAST_PART: Final = re.compile(r"[./]")

_KINDS: Final[Mapping[str, str]] = {
    name: kind
    for kind, names in {
        "button": "button imagebutton appcompatbutton materialbutton floatingactionbutton key",
        "text": "statictext textview appcompattextview materialtextview text",
        "text-field": (
            "textfield securetextfield searchfield edittext appcompatedittext textinputedittext "
            "autocompletetextview multiautocompletetextview"
        ),
        "text-view": "textarea",
        "switch": "switch switchcompat switchmaterial togglebutton toggle",
        "slider": "slider seekbar appcompatseekbar ratingbar",
        "image": "image imageview appcompatimageview icon",
        "list": "listview recyclerview",
        "table": "table",
        "collection": "collectionview gridview",
        "cell": "cell",
        "group": (
            "other group view viewgroup framelayout linearlayout relativelayout constraintlayout "
            "coordinatorlayout"
        ),
        "link": "link",
        "scroll-area": "scrollview scrollarea horizontalscrollview nestedscrollview",
        "toolbar": "toolbar materialtoolbar actionbar",
        "window": "window",
        "application": "application",
        "navigation-bar": "navigationbar bottomnavigationview",
        "tab-bar": "tabbar tablayout tabwidget",
        "tab": "tab",
        "menu-item": "menuitem",
        "checkbox": "checkbox appcompatcheckbox",
        "radio": "radiobutton appcompatradiobutton",
        "heading": "heading",
        "segmented-control": "segmentedcontrol",
        "webview": "webview",
        "activity-indicator": "activityindicator",
        "progress-indicator": "progressindicator progressbar",
        "picker": "picker pickerwheel numberpicker datepicker timepicker",
        "alert": "alert",
        "keyboard": "keyboard",
    }.items()
    for name in names.split()
}
# UIKit's TextView is a field of several lines; Android's is a label.
_IOS_KINDS: Final[Mapping[str, str]] = {"textview": "text-view"}

_FIELDS: Final = ("textfield", "securetextfield", "searchfield", "textview", "textarea")
_ANDROID_FIELDS: Final = ("edittext", "autocompletetextview")


def normalize_type(name: str) -> str:
    """Return the role of a type name as recordings spell it."""
    name = _XCUI.sub("", name.strip(SPACES)).removeprefix("AX")
    return _LAST_PART.split(name.lower())[-1]


def kind_of(name: str, platform: Platform) -> str:
    """Return the neutral kind of a type name, or an empty string where there is none."""
    role = normalize_type(name)
    if platform == "ios" and role in _IOS_KINDS:
        return _IOS_KINDS[role]
    return _KINDS.get(role, "")


def is_fillable(name: str, platform: Platform) -> bool:
    """Tell whether text can be put into elements of this type; a nameless type counts."""
    role = normalize_type(name)
    if not role:
        return True
    if platform == "android":
        return any(part in role for part in _ANDROID_FIELDS)
    return role == "search" or any(part in role for part in _FIELDS)
