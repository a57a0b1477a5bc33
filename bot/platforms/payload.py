"""Checked access to untrusted JSON: every violation raises the same exception."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class Malformed(ValueError):
    """A payload violates its platform's documentation; the message contains the key, never the content."""


def require_object(parent: Json, key: str) -> Json:
    """Return an object that must be present."""
    value = parent.get(key)
    if not isinstance(value, dict):
        raise Malformed(f"{key} is not an object")
    return value


def get_object(parent: Json, key: str) -> Json:
    """Return an object, or an empty one if absent."""
    return require_object(parent, key) if parent.get(key) is not None else {}


def require_int(parent: Json, key: str) -> int:
    """Return an integer that must be present."""
    value = parent.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Malformed(f"{key} is not an integer")
    return value


def get_int(parent: Json, key: str, default: int = 0) -> int:
    """Return an integer, or `default` if absent."""
    return require_int(parent, key) if parent.get(key) is not None else default


def get_string(parent: Json, key: str) -> str:
    """Return a string, or "" if absent; unstorable characters (NUL, lone surrogates) are replaced."""
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"{key} is not a string")
    return _storable(value)


def get_objects(parent: Json, key: str) -> list[Json]:
    """Return a list of objects, or an empty one if absent."""
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Malformed(f"{key} is not a list of objects")
    return value


def require_string(parent: Json, key: str) -> str:
    """Return a non-empty string that must be present."""
    value = get_string(parent, key)
    if not value:
        raise Malformed(f"{key} is missing")
    return value


def get_strings(parent: Json, key: str) -> list[str]:
    """Return a list of strings, or an empty one if absent; unstorable characters are replaced."""
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Malformed(f"{key} is not a list of strings")
    return [_storable(item) for item in value]


def _storable(text: str) -> str:
    """Return a text that every database can store: PostgreSQL does not allow NUL, nor UTF-8 lone
    surrogates.
    """
    text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
