"""A thousand `.ad` scripts for two readers: the same on every run, drawn from the command registry.

Two of three are meant to be read: every command in turn, options with good and odd values, all
spellings of a token, headers, comments, evidence, hostile text. Every third has one planted fault
of `faults.py`, the kinds and their forms in turn. Words of composition (`include` and the guards)
are left out: only one of the two readers knows them.

What a script is meant to be is no verdict: odd values make some of the sound ones wrong. Both
readers judge, and must agree.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.options import Option
from tests.fidelity.evidence import draw_annotation
from tests.fidelity.faults import FAULTS

SIZE: Final = 1000
SEED: Final = "ad-0.21.5"
FAULT_EVERY: Final = 3

NUMBERS: Final = (
    *("0", "1", "7", "250", "12.5", "-3", ".5", "5.", "1e2", "1E3", "0x10", "0b1", "0o7", "+5"),
    *("1_0", "nan", "NaN", "inf", "Infinity", "-Infinity", "5px", "1e400", "-1e400", "1e21", "-0"),
    *("1e-7", "9007199254740993", "123456789012345678901234567890", "0.1", "-0.5", " ", " 12 "),
    *("", "0x", "1e", "+-1", "0xG", "00012", "\ufeff3", "\x1c3", "\u0085", "١", "1,5", "-0x10"),
)
WORDS: Final = (
    *("Login", "com.example.app", "com.example/.Main", "https://example.com/a?b=c#d", "up", "down"),
    *("text", "attrs", "visible", "start", "stop", "accept", "portrait", "read", "write", "click"),
    *('id="go"', "label=Done", 'label="Two words"', "role=button || text=Done", "visible=true"),
    *(
        'label="Say \\"hi\\""',
        "@e12",
        "@e3~s7",
        "@e3~sx",
        "@e3~s",
        "@ e1",
        "@e1~s1~s2",
        "@",
        "@~s1",
    ),
    *("@e12~s007", " @e1~s2", "@e1 ~s2", "@e1~s2 ", "@e1~s２", "${NAME}", "${NAME:-two words}"),
    *("\\${NAME}", "${}", "$NAME", "${A${B}}", "Sign in", "1 2", "tail ", " head", "a  b", "wait"),
)
HOSTILE: Final = (
    *("", "#", "# no comment", "context", "env", "env X=1", "__proto__", "constructor", "toString"),
    *("hasOwnProperty", "--", "-", "--count", "--delay-ms", "--relaunch", "--max-sizes", "-i", "="),
    *(
        "\x00",
        "\x1b[31m",
        "\x7f",
        "\x1c",
        "\x1d a",
        "\u0085",
        "\u00a0",
        "a\u00a0b",
        "\ufeff",
        "\u2028",
    ),
    *(
        "\u2029x",
        "\u200b",
        "\u202eabc",
        "e\u0301",
        "\u00e9",
        "\u0130",
        "ß",
        "👩‍👩‍👧",
        "🙂" * 40,
        "\ud800",
        "\udc00",
    ),
    *(
        "a\ud83d",
        "\ud83d\ude00",
        '"',
        '""',
        "'",
        "'a b'",
        "\\",
        "\\\\",
        '\\"',
        "a\\",
        "a\nb",
        "a\r\nb",
        "\t",
    ),
    *("\x08\x0c", "a\x0bb", "\r", "/", "</script>", "$(reboot)", "`id`", "; rm -rf .", "../../etc"),
    *('{"a":1}', "[1]", "null", "x" * 5000, "%s%n", "\uffff", "\U0010ffff", "\u180e", "\u2007z"),
)
UNKNOWN: Final = (
    *(
        "frobnicate",
        "OPEN",
        "Press",
        "tap",
        "rotate",
        "__proto__",
        "constructor",
        "valueOf",
        "fold",
    ),
    *("pre\u0000ss", "env\u00a0X=1", "-", "@e1", "'press'", "${CMD}", "click\\", "fragment-v", "é"),
    *("includes", "composition", "fragment-vx", "Include", "open\x85", "x=1", "1", "contextual"),
)
SEPARATORS: Final = (" ",) * 12 + (
    "  ",
    "\t",
    "\u00a0",
    "\u3000",
    "\ufeff",
    "\v",
    "\u2028",
    "\r ",
    "\f",
)
KEYS: Final = ("NAME", "X", "_", "A1_B", "PATH", "__PROTO__", "CONSTRUCTOR", "TOKEN", "ADX", "Z9")
CONTEXTS: Final = (
    *("context platform=android", "context platform=ios target=mobile", "context platform=web"),
    *("context target=tv timeout=5000 retries=2", 'context device="a b" platform=android'),
    *('context device="x platform=ios y" platform=android', "context platform=ANDROID"),
    *('context device="x platform=ios" platform=android', "context timeout=5s retries=0x1"),
    *(
        "context timeout=0 retries=0",
        "context retries=99 target=watch",
        "context",
        "context\tplatform=ios",
    ),
    *(
        "context\u00a0platform=ios",
        '"context" platform=ios',
        "context  platform=linux theme=unknown",
    ),
    *("context platform= platform=ios", "context xplatform=ios", "context \u00a0platform=macos"),
    *("context platform=android kind=emulator theme=unknown", "context target=desktop "),
    *(
        "context platform=vega",
        "context platform=harmonyos",
        "context timeout=99999999999999999999",
    ),
    *(
        "context platform=ios\x1c",
        "context\x1cplatform=ios",
        "context a\x85platform=ios",
        "contextplatform=ios",
    ),
    *(
        "context timeout=١٢",
        "context retries=1.5",
        "context platform=apple",
        'context "platform=ios"',
    ),
)
COMMENTS: Final = (
    *(
        "# a comment",
        "#",
        "#!shebang",
        "   # indented",
        "# agent-device:heal-complete",
        "# env X=1",
    ),
    *("# agent-device:target-v2 {}", "# agent-device:target-v1x {}", "# agent-device:targets-v9"),
    *(
        "#agent-device:landmark-v1 {}",
        "# agent-device:target {}",
        "# Agent-Device:target-v1 {}",
        "# agent-device:fragment-ref-v1 {}",
    ),
    *("\ufeff# after a mark", "# \u2028open x", "\x1c# no comment at all", "\u00a0# spaced"),
)


class Case(Struct, frozen=True):
    """One script; `fault` names what was planted, and is empty where nothing was."""

    name: str
    text: str
    fault: str
    commands: tuple[str, ...]
    options: tuple[str, ...]


class Draft:
    """A script in the making, and what went into it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.header: list[str] = []
        self.body: list[str] = []
        self.commands: list[str] = []
        self.options: list[str] = []


