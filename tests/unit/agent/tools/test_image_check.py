"""An image that a model is shown is one that providers can read."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from agent.tools.image_check import MAX_PIXELS, find_image_problem, image_type, without_damaged_extras
from agent.uploads.inline_images import IMAGE_BYTES

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


def drawn(kind: str, size: tuple[int, int] = (13, 7), mode: str = "RGB", **options: Any) -> bytes:
    written = io.BytesIO()
    Image.new(mode, size, 7).save(written, kind, **options)
    return written.getvalue()


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_images_are_shown(kind: str) -> None:
    content = drawn(kind)
    assert (image_type(content), find_image_problem(content)) == (FORMATS[kind], None)
    assert find_image_problem(content + b"\0\0") is None, "some programs add bytes"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("WEBP", {"lossless": True}),
        ("WEBP", {"mode": "RGBA"}),
        ("JPEG", {"progressive": True}),
        ("JPEG", {"comment": b"\xff\xd9"}),
        ("PNG", {"mode": "P"}),
    ],
)
def test_kinds_of_a_format(kind: str, options: dict[str, Any]) -> None:
    assert find_image_problem(drawn(kind, **options)) is None


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_cut_is_not_shown(kind: str) -> None:
    content = drawn(kind, (40, 40))
    for length in (13, 20, 32, len(content) // 2, len(content) - 3):
        assert find_image_problem(content[:length]) == "it is damaged", length


@pytest.mark.guard(
    "an image of an MCP server has at most as many pixels as models take",
    "agent/tools/image_check.py",
    "if max(size) > MAX_PIXELS:",
    "if False:",
    against="oversized content",
)
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF"])
@pytest.mark.parametrize("size", [(MAX_PIXELS + 1, 1), (1, MAX_PIXELS + 1)])
def test_what_is_too_wide_or_high_is_not_shown(kind: str, size: tuple[int, int]) -> None:
    problem = find_image_problem(drawn(kind, size))
    assert problem == f"it has {size[0]:,} × {size[1]:,} pixels, and at most 8,000 can be shown"


def test_what_is_too_large_or_no_image_is_not_shown() -> None:
    assert find_image_problem(drawn("PNG") + b"\0" * IMAGE_BYTES) == "it is larger than 3.9 MB"
    assert find_image_problem(b"<svg/>") == "only PNG, JPEG, GIF and WebP images can be shown"
    damaged = bytearray(drawn("PNG"))
    damaged[-20] ^= 1
    assert find_image_problem(bytes(damaged)) == "it is damaged"


@pytest.mark.guard(
    "damaged extras of an MCP server's image are left out",
    "agent/tools/image_check.py",
    "if _is_whole(one) or _is_needed(one[4:8])]",
    "if True]",
    against="malformed content",
)
def test_a_damaged_extra_is_left_out() -> None:
    """A colour profile with a wrong checksum is in an image of server-everything."""
    content = drawn("PNG")
    extra = b"\0\0\0\3iCCPxxx\1\2\3\4"
    damaged = content[:33] + extra + content[33:]
    assert find_image_problem(damaged) is None
    assert without_damaged_extras(damaged) == content
    assert without_damaged_extras(content + b"\0\0") == content + b"\0\0"
    assert without_damaged_extras(drawn("GIF")) == drawn("GIF")
    needed = content.replace(b"IDAT", b"IDAX")
    assert find_image_problem(needed) == "it is damaged"
    assert without_damaged_extras(needed) == needed


@given(st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF....WEBPVP8X"]), st.binary())
def test_any_bytes_are_examined(start: bytes, rest: bytes) -> None:
    assert find_image_problem(start + rest) in {None, "it is damaged"} or b"GIF" in start
