"""Journeys of a user through the shop on a phone whose clock is turned by hand."""

import pytest

from grid.lab.node import SimAlert
from tests.grid.lab.labkit import SHOP_ID, START, Hands, make_phone


def test_a_fresh_phone_shows_its_launcher_and_a_tap_on_an_icon_starts_the_app() -> None:
    hands = Hands()
    icon = next(node for node in hands.phone.tree().walk() if node.label == "Shop")

    hands.phone.tap(*icon.rect.center)

    assert hands.phone.foreground == SHOP_ID
    assert hands.see("title_login").text == "Welcome"
    assert hands.phone.app_state(SHOP_ID) == 4


@pytest.mark.parametrize(
    ("user", "password", "error"),
    [
        ("", "", "Enter user name and password"),
        ("ann@example.com", "", "Enter user name and password"),
        ("ann@example.com", "wrong", "Wrong user name or password"),
        ("bob", "secret-42", "Wrong user name or password"),
    ],
)
def test_a_wrong_login_says_what_is_wrong(user: str, password: str, error: str) -> None:
    hands = Hands()

    hands.log_in(user, password)

    assert hands.see("login_error").text == error
    assert hands.phone.truth()["screen"] == "login"


def test_the_old_screen_stays_until_the_transition_is_over() -> None:
    hands = Hands()
    hands.log_in()
    hands.phone.press_alert("Allow")

    hands.tap("open_catalogue")

    hands.wait(0.149)
    assert hands.phone.truth()["screen"] == "home"
    hands.wait(0.002)
    assert hands.phone.truth()["screen"] == "catalogue"


def test_input_during_a_transition_is_lost() -> None:
    hands = Hands()
    hands.enter_home()

    hands.tap("open_catalogue")
    hands.tap("open_cart")
    hands.wait(1)

    assert hands.phone.truth()["screen"] == "catalogue"


def test_the_prompt_comes_once_and_covers_the_app() -> None:
    hands = Hands()
    hands.log_in()
    assert hands.phone.alert() == SimAlert(
        bundle="com.android.permissioncontroller",
        title="",
        text="Allow Shop to send you notifications?",
        buttons=("Allow", "Don't allow"),
        dismiss="Don't allow",
    )

    hands.go("open_catalogue")
    assert hands.phone.truth()["screen"] == "home"
    hands.go("permission_deny_button")
    hands.go("open_catalogue")
    hands.go("nav_back")

    assert hands.phone.alert() is None
    assert hands.phone.truth()["screen"] == "home"


def test_the_prompt_on_ios_is_springboards_and_spelled_its_way() -> None:
    hands = Hands(platform="ios")
    hands.log_in()

    alert = hands.phone.alert()

    assert alert is not None
    assert (alert.bundle, alert.buttons) == ("com.apple.springboard", ("Allow", "Don’t Allow"))
    assert not hands.phone.press_alert("Don't allow")
    assert hands.phone.press_alert("Don’t Allow")


def test_row_150_is_reached_by_scrolling_and_ordered() -> None:
    hands = Hands()
    hands.enter_home()
    hands.go("open_catalogue")

    for _ in range(30):
        if any(row.visible for row in hands.nodes("row_150")):
            break
        hands.phone.swipe(200, 760, 200, 300, 400, hold=True)
    hands.go("row_150")

    assert hands.see("product_title").text == "Product 150"
    hands.wait(0.5)
    assert hands.nodes("stock_note") == []
    hands.wait(0.1)
    assert hands.see("stock_note").text == "In stock"
    hands.tap("add_to_cart")
    hands.tap("add_to_cart")
    hands.go("nav_back")
    hands.go("nav_back")
    hands.go("open_cart")
    assert hands.see("cart_total").text == "Total: 300.00 EUR"
    assert hands.see("cart_item_2").label == "Product 150"
    hands.go("checkout")
    assert hands.see("order_number").text == "Order 1001"
    hands.go("done")
    assert hands.phone.truth()["screen"] == "home"


def test_only_the_rows_in_view_and_one_at_each_end_are_there() -> None:
    hands = Hands()
    hands.enter_home()
    hands.go("open_catalogue")
    hands.phone.swipe(200, 760, 200, 60, 400, hold=True)

    rows = [node for node in hands.phone.tree().walk() if node.kind == "row"]

    box = hands.see("product_list").rect
    assert [row.visible for row in rows] == [False, *[True] * (len(rows) - 2), False]
    assert len(rows) <= box.height / 64 + 4
    for row in rows[1:-1]:
        assert box.y <= row.rect.y
        assert row.rect.y + row.rect.height <= box.y + box.height


