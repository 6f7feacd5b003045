"""The app that the lab ships, as the example flows walk through it."""

from pathlib import Path

import pytest

from grid.lab.appfile import load_app
from grid.lab.node import SimNode
from grid.lab.phone import SimPhone
from runner.model.ids import Platform

APP = "com.sweepgrid.shop"
SHOP = load_app(Path(__file__).parents[3] / "configs" / "lab" / "shop.toml")


class _Hand:
    """Uses a phone by what it shows, on a clock of its own."""

    def __init__(self, platform: Platform) -> None:
        self.now = 1_000.0
        self.phone = SimPhone(platform=platform, serial="P1", app=SHOP, clock=lambda: self.now)
        self.start()

    def start(self) -> None:
        assert self.phone.launch(APP, relaunch=True)
        self.now += 1

    def node(self, name: str) -> SimNode | None:
        return next((one for one in self.phone.tree().walk() if one.id == name), None)

    def text(self, name: str) -> str:
        node = self.node(name)
        assert node is not None, f"{name} is not shown"
        return node.label

    def tap(self, name: str) -> None:
        node = self.node(name)
        assert node is not None, f"{name} is not shown"
        self.phone.tap(*node.rect.center)
        self.now += 1

    def log_in(self) -> None:
        for field, text in (("username", "ann@example.com"), ("password", "secret-42")):
            self.tap(field)
            self.phone.type_text(text)
        self.tap("login_button")


@pytest.fixture(params=["android", "ios"])
def hand(request: pytest.FixtureRequest) -> _Hand:
    return _Hand(request.param)


def test_every_start_finds_the_login_and_an_empty_cart(hand: _Hand) -> None:
    hand.log_in()
    hand.tap("open_catalogue")
    hand.tap("row_3")
    hand.tap("add_to_cart")

    hand.start()

    assert "Welcome" == hand.text("title_login")
    hand.log_in()
    hand.tap("open_cart")
    assert "Your cart is empty" == hand.text("cart_empty")


def test_a_refused_permission_is_asked_again_and_a_granted_one_is_not(hand: _Hand) -> None:
    hand.log_in()
    assert hand.node("notifications") is None

    hand.tap("ask_notifications")
    alert = hand.phone.alert()
    assert alert is not None
    assert hand.phone.press_alert(alert.dismiss)
    assert "Notifications are off" == hand.text("notifications")
    hand.tap("ask_notifications")
    assert hand.phone.press_alert("Allow")
    assert "Notifications are on" == hand.text("notifications")

    hand.start()
    hand.log_in()
    hand.tap("ask_notifications")
    assert hand.phone.alert() is None
    assert hand.phone.clear(APP)
    hand.start()
    hand.log_in()
    hand.tap("ask_notifications")
    assert hand.phone.alert() is not None


def test_orders_are_numbered_across_starts(hand: _Hand) -> None:
    numbers = []
    for _ in range(2):
        hand.start()
        hand.log_in()
        hand.tap("open_catalogue")
        hand.tap("row_2")
        hand.tap("add_to_cart")
        hand.tap("nav_back")
        hand.tap("nav_back")
        hand.tap("open_cart")
        assert "Total: 2.00 EUR" == hand.text("cart_total")
        hand.tap("checkout")
        numbers.append(hand.text("order_number"))

    assert ["Order 1001", "Order 1002"] == numbers


def test_a_drag_into_the_keyboard_puts_it_away_on_ios_only(hand: _Hand) -> None:
    hand.tap("username")
    assert hand.phone.keyboard_shown

    hand.phone.swipe(200, 540, 200, 840, 400, hold=True)

    assert (hand.phone.platform == "android") == hand.phone.keyboard_shown
