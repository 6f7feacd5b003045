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
from typing import Final, TypeAlias

from runner.formats.ad.script import Action, AdNode, AdScript, Context, Include
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

GraphPin: TypeAlias = tuple[str, str, str]
"""An edge of a closure: parent digest or `root`, call site id, child digest."""


def plan_digest(script: AdScript, *, platform: str | None, target: str | None) -> str:
    """Return the flat plan digest as bare hex. `platform` and `target` are the caller's options.

    Without them the platform is the runtime hint before or on the first `open`, else that of the
    `context` header, and the target that of the header.
    """
    return plan_digest_of(
        render_numbered_steps(script.nodes),
        platform=platform or hinted_platform(script) or script.context.platform,
        target=target or script.context.target,
    )


def plan_digest_of(numbered_steps: str, *, platform: str | None, target: str | None) -> str:
    """Return the flat plan digest over rendered steps and the platform and target in effect."""
    return sha256_hex(
        encode_canonical(
            f'{{"platform":{render_canonical(platform)},"steps":[{numbered_steps}],'
            f'"target":{render_canonical(target)}}}'
        )
    )


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
    context = Context(platform=platform, target=target)
    return _bytes(render_steps(script.nodes), context, kind="fragment")


def fragment_digest(script: AdScript, *, platform: str | None, target: str | None) -> Digest:
    """Return the identity of a fragment."""
    return digest_of(fragment_bytes(script, platform=platform, target=target))


def fragment_digest_of(steps: str, context: Context) -> Digest:
    """Return the identity of a fragment with the rendered `steps`."""
    return digest_of(_bytes(steps, context, kind="fragment"))


def composition_bytes(script: AdScript, *, graph: Iterable[GraphPin]) -> bytes:
    """Return the canonical bytes of a root plan and the graph of its pins.

    `graph` holds the edges of the whole closure; order and repetition do not matter.
    """
    steps = render_steps(script.nodes)
    return _bytes(steps, script.context, kind="composition", graph=_render_graph(graph))


def composition_digest(script: AdScript, *, graph: Iterable[GraphPin]) -> Digest:
    """Return the identity of a composed plan; of a flat one with an empty graph."""
    return digest_of(composition_bytes(script, graph=graph))


def composition_digest_of(steps: str, context: Context, *, graph: Iterable[GraphPin]) -> Digest:
    """Return the identity of a composed plan with the rendered `steps`."""
    return digest_of(_bytes(steps, context, kind="composition", graph=_render_graph(graph)))


def render_steps(nodes: Iterable[AdNode]) -> str:
    """Return the canonical text of the steps of a fragment or composition digest."""
    return ",".join(map(_render_node, nodes))


def render_numbered_steps(nodes: Iterable[AdNode]) -> str:
    """Return the canonical text of the steps of a flat plan digest, which have source lines."""
    return ",".join(
        _render_action(node, extra=f'"source":{{"line":{node.line},"path":null}},')
        for node in nodes
        if isinstance(node, Action)
    )


def _render_graph(graph: Iterable[GraphPin]) -> str:
    edges = sorted(set(graph))
    if not all(edge[1].isascii() for edge in edges):  # Digests are; else the orders may differ.
        edges.sort(key=lambda edge: tuple(map(utf16_key, edge)))
    text = ",".join(f"[{','.join(map(quote_json, edge))}]" for edge in edges)
    return f'"graph":[{text}],'


def _bytes(steps: str, context: Context, *, kind: str, graph: str = "") -> bytes:
    return encode_canonical(
        f'{{"canonicalization":"{CANONICALIZATION}",'
        f'"context":{{"platform":{render_canonical(context.platform)},'
        f'"target":{render_canonical(context.target)}}},'
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
