"""Times in Discord's payloads, and formatted in UTC for the agent."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.platforms.payload import Malformed


def parse_time(timestamp: str) -> float:
    """Parse an ISO 8601 time to epoch seconds. Raises Malformed."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError):
        raise Malformed("not a time") from None


def format_time(seconds: float) -> str:
    """Format epoch seconds as "2026-11-27 14:30 UTC". Raises Malformed."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        raise Malformed("not a time") from None


def format_timestamp(timestamp: str) -> str:
    """Format an ISO 8601 time in the same way. Raises Malformed."""
    return format_time(parse_time(timestamp))
