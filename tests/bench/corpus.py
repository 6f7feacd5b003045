"""A suite of composed `.ad` flows: own lines, and includes of shared fragments with right pins."""

import re
from pathlib import Path
from typing import Final

from runner.formats.ad.digest import fragment_digest
from runner.formats.ad.parser import read_script

_OVERLONG: Final = re.compile(r"(sha256:[0-9a-f]{64})[0-9a-f]+")
FRAGMENTS: Final = 30
INCLUDES: Final = 3
_HEAD: Final = "context platform=android target=mobile\n"
_GUARD: Final = (
    '# agent-device:target-v1 {{"id":"com.shop:id/screen_{n}","role":"textview","label":"Part {n}",'
    '"ancestry":[{{"role":"framelayout"}}],"sibling":0,"viewportOrder":0,'
    '"verification":"verified"}}\n'
    'wait "id=com.shop:id/screen_{n}" 10000\n'
)
_FRAGMENT: Final = (
    'press "id=com.shop:id/tab_{n}"\n'
    'wait "role=button label=\\"Open {n}\\"" 5000\n'
    'fill "id=com.shop:id/search" "shoes {n}"\n'
    'press "role=button label=\\"Search\\" || id=com.shop:id/go"\n'
    'wait "id=com.shop:id/result_{n}" 8000\n'
    'get text "id=com.shop:id/count"\n'
    'is visible "label=\\"Result {n}\\""\n'
    "scroll down 0.5\n"
    "back\n"
)
_OPENING: Final = (
    "open com.shop\n"
    'wait "id=com.shop:id/home" 10000\n'
    'press "role=button label=\\"Case {n}\\""\n'
    'fill "id=com.shop:id/note" "flow {n}"\n'
    'press "id=com.shop:id/save"\n'
)
_INCLUDE: Final = (
    '# agent-device:fragment-ref-v1 {{"callSiteId":"call-{call}","digest":"{pin}"}}\n'
    'include "../../fragments/part_{part:02}.ad"\n'
)
_CLOSING: Final = (
    'wait "label=\\"Saved {n}\\"" 5000\n'
    'is visible "id=com.shop:id/case_{n}"\n'
    'get text "id=com.shop:id/total"\n'
    'press "id=com.shop:id/done"\n'
    "close\n"
)


def write_suite(root: Path, flows: int, *, broken_every: int = 0) -> None:
    """Write `flows` flows of ten own steps and three includes of ten, in folders of a hundred.

    Of every `broken_every` flows one has an unknown command and a stale pin.
    """
    pins = [_write_fragment(root, number) for number in range(FRAGMENTS)]
    for number in range(flows):
        folder = root / "flows" / f"{number // 100:03}"
        folder.mkdir(parents=True, exist_ok=True)
        text = _flow(number, pins)
        if broken_every and number % broken_every == 0:
            text = text.replace("press", "pres", 1).replace("sha256:", "sha256:0000", 1)
            text = _OVERLONG.sub(r"\1", text)
        (folder / f"flow_{number:05}.ad").write_text(text)


def _write_fragment(root: Path, number: int) -> str:
    text = f"fragment-v1\n{_HEAD}{_GUARD.format(n=number)}{_FRAGMENT.format(n=number)}"
    path = root / "fragments" / f"part_{number:02}.ad"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    read = read_script(text.encode(), path=path.name)
    if read.findings:
        raise AssertionError(read.findings[0].message)
    return str(fragment_digest(read.script, platform="android", target="mobile"))


def _flow(number: int, pins: list[str]) -> str:
    includes = ""
    for call in range(INCLUDES):
        part = (number * 7 + call * 11) % FRAGMENTS
        includes += _INCLUDE.format(call=call, part=part, pin=pins[part])
    opening, closing = _OPENING.format(n=number), _CLOSING.format(n=number)
    return f"{_HEAD}composition-v1\n{opening}{includes}{closing}"
