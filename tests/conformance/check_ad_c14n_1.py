"""Checks the golden vectors of `ad-c14n-1` from its page alone.

    python check_ad_c14n_1.py docs/formats/ad-c14n-1.md

A second implementation, with nothing but the standard library: it reads the sources that stand in
the page, writes their canonical bytes by the rules of the page, and compares bytes and digests. It
knows only the commands that the vectors use.
"""

import hashlib
import json
import re
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
SECTION = re.compile(r"^### (?P<id>[A-Z][0-9]+): (?P<title>.+)$", re.MULTILINE)
BLOCK = re.compile(
    r"^```(?P<kind>ad|json)(?: (?P<name>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
DIGEST = re.compile(r"^Digest: `(sha256:[0-9a-f]{64})`$", re.MULTILINE)
TOKEN = re.compile(rf'"((?:[^"\\]|\\.)*)"|([^{SPACE}]+)')
NOTE = re.compile(
    rf"#[{SPACE}]*agent-device:(target|targets|fragment-ref)-v1[{SPACE}]+(.*)", re.DOTALL
)
TOUCH = {
    "--count": "count",
    "--interval-ms": "intervalMs",
    "--hold-ms": "holdMs",
    "--jitter-px": "jitterPx",
}
HINTS = {
    "--platform": "platform",
    "--metro-host": "metroHost",
    "--metro-port": "metroPort",
    "--bundle-url": "bundleUrl",
    "--launch-url": "launchUrl",
}


Json = dict[str, Any]

# Canonical JSON (RFC 8785).


def quote(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r"}
    escapes["\t"] = "\\t"
    return (
        '"'
        + "".join(escapes.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 32 else c) for c in text)
        + '"'
    )


def number(value: float) -> str:
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    mantissa, _, exponent = repr(float(value)).partition("e")
    if not exponent:
        return mantissa
    digits = mantissa.replace(".", "").replace("-", "")
    sign = "-" if value < 0 else ""
    power = int(exponent)
    if -6 <= power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    head = digits[0] + ("." + digits[1:].rstrip("0") if digits[1:].rstrip("0") else "")
    return f"{sign}{head}e{'+' if power > 0 else '-'}{abs(power)}"


def canonical(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
    return "{" + ",".join(f"{quote(key)}:{canonical(value[key])}" for key in keys) + "}"


# Reading a source.


def tokens(line: str) -> list[str]:
    found = TOKEN.finditer(line)
    return [json.loads(each[0]) if each[2] is None else each[2] for each in found]


def floored(text: str) -> int:
    return int(float(text))


def options(
    words: list[str],
    numbers: Mapping[str, str],
    switches: Mapping[str, str] = MappingProxyType({}),
    texts: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[str], Json]:
    rest: list[str] = []
    kept: Json = {}
    position = 0
    while position < len(words):
        word = words[position]
        if word in switches:
            kept[switches[word]] = True
        elif word in numbers:
            position += 1
            kept[numbers[word]] = floored(words[position])
        elif word in texts:
            position += 1
            kept[texts[word]] = words[position]
        else:
            rest.append(word)
        position += 1
    return rest, kept


def action(words: list[str], note: tuple[str, Json] | None) -> Json:
    command, words = words[0], words[1:]
    flags: Json = {}
    runtime: Json | None = None
    if command in ("click", "press"):
        words, flags = options(
            words,
            TOUCH,
            {"--double-tap": "doubleTap"},
            {"--button": "clickButton"},
        )
        is_point = len(words) > 1 and all(re.fullmatch(r"-?[0-9]+", word) for word in words[:2])
        words = words[:2] if is_point else [" ".join(words)]
    elif command == "fill":
        words, flags = options(words, {"--delay-ms": "delayMs"})
        words = [words[0], " ".join(words[1:])]
    elif command == "type":
        words, flags = options(words, {"--delay-ms": "delayMs"})
    elif command == "get":
        words = [words[0], " ".join(words[1:])]
    elif command == "snapshot":
        _, flags = options(
            words,
            {"-d": "snapshotDepth", "--depth": "snapshotDepth"},
            {"-i": "snapshotInteractiveOnly", "--raw": "snapshotRaw"},
            {"-s": "snapshotScope", "--scope": "snapshotScope"},
        )
        words = []
    elif command == "open":
        words, hints = options(words, {"--metro-port": "metroPort"}, texts=HINTS)
        runtime = hints or None
        words, flags = options(words, {}, {"--relaunch": "relaunch"})
    kind, evidence = note or (None, None)
    return {
        "type": "action",
        "command": command,
        "positionals": words,
        "flags": flags,
        "runtime": runtime,
        "targetEvidence": evidence if kind == "target" else None,
        "targetEvidences": evidence if kind == "targets" else None,
    }


def text_of(record: Json, key: str) -> str:
    text = unicodedata.normalize("NFC", record.get(key) or "")
    return re.sub(f"[{SPACE}]+", " ", text).strip(" ") if key == "label" else text


def some(record: Json, *keys: str) -> Json:
    return {key: text_of(record, key) for key in keys if text_of(record, key)}


def evidence(record: Json) -> Json:
    kept = {
        "role": text_of(record, "role"),
        **some(record, "id", "label"),
        "ancestry": [
            {"role": text_of(entry, "role"), **some(entry, "label")}
            for entry in record.get("ancestry", [])
        ],
        "sibling": record.get("sibling", 0),
        "viewportOrder": record.get("viewportOrder", 0),
        "verification": record["verification"],
    }
    if "scrollRegion" in record:
        region = record["scrollRegion"]
        kept["scrollRegion"] = {"role": text_of(region, "role"), **some(region, "id", "label")}
    if "rect" in record:
        kept["rect"] = {key: record["rect"][key] for key in ("x", "y", "width", "height")}
    return kept


def read(source: str) -> tuple[str, Json, list[Json]]:
    context: Json = {}
    reference: Json = {}
    steps: list[Json] = []
    note: tuple[str, Json] | None = None
    kind = "composition"
    for raw in re.split(r"\r?\n", source):
        line = raw.strip(SPACE)
        found = NOTE.match(line)
        if found and found[1] == "fragment-ref":
            reference = json.loads(found[2])
        elif found and found[1] == "target":
            note = ("target", evidence(json.loads(found[2])))
        elif found:
            pair = json.loads(found[2])
            note = ("targets", {end: evidence(pair[end]) for end in ("source", "destination")})
        elif not line or line[0] == "#" or re.match(r"env[ \t]", line):
            continue
        elif line.startswith("context "):
            for key in ("platform", "target"):
                stated = re.search(rf"(?:^|\s){key}=(\S+)", line)
                if stated:
                    context.setdefault(key, stated[1])
        elif line in ("fragment-v1", "composition-v1"):
            kind = line.removesuffix("-v1")
        elif line.startswith("include "):
            steps.append(
                {
                    "type": "include",
                    "callSiteId": reference["callSiteId"],
                    "locator": tokens(line)[1],
                    "digest": reference["digest"],
                }
            )
        else:
            steps.append(action(tokens(line), note))
            note = None
    return kind, context, steps


# Fragments and compositions.


def value_of(source: str, others: dict[str, list[Json]]) -> Json:
    kind, context, steps = read(source)
    value = {
        "canonicalization": "ad-c14n-1",
        "kind": kind,
        "formatVersion": 1,
        "context": {key: context.get(key) for key in ("platform", "target")},
        "steps": steps,
    }
    if kind == "composition":
        edges = graph("root", steps, others)
        value["graph"] = sorted(edges, key=lambda edge: [part.encode("utf-16-be") for part in edge])
    return value


def graph(owner: str, steps: list[Json], others: dict[str, list[Json]]) -> list[list[str]]:
    edges: list[list[str]] = []
    for step in steps:
        if step["type"] == "include":
            edge = [owner, step["callSiteId"], step["digest"]]
            if edge not in edges:
                edges.append(edge)
            child = others[step["digest"]]
            edges += [each for each in graph(step["digest"], child, others) if each not in edges]
    return edges


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def check(body: str) -> str:
    """Return what is wrong with one vector."""
    stated = DIGEST.search(body)
    blocks = list(BLOCK.finditer(body))
    sources = [each["body"] for each in blocks if each["kind"] == "ad"]
    (expected,) = [each["body"].rstrip("\n") for each in blocks if each["kind"] == "json"]
    others: dict[str, list[Json]] = {}
    for source in reversed(sources[1:]):
        data = canonical(value_of(source, {})).encode()
        others[digest(data)] = read(source)[2]
    found = canonical(value_of(sources[0], others))
    if found != expected:
        return f"the bytes are\n  {found}\nnot\n  {expected}"
    if stated is None or digest(found.encode()) != stated[1]:
        return f"the digest is {digest(found.encode())}"
    return ""


def main(path: str) -> int:
    page = Path(path).read_text(encoding="utf-8")
    starts = [*SECTION.finditer(page)]
    ends = [*[each.start() for each in starts[1:]], len(page)]
    problems = []
    for start, end in zip(starts, ends, strict=True):
        problem = check(page[start.end() : end])
        print(f"{start['id']:<4} {'differs' if problem else 'agrees':<8} {start['title']}")
        if problem:
            problems.append(f"{start['id']}: {problem}")
    print("\n".join([f"{len(starts)} vectors, {len(problems)} differ", *problems]))
    return 1 if problems or not starts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
