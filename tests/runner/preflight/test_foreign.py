import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runner.preflight.foreign import HEAD_BYTES, detect_format, may_be_foreign, read_head


@pytest.mark.parametrize(
    "text",
    [
        "appId: com.example\n---\n- launchApp\n",
        "# a comment\n---\nappId: com.example\nname: Login\n---\n- launchApp\n",
        "url: https://example.com\r\n---\r\n- launchApp\r\n",
        '"appId" : com.example\n--- # steps\n- back\n',
        "\ufeffappId: com.example\n---\n",
        "tags:\n  - smoke\nappId: com.example\n---\n",
        "{appId: com.example}\n---\n- launchApp\n",
        "- launchApp\n- tapOn: Sign in\n",
        "---\n- tapOn:\n    id: a\n",
        "- {inputText: a}\n",
        "[launchApp, back]\n",
        "appId: com.example\n" + "# long\n" * HEAD_BYTES,
    ],
)
def test_what_reads_like_a_mobile_flow_is_one(text: str) -> None:
    assert detect_format("a.yaml", text.encode()[:HEAD_BYTES]) == "maestro"
    assert detect_format("a.yaml", text.encode("utf-16")[:HEAD_BYTES]) == "maestro"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n",
        "jobs:\n  test:\n    steps:\n      - run: make\n",
        "binding: 1\nappId: com.example\n---\n- launchApp\n",
        "appId: com.example\nbinding: 1\n---\n",
        "url: https://example.com\ntitle: A site\n",
        "spec:\n  url: https://example.com\n---\nspec: {}\n",
        "- hosts: all\n  tasks: []\n",
        "- name: back\n",
        "flows:\n- launchApp\n- tapOn: a\n",
        "appIdentity: a\n---\n",
    ],
)
def test_other_yaml_is_nobody_s_business(text: str) -> None:
    assert detect_format("a.yaml", text.encode()) is None


def test_a_behavior_specification_is_known_by_its_suffix_unless_it_is_a_binding() -> None:
    assert detect_format("a.abs.yaml", b"session: a\n") == "abs"
    assert detect_format("A.ABS.YML", b"\xff\xfe") == "abs"
    assert detect_format("a.abs.yaml", b"binding: 1\n") is None


def test_only_yaml_that_is_no_workspace_file_is_worth_a_look() -> None:
    assert may_be_foreign("sub/A.YML")
    assert not may_be_foreign("sub/config.yaml")
    assert not may_be_foreign("note.txt")


@given(st.binary())
def test_no_bytes_break_the_judgement(data: bytes) -> None:
    assert detect_format("a.yaml", data) in {None, "maestro"}
    assert detect_format("a.abs.yaml", data) in {None, "abs"}


def test_reading_is_bounded_and_never_blocks(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_bytes(b"#" * (HEAD_BYTES + 9))
    os.mkfifo(tmp_path / "pipe.yaml")

    assert read_head(str(tmp_path / "big.yaml")) == b"#" * HEAD_BYTES
    assert read_head(str(tmp_path / "pipe.yaml")) is None
