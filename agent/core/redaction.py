"""Remove what looks like a credential from texts that people or logs see."""

from __future__ import annotations

import re

_KEY_LIKE = re.compile(r"\b(?=[\w.+/-]*\d)[\w.+/-]{20,}|\b(?:sk|key|gsk|xai|AIza)[-_\w*]{4,}", re.IGNORECASE)
_MAX_CHARACTERS = 160


def redact_line(text: str) -> str:
    """Return `text` as one line of at most 160 characters, without anything that looks like a key."""
    line = " ".join(_KEY_LIKE.sub("…", text).split())
    return line if len(line) <= _MAX_CHARACTERS else line[: _MAX_CHARACTERS - 1] + "…"
