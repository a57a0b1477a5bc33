"""Reads JSON objects and times of Feishu."""

from __future__ import annotations

import orjson

from bot.platforms.payload import Json, Malformed


def parse_object(data: bytes | str) -> Json:
    """A JSON object. Raises Malformed."""
    try:
        loaded = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Malformed("not JSON") from None
    if not isinstance(loaded, dict):
        raise Malformed("no JSON object")
    return loaded


def read_time(parent: Json, key: str) -> float:
    """A time that is written as a string of milliseconds, in seconds; 0.0 where absent."""
    text = str(parent.get(key) or "0")
    if not text.isdecimal() or len(text) > 16:
        raise Malformed(f"{key} is no time")
    return int(text) / 1000
