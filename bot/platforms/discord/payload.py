"""Reads Discord's ids from JSON."""

from __future__ import annotations

from bot.platforms.payload import Json, Malformed


def snowflake(parent: Json, key: str) -> str:
    """An id that must be there: Discord writes them as strings of digits."""
    value = parent.get(key)
    if not isinstance(value, str) or not value.isascii() or not value.isdecimal() or len(value) > 20:
        raise Malformed(f"{key} is no id")
    return value


def optional_snowflake(parent: Json, key: str) -> str:
    """An id, "" where absent."""
    return snowflake(parent, key) if parent.get(key) is not None else ""
