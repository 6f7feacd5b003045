"""Whole images and what only looks like them."""

import io

import pytest
from hypothesis import given, strategies as st
from PIL import Image

from drivers.android.screenshot import find_png


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (7, 5), "navy").save(out, "PNG")
    return out.getvalue()


def test_a_whole_image_is_returned_as_it_is() -> None:
    assert find_png(png()) == png()


def test_a_warning_before_and_noise_after_are_cut() -> None:
    raw = b"[Warning] Multiple displays were found, but no display id was specified!\n"

    assert find_png(raw + png() + b"\n") == png()


def test_no_part_of_an_image_passes() -> None:
    whole = png()

    assert all(find_png(whole[:size]) is None for size in range(len(whole)))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"Capturing failed.",
        b"/system/bin/sh: screencap: not found",
        png().replace(b"\n", b"\r\n"),
        b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\x00IEND\xae\x42\x60\x82",
    ],
)
def test_texts_and_mangled_images_are_none(raw: bytes) -> None:
    assert find_png(raw) is None


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail(raw: bytes) -> None:
    assert find_png(b"\x89PNG\r\n\x1a\n" + raw) is None or b"IEND" in raw