def make_corpus(size: int = SIZE) -> tuple[Case, ...]:
    """Return the scripts; a smaller corpus is the beginning of a larger one."""
    words = sorted(set(COMMANDS) - {"include"})
    return tuple(_make_case(index, words) for index in range(size))


def _make_case(index: int, words: Sequence[str]) -> Case:
    rng = random.Random(f"{SEED}:{index}")
    draft = Draft(rng)
    _draw_header(draft)
    for step in range(rng.randint(1, 6)):
        _draw_step(draft, words[(index * 7 + step) % len(words)] if step < 4 else "")
    fault = ""
    if index % FAULT_EVERY == FAULT_EVERY - 1:
        kinds = sorted(FAULTS)
        turn, kind = divmod(index // FAULT_EVERY, len(kinds))
        fault = kinds[kind]
        form = turn % FAULTS[fault].forms
        draft.header, draft.body = FAULTS[fault].plant(rng, form, draft.header, draft.body)
        fault = f"{fault} {form}"
    return Case(
        name=f"{index:04}.ad",
        text=_join(rng, [*draft.header, *draft.body]),
        fault=fault,
        commands=tuple(draft.commands),
        options=tuple(draft.options),
    )


def _join(rng: random.Random, lines: Sequence[str]) -> str:
    """Return the text of a file: LF or CRLF or both, with or without an end of the last line."""
    ends = rng.choice((("\n",), ("\n",), ("\r\n",), ("\n", "\r\n")))
    text = "".join(f"{line}{rng.choice(ends)}" for line in lines)
    start = rng.choice(("",) * 9 + ("\ufeff",))
    return start + (text.rstrip("\r\n") if rng.random() < 0.2 else text)


def _draw_header(draft: Draft) -> None:
    rng = draft.rng
    keys = list(KEYS)
    rng.shuffle(keys)
    for _ in range(rng.randint(0, 4)):
        kind = rng.randrange(6)
        if kind == 0:
            draft.header.append(rng.choice(COMMENTS[:12]))
        elif kind == 1:
            draft.header.append(rng.choice(("", "  ", "\t", "\ufeff", "\u00a0")))
        elif kind in (2, 3) and keys:
            draft.header.append(_draw_env(rng, keys.pop()))
        elif not any("context" in line for line in draft.header) or rng.random() < 0.1:
            draft.header.append(rng.choice(CONTEXTS))


def _draw_env(rng: random.Random, key: str) -> str:
    value = rng.choice((*WORDS, *HOSTILE))
    is_raw = value.isprintable() and not value.startswith('"') and value == value.strip()
    if rng.random() < 0.4 and is_raw:
        return f"env {key}={value}"
    return f"env{rng.choice((' ', '  ', chr(9)))}{key}={quote(rng, value)}"


def _draw_step(draft: Draft, word: str) -> None:
    rng = draft.rng
    if rng.random() < 0.15:
        draft.body.append(rng.choice((*COMMENTS, "", " ", "context platform=ios", "\u3000")))
    if not word:
        word = rng.choice(UNKNOWN)
    draft.commands.append(word)
    if rng.random() < 0.25:
        draft.body.append(draw_annotation(rng))
    tokens = [*_draw_operands(rng, word)]
    command = COMMANDS.get(word)
    for option in rng.sample(command.options, min(len(command.options), 3)) if command else ():
        if rng.random() < 0.6 and not option.is_retired:
            at = rng.randint(0, len(tokens))
            name = rng.choice(option.names)
            draft.options.append(f"{word} {name}")
            tokens[at:at] = [name, *_draw_value(rng, option)]
    draft.body.append(spell(rng, [word, *tokens]))


def _draw_value(rng: random.Random, option: Option) -> tuple[str, ...]:
    """Return the words of an option's value: none for a flag, odd ones now and then."""
    if option.read is None:
        return ()
    if option.bad == "refuse":
        good = {"--pixel-density": ("1", "3", "0x2", "2.0"), "--scale": ("0.5", "1", "1e-2", ".25")}
        return (rng.choice(good.get(option.names[0], ('id="a"', "label=x y", "${A}"))),)
    if option.usage == "N":
        return (rng.choice(NUMBERS),)
    if "|" in option.usage and rng.random() < 0.7:
        return (rng.choice(option.usage.split("|")),)
    return (rng.choice((*WORDS, *HOSTILE, "8", "10", "007", "11", "high", "low", "web")),)


def _draw_operands(rng: random.Random, word: str) -> list[str]:
    draw = _SHAPES.get(word)
    if draw is not None and rng.random() < 0.8:
        tokens = draw(rng)
    else:
        tokens = [rng.choice((*WORDS, *HOSTILE, *NUMBERS)) for _ in range(rng.randint(0, 4))]
        if word in ("swipe", "gesture"):
            tokens = tokens[:1]
    if rng.random() < 0.3 and word not in ("swipe", "gesture"):
        tokens.insert(rng.randint(0, len(tokens)), rng.choice(HOSTILE))
    return tokens


def _number(rng: random.Random) -> str:
    return rng.choice(NUMBERS) if rng.random() < 0.5 else str(rng.randint(0, 2000))


def _numbers(rng: random.Random, least: int, most: int) -> list[str]:
    return [_number(rng) for _ in range(rng.randint(least, most))]


def _target(rng: random.Random) -> list[str]:
    kind = rng.randrange(4)
    if kind == 0:
        return _numbers(rng, 2, 3)
    if kind == 1:
        return [
            rng.choice(("@e1", "@e12~s3", "@e1~sx", "@e1~s２")),
            *rng.choices(WORDS, k=rng.randint(0, 2)),
        ]
    if kind == 2:
        return ['id="a"', "label=b", rng.choice(WORDS)]
    return [rng.choice((*WORDS, *HOSTILE))]


_GESTURES: Final = (
    *(("pan", 5), ("fling", 4), ("swipe", 1), ("pinch", 3), ("rotate", 3), ("transform", 7)),
    *(("drag", 5), ("PAN", 9), ("pinch ", 9), ("", 3), ("__proto__", 8), ("toString", 8)),
)
"""Kinds of gesture, and how many operands to give each at most."""


def _gesture(rng: random.Random) -> list[str]:
    kind, most = rng.choice(_GESTURES)
    return [kind, *_numbers(rng, 0, most)]


_SHAPES: Final[Mapping[str, Callable[[random.Random], list[str]]]] = {
    **dict.fromkeys(("press", "click", "longpress", "hover"), _target),
    "fill": lambda rng: [*_target(rng), *rng.choices((*WORDS, *HOSTILE), k=rng.randint(0, 2))],
    "type": lambda rng: rng.choices((*WORDS, *HOSTILE), k=rng.randint(1, 3)),
    "get": lambda rng: [rng.choice(("text", "attrs", "", "@e1")), *_target(rng)],
    "is": lambda rng: [rng.choice(("visible", "text", "absent")), *_target(rng)],
    "wait": lambda rng: [rng.choice(("text", "stable", "absent", "500")), *_target(rng)],
    "swipe": lambda rng: _numbers(rng, 0, 4),
    "gesture": _gesture,
    "scroll": lambda rng: [rng.choice(("up", "down", "top")), *_numbers(rng, 0, 1)],
}


def quote(rng: random.Random, text: str) -> str:
    """Return one of the ways to write a text as a JSON string."""
    raw = json.dumps(text, ensure_ascii=rng.random() < 0.5 or not _is_encodable(text))
    if rng.random() < 0.15:
        raw = raw.replace("/", "\\/")
    if rng.random() < 0.15 and text[:1].isalnum() and text.isascii():
        raw = f'"\\u{ord(text[0]):04X}{raw[2:]}'
    return raw


def _is_encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _can_be_bare(text: str) -> bool:
    spaces = set("".join(SEPARATORS)) | set("\n\u1680\u2007\u2029\u202f\u205f\u2000")
    return bool(text) and text[0] != '"' and not spaces & set(text) and _is_encodable(text)


def spell(rng: random.Random, tokens: Sequence[str]) -> str:
    """Return a line of the tokens, each bare or quoted; a quoted one may touch the next."""
    parts: list[str] = []
    for index, token in enumerate(tokens):
        is_bare = _can_be_bare(token) and (rng.random() < 0.6 if index else rng.random() < 0.93)
        if index == 0 and token[:1] in ("", "#"):
            is_bare = False
        if index:
            touches = parts[-1].endswith('"') and rng.random() < 0.05
            parts.append("" if touches else rng.choice(SEPARATORS))
        parts.append(token if is_bare else quote(rng, token))
    line = "".join(parts)
    # Evidence binds to the next physical line, so an indent must not look like an end of one.
    indent = rng.choice(("",) * 8 + ("  ", "\t", "\u00a0", "\ufeff"))
    return indent + line + rng.choice(("",) * 9 + ("  ", "\u2003"))
