"""Shortening of texts, and removal of characters that don't fit on a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def shorten(text: str, limit: int) -> str:
    """Return the text, or its beginning and an ellipsis, of at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: max(limit - 1, 0)].rstrip()}…"


def cut_middle(text: str, limit: int, mark: str) -> str:
    """Return the text, or its beginning and end around `mark`, of at most `limit` characters."""
    half = (limit - len(mark)) // 2
    return text if len(text) <= limit else f"{text[:half]}{mark}{text[-half:]}"


def to_one_line(text: str) -> str:
    """Return the text with all white space replaced by single spaces."""
    return " ".join(text.split())


def replace_unprintable(text: str, other: str = "\N{REPLACEMENT CHARACTER}") -> str:
    """Return the text with each unprintable character replaced by `other`."""
    return "".join(sign if sign.isprintable() else other for sign in text)


def choose_text(texts: Mapping[str, T], locale: str | None) -> T:
    """Return the Chinese or the English text of a mapping with `zh` and `en`."""
    return texts["zh" if (locale or "").lower().startswith("zh") else "en"]
