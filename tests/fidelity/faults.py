"""Faults to plant in a script, each of a kind that a reader must refuse or must let pass.

A fault has so many forms, and a corpus takes them in turn. Which of the two readers is right is
not said here: they must only agree.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from tests.fidelity.evidence import draw_record

Lines: TypeAlias = list[str]
Plant: TypeAlias = Callable[[random.Random, int, Lines, Lines], tuple[Lines, Lines]]
"""Takes the number of the form, the header and the body; returns the two as changed."""

_TARGET: Final = "# agent-device:target-v1 "
_TARGETS: Final = "# agent-device:targets-v1 "
_SOUND: Final = '{"role":"a","verification":"verified"}'


class Fault(Struct, frozen=True):
    """One kind of fault, and how many forms it has."""

    forms: int
    plant: Plant


def _line(*texts: str) -> Fault:
    """Put a line somewhere into the body."""

    def plant(rng: random.Random, form: int, header: Lines, body: Lines) -> tuple[Lines, Lines]:
        at = rng.randint(0, len(body))
        return header, [*body[:at], texts[form], *body[at:]]

    return Fault(len(texts), plant)


def _head(*texts: str) -> Fault:
    """Begin the header with one or more lines."""

    def plant(_: random.Random, form: int, header: Lines, body: Lines) -> tuple[Lines, Lines]:
        return [*texts[form].split("\n"), *header], body

    return Fault(len(texts), plant)


def _end(*texts: str) -> Fault:
    """End the body with a line."""

    def plant(_: random.Random, form: int, header: Lines, body: Lines) -> tuple[Lines, Lines]:
        return header, [*body, texts[form]]

    return Fault(len(texts), plant)


def _loose(*followers: str) -> Fault:
    """End with sound evidence that something else than its action follows."""

    def plant(rng: random.Random, form: int, header: Lines, body: Lines) -> tuple[Lines, Lines]:
        comment = _TARGET + json.dumps(draw_record(rng))
        return header, [*body, comment, followers[form], "press 1 2"]

    return Fault(len(followers), plant)


def _evidence(name: str, values: Sequence[object]) -> Fault:
    """Give an action evidence with one field changed; `...` takes the field out."""

    def plant(rng: random.Random, form: int, header: Lines, body: Lines) -> tuple[Lines, Lines]:
        record = draw_record(rng) | {name: values[form]}
        record = {key: part for key, part in record.items() if part is not ...}
        return header, [*body, _TARGET + json.dumps(record), "press 1 2"]

    return Fault(len(values), plant)


def _comment(*texts: str) -> Fault:
    """Put a comment right before an action."""

    def plant(_: random.Random, form: int, header: Lines, body: Lines) -> tuple[Lines, Lines]:
        return header, [*body, texts[form], "press 1 2"]

    return Fault(len(texts), plant)


def _padded(*, bound: int, place: str, offsets: tuple[int, ...]) -> Fault:
    """Pad a record, the second of a pair or the whole pair to around its bound of bytes."""

    def plant(_: random.Random, form: int, header: Lines, body: Lines) -> tuple[Lines, Lines]:
        record: dict[str, Any] = json.loads(_SOUND)
        pair: dict[str, Any] = {"source": json.loads(_SOUND), "destination": record}
        padded = pair if place == "pair" else record
        padded["pad"] = "é"  # The bound is of bytes, not of characters.
        padded["pad"] += "x" * (bound - len(_tight(padded).encode()) + offsets[form])
        comment = _TARGET + _tight(record) if place == "record" else _TARGETS + _tight(pair)
        return header, [*body, comment, "gesture drag a b"]

    return Fault(len(offsets), plant)


def _tight(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


FAULTS: Final[Mapping[str, Fault]] = {
    "unclosed quote": _line('press "abc', 'type "a\\"', 'open "', 'press id="x" "', '"open'),
    "bad escape": _line('type "\\x41"', 'type "\\\'"', 'type "\\u12"', 'press "\\U00000041"'),
    "raw control": _line('type "a\tb"', 'type "a\x00b"', 'type "a\x1fb"', 'type "a\x7fb"'),
    "quoted words": _line('"env" X=1', '"#" c', '"" x', '"open""x"', '"\\u006fpen" x', "'open' x"),
    "env late": _end(
        "env LATE=1", 'env LATE="x"', "env\tLATE=1", "  env LATE=1", "env", "env\u00a0X=1"
    ),
    "env key": _head(
        *("env lower=1", "env AD_X=1", "env 1A=1", "env A B=1", "env =1", "env", "env NOVALUE"),
    ),
    "env key of others": _head(
        *("env SPACE =1", 'env "Q"=1', "env Ä=1", "env A-B=1", "env AD_=1", "env  K\u00a0=1"),
        *("env \u00a0OK=1", "env AD=1"),
    ),
    "env value": _head(
        *('env V="x', 'env V="x" y', 'env V="\\x"', 'env V="a\tb"', 'env V="a" # c', "env V=a # c"),
        *('env V= "x"', "env V='x y'"),
    ),
    "env twice": _head("env T=1\nenv T=1", "env T=1\n# c\nenv T=2", "env T=\nenv T="),
    "env behind the header": _head("context\nenv lower=1", "context\tx\nenv AD_X=1"),
    "context twice": _head(
        *("context platform=ios\ncontext platform=ios", "context target=tv\ncontext target=tv"),
        *("context platform=ios\ncontext platform=android", "context retries=1\ncontext retries=2"),
        *("context timeout=5\ncontext timeout=5s", "context platform=ios\ncontext platform=web"),
    ),
    "context number twice": _head(
        *("context timeout=5\ncontext timeout=١٢", "context retries=1\ncontext retries=１"),
        *(
            "context timeout=5 retries=1\ncontext timeout=0",
            "context retries=0\ncontext retries=00",
        ),
        *("context timeout=5\ncontext timeout=5.9", "context retries=1\ncontext retries=-1"),
    ),
    "arity of swipe": _line(
        *("swipe 1 2 3 4 5", "swipe 1 2 3 4 ${MS}", "swipe 1 2 3 4 --count x", "swipe 1 2 3 4 ''"),
        *('swipe 1 2 3 4 ""', "swipe 1 2 3 4 --pattern", "swipe 1 2 3 4 --pattern zigzag"),
    ),
    "arity of gesture": _line(
        *("gesture pan 1 2 3 4 5 6", "gesture fling up 1 2 3 4", "gesture swipe left 300"),
        *("gesture pinch 2 1 1 1", "gesture rotate 90 1 1 4", "gesture drag a b 1 2 3 4"),
        *("gesture transform 1 2 3 4 5 6 7 8", "gesture pan 1 2 3 4 5 --pointer-count two"),
        "gesture whirl 1 2 3 4 5 6 7 8 9",
    ),
    "retired option": _line(
        *("screenshot --max-size 100", "record start --max-size 5", 'record "--max-size"'),
        *("screenshot a.png --max-size", "snapshot --max-size 1", "open a --max-size 1"),
    ),
    "value of scale": _line(
        *("screenshot --scale 2", "screenshot --scale", "screenshot --scale 0.009"),
        *('screenshot --scale ""', "screenshot --scale 1.0000001"),
        *('screenshot --scale " .5"', "screenshot --scale .01", "screenshot --scale --crop-on"),
    ),
    "value of density": _line(
        *("screenshot --pixel-density 0", "screenshot --pixel-density 1.5"),
        *("screenshot --pixel-density", "screenshot --pixel-density 1e400"),
        *("screenshot --pixel-density 0x3", "screenshot --pixel-density -1"),
    ),
    "value of crop": _line(
        *("screenshot --crop-on", 'screenshot --crop-on ""', 'screenshot --crop-on " "'),
        "screenshot --crop-on --scale 0.5",
    ),
    "evidence no JSON": _comment(
        *(f"{_TARGET}{{", f"{_TARGET}x", "# agent-device:target-v1", f"{_TARGET}{{'role':'a'}}"),
        *(f'{_TARGET}{{"role":NaN}}', f"{_TARGET}{_SOUND[:-1]},}}", f"{_TARGET}{_SOUND} x"),
        f'{_TARGET}{_SOUND[:-1]},"sibling":01}}',
    ),
    "evidence no record": _comment(
        *(f"{_TARGET}[]", f"{_TARGET}null", f"{_TARGET}1", f"{_TARGETS}{{}}", f"{_TARGETS}[1]"),
        *(f'{_TARGETS}{{"source":{_SOUND}}}', f'{_TARGETS}{{"source":1,"destination":{_SOUND}}}'),
        f'{_TARGETS}{{"source":{_SOUND},"destination":{{}}}}',
    ),
    "evidence of a twin": _comment(
        f'{_TARGET}{{"role":"b",{_SOUND[1:]}',
        f'{_TARGET}{_SOUND[:-1]},"verification":"Verified"}}',
        f'{_TARGET}{_SOUND[:-1]},"label":"\\ud800"}}',
        f'{_TARGET}{_SOUND[:-1]},"rect":{{"x":1e400,"y":0,"width":0,"height":0}}}}',
        f'{_TARGET}{_SOUND[:-1]},"sibling":1e400}}',
        f'{_TARGET}{_SOUND[:-1]},"sibling":123456789012345678901234567890}}',
        f'{_TARGET}{_SOUND[:-1]},"label":"a\u2028b"}}',
        f'{_TARGET}{_SOUND[:-1]},"label":"a\u0085b"}}',
    ),
    "evidence without role": _evidence("role", (...,)),
    "evidence without verification": _evidence("verification", (...,)),
    "evidence role": _evidence("role", (None, 1, [], "x" * 257, "é" * 129, "x" * 256)),
    "evidence id": _evidence("id", (None, 1, True, "x" * 257, {}, " ")),
    "evidence label": _evidence("label", (None, 0, "é" * 129, " " * 300, "e\u0301" * 100, ["a"])),
    "evidence sibling": _evidence("sibling", (-1, 1.5, None, True, 1e300, 1e21, -0.0, 2**53)),
    "evidence order": _evidence("viewportOrder", (-1, 0.5, "", None, False, 2**53, 1e21)),
    "evidence ancestry": _evidence(
        "ancestry",
        (
            *([{"role": "a"}] * 9, None, {}, [1], [{}], [{"role": 1}]),
            *([{"role": "", "label": 0}], [{"role": "x" * 257}], [None]),
        ),
    ),
    "evidence region": _evidence(
        "scrollRegion",
        (
            *(None, [], "x", {}, {"role": 1}, {"role": "", "id": None}),
            *({"role": "a", "label": 1}, {"role": "", "id": "", "label": " "}),
        ),
    ),
    "evidence rect": _evidence(
        "rect",
        (
            *(None, {}, {"x": 1, "y": 1, "width": 1}, [1, 2, 3, 4]),
            *(
                {"x": "1", "y": 1, "width": 1, "height": 1},
                {"x": True, "y": 1, "width": 1, "height": 1},
            ),
            {"x": -0.0, "y": -1, "width": -1, "height": 0, "depth": 1},
        ),
    ),
    "evidence verification": _evidence("verification", ("Verified", "", None, True, "verified ")),
    "evidence too long": _padded(bound=4096, place="record", offsets=(-1, 0, 1, 500)),
    "evidence end too long": _padded(bound=4096, place="destination", offsets=(-1, 0, 1, 100)),
    "evidence pair too long": _padded(bound=8320, place="pair", offsets=(-1, 0, 1, 100)),
    "evidence loose": _loose(
        *("", " ", "# c", "context platform=ios", "env X=1", '"context"', "\ufeff"),
        *("# agent-device:target-v2 {}", _TARGET + _SOUND),
    ),
    "evidence before an action": _loose('replay "x.ad"', "snapshot -i", "runtime", "x", '"env" Y'),
    "evidence at the end": _end(
        *(f"{head}{_SOUND}" for head in (_TARGET, "#agent-device:target-v01 "))
    ),
    "JSON file": _head(
        "{", "[", ' {"steps":[]}', "\ufeff[1]", "\u00a0{", "\x1c{", "\n\n[", "# c\n{"
    ),
}
"""Every kind of fault by name."""
