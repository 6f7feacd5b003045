from lxml import etree

from grid.lab.node import SimNode
from grid.lab.uidump import render_uidump
from runner.model.screen import Rect
from tests.grid.lab.labkit import SHOP_ID, Hands


def dump(hands: Hands) -> dict[str, dict[str, str]]:
    """The nodes of a dump by resource id (the last one wins)."""
    root = etree.fromstring(render_uidump(hands.phone.tree(), scale=2.7).encode())
    assert root.tag == "hierarchy"
    return {
        str(node.get("resource-id")): {str(k): str(v) for k, v in node.attrib.items()}
        for node in root.iter("node")
    }


def test_a_dump_names_classes_ids_and_bounds_as_android_does() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)

    nodes = dump(hands)

    title = nodes[f"{SHOP_ID}:id/title_login"]
    assert title["class"] == "android.widget.TextView"
    assert title["text"] == "Welcome"
    assert title["content-desc"] == ""
    assert title["bounds"] == "[43,162][1037,270]"
    assert title["package"] == SHOP_ID
    button = nodes[f"{SHOP_ID}:id/login_button"]
    assert (button["class"], button["clickable"]) == ("android.widget.Button", "true")


def test_an_empty_field_shows_its_hint_and_a_secret_is_bullets() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    hands.tap("password")
    hands.phone.type_text("abc")

    nodes = dump(hands)

    user, secret = nodes[f"{SHOP_ID}:id/username"], nodes[f"{SHOP_ID}:id/password"]
    assert (user["text"], user["hint"], user["password"]) == ("User name", "User name", "false")
    assert (secret["text"], secret["hint"], secret["password"]) == ("•••", "Password", "true")
    assert (user["focused"], secret["focused"]) == ("false", "true")


def test_the_keyboard_is_not_in_a_dump_and_a_dialog_hides_the_app() -> None:
    hands = Hands()
    hands.phone.launch(SHOP_ID)
    hands.tap("username")
    assert not any(node["text"] == "q" for node in dump(hands).values())
    hands.log_in()

    nodes = dump(hands)

    prefix = "com.android.permissioncontroller:id/"
    assert nodes[f"{prefix}permission_allow_button"]["text"] == "Allow"
    assert nodes[f"{prefix}permission_deny_button"]["text"] == "Don't allow"
    assert nodes[f"{prefix}permission_message"]["text"].startswith("Allow Shop")
    assert all(node["package"] != SHOP_ID for node in nodes.values())


def test_rows_have_their_label_as_description_and_hidden_rows_are_left_out() -> None:
    hands = Hands()
    hands.enter_home()
    hands.go("open_catalogue")
    hands.phone.swipe(200, 700, 200, 400, 400, hold=True)

    nodes = dump(hands)

    shown = [key for key in nodes if key.startswith(f"{SHOP_ID}:id/row_")]
    visible = [n.id for n in hands.phone.tree().walk() if n.kind == "row" and n.visible]
    assert shown == [f"{SHOP_ID}:id/{row}" for row in visible]
    assert nodes[f"{SHOP_ID}:id/row_7"]["content-desc"] == "Product 7"
    assert nodes[f"{SHOP_ID}:id/row_7"]["text"] == ""
    assert nodes[f"{SHOP_ID}:id/product_list"]["scrollable"] == "true"
    assert nodes[f"{SHOP_ID}:id/nav_back"]["content-desc"] == "Back"


def test_hostile_text_stays_text() -> None:
    text = "<&\"' \x01\n\t'''"
    node = SimNode(kind="text", text=text, label=text, rect=Rect(0, 0, 5, 5), bundle="a")
    tree = SimNode(kind="screen", rect=Rect(0, 0, 5, 5), children=(node,))

    root = etree.fromstring(render_uidump(tree, scale=1).encode())

    assert root[0].get("text") == "<&\"' .\n\t'''"