def test_an_empty_cart_cannot_be_checked_out() -> None:
    hands = Hands()
    hands.enter_home()
    hands.go("open_cart")
    assert hands.see("cart_empty").text == "Your cart is empty"
    assert not hands.see("checkout").enabled

    hands.go("checkout")

    assert hands.phone.truth()["screen"] == "cart"


def test_session_and_cart_outlive_the_process_but_not_a_clear() -> None:
    hands = Hands()
    hands.enter_home()
    assert hands.phone.open_url("shop://product/7")
    hands.wait(0.2)
    hands.tap("add_to_cart")

    assert hands.phone.terminate(SHOP_ID)
    assert hands.phone.foreground == "com.android.launcher"
    assert hands.phone.app_state(SHOP_ID) == 1
    hands.phone.launch(SHOP_ID)
    assert hands.see("greeting").text == "Hello, Ann"
    assert hands.phone.truth()["state"][SHOP_ID]["cart"] == (7,)

    hands.phone.clear(SHOP_ID)
    hands.log_in()
    assert hands.phone.alert() is not None
    assert hands.phone.truth()["state"][SHOP_ID]["cart"] == ()


def test_launching_a_running_app_keeps_its_screen_and_relaunching_does_not() -> None:
    hands = Hands()
    hands.enter_home()
    hands.go("open_cart")
    hands.phone.key("home")
    assert hands.phone.app_state(SHOP_ID) == 3

    hands.phone.launch(SHOP_ID)
    assert hands.phone.truth()["screen"] == "cart"
    hands.phone.launch(SHOP_ID, relaunch=True)

    assert hands.phone.truth()["screen"] == "home"


def test_android_back_hides_the_keyboard_then_leaves() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    hands.tap("username")
    assert hands.phone.truth()["keyboard"]

    hands.phone.key("back")
    assert not hands.phone.truth()["keyboard"]
    assert hands.see("username").focused
    hands.phone.key("back")

    assert hands.phone.foreground == "com.android.launcher"


def test_android_back_goes_up_the_screens_and_dismisses_the_prompt() -> None:
    hands = Hands()
    hands.log_in()
    hands.phone.key("back")
    assert hands.phone.alert() is None
    hands.go("open_catalogue")
    hands.go("row_3")

    hands.phone.key("back")
    hands.wait(0.2)
    assert hands.phone.truth()["screen"] == "catalogue"
    hands.phone.key("back")
    hands.wait(0.2)

    assert hands.phone.truth()["screen"] == "home"


def test_an_ios_edge_swipe_goes_back_and_never_leaves_the_app() -> None:
    hands = Hands(platform="ios")
    hands.enter_home()
    hands.go("open_cart")

    hands.phone.swipe(5, 400, 300, 400, 200)
    hands.wait(0.2)
    assert hands.phone.truth()["screen"] == "home"
    hands.phone.swipe(5, 400, 300, 400, 200)
    hands.wait(0.2)

    assert hands.phone.foreground == SHOP_ID


def test_text_goes_where_the_caret_is() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    assert not hands.phone.type_text("lost")
    hands.tap("username")
    hands.phone.type_text("nn")
    hands.phone.key("move_home")
    hands.phone.type_text("A")
    hands.phone.key("move_end")
    hands.phone.type_text("a")
    hands.phone.key("delete")
    hands.phone.set_clipboard("é 👋")
    hands.phone.key("paste")

    assert hands.see("username").value == "Anné 👋"
    assert hands.phone.truth()["fields"] == {"username": "Anné 👋", "password": ""}


def test_a_secure_field_shows_bullets_and_the_truth_tells() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    hands.tap("password")
    hands.phone.type_text("abc")

    focused = hands.phone.focused()

    assert focused is not None
    assert focused.value == "•••"
    assert hands.phone.truth()["fields"]["password"] == "abc"
    assert hands.phone.clear_focused()
    assert hands.see("password").value == ""


def test_return_moves_on_and_logs_in() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    hands.tap("username")

    hands.phone.type_text("ann@example.com\nsecret-42\n")
    hands.wait(0.2)

    assert hands.phone.truth()["screen"] == "home"


