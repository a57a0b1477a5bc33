"""Check of an image before a model sees it, since providers reject the whole request for one invalid image.

Limits of Anthropic, the strictest: 5 MiB of base64 text (`agent.uploads.inline_images.IMAGE_BYTES`) and 8,000
pixels in each direction (platform.claude.com/docs/en/build-with-claude/vision). A damaged image is an error
everywhere ("Could not process image"); only its structure is checked, so nothing is decompressed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping

from agent.uploads.inline_images import IMAGE_BYTES

MAX_PIXELS = 8_000
Size = tuple[int, int]
_JPEG_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SCAN, _JPEG_END = 0xDA, b"\xff\xd9"


def image_type(content: bytes) -> str | None:
    """Detect an image's media type by its first bytes; None for anything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return None


def find_image_problem(content: bytes) -> str | None:
    """Return why the image can't be shown to a model, or None if it can."""
    kind = image_type(content)
    if kind is None:
        return "only PNG, JPEG, GIF and WebP images can be shown"
    if len(content) > IMAGE_BYTES:
        return f"it is larger than {IMAGE_BYTES / 1_000_000:.1f} MB"
    try:
        size = _SIZES[kind](content)
    except (struct.error, IndexError):
        size = None
    if size is None or min(size) < 1:
        return "it is damaged"
    if max(size) > MAX_PIXELS:
        return f"it has {size[0]:,} × {size[1]:,} pixels, and at most {MAX_PIXELS:,} can be shown"
    return None


def _png_size(content: bytes) -> Size | None:
    """Return the size if all required chunks are complete, from the header to the end."""
    has_data = False
    size: Size | None = None
    for chunk in _png_chunks(content):
        kind = chunk[4:8]
        if not _is_whole(chunk):
            if _is_needed(kind):
                return None
            continue
        if kind == b"IHDR":
            size = (_big(chunk[8:12]), _big(chunk[12:16]))
        has_data = has_data or kind == b"IDAT"
        if kind == b"IEND":
            return size if has_data else None
    return None


def without_damaged_extras(content: bytes) -> bytes:
    """Return a PNG image without damaged optional chunks; any other image unchanged.

    Most programs skip such a chunk, as the specification says (a colour profile with a wrong checksum is in
    the image of server-everything), but some reject the whole image.
    """
    if image_type(content) != "image/png":
        return content
    chunks = list(_png_chunks(content))
    kept = [one for one in chunks if _is_whole(one) or _is_needed(one[4:8])]
    return content if len(kept) == len(chunks) else content[:8] + b"".join(kept)


def _png_chunks(content: bytes) -> Iterator[bytes]:
    """Yield the chunks up to the end, or to a truncated one."""
    at = 8
    while at + 12 <= len(content):
        end = at + 12 + _big(content[at : at + 4])
        if end > len(content):
            return
        yield content[at:end]
        if content[at + 4 : at + 8] == b"IEND":
            return
        at = end


def _is_whole(chunk: bytes) -> bool:
    return zlib.crc32(chunk[4:-4]) == _big(chunk[-4:])


def _is_needed(kind: bytes) -> bool:
    """Return whether a chunk of this kind is critical, indicated by a capital first letter."""
    return not kind[0] & 0x20


def _jpeg_size(content: bytes) -> Size | None:
    """Return the frame's size if it is followed by a scan and the end of the image."""
    at = 2
    size: Size | None = None
    while content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        elif marker == _JPEG_SCAN:
            return size if content.find(_JPEG_END, at) > 0 else None
        else:
            if marker in _JPEG_FRAMES:
                height, width = struct.unpack(">HH", content[at + 5 : at + 9])
                size = (width, height)
            at += 2 + _big(content[at + 2 : at + 4])
    return None


def _gif_size(content: bytes) -> Size | None:
    width, height = struct.unpack("<HH", content[6:10])
    return (width, height) if content.rstrip(b"\0").endswith(b";") else None


def _webp_size(content: bytes) -> Size | None:
    if len(content) < 30 or _little(content[4:8]) + 8 > len(content):
        return None
    kind = content[12:16]
    if kind == b"VP8X":
        return _little(content[24:27]) + 1, _little(content[27:30]) + 1
    if kind == b"VP8L":
        packed = _little(content[21:25])
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    return _little(content[26:28]) & 0x3FFF, _little(content[28:30]) & 0x3FFF


def _big(part: bytes) -> int:
    return int.from_bytes(part, "big")


def _little(part: bytes) -> int:
    return int.from_bytes(part, "little")


_SIZES: Mapping[str, Callable[[bytes], Size | None]] = {
    "image/png": _png_size,
    "image/jpeg": _jpeg_size,
    "image/gif": _gif_size,
    "image/webp": _webp_size,
}
