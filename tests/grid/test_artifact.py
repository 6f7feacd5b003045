import pytest

from grid.artifact import PieceJoiner
from grid.message import ArtifactPiece
from runner.errors import GridError
from runner.model.ids import AttemptId, PlanId


def piece(data: bytes, *, is_last: bool) -> ArtifactPiece:
    return ArtifactPiece(
        attempt_id=AttemptId("p.1"),
        plan_id=PlanId("p"),
        kind="other",
        name="n",
        data=data,
        is_last=is_last,
    )


async def test_pieces_become_a_whole_with_the_last_one() -> None:
    joiner = PieceJoiner()

    assert joiner.join(piece(b"a", is_last=False)) is None
    assert joiner.join(piece(b"b", is_last=True)) == b"ab"
    assert joiner.join(piece(b"", is_last=True)) == b""


async def test_an_artifact_over_the_bound_is_lost_once_and_the_next_one_is_whole() -> None:
    joiner = PieceJoiner(limit_bytes=3)
    joiner.join(piece(b"aa", is_last=False))
    with pytest.raises(GridError) as caught:
        joiner.join(piece(b"bb", is_last=False))

    assert caught.value.reason == "artifact_lost"
    assert joiner.join(piece(b"cc", is_last=False)) is None
    assert joiner.join(piece(b"dd", is_last=True)) is None
    assert joiner.join(piece(b"ee", is_last=True)) == b"ee"
