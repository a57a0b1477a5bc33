"""Collects what happens in one conversation until its watcher takes it."""

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
    """What was not taken yet: newest frames, whether typing shows, whether rows changed."""

    frames: tuple[ReplyFrame, ...] = ()
    typing: bool = False
    rows: bool = False


class Collector:
    """A `Watcher` that keeps changes until they are taken; of each part only the newest frame."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._frames: dict[tuple[int, int], ReplyFrame] = {}
        self._typing = False
        self._rows = False
        self.closed = False

    async def changes(self, clock: Clock, seconds: float) -> PendingChanges:
        """Wait for a change, at most `seconds`, and take what there is."""
        await wait_first(self._changed, clock, seconds)
        self._changed.clear()
        taken = PendingChanges(tuple(self._frames.values()), self._typing, self._rows)
        self._frames, self._typing, self._rows = {}, False, False
        return taken

    def frame(self, frame: ReplyFrame) -> None:
        """See Watcher."""
        self._frames[frame.turn, frame.index] = frame
        self._changed.set()

    def type(self) -> None:
        """See Watcher."""
        self._typing = True
        self._changed.set()

    def nudge(self) -> None:
        """See Watcher."""
        self._rows = True
        self._changed.set()

    def close(self) -> None:
        """See Watcher."""
        self.closed = True
        self._changed.set()


class Subscriptions:
    """Who watches which conversation; told of accepted turns by the bus."""

    def __init__(self) -> None:
        self._collectors: dict[int, set[Collector]] = {}

    def accepted(self, turn: Accepted) -> None:
        """A turn was accepted."""
        self.changed(turn.conversation)

    def changed(self, conversation: int) -> None:
        """A conversation has news that did not come in as a message."""
        for collector in self._collectors.get(conversation, ()):
            collector.nudge()

    @contextmanager
    def watch(self, conversation: int, collector: Collector) -> Iterator[None]:
        """Tell `collector` of the conversation while the context lasts."""
        collectors = self._collectors.setdefault(conversation, set())
        collectors.add(collector)
        try:
            yield
        finally:
            collectors.discard(collector)
            if not collectors:
                self._collectors.pop(conversation, None)

    def close(self) -> None:
        """End every watch."""
        for collectors in list(self._collectors.values()):
            for collector in collectors:
                collector.close()
