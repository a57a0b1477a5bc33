"""Ordering of answers after a stop: waiting turns start once the stopping command has been answered."""

from __future__ import annotations

import asyncio

from agent.shared.aio import wait_first
from bot.clock import Clock

NOTICE_SECONDS = 5.0
"""Maximum wait for the answer to a command, so that a slow platform does not hold up a conversation."""


class StopNotices:
    """Unanswered commands that have stopped a run, by conversation."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[int, tuple[int, asyncio.Event]] = {}

    def open(self, conversation: int, command: int) -> None:
        """Make the conversation's next turn wait until turn `command` has been answered."""
        self._open[command] = conversation, asyncio.Event()

    def close(self, command: int) -> None:
        """Stop waiting for a command, if necessary."""
        if (found := self._open.pop(command, None)) is not None:
            found[1].set()

    async def wait(self, conversation: int) -> None:
        """Wait until the conversation's commands are answered, up to NOTICE_SECONDS."""
        until = self._clock.now() + NOTICE_SECONDS
        for event in [event for place, event in self._open.values() if place == conversation]:
            await wait_first(event, self._clock.sleep, until - self._clock.now())
