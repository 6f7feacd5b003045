"""Builds trees of `.ad` files with right pins, so that a test plants only what it is about.

The pins come from `digest_file`, the product's own tool for people who write pins.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from runner.preflight.digest import digest_file
from runner.preflight.settings import Preflight, PreflightSettings
from runner.preflight.sweep import check_sweep

UNKNOWN = "sha256:" + "0" * 64
EVIDENCE = (
    '{"id":"home","role":"heading","label":"Home","ancestry":[],"sibling":0,"viewportOrder":0,'
    '"verification":"verified"}'
)
GUARD = ("# agent-device:target-v1 " + EVIDENCE, 'wait "id=\\"home\\"" 10000')


class Call(Struct, frozen=True):
    """One include: the target's path in the tree, its call site, and a pin other than the right."""

    to: str
    site: str | None = None
    pin: str | None = None


class AdTree:
    """A source root on the disk."""

    def __init__(self, root: Path, *, platform: str = "android") -> None:
        self.root = root
        self.platform = platform

    def write(self, path: str, lines: Sequence[str]) -> str:
        """Write a file and return its path."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines))
        return path

    def fragment(
        self,
        path: str,
        *parts: str | Call,
        guard: Sequence[str] = GUARD,
        context: str | None = None,
        head: str = "fragment-v1",
    ) -> str:
        """Write a fragment; `parts` follow its entry guard."""
        if context is None:
            context = f"context platform={self.platform} target=mobile"
        return self.write(path, [head, context, *guard, *self._lines(path, parts)])

    def flow(
        self,
        path: str,
        *parts: str | Call,
        head: Sequence[str] | None = None,
        guard: str = "composition-v1",
    ) -> str:
        """Write a composed root that opens and closes an app around `parts`."""
        if head is None:
            head = [f"context platform={self.platform}"]
        body = self._lines(path, ["open com.example", *parts, "close"])
        return self.write(path, [*head, guard, *body])

    def digest(self, path: str) -> str:
        """Return the fragment digest of a file; zeros where it has none."""
        report = digest_file(path, settings=self.settings())
        return report.fragment_digest or UNKNOWN

    def settings(self, **changes: object) -> PreflightSettings:
        """Return settings for this root."""
        values = {"root": str(self.root), "cwd": str(self.root), **changes}
        return PreflightSettings(**values)  # type: ignore[arg-type]

    def check(self, *paths: str, **changes: object) -> Preflight:
        """Run the preflight over `paths`, or over everything."""
        return check_sweep(paths or (".",), self.settings(**changes))

    def _lines(self, path: str, parts: Sequence[str | Call]) -> list[str]:
        lines: list[str] = []
        for number, part in enumerate(parts, 1):
            if isinstance(part, str):
                lines.append(part)
                continue
            site = part.site if part.site is not None else f"call-{number}"
            pin = part.pin or self.digest(part.to)
            up = "../" * path.count("/")
            lines.append(
                f'# agent-device:fragment-ref-v1 {{"callSiteId":"{site}","digest":"{pin}"}}'
            )
            lines.append(f'include "./{up}{part.to}"')
        return lines


def reasons(preflight: Preflight) -> list[tuple[str, str]]:
    """Return reason and place of every problem."""
    return [(each.reason, f"{each.path}:{each.line}") for each in preflight.problems]
