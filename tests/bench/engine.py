"""What the interpreter itself costs: a program played over a playbook, with no device time."""

import time
from collections.abc import Sequence
from typing import Final

from runner.formats.ad.machine import play
from runner.formats.ad.parser import read_script
from runner.formats.ad.program import AdProgram
from runner.machine.playbook import Frame, play_screens
from runner.model.screen import Node, Rect, Snapshot
from tests.bench.sample import Sample
from tests.bench.scale import Scale
from tests.bench.table import Bar, Row

NODES: Final = 200
WIDTH, HEIGHT = 1080.0, 2340.0
_ROW_HEIGHT: Final = 23.0
_BLOCKS: Final = 20
_COLUMN: Final = 9
"""Nodes in one branch of the tree: its group, and what the group holds."""

_EVIDENCE: Final = (
    '# agent-device:target-v1 {{"id":"com.shop:id/node_{at}","role":"button","label":"Item {at}",'
    '"ancestry":[{{"role":"viewgroup"}}],"sibling":{sibling},"viewportOrder":0,'
    '"verification":"verified"}}'
)
_STEPS: Final = {
    "press by id": 'press "id=com.shop:id/node_{at}"',
    "press by role and label": 'press "role=button label=\\"Item {at}\\""',
    "press, second alternative": 'press "id=absent || label=\\"Item {at}\\""',
    "press with evidence": _EVIDENCE + '\npress "id=com.shop:id/node_{at}"',
    "fill": 'fill "id=com.shop:id/field" "text of step {at}"',
    "type": 'type "text of step {at}"',
    "wait for a selector": 'wait "label=\\"Item {at}\\"" 5000',
    "wait for a text": 'wait "Item {at}" 5000',
    "is visible": 'is visible "id=com.shop:id/node_{at}"',
    "get text": 'get text "id=com.shop:id/node_{at}"',
    "scroll": "scroll down",
    "back": "back",
}


async def measure(scale: Scale) -> list[Row]:
    """Return the rows for a mix of steps and for the dearest kind of step."""
    screen = make_screen()
    kinds = {kind: _play_often((line,), screen, scale.plays) for kind, line in _STEPS.items()}
    dearest = max(kinds, key=lambda kind: kinds[kind].median)
    mixed = _play_often(tuple(_STEPS.values()), screen, scale.plays)
    costs = ", ".join(f"{kind} {sample.median:.2f}" for kind, sample in kinds.items())
    return [
        _row(f"engine, a step of a mix, {NODES} nodes", mixed, note=f"ms by step: {costs}"),
        _row(f"engine, the dearest step: {dearest}", kinds[dearest]),
    ]


def make_screen() -> Snapshot:
    """Return a screen as a long list shows it: groups of buttons, texts and one field."""
    nodes = [Node(index=0, type="android.widget.FrameLayout", rect=Rect(0, 0, WIDTH, HEIGHT))]
    nodes.append(
        Node(
            index=1,
            parent=0,
            depth=1,
            type="android.widget.EditText",
            identifier="com.shop:id/field",
            label="Search",
            rect=Rect(0, 0, WIDTH, _ROW_HEIGHT),
            enabled=True,
            focused=True,
            hittable=True,
        )
    )
    group = 0
    while len(nodes) < NODES:
        at = len(nodes)
        is_group = (at - 2) % _COLUMN == 0
        group = at if is_group else group
        nodes.append(_make_group(at) if is_group else _make_button(at, group))
    return Snapshot(platform="android", nodes=tuple(nodes), width=WIDTH, height=HEIGHT)


def _make_group(at: int) -> Node:
    rect = Rect(0, at / NODES * HEIGHT, WIDTH, _ROW_HEIGHT)
    return Node(index=at, parent=0, depth=1, type="android.view.ViewGroup", rect=rect)


def _make_button(at: int, group: int) -> Node:
    width = WIDTH / _COLUMN
    x = (at - group - 1) * width
    return Node(
        index=at,
        parent=group,
        depth=2,
        type="android.widget.Button",
        identifier=f"com.shop:id/node_{at}",
        label=f"Item {at}",
        rect=Rect(x, group / NODES * HEIGHT, width, _ROW_HEIGHT),
        enabled=True,
        hittable=True,
    )


def _play_often(lines: Sequence[str], screen: Snapshot, times: int) -> Sample:
    """Return the processor time of a step, in ms, one value a play."""
    program = _make_program(lines)
    steps = len(lines) * _BLOCKS
    costs = []
    for turn in range(times + 1):
        began = time.process_time()
        played = play_screens(play(program, scope={}), [Frame(screen=screen)])
        spent = time.process_time() - began
        if played.outcome.failure is not None:
            raise AssertionError(played.outcome.failure.message)
        if turn:  # The first play fills caches.
            costs.append(spent * 1000 / steps)
    return Sample(tuple(costs))


def _make_program(lines: Sequence[str]) -> AdProgram:
    buttons = [at for at in range(2, NODES) if (at - 2) % _COLUMN]
    text = "".join(
        line.format(at=at, sibling=(at - 2) % _COLUMN - 1) + "\n"
        for at in buttons[:: len(buttons) // _BLOCKS][:_BLOCKS]
        for line in lines
    )
    read = read_script(text.encode(), path="bench.ad")
    if read.findings:
        raise AssertionError(read.findings[0].message)
    return AdProgram(path="bench.ad", platform="android", root=read.script)


def _row(what: str, sample: Sample, *, note: str = "") -> Row:
    return Row(
        what=what,
        value=sample.median,
        unit="ms CPU",
        tail=sample.worst,
        tail_name="max",
        bar=Bar(0.5),
        note=note,
    )
