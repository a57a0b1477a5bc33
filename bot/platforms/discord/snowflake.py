"""Converts between Discord's ids and the time that they contain."""

from __future__ import annotations

EPOCH = 1_420_070_400.0
"""Discord's epoch, the first second of 2015 (docs.discord.com/developers/reference#snowflakes)."""


def snowflake_time(snowflake: str | int) -> float:
    """Return the creation time of an id (epoch seconds)."""
    return (int(snowflake) >> 22) / 1000 + EPOCH


def snowflake_at(seconds: float) -> int:
    """The least id of that time."""
    return max(0, int((seconds - EPOCH) * 1000)) << 22
