"""Limits of a sender's usage, as the transactions that accept messages apply them. A feature defines them."""

from __future__ import annotations

from bot.store.connection import Connection


class UsageLimits:
    """What a sender may use in a chat: everything, unless the methods are overridden."""

    def find_refusal(self, connection: Connection, now: float) -> str:
        """Return the notice of a limit that is reached, or "" if none is."""
        return ""

    def count_message(self, connection: Connection, now: float) -> None:
        """Count an accepted message."""


UNLIMITED = UsageLimits()


def count_or_refuse(connection: Connection, limits: UsageLimits, now: float) -> str:
    """Count a message, unless a limit is reached: then return its notice."""
    refused = limits.find_refusal(connection, now)
    if not refused:
        limits.count_message(connection, now)
    return refused
