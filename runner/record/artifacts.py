"""Files of evidence in the run directory, at the paths that `runner.model.artifact` gives.

A file appears whole or not at all.

Blocking; callers on an event loop use a thread.

May be imported by: grid, runner.cli, tests. Imports: runner.model, runner.errors, runner.record.
"""

import contextlib
import hashlib
from pathlib import Path
from typing import Final

from runner.errors import EvidenceError
from runner.model.address import StepAddress
from runner.model.artifact import ArtifactKind, artifact_path
from runner.model.event import ArtifactStored
from runner.model.ids import AttemptId
from runner.record.redaction import Redactor

_TEXT_KINDS: Final = frozenset({"hierarchy", "device_log", "divergence"})


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
        attempt_id: AttemptId,
        address: StepAddress | None,
        data: bytes,
    ) -> ArtifactStored:
        """Write one artifact and return its event. Reasons: `artifact_unwritable`."""
        if kind in _TEXT_KINDS:
            data = self._redactor.redact_bytes(data)
        relative = artifact_path(kind=kind, name=name, attempt_id=attempt_id, address=address)
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
