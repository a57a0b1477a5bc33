"""Discord's ids carry the time at which they were made."""

from __future__ import annotations

EPOCH = 1_420_070_400.0
"""Discord's epoch, the first second of 2015 (docs.discord.com/developers/reference#snowflakes)."""


def seconds_of(snowflake: str | int) -> float:
    """When an id was made, in seconds since 1970."""
    return (int(snowflake) >> 22) / 1000 + EPOCH


def snowflake_at(seconds: float) -> int:
    """The least id of that time."""
    return max(0, int((seconds - EPOCH) * 1000)) << 22
