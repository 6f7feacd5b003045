import pytest

from runner.formats.ad.display import render_step
from runner.formats.ad.script import Action
from tests.runner.formats.ad.screens import program


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('press "label=\\"Buy\\""', 'press "label=\\"Buy\\""'),
        ("press 10 -2.5", "press 10 -2.5"),
        ("press @e3 Buy", "press @e3"),
        ("open com.shop --relaunch", 'open "com.shop" --relaunch'),
        ("open a --launch-url x://y", 'open a --launch-url "x://y"'),
        ("scroll down 0.5", "scroll down 0.5"),
        ("fill id=a secret", 'fill "id=a" <text>'),
        ("fill 1 2 secret", "fill 1 2 <text>"),
        ("type secret text --delay-ms 5", "type <text> --delay-ms 5"),
        ("press id=a --button secondary --count 2", 'press "id=a" --button secondary --count 2'),
        ("snapshot -s Cart --raw", "snapshot --scope Cart --raw"),
        ("wait absent 'two words' 5", 'wait absent "two words" 5'),
    ],
)
def test_a_step_is_shown_briefly_and_without_typed_text(line: str, shown: str) -> None:
    (action,) = program(f"{line}\n").root.nodes
    assert isinstance(action, Action)

    assert set(shown.split()) == set(render_step(action).split())
    assert render_step(action).split()[0] == shown.split(maxsplit=1)[0]
