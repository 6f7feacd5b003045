"""Files of evidence in the run directory, named by attempt and step address.

Names are portable (letters, digits, `.`, `_`, `-`), bounded, and unique: the attempt is a folder,
the address token with its digest cut for people is the stem, and a short hash of the whole identity
keeps cut names apart. A file appears whole or not at all.

Blocking; callers on an event loop use a thread.

May be imported by: grid, runner.cli, tests. Imports: runner.model, runner.errors, runner.record.
"""

import contextlib
import hashlib
import re
from pathlib import Path
from typing import Final, Literal, TypeAlias

from runner.errors import EvidenceError
from runner.model.address import StepAddress, render_token
from runner.model.event import ArtifactStored
from runner.model.ids import AttemptId
from runner.record.redaction import Redactor

ArtifactKind: TypeAlias = Literal["screenshot", "hierarchy", "device_log", "divergence", "other"]

_NAME_LIMIT: Final = 80
_TEXT_KINDS: Final = frozenset({"hierarchy", "device_log", "divergence"})


def artifact_path(
    *,
    kind: ArtifactKind,
    name: str,
    suffix: str,
    attempt_id: AttemptId,
    address: StepAddress | None,
) -> str:
    """Return the path of an artifact relative to the run directory."""
    token = "" if address is None else render_token(address)
    identity = hashlib.sha256(f"{attempt_id}\0{token}\0{kind}\0{name}".encode("utf-8", "replace"))
    shown = re.sub(r"(:[rf]:[0-9a-f]{8})[0-9a-f]{56}", r"\1", token)
    stem = "-".join(part for part in (_portable(shown), _portable(name), kind) if part)
    return (
        f"artifacts/{_portable(attempt_id)}/{stem[:_NAME_LIMIT]}-{identity.hexdigest()[:8]}{suffix}"
    )


def _portable(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:_NAME_LIMIT]


class ArtifactStore:
    """Writes artifacts below `folder`; text artifacts are redacted first."""

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        self._folder = folder
        self._redactor = redactor

    def store(
        self,
        *,
        kind: ArtifactKind,
        name: str,
        suffix: str,
        attempt_id: AttemptId,
        address: StepAddress | None,
        data: bytes,
    ) -> ArtifactStored:
        """Write one artifact and return its event. Reasons: `artifact_unwritable`."""
        if kind in _TEXT_KINDS:
            data = self._redactor.redact_bytes(data)
        relative = artifact_path(
            kind=kind, name=name, suffix=suffix, attempt_id=attempt_id, address=address
        )
        path = self._folder / relative
        part = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(data)
            part.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):  # The first error is the one to report.
                part.unlink(missing_ok=True)
            raise EvidenceError(
                reason="artifact_unwritable",
                message=f"{path} cannot be written: {error}",
                details={"path": str(path), "cause": str(error)},
            ) from error
        return ArtifactStored(
            kind=kind,
            path=relative,
            size_bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )
