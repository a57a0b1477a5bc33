"""Replacement of lone surrogates: half characters that JSON can represent, but requests and files can't."""

from __future__ import annotations

import re
from typing import Any

_LONE = re.compile("[\ud800-\udfff]")


def is_valid_text(value: Any) -> bool:
    """Return whether all strings in a JSON value can be encoded."""
    match value:
        case str():
            return value.isascii() or _LONE.search(value) is None
        case dict():
            return all(is_valid_text(key) and is_valid_text(one) for key, one in value.items())
        case list() | tuple():
            return all(map(is_valid_text, value))
    return True


def clean_text(text: str) -> str:
    """Return a text without lone surrogates; two that form a pair become their character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_strings(value: Any) -> Any:
    """Return a JSON value with all its strings cleaned."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {clean_strings(key): clean_strings(one) for key, one in value.items()}
        case list() | tuple():
            return [clean_strings(one) for one in value]
    return value
