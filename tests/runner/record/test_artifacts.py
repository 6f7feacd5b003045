import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runner.errors import EvidenceError
from runner.model.address import InvocationSegment, RootOwner, StepAddress
from runner.model.ids import AttemptId
from runner.record.artifacts import ArtifactStore, artifact_path
from runner.record.redaction import Redactor
from tests.support.events import DIGEST, step_address

ATTEMPT = AttemptId("flows/login.ad@android#1")


def test_an_artifact_is_named_by_attempt_and_address_and_hashed(tmp_path: Path) -> None:
    stored = ArtifactStore(tmp_path, Redactor([])).store(
        kind="screenshot",
        name="failure",
        suffix=".png",
        attempt_id=ATTEMPT,
        address=step_address(3),
        data=b"picture",
    )

    assert stored.path.startswith("artifacts/flows_login.ad_android_1/ad_r_abababab_3-failure-")
    assert b"picture" == (tmp_path / stored.path).read_bytes()
    assert hashlib.sha256(b"picture").hexdigest() == stored.sha256
    assert 7 == stored.size_bytes


def test_text_artifacts_are_redacted_before_they_are_hashed(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path, Redactor([("PASSWORD", "geheim-ß")]))

    stored = store.store(
        kind="device_log",
        name="log",
        suffix=".txt",
        attempt_id=ATTEMPT,
        address=None,
        data="typed geheim-ß".encode(),
    )

    data = (tmp_path / stored.path).read_bytes()
    assert b"typed <var:PASSWORD>" == data
    assert hashlib.sha256(data).hexdigest() == stored.sha256


def test_a_folder_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "artifacts").write_text("a file stands in the way")

    with pytest.raises(EvidenceError) as caught:
        ArtifactStore(tmp_path, Redactor([])).store(
            kind="other", name="x", suffix="", attempt_id=ATTEMPT, address=None, data=b""
        )

    assert "artifact_unwritable" == caught.value.reason


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
            kind="other", name=name, suffix=".txt", attempt_id=AttemptId(attempt), address=address
        )
        for name in names
    ]

    assert len(set(paths)) == 2
    for path in paths:
        assert re.fullmatch(r"artifacts/[A-Za-z0-9._-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*", path)
        assert len(path) < 220
        assert ".." not in path.split("/")
