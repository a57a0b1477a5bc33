"""Retry failed scheduled runs; only the last failure is reported in the chat."""

from __future__ import annotations

from bot.domain import Turn
from bot.store.scheduled_runs import attempt_of

RETRY_AFTER = (60.0, 600.0)
"""Backoff before each retry of a failed run (s)."""


def is_retried(turn: Turn) -> bool:
    """Return whether the turn is a scheduled run that is retried if it fails."""
    if turn.repeats or not turn.messages:
        return False
    return all(0 < attempt_of(message.event_id) <= len(RETRY_AFTER) for message in turn.messages)
