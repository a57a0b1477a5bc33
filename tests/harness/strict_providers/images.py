"""What providers require of the images of a request.

Base64 of an image that can be decoded, of the type that is stated, of at most 5 MB and 8,000 pixels in each
direction, as Anthropic answers (platform.claude.com/docs/en/build-with-claude/vision: "image exceeds 5 MB
maximum", "Could not process image"), the strictest of them. If a request has more than 20 images, none may
have more than 2,000 pixels in a direction (charmbracelet/crush pull request 3810).
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from typing import Any

from PIL import Image

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}
CHARACTERS = 5_242_880
PIXELS = 8_000
MANY, PIXELS_OF_MANY = 20, 2_000
_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,(.*)", re.DOTALL)


def find_bad_image(body: Any) -> str:
    """Return what a provider says of an image that it can't read, "" if it can read all of them."""
    found = list(find_images(body))
    limit = PIXELS if len(found) <= MANY else PIXELS_OF_MANY
    return next(filter(None, (_check(kind, data, limit) for kind, data in found)), "")


def _check(kind: str, data: str, limit: int) -> str:
    if kind not in FORMATS:
        return f"image: media type {kind} is not supported"
    if len(data) > CHARACTERS:
        return "image: image exceeds 5 MB maximum"
    try:
        content = io.BytesIO(base64.b64decode(data, validate=True))
        with Image.open(content, formats=[FORMATS[kind]]) as image:
            image.load()
            largest = max(image.size)
    except (OSError, ValueError, SyntaxError):
        return "image: Could not process image"
    return f"image: at least one of the dimensions exceeds {limit} pixels" if largest > limit else ""


def find_images(body: Any) -> Iterator[tuple[str, str]]:
    """Yield the type and the base64 of each image, in the forms of all providers."""
    if isinstance(body, str):
        if found := _DATA_URL.fullmatch(body):
            yield found[1], found[2]
    elif isinstance(body, list):
        for one in body:
            yield from find_images(one)
    elif isinstance(body, dict):
        kind = body.get("media_type") or body.get("mime_type")
        if isinstance(kind, str) and kind.startswith("image/") and isinstance(body.get("data"), str):
            yield kind, body["data"]
        for one in body.values():
            yield from find_images(one)
