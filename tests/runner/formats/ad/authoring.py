"""Strategies: lines and scripts as authors, recorders and attackers write them.

Everything is made from the registry of commands, so a new command or option takes part at once.
Words are hostile by choice: quotes, backslashes, line ends, every odd space, reserved beginnings.
"""

import json

from hypothesis import strategies as st

from runner.formats.ad.commands import COMMANDS
from runner.formats.ad.lexer import Level
from runner.formats.ad.numbers import SPACES

LEVELS: tuple[Level, ...] = ("main", "0.21")
HOSTILE = (
    *("", " ", "  ", "#", "# a", "@", "@e12", "@e1~s3", "@e 1", "@a'b", "--", "--x", "-1", "-i"),
    *("'", "''", '"', '""', "\\", "\\\\", '\\"', "a\\", "\n", "\r", "\r\n", "a\nb", "\t", "\0"),
    *("\u00a0", "\ufeff", "\ufeffa", "a\u00a0b", "\u2028", "\u2029", "\x85", "\x1c", "\x7f"),
    *("é", "e\u0301", "😀", "👩‍👩‍👧", "\ud83d", "\ude00", "\uffff", "{", "[", "{}", "[1]"),
    *("0", "5", "1.5", ".5", "1e2", "1e22", "0x10", "0b1", "Infinity", "-0", "1_0", "nan", "05"),
    *("${A}", "${A:-b}", "\\${A}", "${", "id=a", 'id="go"', 'label="Say \\"hi\\""', "a || b"),
    *("env", "context", "include", "fragment-v1", "composition-v1", "# agent-device:target-v1"),
    *("text", "visible", "absent", "drag", "pan", "swipe", "start", "ios", "one-way", "medium"),
)
WORDS = st.sampled_from(HOSTILE) | st.text(max_size=8)
TEXTS = st.text(max_size=12) | st.lists(st.sampled_from(HOSTILE), max_size=4).map("".join)


def option_names(word: str) -> tuple[str, ...]:
    """Return the spellings of every option of a command."""
    command = COMMANDS.get(word)
    return tuple(name for o in (command.options if command else ()) for name in o.names)


def spell(text: str) -> str:
    """Return a quoted token."""
    return json.dumps(text, ensure_ascii=any("\ud800" <= char <= "\udfff" for char in text))


@st.composite
def tokens(draw: st.DrawFn, texts: st.SearchStrategy[str] = WORDS) -> str:
    """Draw one token: bare, in double quotes, all escapes, or in single quotes."""
    text = draw(texts)
    form = draw(st.sampled_from(("bare", "json", "escaped", "literal")))
    if form == "bare" and text and text[0] not in "\"'" and not set(text) & set(SPACES):
        try:
            text.encode()
        except UnicodeEncodeError:
            return spell(text)
        return text
    if form == "literal" and not set(text) & set("\\\n\r") and text.isascii():
        return "'" + text.replace("'", "\\'") + "'"
    return json.dumps(text) if form == "escaped" else spell(text)


@st.composite
def command_lines(draw: st.DrawFn) -> str:
    """Draw a line of a command, or of no command, with any words and options."""
    word = draw(st.sampled_from((*COMMANDS, "frobnicate", "", "#", "env", "OPEN")))
    names = option_names(word)
    words = WORDS | st.sampled_from(names) if names else WORDS
    rest = draw(st.lists(tokens(words), max_size=7))
    gap = draw(st.sampled_from((" ", "  ", "\t", "\u00a0", "\ufeff")))
    return gap.join([spell(word), *rest])


@st.composite
def plain_lines(draw: st.DrawFn) -> str:
    """Draw a line in which no operand is spelled like an option of its command."""
    word = draw(st.sampled_from((*COMMANDS, "frobnicate", "OPEN")))
    names = option_names(word)
    operands = draw(st.lists(WORDS.filter(lambda text: text not in names), max_size=6))
    options = draw(st.lists(_options(word), max_size=4)) if names else []
    return " ".join((word, *map(spell, operands), *options))


