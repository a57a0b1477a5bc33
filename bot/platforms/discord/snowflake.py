"""Discord ids in JSON, and conversion between ids and their creation times."""

from __future__ import annotations

from bot.platforms.payload import Json, Malformed

EPOCH = 1_420_070_400.0
"""Discord's epoch, the first second of 2015 (docs.discord.com/developers/reference#snowflakes)."""


def snowflake_time(snowflake: str | int) -> float:
    """Return the creation time of an id (epoch seconds)."""
    return (int(snowflake) >> 22) / 1000 + EPOCH


def snowflake_at(seconds: float) -> int:
    """Return the smallest id at a time (epoch seconds)."""
    return max(0, int((seconds - EPOCH) * 1000)) << 22


def snowflake(parent: Json, key: str) -> str:
    """Return a required id, a string of digits. Raises Malformed."""
    value = parent.get(key)
    if not isinstance(value, str) or not value.isascii() or not value.isdecimal() or len(value) > 20:
        raise Malformed(f"{key} is not an id")
    return value


def optional_snowflake(parent: Json, key: str) -> str:
    """Return an id, or "" if absent. Raises Malformed."""
    return snowflake(parent, key) if parent.get(key) is not None else ""
