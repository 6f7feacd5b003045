"""What a preflight is asked to do, and what comes out of it. Values only.

May be imported by: runner.preflight, runner.cli. Imports: runner.compose, runner.formats.ad,
runner.model.
"""

from msgspec import Struct

from runner.formats.ad.fragment import ScriptKind
from runner.formats.ad.reader import AdLevel
from runner.model.finding import Finding
from runner.model.ids import PLATFORMS, Digest, PlanId, Platform
from runner.model.plan import CheckedPlan

RETRY_LIMIT = 3
"""What a script's own `context retries=` may ask for at most."""


class PlanRule(Struct, frozen=True, kw_only=True):
    """Facts about the flows that `match` (a glob over the path in the source root) covers."""

    match: str
    tags: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


class PreflightSettings(Struct, frozen=True, kw_only=True):
    """The request. `root` and `cwd` are folders of the file system.

    `platform` is the caller's choice for every flow; `grid_platforms` are the platforms that a
    flow without any platform is run on, `stated_platforms` those that a grid file states, which
    no plan may contradict (`None`: nothing was stated). `variables` are the caller's assignments,
    `environ` the environment that `AD_VAR_` names are taken from. `expect_digests` maps paths, as
    the caller writes them, to plan or composition digests. `timeout_ms` and `retries` override
    the flows'.
    """

    root: str
    cwd: str
    platform: Platform | None = None
    grid_platforms: tuple[Platform, ...] = PLATFORMS
    stated_platforms: tuple[Platform, ...] | None = None
    variables: dict[str, str] = {}
    environ: dict[str, str] = {}
    ad_level: AdLevel = "main"
    expect_digests: dict[str, str] = {}
    rules: tuple[PlanRule, ...] = ()
    include_tags: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    timeout_ms: int | None = None
    retries: int | None = None


class ListedFragment(Struct, frozen=True, kw_only=True, rename="camel"):
    """A fragment that a flow uses or a folder holds; `flows` are its users."""

    path: str
    digest: Digest | None
    platform: str | None
    target: str | None
    flows: tuple[str, ...]


class GraphEdge(Struct, frozen=True, kw_only=True, rename="camel"):
    """One include of the sweep; `fragment` is `None` where nothing stands there."""

    path: str
    line: int
    call_site_id: str | None
    locator: str
    pin: Digest | None
    fragment: str | None
    digest: Digest | None


class BlockedFlow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A flow with problems: its own reason, and all its problems by index."""

    path: str
    reason: str
    problems: tuple[int, ...]


class Preflight(Struct, frozen=True, kw_only=True):
    """The result. Plans are those of the flows without problems, in the order of their paths.

    `fragments_of` gives the fragment paths of each plan. `sources` holds the exact bytes that were
    checked, of every source of the sweep. `kinds` tells what each flow is, checked or blocked.
    """

    plans: tuple[CheckedPlan, ...]
    problems: tuple[Finding, ...]
    blocked: tuple[BlockedFlow, ...] = ()
    fragments: tuple[ListedFragment, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    fragments_of: dict[PlanId, tuple[str, ...]] = {}
    sources: dict[str, bytes] = {}
    kinds: dict[str, ScriptKind] = {}
