"""Usage limits of a sender, applied by the transactions that accept messages. A feature defines them."""

from __future__ import annotations

from bot.store.connection import Connection


class UsageLimits:
    """Usage limits of a sender in a chat. Nothing is limited unless the methods are overridden."""

    def find_refusal(self, connection: Connection, now: float) -> str:
        """Return the notice for an exceeded limit, or "" if there is none."""
        return ""

    def count_message(self, connection: Connection, now: float) -> None:
        """Count an accepted message."""


UNLIMITED = UsageLimits()


def count_or_refuse(connection: Connection, limits: UsageLimits, now: float) -> str:
    """Count a message, or return the notice for an exceeded limit."""
    refused = limits.find_refusal(connection, now)
    if not refused:
        limits.count_message(connection, now)
    return refused
