"""Conversion of untrusted values to JSON that a model can read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import orjson

SHOWN_CHARACTERS = 2_000
_LONG_INTEGER: Final = re.compile(rb"(?:[:,\[\s]|\A)-?[0-9]{19}")


def parse_json(data: bytes | str) -> Any:
    """Return the parsed JSON. Raises orjson.JSONDecodeError.

    Integers keep all their digits, while orjson converts large ones to floats.
    """
    raw = data.encode() if isinstance(data, str) else data
    if _LONG_INTEGER.search(raw):
        # The json module refuses integers of more than 4,300 digits, and accepts NaN and Infinity.
        with suppress(ValueError):
            return json.loads(raw, parse_constant=_refuse_constant)
    return orjson.loads(raw)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object of untrusted JSON; {} for anything else."""
    return value if isinstance(value, Mapping) else {}


def one_line(value: object, limit: int | None = None) -> str:
    """Return a text of untrusted JSON as one line of at most `limit` characters; "" for anything else."""
    return " ".join(value.split())[:limit] if isinstance(value, str) else ""


def to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def to_short_json(value: object) -> str:
    """Return any value as JSON, shortening long texts, which may be encoded files."""
    return to_json(_shorten_texts(value))


def shorten_text(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """Return the beginning of a long text, with the number of omitted characters."""
    return text if len(text) <= limit else f"{text[:limit]}[… {len(text) - limit:,} characters are omitted]"


def _shorten_texts(value: Any) -> Any:
    if isinstance(value, str):
        return shorten_text(value)
    if isinstance(value, Mapping):
        return {str(key): _shorten_texts(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shorten_texts(item) for item in value]
    return value
