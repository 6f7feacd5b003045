from grid.lab.phone import SimPhone
from grid.lab.wda_source import XcuiElement, application_of, json_source, text_source, xml_source
from tests.grid.lab.ioskit import BUNDLE, make_shop_phone


class Hand:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def application(phone: SimPhone, *, system_alerts: bool = False) -> XcuiElement:
    names = {BUNDLE: "Shop"}
    return application_of(phone.tree(), names=names, system_alerts=system_alerts)


def one(root: XcuiElement, name: str) -> XcuiElement:
    return next(element for element in root.walk() if element.name == name)


def log_in(phone: SimPhone, clock: Hand) -> None:
    phone.launch(BUNDLE)
    for name, text in (("username", "ann@example.com"), ("password", "secret-42")):
        phone.tap(*one(application(phone), name).rect.center)
        phone.type_text(text)
    phone.tap(*one(application(phone), "login_button").rect.center)
    clock.now += 0.2


def test_an_empty_field_shows_its_placeholder_as_its_value() -> None:
    phone = make_shop_phone(Hand())
    phone.launch(BUNDLE)

    field = one(application(phone), "username")

    assert ("TextField", "User name", "User name") == (field.kind, field.value, field.placeholder)


def test_a_filled_field_shows_its_text_and_a_secure_one_bullets() -> None:
    phone = make_shop_phone(Hand())
    phone.launch(BUNDLE)
    for name, text in (("username", "ann"), ("password", "abc")):
        phone.tap(*one(application(phone), name).rect.center)
        phone.type_text(text)

    root = application(phone)

    assert ("ann", "•••") == (one(root, "username").value, one(root, "password").value)
    assert one(root, "password").type == "XCUIElementTypeSecureTextField"
    assert [one(root, "password")] == [e for e in root.walk() if e.has_keyboard_focus]


def test_the_keyboard_has_a_window_keys_and_a_return_button_and_covers_what_is_below() -> None:
    phone = make_shop_phone(Hand())
    phone.launch(BUNDLE)
    phone.tap(*one(application(phone), "username").rect.center)

    root = application(phone)
    keyboard = next(e for e in root.walk() if e.kind == "Keyboard")

    assert any(e.kind == "Key" and e.label == "a" for e in keyboard.walk())
    assert ("Button", "return") == (one(keyboard, "Return").kind, one(keyboard, "Return").label)
    assert one(root, "login_button").visible


def test_a_system_alert_shows_only_to_a_session_that_asked_for_it() -> None:
    clock = Hand()
    phone = make_shop_phone(clock)
    log_in(phone, clock)

    hidden, shown = application(phone), application(phone, system_alerts=True)

    assert (BUNDLE, "com.apple.springboard") == (hidden.bundle, shown.bundle)
    assert not any(e.kind == "Alert" for e in hidden.walk())
    labels = {e.label for e in shown.walk() if e.kind == "Button"}
    assert labels == {"Allow", "Don’t Allow"}
    assert all(not e.identifier for e in shown.walk() if e.kind == "Button")


def test_back_control_and_heading_stand_in_a_navigation_bar() -> None:
    clock = Hand()
    phone = make_shop_phone(clock)
    log_in(phone, clock)
    phone.press_alert("Allow")
    phone.tap(*one(application(phone), "open_catalogue").rect.center)
    clock.now += 0.2

    bar = next(e for e in application(phone).walk() if e.kind == "NavigationBar")

    assert ("Catalogue", ["nav_back", "title_catalogue"]) == (
        bar.name,
        [child.identifier for child in bar.children],
    )


def test_rows_outside_the_list_are_there_but_not_visible() -> None:
    clock = Hand()
    phone = make_shop_phone(clock)
    log_in(phone, clock)
    phone.press_alert("Allow")
    phone.tap(*one(application(phone), "open_catalogue").rect.center)
    clock.now += 0.2

    listing = next(e for e in application(phone).walk() if e.kind == "CollectionView")
    rows = [child for child in listing.children if child.kind == "Cell"]

    assert rows[0].visible
    assert not rows[-1].visible
    assert len(rows) < 20


def test_the_json_form_has_the_keys_of_webdriveragent() -> None:
    phone = make_shop_phone(Hand())
    phone.launch(BUNDLE)

    found = json_source(one(application(phone), "login_button"), frozenset())

    assert found == {
        "type": "Button",
        "rawIdentifier": "login_button",
        "name": "login_button",
        "value": None,
        "label": "Log in",
        "rect": {"x": 16, "y": 232, "width": 368, "height": 48},
        "frame": "{{16, 232}, {368, 48}}",
        "isEnabled": "1",
        "isVisible": "1",
        "isAccessible": "1",
        "isFocused": "0",
        "traits": "Button",
    }


def test_excluded_attributes_are_left_out_of_both_forms() -> None:
    phone = make_shop_phone(Hand())
    phone.launch(BUNDLE)
    root, excluded = application(phone), frozenset({"visible", "accessible"})

    assert not {"isVisible", "isAccessible"} & json_source(root, excluded).keys()
    assert "visible=" not in xml_source(root, excluded)
    assert 'visible="true"' in xml_source(root, frozenset())


def test_the_text_form_indents_by_depth() -> None:
    phone = make_shop_phone(Hand())
    phone.launch(BUNDLE)

    lines = text_source(application(phone)).splitlines()

    assert lines[0] == "Application, {{0.0, 0.0}, {400.0, 860.0}}, label: 'Shop'"
    assert lines[2].startswith("    StaticText, ")
