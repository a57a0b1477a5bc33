"""Text length in platform units, and safe places to cut text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TypeAlias

Unit: TypeAlias = Callable[[str], int]
"""A unit of length: text to a count. It is additive: `u(a + b) == u(a) + u(b)`."""

_ZWJ = "\u200d"
_LOOK_BACK = 64  # a longer cluster is an attack; it may be cut


_SURROGATE = re.compile("[\ud800-\udfff]")


def sound(text: str) -> str:
    """`text` as valid Unicode: surrogate pairs joined, lone surrogates (which no platform takes) replaced."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def utf16_units(text: str) -> int:
    """Length in UTF-16 code units (Telegram)."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Length in UTF-8 bytes (Feishu)."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def characters(text: str) -> int:
    """Length in Unicode code points (Slack, Discord)."""
    return len(text)


def _regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _extends(char: str) -> bool:
    """Return True if `char` extends the character before: marks, joiners, skin tones, tags, Hangul vowels."""
    if char < "\u0300":
        return False
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in "\u200c\u200d"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
        or "\udc00" <= char <= "\udfff"
    )


def is_grapheme_border(text: str, at: int) -> bool:
    """Return True if a cut before index `at` splits no visible character."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before == _ZWJ or _extends(after) or (before, after) == ("\r", "\n"):
        return False
    if not _regional(after):
        return True
    start = at
    while start > 0 and at - start < _LOOK_BACK and _regional(text[start - 1]):
        start -= 1
    return (at - start) % 2 == 0


def grapheme_border(text: str, at: int) -> int:
    """Return the last safe cut at or before `at`; `at` itself if there is none nearby."""
    for place in range(at, max(at - _LOOK_BACK, 0), -1):
        if is_grapheme_border(text, place):
            return place
    return at