@st.composite
def _options(draw: st.DrawFn, word: str) -> str:
    option = draw(st.sampled_from([o for o in COMMANDS[word].options if not o.is_retired]))
    name = draw(st.sampled_from(option.names))
    if option.read is None:
        return name
    read = option.read
    values = [text for text in (*HOSTILE, "0.5", "secondary", "high", "android") if read(text)]
    return f"{name} {spell(draw(st.sampled_from(values)))}"


_NAMES = st.text(max_size=20)
_COUNTS = st.integers(0, 2**53)
_NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


def _record(label: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries(
        {"role": _NAMES, "verification": st.sampled_from(("verified", "unverifiable"))},
        optional={
            "id": _NAMES,
            "label": label,
            "ancestry": st.lists(
                st.fixed_dictionaries({"role": _NAMES}, optional={"label": _NAMES}), max_size=8
            ),
            "sibling": _COUNTS,
            "viewportOrder": _COUNTS,
            "scrollRegion": st.fixed_dictionaries(
                {"role": _NAMES}, optional={"id": _NAMES, "label": _NAMES}
            ),
            "rect": st.fixed_dictionaries(dict.fromkeys(("x", "y", "width", "height"), _NUMBERS)),
            "later": st.none() | _NAMES,
        },
    )


RECORDS = _record(TEXTS | st.just("x" * 256) | st.just("é" * 128))
PAIRS = st.fixed_dictionaries({"source": RECORDS, "destination": RECORDS})
DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64).map("sha256:".__add__)
_CALL_SITES = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=12)
REFERENCES = st.fixed_dictionaries({"callSiteId": _CALL_SITES, "digest": DIGESTS})


@st.composite
def annotations(draw: st.DrawFn) -> str:
    """Draw a reserved comment of any kind, of any version, right or wrong."""
    kind, payloads = draw(
        st.sampled_from((("target", RECORDS), ("targets", PAIRS), ("fragment-ref", REFERENCES)))
    )
    payload = json.dumps(draw(payloads), ensure_ascii=draw(st.booleans()))
    return f"# agent-device:{kind}-v{draw(st.sampled_from(('1', '01', '2', '1x')))} {payload}"


@st.composite
def steps(draw: st.DrawFn) -> list[str]:
    """Draw the lines of one step: evidence and an action, or a reference and an include."""
    kind = draw(st.sampled_from(("plain", "plain", "target", "targets", "include")))
    if kind == "include":
        reference = json.dumps(draw(REFERENCES))
        locator = draw(WORDS.filter(bool))
        return [f"# agent-device:fragment-ref-v1 {reference}", f"include {spell(locator)}"]
    comments = []
    if kind != "plain":
        record = draw(RECORDS if kind == "target" else PAIRS)
        comments = [f"# agent-device:{kind}-v1 {json.dumps(record)}"]
    return [*comments, draw(plain_lines())]


HEADERS = st.sampled_from(
    (
        "context platform=ios",
        "context platform=android target=tv timeout=5000 retries=2",
        'context device="x platform=ios y" theme=unknown',
        "context timeout=5s retries=00",
        "context\tplatform=ios",
        "context",
    )
)
_KEYS = st.sampled_from(("A", "_1", "NAME", "Z_9"))
ENV = st.builds(lambda key, value: f"env {key}={spell(value)}", _KEYS, TEXTS)


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """Draw the text of a flat script, a fragment or a composed root."""
    kind = draw(st.sampled_from(("flat", "fragment-v1", "composition-v1")))
    context = draw(st.lists(HEADERS, max_size=1))
    env = draw(st.lists(ENV, max_size=3, unique_by=lambda line: line.split("=")[0]))
    head = [*context, *env]
    if kind != "flat":
        head = [kind, *context] if kind == "fragment-v1" else [*head, kind]
    lines = [*head, *(line for step in draw(st.lists(steps(), max_size=4)) for line in step)]
    end = draw(st.sampled_from(("\n", "\r\n")))
    return draw(st.sampled_from(("", "\ufeff"))) + end.join(lines)
