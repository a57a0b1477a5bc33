"""Reading JSON that others wrote: every step checked, every failure one exception."""

from __future__ import annotations

from typing import Any

import orjson

Json = dict[str, Any]


class Malformed(ValueError):
    """An event or answer is not what Feishu documents; the message names the place, never the content."""


def parsed(data: bytes | str) -> Json:
    """A JSON object. Raises Malformed."""
    try:
        loaded = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Malformed("not JSON") from None
    if not isinstance(loaded, dict):
        raise Malformed("no JSON object")
    return loaded


def mapping(parent: Json, key: str) -> Json:
    """An object, empty where absent."""
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Malformed(f"{key} is no object")
    return value


def string(parent: Json, key: str) -> str:
    """A string, "" where absent; halves of surrogate pairs are replaced, since nothing can store them."""
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"{key} is no string")
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def needed(parent: Json, key: str) -> str:
    """A string that must be there."""
    value = string(parent, key)
    if not value:
        raise Malformed(f"{key} is missing")
    return value


def objects(parent: Json, key: str) -> list[Json]:
    """A list of objects, empty where absent."""
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Malformed(f"{key} is no list of objects")
    return value


def milliseconds(parent: Json, key: str) -> float:
    """A time that is written as a string of milliseconds, in seconds; 0.0 where absent."""
    text = str(parent.get(key) or "0")
    if not text.isdecimal() or len(text) > 16:
        raise Malformed(f"{key} is no time")
    return int(text) / 1000
