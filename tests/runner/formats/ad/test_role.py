import pytest

from runner.formats.ad.role import is_fillable, kind_of, normalize_type
from runner.model.ids import Platform


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("XCUIElementTypeSecureTextField", "securetextfield"),
        ("xcuielementtypeButton", "button"),
        ("AXAXButton", "axbutton"),
        ("axButton", "axbutton"),
        ("AXButton", "button"),
        ("android.widget.EditText", "edittext"),
        ("androidx.recyclerview.widget.RecyclerView", "recyclerview"),
        ("com.foo/Bar", "bar"),
        ("android.view.View$Foo", "view$foo"),
        ("a.b.", ""),
        (" StaticText ", "statictext"),
        ("UIWindow", "uiwindow"),
        ("", ""),
    ],
)
def test_a_type_name_is_normalized(name: str, role: str) -> None:
    assert role == normalize_type(name)


@pytest.mark.parametrize(
    ("name", "platform", "kind"),
    [
        ("android.widget.Button", "android", "button"),
        ("XCUIElementTypeButton", "ios", "button"),
        ("android.widget.TextView", "android", "text"),
        ("XCUIElementTypeTextView", "ios", "text-view"),
        ("XCUIElementTypeStaticText", "ios", "text"),
        ("android.widget.EditText", "android", "text-field"),
        ("XCUIElementTypeSecureTextField", "ios", "text-field"),
        ("androidx.recyclerview.widget.RecyclerView", "android", "list"),
        ("XCUIElementTypeSwitch", "ios", "switch"),
        ("com.example.Chart", "android", ""),
    ],
)
def test_both_platforms_share_neutral_kinds(name: str, platform: Platform, kind: str) -> None:
    assert kind == kind_of(name, platform)


@pytest.mark.parametrize(
    ("name", "platform", "expected"),
    [
        ("android.widget.EditText", "android", True),
        ("com.example.FancyEditTextView", "android", True),
        ("android.widget.MultiAutoCompleteTextView", "android", True),
        ("android.widget.TextView", "android", False),
        ("XCUIElementTypeTextField", "ios", True),
        ("XCUIElementTypeTextView", "ios", True),
        ("XCUIElementTypeSearchField", "ios", True),
        ("Search", "ios", True),
        ("SearchResults", "ios", False),
        ("XCUIElementTypeStaticText", "ios", False),
        ("", "android", True),
        ("", "ios", True),
    ],
)
def test_fields_take_text(name: str, platform: Platform, *, expected: bool) -> None:
    assert expected is is_fillable(name, platform)
