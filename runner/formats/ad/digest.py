"""The digests of `.ad` plans, and the exact bytes under them.

Pure. Three digests over canonical JSON, of the authored text (nothing expanded, no path):

- the flat plan digest, compatible with the format's origin, bare hex, with source lines;
- the fragment digest and the composition digest, whose input names its canonicalization and
  leaves source lines out, so that comments and blank lines change nothing.

Steps are written out key by key, in the order of their sorted names, because this is the hot
path of a preflight; a property test holds the result to a plain canonicalization.

May be imported by: runner.formats.ad, runner.preflight, runner.cli. Imports: runner.model,
runner.formats.ad.script.
"""

from collections.abc import Iterable
from typing import Final

from runner.formats.ad.script import Action, AdNode, AdScript, Include
from runner.model.digest import (
    digest_of,
    encode_canonical,
    quote_json,
    render_canonical,
    sha256_hex,
    utf16_key,
)
from runner.model.ids import Digest

CANONICALIZATION: Final = "ad-c14n-1"
FORMAT_VERSION: Final = 1


def plan_digest(script: AdScript, *, platform: str | None, target: str | None) -> str:
    """Return the flat plan digest as bare hex. `platform` and `target` are the caller's options.

    Without them the platform is the runtime hint before or on the first `open`, else that of the
    `context` header, and the target that of the header.
    """
    steps = ",".join(
        _render_action(node, extra=f'"source":{{"line":{node.line},"path":null}},')
        for node in script.nodes
        if isinstance(node, Action)
    )
    platform = platform or hinted_platform(script) or script.context.platform
    target = target or script.context.target
    text = (
        f'{{"platform":{render_canonical(platform)},"steps":[{steps}],'
        f'"target":{render_canonical(target)}}}'
    )
    return sha256_hex(encode_canonical(text))


def hinted_platform(script: AdScript) -> str | None:
    """Return the platform that a runtime hint before or on the first `open` states."""
    return find_platform_hint(script)[0]


def find_platform_hint(script: AdScript) -> tuple[str | None, int]:
    """Return the platform that a runtime hint states, and the line of the hint."""
    hint: tuple[str | None, int] = (None, 0)
    for node in script.nodes:
        if not isinstance(node, Action):
            continue
        if node.command == "runtime" and isinstance(node.flags.get("platform"), str):
            hint = node.flags["platform"], node.line
        elif node.command == "open":
            own = (node.runtime or {}).get("platform")
            return (own, node.line) if isinstance(own, str) else hint
    return hint


def fragment_bytes(script: AdScript, *, platform: str | None, target: str | None) -> bytes:
    """Return the canonical bytes of a fragment, whose context is as authored."""
    return _bytes(script, kind="fragment", platform=platform, target=target, graph="")


def fragment_digest(script: AdScript, *, platform: str | None, target: str | None) -> Digest:
    """Return the identity of a fragment."""
    return digest_of(fragment_bytes(script, platform=platform, target=target))


def composition_bytes(script: AdScript, *, graph: Iterable[tuple[str, str, str]]) -> bytes:
    """Return the canonical bytes of a root plan and the graph of its pins.

    `graph` holds the edges (parent digest or "root", call site id, child digest) of the whole
    closure; order and repetition do not matter.
    """
    edges = sorted(set(graph), key=lambda edge: tuple(map(utf16_key, edge)))
    return _bytes(
        script,
        kind="composition",
        platform=script.context.platform,
        target=script.context.target,
        graph=f'"graph":{render_canonical(edges)},',
    )


def composition_digest(script: AdScript, *, graph: Iterable[tuple[str, str, str]]) -> Digest:
    """Return the identity of a composed plan; of a flat one with an empty graph."""
    return digest_of(composition_bytes(script, graph=graph))


def _bytes(
    script: AdScript, *, kind: str, platform: str | None, target: str | None, graph: str
) -> bytes:
    steps = ",".join(map(_render_node, script.nodes))
    return encode_canonical(
        f'{{"canonicalization":"{CANONICALIZATION}",'
        f'"context":{{"platform":{render_canonical(platform)},'
        f'"target":{render_canonical(target)}}},'
        f'"formatVersion":{FORMAT_VERSION},{graph}"kind":"{kind}","steps":[{steps}]}}'
    )


def _render_node(node: AdNode) -> str:
    if isinstance(node, Include):
        return (
            f'{{"callSiteId":{render_canonical(node.call_site_id)},'
            f'"digest":{render_canonical(node.digest)},'
            f'"locator":{quote_json(node.locator)},"type":"include"}}'
        )
    return _render_action(node, last=',"type":"action"')


def _render_action(action: Action, *, extra: str = "", last: str = "") -> str:
    flags = render_canonical(action.flags) if action.flags else "{}"
    runtime = render_canonical(action.runtime) if action.runtime is not None else "null"
    evidence = render_canonical(action.evidence) if action.evidence is not None else "null"
    evidences = render_canonical(action.evidences) if action.evidences is not None else "null"
    return (
        f'{{"command":{quote_json(action.command)},"flags":{flags},'
        f'"positionals":[{",".join(map(quote_json, action.positionals))}],"runtime":{runtime},'
        f'{extra}"targetEvidence":{evidence},"targetEvidences":{evidences}{last}}}'
    )
