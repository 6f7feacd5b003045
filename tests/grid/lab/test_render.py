import io

from PIL import Image

from grid.lab.render import render_png
from runner.model.screen import Rect
from tests.grid.lab.labkit import SHOP_ID, Hands


def picture(hands: Hands) -> Image.Image:
    return Image.open(io.BytesIO(hands.phone.screenshot_png())).convert("RGB")


def colors(image: Image.Image, rect: Rect, scale: float) -> int:
    """How many colours a part of the screen has: more than one means that something is drawn."""
    box = (rect.x, rect.y, rect.x + rect.width, rect.y + rect.height)
    part = image.crop(tuple(round(edge * scale) for edge in box))  # type: ignore[arg-type]  # Four values.
    return len(part.getcolors(maxcolors=1 << 20) or [])


def test_a_screenshot_has_the_pixels_of_the_platform() -> None:
    assert picture(Hands()).size == (1080, 2322)
    assert picture(Hands(platform="ios")).size == (1200, 2580)


def test_every_thing_on_the_screen_is_drawn_where_it_stands() -> None:
    hands = Hands()
    hands.log_in("ann@example.com", "wrong")
    image = picture(hands)

    for node_id in ("title_login", "username", "password", "login_button", "login_error", "q"):
        assert colors(image, hands.see(node_id).rect, 2.7) > 2, node_id


def test_a_field_s_content_is_seen_and_a_secret_only_as_bullets() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    hands.tap("password")
    hands.phone.type_text("abc")
    first = hands.phone.screenshot_png()
    hands.phone.clear_focused()
    empty = hands.phone.screenshot_png()
    hands.phone.type_text("xyz")

    assert hands.phone.screenshot_png() == first != empty


def test_the_same_screen_gives_the_same_bytes_and_another_one_others() -> None:
    hands = Hands()
    before = hands.phone.screenshot_png()
    assert hands.phone.screenshot_png() is before

    hands.phone.launch(SHOP_ID)

    assert hands.phone.screenshot_png() != before


def test_the_dialog_is_drawn_over_the_app() -> None:
    hands = Hands()
    hands.log_in()
    covered = hands.phone.screenshot_png()
    hands.phone.press_alert("Allow")

    assert hands.phone.screenshot_png() != covered


def test_every_screen_of_the_shop_can_be_drawn() -> None:
    hands = Hands()
    hands.enter_home()
    for url in ("shop://cart", "shop://product/3"):
        hands.phone.open_url(url)
        hands.wait(1)
        assert render_png(hands.phone.tree(), 1).startswith(b"\x89PNG")
    hands.phone.launch("com.android.settings")
    assert render_png(hands.phone.tree(), 1).startswith(b"\x89PNG")
    hands.phone.key("power")
    assert render_png(hands.phone.tree(), 1).startswith(b"\x89PNG")
