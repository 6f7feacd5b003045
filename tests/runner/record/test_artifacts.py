import hashlib
from pathlib import Path

import pytest

from runner.errors import EvidenceError
from runner.model.ids import AttemptId
from runner.record.artifacts import ArtifactStore
from runner.record.redaction import Redactor
from tests.support.events import step_address

ATTEMPT = AttemptId("flows/login.ad@android#1")


def test_an_artifact_is_named_by_attempt_and_address_and_hashed(tmp_path: Path) -> None:
    stored = ArtifactStore(tmp_path, Redactor([])).store(
        kind="screenshot",
        name="failure.png",
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
        name="log.txt",
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
            kind="other", name="x", attempt_id=ATTEMPT, address=None, data=b""
        )

    assert "artifact_unwritable" == caught.value.reason
