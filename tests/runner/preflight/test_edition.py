import subprocess
from pathlib import Path

import pytest

from runner.model.digest import digest_of
from runner.preflight.edition import Edit, PinChange, edit_json, render_diff


@pytest.mark.parametrize("name", ["a.ad", "with space.ad", 'new\nline "\\\t.ad', "é.ad"])
def test_a_diff_is_what_git_takes_byte_for_byte(tmp_path: Path, name: str) -> None:
    head = b"\xef\xbb\xbfa\r\n\x0bb\x0c\n" + "c\u2028d\n".encode() + b"1\n2\n3\n4\n5\n"
    before, after = head + b"# old\r\ninclude\r\nend", head + b"# new\r\ninclude\r\nend"
    edit = Edit(path=f"sub dir/{name}", before=before, after=after)
    file = tmp_path / "sub dir" / name
    file.parent.mkdir()
    file.write_bytes(before)
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=tmp_path,
        input=render_diff(edit).encode(),
        check=True,
        env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "PATH": "/usr/bin:/bin"},
    )

    assert file.read_bytes() == after
    assert "\\ No newline at end of file\n" in render_diff(edit)


def test_nothing_has_no_diff() -> None:
    assert render_diff(Edit(path="a.ad", before=b"a", after=b"a")) == ""


@pytest.mark.parametrize("written", [True, False])
def test_the_json_form_says_whether_it_was_written(*, written: bool) -> None:
    change = PinChange(
        line=2, call_site_id="a", locator="./f.ad", fragment="f.ad", old=None, new=digest_of(b"f")
    )
    edit = Edit(path="a.ad", before=b"a\n", after=b"b\n", changes=(change,))
    value = edit_json(edit, written=written)

    assert (value.version, value.written, value.changes) == (1, written, (change,))
    assert value.diff == "--- a/a.ad\n+++ b/a.ad\n@@ -1 +1 @@\n-a\n+b\n"