def test_taps_on_the_keyboard_type() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    hands.tap("username")

    for key in ("a", "n", "n", "x", "delete", "space", "z"):
        hands.tap(key)

    assert hands.see("username").value == "ann z"


def test_a_fling_coasts_and_a_touch_stops_it_without_a_tap() -> None:
    hands = Hands()
    hands.enter_home()
    hands.go("open_catalogue")
    hands.phone.swipe(200, 700, 200, 300, 200)

    def first_row() -> int:
        visible = [n for n in hands.phone.tree().walk() if n.kind == "row" and n.visible]
        return int(visible[0].id.removeprefix("row_"))

    at_lift = first_row()
    hands.wait(0.3)
    coasting = first_row()
    hands.phone.tap(200, 400)
    hands.wait(5)
    assert at_lift < coasting == first_row()
    assert hands.phone.truth()["screen"] == "catalogue"
    assert hands.phone.settled_at() <= hands.clock.now


def test_a_slow_drag_by_touches_moves_the_list_by_exactly_its_way() -> None:
    hands = Hands()
    hands.enter_home()
    hands.go("open_catalogue")
    before = hands.see("row_5").rect.y
    hands.phone.touch_down(200, 700)
    for step in range(1, 11):
        hands.wait(0.05)
        hands.phone.touch_move(200, 700 - 20 * step)
    hands.wait(0.3)

    hands.phone.touch_up(200, 500)
    hands.wait(1)

    assert hands.see("row_5").rect.y == before - 200


def test_a_touch_that_does_not_move_is_a_tap_and_one_that_is_cancelled_is_none() -> None:
    hands = Hands()
    hands.enter_home()
    x, y = hands.see("open_cart").rect.center

    hands.phone.touch_down(x, y)
    hands.phone.touch_cancel()
    hands.phone.touch_up(x, y)
    hands.wait(0.2)
    assert hands.phone.truth()["screen"] == "home"
    hands.phone.touch_down(x, y)
    hands.wait(0.05)
    hands.phone.touch_up(x + 2, y)
    hands.wait(0.2)

    assert hands.phone.truth()["screen"] == "cart"


def test_a_crash_ends_the_app_and_is_in_the_log() -> None:
    hands = Hands()
    hands.enter_home()

    assert hands.phone.open_url("shop://crash")

    assert hands.phone.app_state(SHOP_ID) == 1
    assert hands.phone.crashes == ((START + 0.2, SHOP_ID),)
    assert any("FATAL EXCEPTION" in line.text for line in hands.phone.log_lines())
    assert not hands.phone.crash(SHOP_ID)


def test_what_is_not_there_is_refused() -> None:
    phone = make_phone()

    assert not phone.launch("com.example.none")
    assert not phone.terminate("com.example.none")
    assert not phone.clear("com.example.none")
    assert not phone.open_url("other://x")
    assert not phone.open_url("shop://product/x")
    assert not phone.open_url("shop://product/7", "com.android.settings")
    assert not phone.key("turbo")
    assert not phone.press_alert("OK")
    assert not phone.hide_keyboard()
    assert not phone.clear_focused()
    assert phone.app_state("com.example.none") == 0


def test_a_locked_phone_shows_the_lock_screen_and_takes_no_input() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    hands.tap("username")
    hands.phone.key("power")

    hands.phone.tap(200, 250)

    assert hands.phone.locked
    assert "Locked" in hands.texts()
    assert not hands.phone.type_text("x")
    hands.phone.key("delete")
    hands.phone.key("menu")
    assert hands.see("username").focused


def test_a_reboot_ends_all_apps_and_keeps_their_data() -> None:
    hands = Hands()
    hands.enter_home()

    hands.phone.reboot()

    assert hands.phone.foreground == "com.android.launcher"
    assert hands.phone.pid_of(SHOP_ID) is None
    hands.phone.launch(SHOP_ID)
    assert hands.see("greeting").text == "Hello, Ann"


def test_the_settings_app_has_a_switch_that_turns() -> None:
    hands = Hands()
    hands.phone.launch("com.android.settings")
    assert hands.see("airplane_mode").value == "0"

    hands.tap("airplane_mode")

    assert hands.see("airplane_mode").checked


def test_two_phones_with_the_same_seed_and_inputs_agree() -> None:
    first, second = Hands(), Hands()
    for hands in (first, second):
        hands.enter_home()

    assert first.phone.truth() == second.phone.truth()
    assert first.phone.pid_of(SHOP_ID) == second.phone.pid_of(SHOP_ID)
