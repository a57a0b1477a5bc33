"""An inbox in memory that behaves as the store does, with faults on demand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeGuard

from bot.domain import (
    UNKNOWN_SENDER,
    InboundChange,
    InboundEvent,
    InboundMessage,
    InboundRating,
    Origin,
    QuotationKind,
    Sender,
)
from bot.errors import StoreError
from bot.texts import texts_for

PATIENCE = 30.0
"""Longest wait of `until`, in seconds."""


class RecordingInbox:
    """A `bot.platforms.base.Inbox` that stores each event once, with the cursor.

    The next `refuse` stores fail; the next `stumble` stores succeed but raise all the same; `pauses` delays
    the next ones (seconds), and `hold` blocks all of them until `release` (`held` counts them). `recorded`
    are the chats that keep a record, `blocked` the ids of people whose messages are not recorded, `private`
    the texts answered to their author alone, `strangers` the ids of people who get no answer. While `forbids`
    is set, clicks are not stored and their authors get that text. While `closed` is set, the first click
    below a message counts and the authors of later ones get that text. `meanwhile` runs once a click is
    stored, before the adapter learns of it.
    """

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.changes: list[InboundChange] = []
        self.ratings: list[InboundRating] = []
        self.titles: list[tuple[str, str, str]] = []
        self.cursors: list[str] = []
        self.migrations: list[tuple[str, str]] = []
        self.duplicates = 0
        self.refuse = 0
        self.refused = 0
        self.stumble = 0
        self.pauses: deque[float] = deque()
        self.asked = 0
        self.held = 0
        self.forbids: str | None = None
        self.closed: str | None = None
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.recorded: set[str] = set()
        self.blocked: set[str] = set()
        self.private: set[str] = set()
        self.strangers: set[str] = set()
        self._answered: set[tuple[str, str]] = set()
        self._starts: set[tuple[str, str]] = set()
        self._known: set[str] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._changed = asyncio.Condition()

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        self.asked += bool(events)
        if self.pauses and events:
            await asyncio.sleep(self.pauses.popleft())
        self.held += not self._open.is_set()
        await self._open.wait()
        if self.refuse and events:
            self.refuse -= 1
            self.refused += 1
            raise StoreError("the disk is full")
        forbidden = self._forbidden(events)
        await self._store([event for event in events if event.event_id not in forbidden], cursor)
        if self.stumble and events:
            self.stumble -= 1
            self.refused += 1
            raise StoreError("stored, but the disk did not say so")
        if self.meanwhile is not None and any(_clicked(event) for event in events):
            await self.meanwhile()
        return forbidden

    def records(self, chat: str) -> bool:
        return chat in self.recorded

    async def has_thread_start(self, chat: str, topic: str) -> bool:
        return (chat, topic) in self._starts

    def stop_recording(self, chat: str) -> None:
        """Delete the record of a chat and stop recording it."""
        self.recorded.discard(chat)
        self._starts = {(where, topic) for where, topic in self._starts if where != chat}

    def reaches_agent(self, message: InboundMessage) -> bool:
        return message.addressed and message.origin.sender.id not in self.strangers

    def answers(self, message: InboundMessage) -> bool:
        return message.addressed and message.origin.sender.id not in self.strangers

    async def rate(self, rating: InboundRating) -> str:
        if self.refuse:
            self.refuse -= 1
            self.refused += 1
            raise StoreError("the disk is full")
        if rating.origin.sender.id in self.strangers:
            return ""
        self.ratings.append(rating)
        return self.text("rating_thanks", rating.origin.chat)

    async def retitle(self, origin: Origin, title: str) -> None:
        self.titles.append((origin.chat, origin.topic, title))

    def text(self, key: str, chat: str, sender: Sender = UNKNOWN_SENDER) -> str:
        return texts_for(sender.locale)(key)

    def alone(self, message: InboundMessage) -> bool:
        return message.text in self.private

    async def cursor(self) -> str:
        return next((cursor for cursor in reversed(self.cursors) if cursor), "")

    async def migrate_chat(self, old: str, new: str) -> None:
        self.migrations.append((old, new))

    def hold(self) -> None:
        """Block every store until `release`."""
        self._open.clear()

    def release(self) -> None:
        """End `hold`."""
        self._open.set()

    async def until(self, count: int) -> list[InboundMessage]:
        """Wait for that many messages."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: len(self.messages) >= count)
        return self.messages

    @property
    def texts(self) -> list[str]:
        """Texts of the stored messages, in order."""
        return [message.text for message in self.messages]

    def _forbidden(self, events: Sequence[InboundEvent]) -> dict[str, str]:
        """Return the notices for the authors of clicks that do not count, by event id."""
        clicks = [event for event in events if _clicked(event)]
        if self.forbids is not None:
            return {click.event_id: self.forbids for click in clicks}
        found: dict[str, str] = {}
        for click in clicks:
            question = (click.origin.chat, click.origin.reply_to)
            if self.closed is None or click.event_id in self._known:
                continue
            if question in self._answered:
                found[click.event_id] = self.closed
            self._answered.add(question)
        return found

    async def _store(self, events: Sequence[InboundEvent], cursor: str) -> None:
        for event in events:
            if event.event_id in self._known:
                self.duplicates += 1
                continue
            self._known.add(event.event_id)
            if isinstance(event, InboundChange):
                self.changes.append(event)
            else:
                self.messages.append(event)
                self._record(event)
        self.cursors.append(cursor)
        async with self._changed:
            self._changed.notify_all()

    def _record(self, message: InboundMessage) -> None:
        """Note the start of a topic that a recorded message brings."""
        origin = message.origin
        is_recorded = origin.chat in self.recorded and origin.sender.id not in self.blocked
        if is_recorded and any(one.kind is QuotationKind.THREAD_START for one in message.quotations):
            self._starts.add((origin.chat, origin.topic))


def _clicked(event: InboundEvent) -> TypeGuard[InboundMessage]:
    return isinstance(event, InboundMessage) and event.clicked
