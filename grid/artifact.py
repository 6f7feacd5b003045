"""The port through which artifacts are stored, and the joining of their pieces.

May be imported by: grid, runner.cli, tests. Imports: grid.message, runner.model, runner.errors.
"""

from typing import Final, Protocol, final

from grid.message import ArtifactPiece
from runner.errors import GridError
from runner.model.address import StepAddress
from runner.model.artifact import ArtifactKind
from runner.model.event import ArtifactStored
from runner.model.ids import AttemptId

MAX_ARTIFACT_BYTES: Final = 64 * 1024 * 1024


class ArtifactStore(Protocol):
    """Keeps artifacts in the run directory under portable names of its own choice.

    `name` is a suggestion that may be empty and may repeat within an attempt.
    """

    async def store(
        self,
        *,
        kind: ArtifactKind,
        name: str,
        attempt_id: AttemptId,
        address: StepAddress | None,
        data: bytes,
    ) -> ArtifactStored:
        """Store `data`. Raises `EvidenceError` when it cannot be written."""
        ...


@final
class PieceJoiner:
    """Joins the pieces of one artifact after another."""

    def __init__(self, limit_bytes: int = MAX_ARTIFACT_BYTES) -> None:
        self._limit = limit_bytes
        self._data = bytearray()
        self._is_skipping = False

    def join(self, piece: ArtifactPiece) -> bytes | None:
        """Take the next piece; return the whole with the last one. Reasons: `artifact_lost`.

        After an error the rest of that artifact is skipped.
        """
        if self._is_skipping:
            self._is_skipping = not piece.is_last
            return None
        if len(self._data) + len(piece.data) > self._limit:
            self._data = bytearray()
            self._is_skipping = not piece.is_last
            raise GridError(
                reason="artifact_lost",
                message=f"artifact {piece.name!r} is over the bound of {self._limit} bytes",
                details={"boundBytes": self._limit, "name": piece.name},
            )
        self._data += piece.data
        if not piece.is_last:
            return None
        data, self._data = bytes(self._data), bytearray()
        return data
