"""What was read from one `.ad` file, in the form that preflight works on and a cache may keep.

Values only. An `AdSource` holds everything that the checks over a sweep ask for, ready made, and
the script itself only in packed form: a preflight of thousands of flows touches the steps of none
that is right. The encoded form is a private format of this version: whoever stores it keys it by
`reader_version`, so other code never reads it.

May be imported by: runner.formats.ad, runner.preflight, runner.cli. Imports: runner.compose,
runner.formats.ad, runner.model.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from runner.compose.fact import LocalFault, SourceFacts
from runner.formats.ad.digest import GraphPin
from runner.formats.ad.fragment import ScriptKind
from runner.formats.ad.script import AdScript, Context, EnvLine, Guard
from runner.model.finding import Finding

FOREIGN_SUFFIXES: Final = (".yaml", ".yml")
NO_TRAVEL: Final = (UnicodeEncodeError, OverflowError, RecursionError)
"""What encoding raises for a value that JSON spells and no program can carry."""

Encoded: TypeAlias = bytes


class AdSource(Struct, frozen=True, kw_only=True):
    """What was read from one file.

    `findings` are problems of the file by itself. In a fragment they leave out what is a
    composition fault of whoever includes it: parse errors, unsafe commands, a bad entry guard.
    Where a later version's guard stands, nothing is said about the body, whose grammar is not
    known. Of an oversized file only the kind, the guard and the header of its beginning are there
    (`is_cut`).

    `guard` is the first format guard. `platform_hint` is what a runtime hint before or on the
    first `open` states, `platform_line` the line that states the platform, 0 without any. `app` is
    the first operand of the first `open`, as written.

    `steps` is the canonical text of the steps, which fragment and composition digests cover;
    `numbered_steps`, of a flat script, the one of the flat plan digest. `packed` is the whole
    script, or `None` where it holds a value that cannot travel; `unpacked` is it then.
    """

    path: str = ""
    kind: ScriptKind
    context: Context = Context()
    env: tuple[EnvLine, ...] = ()
    guard: Guard | None = None
    guard_fault: LocalFault | None = None
    findings: tuple[Finding, ...] = ()
    facts: SourceFacts
    platform_hint: str | None = None
    platform_line: int = 0
    app: str = ""
    is_cut: bool = False
    steps: str = ""
    numbered_steps: str = ""
    packed: bytes | None = None
    unpacked: AdScript | None = None

    @property
    def is_readable(self) -> bool:
        """Whether the grammar was followed from the first line to the last."""
        has_errors = any(finding.reason == "parse_error" for finding in self.findings)
        return self.guard_fault is None and not self.is_cut and not has_errors

    @property
    def script(self) -> AdScript:
        """The typed script, made anew at each call; of a cut file, without steps."""
        if self.packed is None:
            return self.unpacked or AdScript()
        return _SCRIPT.decode(self.packed)


def pack_script(script: AdScript) -> bytes | None:
    """Return the script in the bytes that programs hold, `None` if a value in it has none."""
    try:
        return msgspec.msgpack.encode(script)
    except NO_TRAVEL:
        return None


def encode_source(source: AdSource) -> Encoded | None:
    """Return a source that stands nowhere yet as bytes, `None` if it cannot be bytes."""
    if source.unpacked is not None:
        return None
    try:
        return msgspec.msgpack.encode(source)
    except NO_TRAVEL:
        return None


def decode_source(data: Encoded) -> AdSource | None:
    """Return what `encode_source` made, `None` if these are other bytes."""
    try:
        return _SOURCE.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def place_source(source: AdSource, path: str) -> AdSource:
    """Return what was read from some bytes as what stands at `path`."""
    facts = source.facts
    if path.lower().endswith(FOREIGN_SUFFIXES):
        # No other format's file is a fragment of this one, whatever its bytes look like.
        facts = replace(facts, unsupported=_FOREIGN, digest=None)
    findings = tuple(replace(finding, path=path) for finding in source.findings)
    return replace(source, path=path, facts=facts, findings=findings)


def pins_of(source: AdSource) -> Iterator[GraphPin]:
    """Yield the edges of the composition graph that begin in `source`."""
    owner = source.facts.digest or "root"
    for site in source.facts.includes:
        if site.call_site_id is not None and site.pin is not None:
            yield owner, site.call_site_id, site.pin


_FOREIGN: Final = LocalFault(
    feature="cross_format", message="it is a flow of another format; include `.ad` fragments"
)
_SCRIPT: Final = msgspec.msgpack.Decoder(AdScript)
_SOURCE: Final = msgspec.msgpack.Decoder(AdSource)
