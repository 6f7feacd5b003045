"""Which files are flows of a format that cannot be run yet, judged by their first bytes.

A folder full of flows of another format must not look like a green sweep. What is taken for one:
behavior specifications by their double suffix, and YAML that reads like a mobile flow, which has
an `appId:` or `url:` before its `---`, or is a list of commands. What holds a top-level `binding:`
belongs to a flow and is none, a `config.yaml` describes a workspace. The judgement reads lines,
not YAML, so no bytes whatever can break it.

May be imported by: runner.preflight. Imports: nothing of ours.
"""

import codecs
import os
import re
import stat
from typing import Final, Literal, TypeAlias

ForeignFormat: TypeAlias = Literal["abs", "maestro"]

HEAD_BYTES: Final = 64 * 1024
_ABS_SUFFIXES = (".abs.yaml", ".abs.yml")
_YAML_SUFFIXES = (".yaml", ".yml")
_WORKSPACE_NAMES = frozenset({"config.yaml", "config.yml"})
_LINE_END = re.compile(r"\r\n|\n|\r")
_SEPARATOR = re.compile(r"---(?:[ \t]|\Z)")
_KEY = re.compile(r"""(?:\{[ \t]*)?(["']?)(appId|url|binding)\1[ \t]*:(?:[ \t]|\Z)""")
_ITEM = re.compile(
    r"""(?:-[ \t]+|\[[ \t]*)(?:\{[ \t]*)?["']?([A-Za-z]+)["']?[ \t]*(?:[:#,\]]|\Z)"""
)
_COMMANDS: Final = frozenset(
    """
    addMedia assertCondition assertDarkMode assertLightMode assertNoDefectsWithAI
    assertNotVisible assertScreenshot assertTrue assertVisible assertWithAI back clearKeychain
    clearState copyTextFrom doubleTapOn eraseText evalScript extendedWaitUntil extractTextWithAI
    hideKeyboard inputRandomCityName inputRandomColorName inputRandomCountryName
    inputRandomEmail inputRandomNumber inputRandomPersonName inputRandomText inputText killApp
    launchApp longPressOn openLink pasteText pressKey repeat retry runFlow runScript scroll
    scrollUntilVisible setAirplaneMode setClipboard setDarkMode setLocation setOrientation
    setPermissions startRecording stopApp stopRecording swipe takeScreenshot tapOn
    toggleAirplaneMode toggleDarkMode travel waitForAnimationToEnd
    """.split()  # noqa: SIM905 -- one word a line would be a page.
)


def may_be_foreign(path: str) -> bool:
    """Tell whether a file is worth a look, by its name."""
    name = path.rpartition("/")[2].lower()
    return name.endswith(_YAML_SUFFIXES) and name not in _WORKSPACE_NAMES


def detect_format(path: str, head: bytes) -> ForeignFormat | None:
    """Return the format whose root a file is, from its name and its first bytes."""
    lines = _LINE_END.split(_decode(head))
    if path.lower().endswith(_ABS_SUFFIXES):
        return None if "binding" in _read_top(lines)[0] else "abs"
    keys, is_separated, is_list = _read_top(lines)
    if "binding" in keys:
        return None
    is_cut = len(head) >= HEAD_BYTES
    return "maestro" if is_list or (keys and (is_separated or is_cut)) else None


def read_head(path: str) -> bytes | None:
    """Return the first bytes of a regular file, `None` for what is none. Raises `OSError`."""
    # A pipe in a folder of flows must not block.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as file:
        return file.read(HEAD_BYTES) if stat.S_ISREG(os.fstat(handle).st_mode) else None


def _decode(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "replace").lstrip("\ufeff")
    return head.decode("utf-8", "replace").lstrip("\ufeff")


def _read_top(lines: list[str]) -> tuple[frozenset[str], bool, bool]:
    """Return of the first document: its known keys, whether another follows, whether it is a list.

    Only a list with a known command in it counts as one.
    """
    keys: set[str] = set()
    margin: int | None = None
    is_list = False
    for line in lines:
        text = line.lstrip(" \t")
        if not text or text[0] in "#%":
            continue
        if _SEPARATOR.match(line):
            if margin is not None:
                return frozenset(keys), True, False
            continue
        indent = len(line) - len(text)
        if margin is None:
            margin, is_list = indent, text[0] in "-["
        if indent != margin:
            continue
        item = _ITEM.match(text)
        if is_list and item is not None and item[1] in _COMMANDS:
            return frozenset(), False, True
        key = _KEY.match(text)
        if key is not None:
            keys.add(key[2])
    return frozenset(keys), False, False
