"""Reading JSON that others wrote: every step checked, every failure one exception."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class Malformed(ValueError):
    """A payload is not what its platform documents; the message names the place, never the content."""


def require_object(parent: Json, key: str) -> Json:
    """An object that must be there."""
    value = parent.get(key)
    if not isinstance(value, dict):
        raise Malformed(f"{key} is no object")
    return value


def get_object(parent: Json, key: str) -> Json:
    """An object, empty where absent."""
    return require_object(parent, key) if parent.get(key) is not None else {}


def require_int(parent: Json, key: str) -> int:
    """A whole number that must be there."""
    value = parent.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Malformed(f"{key} is no whole number")
    return value


def get_int(parent: Json, key: str, default: int = 0) -> int:
    """A whole number, `default` where absent."""
    return require_int(parent, key) if parent.get(key) is not None else default


def get_string(parent: Json, key: str) -> str:
    """A string, "" where absent; halves of surrogate pairs are replaced, since nothing can store them."""
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"{key} is no string")
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def get_objects(parent: Json, key: str) -> list[Json]:
    """A list of objects, empty where absent."""
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Malformed(f"{key} is no list of objects")
    return value


def require_string(parent: Json, key: str) -> str:
    """A string that must be there."""
    value = get_string(parent, key)
    if not value:
        raise Malformed(f"{key} is missing")
    return value


def get_strings(parent: Json, key: str) -> list[str]:
    """A list of strings, empty where absent."""
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Malformed(f"{key} is no list of strings")
    return value
