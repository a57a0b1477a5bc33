"""Firings that came to nothing are tried again, and only the last try says so in the chat."""

from __future__ import annotations

from bot.domain import Turn
from bot.store.scheduled_runs import attempt_of

RETRY_AFTER = (60.0, 600.0)
"""A firing that came to nothing is tried again after so many seconds each time."""


def is_tried_again(turn: Turn) -> bool:
    """Whether the work of a turn is a schedule's, and is done once more where it comes to nothing."""
    if turn.repeats or not turn.messages:
        return False
    return all(0 < attempt_of(message.event_id) <= len(RETRY_AFTER) for message in turn.messages)
