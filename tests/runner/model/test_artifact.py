import re

import pytest
from hypothesis import given, strategies as st

from runner.model.address import InvocationSegment, RootOwner, StepAddress
from runner.model.artifact import artifact_path
from runner.model.ids import AttemptId
from tests.support.events import DIGEST


@given(
    names=st.lists(st.text(), min_size=2, max_size=2, unique=True),
    attempt=st.text(min_size=1),
    calls=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=50), max_size=16),
)
def test_names_are_portable_bounded_and_distinct(
    names: list[str], attempt: str, calls: list[str]
) -> None:
    address = StepAddress(
        owner=RootOwner(format="ad", composition_digest=DIGEST),
        invocation_path=tuple(InvocationSegment(call) for call in calls),
        local_step=1,
    )
    paths = [
        artifact_path(
            kind="other", name=f"{name}.txt", attempt_id=AttemptId(attempt), address=address
        )
        for name in names
    ]

    assert len(set(paths)) == 2
    for path in paths:
        assert re.fullmatch(r"artifacts/[A-Za-z0-9._-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*", path)
        assert len(path) < 220
        assert ".." not in path.split("/")


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("failure.png", ".png"), ("a.b.log", ".log"), ("plain", ""), ("x./../y", ""), ("x.é", "")],
)
def test_only_a_short_and_plain_suffix_is_kept(name: str, suffix: str) -> None:
    path = artifact_path(kind="other", name=name, attempt_id=AttemptId("a"), address=None)

    assert re.fullmatch(r"artifacts/a/[A-Za-z0-9._-]+-[0-9a-f]{8}" + re.escape(suffix), path)
