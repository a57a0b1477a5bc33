"""Reads Slack's time stamps."""

from __future__ import annotations

from bot.platforms.payload import Json, Malformed, require_string


def require_ts(parent: Json, key: str) -> str:
    """A time stamp, Slack's id of a message: seconds, a point, six digits."""
    value = require_string(parent, key)
    whole, _, part = value.partition(".")
    if not (value.isascii() and whole.isdecimal() and part.isdecimal() and len(value) < 32):
        raise Malformed(f"{key} is no time stamp")
    return value
