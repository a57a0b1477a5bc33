"""Limits of a sender's usage, as the transactions that accept messages apply them. A feature defines them."""

from __future__ import annotations

from typing import Protocol

from bot.store.connection import Connection


class UsageLimits(Protocol):
    """What a sender may use in a chat."""

    def find_refusal(self, connection: Connection, now: float) -> str:
        """Return the notice of a limit that is reached, or "" if none is."""
        ...

    def count_message(self, connection: Connection, now: float) -> None:
        """Count an accepted message."""
        ...


class Unlimited:
    """No limits."""

    def find_refusal(self, connection: Connection, now: float) -> str:
        """Return ""."""
        return ""

    def count_message(self, connection: Connection, now: float) -> None:
        """Count nothing."""


UNLIMITED = Unlimited()


def count_or_refuse(connection: Connection, limits: UsageLimits, now: float) -> str:
    """Count a message, unless a limit is reached: then return its notice."""
    refused = limits.find_refusal(connection, now)
    if not refused:
        limits.count_message(connection, now)
    return refused
