"""Collect the changes of a conversation until its subscriber takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agent.shared.aio import wait_first
from bot.clock import Clock
from bot.platforms.local.hub import ReplyFrame
from bot.store.admission_types import Accepted


@dataclass(frozen=True, slots=True)
class PendingChanges:
    """Changes not yet taken: newest frames, typing, and whether rows changed."""

    frames: tuple[ReplyFrame, ...] = ()
    typing: bool = False
    rows: bool = False


class Collector:
    """A `Watcher` that collects changes until they are taken, with the newest frame of each part."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._frames: dict[tuple[int, int], ReplyFrame] = {}
        self._typing = False
        self._rows = False
        self.closed = False

    async def changes(self, clock: Clock, seconds: float) -> PendingChanges:
        """Wait at most `seconds` for a change and take the pending changes."""
        await wait_first(self._changed, clock, seconds)
        self._changed.clear()
        taken = PendingChanges(tuple(self._frames.values()), self._typing, self._rows)
        self._frames, self._typing, self._rows = {}, False, False
        return taken

    def frame(self, frame: ReplyFrame) -> None:
        self._frames[frame.turn, frame.index] = frame
        self._changed.set()

    def type(self) -> None:
        self._typing = True
        self._changed.set()

    def nudge(self) -> None:
        self._rows = True
        self._changed.set()

    def close(self) -> None:
        self.closed = True
        self._changed.set()


class Subscriptions:
    """Subscribers by conversation; the bus reports accepted turns."""

    def __init__(self) -> None:
        self._collectors: dict[int, set[Collector]] = {}

    def accepted(self, turn: Accepted) -> None:
        """Notify the subscribers of an accepted turn."""
        self.changed(turn.conversation)

    def changed(self, conversation: int) -> None:
        """Notify the subscribers of a change that is not an incoming message."""
        for collector in self._collectors.get(conversation, ()):
            collector.nudge()

    @contextmanager
    def watch(self, conversation: int, collector: Collector) -> Iterator[None]:
        """Subscribe `collector` to the conversation while the context is open."""
        collectors = self._collectors.setdefault(conversation, set())
        collectors.add(collector)
        try:
            yield
        finally:
            collectors.discard(collector)
            if not collectors:
                self._collectors.pop(conversation, None)

    def close(self) -> None:
        """End every subscription."""
        for collectors in list(self._collectors.values()):
            for collector in collectors:
                collector.close()
