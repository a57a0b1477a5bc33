"""Collection of a document's pictures for vision models: scaled down, without duplicates, up to a limit."""

from __future__ import annotations

import hashlib
import io
import math
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from agent.uploads.documents.report import DocumentPicture

PICTURES = 20
SIDE = 1_568
"""Longest side in pixels; Anthropic scales larger images down (docs.anthropic.com, "Vision")."""
SMALLEST = 48
"""Shortest side in pixels; smaller pictures are lines, bullets and icons."""
PIXELS = 80_000_000
"""Pictures with more pixels are not unpacked."""
_QUALITY = 85


class PictureWriter:
    """Writes JPEG images of up to `room` bytes in total; `kept` contains their labels and sizes.

    After `until` (of `clock`) no more pictures are read, because the text is more important.
    """

    def __init__(
        self,
        file: BinaryIO | None = None,
        room: int = 0,
        *,
        until: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without a file nothing is stored."""
        self._file, self._room = file, room
        self._until, self._clock = until, clock
        self._known: dict[bytes, str] = {}
        self._missing = 0
        self.kept: list[DocumentPicture] = []

    @property
    def has_room(self) -> bool:
        return self._file is not None and len(self.kept) < PICTURES and self._clock() < self._until

    def add(self, content: bytes, label: str) -> str:
        """Store a picture and return its label, or that of an identical one; "" if it is not stored."""
        digest = hashlib.sha256(content).digest()
        if digest not in self._known:
            self._known[digest] = label if self._keep(content, label) else ""
        return self._known[digest]

    def skip(self) -> None:
        """Count a picture that can't be stored."""
        self._missing += 1

    def _keep(self, content: bytes, label: str) -> bool:
        image = convert_picture(content) if self.has_room else content
        if image is None:
            return False
        if self._file is None or not self.has_room or len(image) > self._room:
            self.skip()
            return False
        self._file.write(image)
        self._room -= len(image)
        self.kept.append(DocumentPicture(label, len(image)))
        return True

    @property
    def note(self) -> str:
        """Return a note about missing pictures, or "" if there are none."""
        if not self._missing:
            return ""
        if not self.kept:
            return f"Its pictures ({self._missing}) are not included."
        return f"Only the first {len(self.kept)} of its pictures are included."


def convert_picture(content: bytes) -> bytes | None:
    """Return a picture as JPEG of at most `SIDE` pixels; None if it is too small or can't be read."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = PIXELS // 2  # Pillow refuses twice that number.
    try:
        with Image.open(io.BytesIO(content)) as image:
            if min(image.size) < SMALLEST:
                return None
            image.draft("RGB", (SIDE, SIDE))
            flat = _without_transparency(image)
            flat.thumbnail((SIDE, SIDE))
            target = io.BytesIO()
            flat.save(target, "JPEG", quality=_QUALITY)
    except Exception:  # noqa: BLE001 - parsers raise anything on hostile input; the text is read without it
        return None
    return target.getvalue()


def _without_transparency(image: Any) -> Any:
    """Return the image in RGB, on white where it is transparent."""
    from PIL import Image

    if image.mode not in {"RGBA", "LA", "PA"} and "transparency" not in image.info:
        return image.convert("RGB")
    layered = image.convert("RGBA")
    flat = Image.new("RGB", layered.size, "white")
    flat.paste(layered, mask=layered.getchannel("A"))
    return flat
