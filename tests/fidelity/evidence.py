"""Evidence comments as recorders and others may write them: sound records in odd dress."""

import json
import random
from typing import Any, Final

ROLES: Final = ("button", "", "statictext", "view$foo", "  padded ", "Bu\u0301tton", "\ud83d\ude00")
LABELS: Final = (
    *(
        "Go now",
        "Café",
        "Cafe\u0301",
        "  two   words\n",
        "",
        "\u00a0",
        "\ufeffx\ufeff",
        "a\u2028b",
        "\u001cx",
    ),
    *(
        "é" * 128,
        "x" * 256,
        "🙂" * 64,
        "\u212b",
        "ﬁ",
        "\u0958",
        "한",
        "\u1112\u1161\u11ab",
        "a\u0000b",
        "\ud800",
    ),
)
NUMBERS: Final = (0, 1, 12.5, -3, 1e21, 1e-7, -0.0, 1e300, 0.1 + 0.2, 123456789.125, 2**53, 5e-324)
HEADS: Final = (
    *("# agent-device:{}-v1 ",) * 6,
    *("#agent-device:{}-v1 ", "#\tagent-device:{}-v1\t", "# agent-device:{}-v01   "),
    *(
        "  # agent-device:{}-v1 ",
        "#\u00a0agent-device:{}-v0001\u3000",
        "\ufeff# agent-device:{}-v1 ",
    ),
)


def draw_annotation(rng: random.Random) -> str:
    """Return a comment line of one record, or of the two of a drag."""
    if rng.random() < 0.2:
        pair: Any = {"source": draw_record(rng), "destination": draw_record(rng)}
        return rng.choice(HEADS).format("targets") + render(rng, pair)
    return rng.choice(HEADS).format("target") + render(rng, draw_record(rng))


def render(rng: random.Random, value: object) -> str:
    """Return JSON on one line, in any of its usual dresses."""
    tight = rng.random() < 0.7
    text = json.dumps(
        value,
        separators=(",", ":") if tight else (", ", ": "),
        ensure_ascii=True,
    )
    # `1.0` is a whole number too.
    return text.replace('"sibling":1,', '"sibling":1.0,') if rng.random() < 0.3 else text


def draw_record(rng: random.Random) -> dict[str, Any]:
    """Return a sound record: optional fields here and there, unknown ones, any order."""
    record: dict[str, Any] = {
        "role": rng.choice(ROLES),
        "verification": rng.choice(("verified", "verified", "unverifiable")),
    }
    optional: dict[str, Any] = {
        "id": rng.choice(("go", "com.example:id/go", "", "e\u0301", "x" * 256)),
        "label": rng.choice(LABELS),
        "ancestry": [_draw_ancestor(rng) for _ in range(rng.choice((0, 1, 2, 8)))],
        "sibling": rng.choice((0, 1, 7, 2**40, 2**53 - 1)),
        "viewportOrder": rng.choice((0, 1, 3)),
        "scrollRegion": {"role": rng.choice(ROLES), **_maybe(rng, "id", "list")},
        "rect": {name: rng.choice(NUMBERS) for name in ("x", "y", "width", "height")},
        "unknown": rng.choice((None, [1, {"a": {}}], "x", {"__proto__": 1})),
        "__proto__": {"role": "link"},
    }
    record |= {name: value for name, value in optional.items() if rng.random() < 0.5}
    if "scrollRegion" in record:
        record["scrollRegion"] |= _maybe(rng, "label", rng.choice(LABELS))
    names = list(record)
    rng.shuffle(names)
    return {name: record[name] for name in names}


def _draw_ancestor(rng: random.Random) -> dict[str, Any]:
    return {"role": rng.choice(ROLES[:4]), **_maybe(rng, "label", rng.choice(LABELS[:9]))}


def _maybe(rng: random.Random, name: str, value: str) -> dict[str, str]:
    return {name: value} if rng.random() < 0.5 else {}
