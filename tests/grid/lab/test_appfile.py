from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from grid.lab.appfile import load_app, parse_app
from runner.errors import InputError
from tests.grid.lab.labkit import SHOP_FILE

SMALL = """
version = 1
id = "com.example.small"
name = "Small"
start = [{ goto = "main" }]
memory = { text = "", on = false, count = 0 }

[[screen]]
id = "main"
node = [
  { kind = "heading", id = "title", text = "Main {count}" },
  { kind = "field", id = "field", bind = "text" },
]
"""


def test_the_shop_is_a_valid_app() -> None:
    app = load_app(SHOP_FILE)

    assert app.id == "com.sweepgrid.shop"
    assert [screen.id for screen in app.screen] == [
        "login",
        "home",
        "catalogue",
        "product",
        "cart",
        "confirmation",
    ]


def test_a_small_app_is_read_as_written() -> None:
    app = parse_app(SMALL)

    assert app.initial() == {"text": "", "on": False, "count": 0}
    assert app.screen[0].node[0].text.text == "Main {count}"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("version = 1", "version = 2", "version"),
        ('name = "Small"', 'nom = "Small"', "nom"),
        ("{count}", "{nobody}", "heading title"),
        ("{count}", "{count +}", "node"),
        ('bind = "text"', 'bind = "count"', "field"),
        ('bind = "text"', 'bind = "text", tap = [{ goto = "lost" }]', "field"),
        ('bind = "text"', 'bind = "text", tap = [{ prompt = "lost" }]', "field"),
        ('bind = "text"', 'bind = "text", submit = [{ focus = "lost" }]', "field"),
        ('bind = "text"', "bind = \"text\", tap = [{ set = { lost = '1' } }]", "field"),
        ('bind = "text"', "bind = \"text\", tap = [{ set = { count = 'on' } }]", "field"),
        ('kind = "field"', 'kind = "list"', "list"),
        ('kind = "field"', 'kind = "keyboard"', "keyboard"),
        ('kind = "field"', 'kind = "switch"', "switch"),
        ('kind = "heading"', 'kind = "heading", when = "count"', "when"),
        ('goto = "main"', 'goto = "main", when = "on"', "start"),
        ("count = 0", "n = 0", "saved"),
        ('name = "Small"', 'name = "Small"\ntransition_ms = -1', "transition_ms"),
        ('name = "Small"', 'name = "Small"\nversion_code = 0', "version_code"),
        ('name = "Small"', 'name = "Small"\nactivity = "a b"', "activity"),
        ('"com.example.small"', '"small"', "id"),
        ('"com.example.small"', '"com.example.$(reboot)"', "id"),
        ('id = "main"', 'id = "main screen"', "id"),
        ('kind = "heading"', 'kind = "heading", after_ms = -5', "after_ms"),
        ('kind = "heading"', 'kind = "heading", height = -5', "height"),
        ("[[screen]]", '[link]\nprefix = "x"\n[[screen]]', "link"),
    ],
)
def test_a_wrong_app_is_refused_with_the_place(old: str, new: str, key: str) -> None:
    assert old in SMALL

    with pytest.raises(InputError, match=key) as caught:
        parse_app(SMALL.replace(old, new))

    assert caught.value.reason == "lab_app_invalid"


def test_a_prompt_needs_exactly_one_way_out() -> None:
    prompt = '\n[prompt.ask]\ntext = "Sure?"\nbutton = [{ id = "yes", label = "Yes" }]\n'

    with pytest.raises(InputError, match="dismiss"):
        parse_app(SMALL + prompt)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.toml") as caught:
        load_app(tmp_path / "gone.toml")

    assert caught.value.reason == "lab_app_invalid"


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.toml"
    path.write_bytes(b"name = '\xff'")

    with pytest.raises(InputError, match="UTF-8"):
        load_app(path)


@given(st.text(max_size=80), st.integers(0, len(SMALL)), st.integers(0, 40))
def test_a_damaged_file_gives_only_the_typed_error(noise: str, at: int, cut: int) -> None:
    with suppress(InputError):
        parse_app(SMALL[:at] + noise + SMALL[at + cut :])
