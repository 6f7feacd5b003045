"""Artifacts: what kinds there are, and where in a run directory each one stands.

Pure. Paths are portable (letters, digits, `.`, `_`, `-`), bounded, and distinct: the attempt is a
folder, the address token with its digest cut for people is the stem, and a short hash of the
whole identity keeps cut names apart. Whoever knows attempt, address, kind and name knows the path.

May be imported by: everyone. Imports: runner.model.
"""

import hashlib
import re
from typing import Final, Literal, TypeAlias

from runner.model.address import StepAddress, render_token
from runner.model.ids import AttemptId

ArtifactKind: TypeAlias = Literal["screenshot", "hierarchy", "device_log", "divergence", "other"]

_NAME_LIMIT: Final = 80
_SUFFIX: Final = re.compile(r"(?P<stem>.*)(?P<suffix>\.[A-Za-z0-9]{1,10})", re.DOTALL)
_DIGEST: Final = re.compile(r"(:[rf]:[0-9a-f]{8})[0-9a-f]{56}")


def artifact_path(
    *, kind: ArtifactKind, name: str, attempt_id: AttemptId, address: StepAddress | None
) -> str:
    """Return the path of an artifact relative to the run directory.

    What stands behind the last dot of `name`, if it is short and plain, is the suffix.
    """
    token = "" if address is None else render_token(address)
    parts = _SUFFIX.fullmatch(name)
    stem, suffix = (parts["stem"], parts["suffix"]) if parts else (name, "")
    identity = hashlib.sha256(f"{attempt_id}\0{token}\0{kind}\0{name}".encode("utf-8", "replace"))
    shown = (_portable(_DIGEST.sub(r"\1", token)), _portable(stem), kind)
    whole = "-".join(part for part in shown if part)[:_NAME_LIMIT]
    return f"artifacts/{_portable(attempt_id)}/{whole}-{identity.hexdigest()[:8]}{suffix}"


def _portable(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:_NAME_LIMIT]
