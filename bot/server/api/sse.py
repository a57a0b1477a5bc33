"""Server-sent event stream of a conversation.

Every connection begins with a snapshot and every event is complete (a turn, or the current text of a part),
so the result is the same after a reload, in a second tab or after a lost connection. The text of a reply in
progress comes from the hub; the state of a turn comes from the store, which is read after a change and, while
a turn is open, a few times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import BaseModel

from agent.shared.aio import wait_first
from bot.clock import Clock
from bot.domain import Part, PartKind, PartState
from bot.platforms.local.hub import ReplyFrame
from bot.server.api import presenters, schemas
from bot.server.api.auth import Principal
from bot.server.api.dependencies import ApiServices
from bot.store.admission_types import Accepted
from bot.store.conversations import ConversationView
from bot.store.read_models import TurnView, list_turns
from bot.turn import OPEN_STATES, TurnState


@dataclass(frozen=True, slots=True)
class PendingChanges:
    """Pending changes: newest frames, typing, and whether rows changed."""

    frames: tuple[ReplyFrame, ...] = ()
    typing: bool = False
    rows: bool = False


class Collector:
    """A `Watcher` that collects changes until they are read, with the newest frame of each part."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._frames: dict[tuple[int, int], ReplyFrame] = {}
        self._typing = False
        self._rows = False
        self.closed = False

    async def changes(self, clock: Clock, seconds: float) -> PendingChanges:
        """Wait up to `seconds` for a change, then take the pending changes."""
        await wait_first(self._changed, clock.sleep, seconds)
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
        """Notify subscribers of an accepted turn."""
        self.changed(turn.conversation)

    def changed(self, conversation: int) -> None:
        """Notify subscribers of a change other than an incoming message."""
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
        """Close all subscriptions."""
        for collectors in list(self._collectors.values()):
            for collector in collectors:
                collector.close()


# Seconds between reads of the store while a turn is open (from QUICK to SLOW), and between heartbeats.
QUICK = 0.02
SLOW = 0.3
HEARTBEAT = 10.0
# Number of turns in a snapshot; earlier ones are read page by page.
WINDOW = 30
# After rendering a long text, pause for this multiple of the time that it took.
REST = 3


class Typing(schemas.ApiModel):
    """A reply is being written."""


class PartGrew(schemas.ApiModel):
    """The current text of a growing part of a reply."""

    turn: int
    part: schemas.PartInfo


class FeedSnapshot(schemas.ApiModel):
    """First event of a connection: the latest turns, oldest first. `next` is the cursor for earlier ones."""

    conversation: schemas.ConversationInfo
    turns: list[schemas.TurnInfo]
    next: str | None


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """An event with its name and data."""

    name: str
    data: BaseModel


class ConversationFeed:
    """Event source for one connection to a conversation."""

    def __init__(
        self,
        services: ApiServices,
        feeds: Subscriptions,
        conversation: ConversationView,
        by: Principal,
        allowed: Callable[[], Awaitable[bool]],
    ) -> None:
        self._services = services
        self._feeds = feeds
        self._of = conversation
        self._by = by
        self._allowed = allowed
        self._seen: dict[int, TurnView] = {}
        self._pause = QUICK

    async def events(self) -> AsyncIterator[ServerSentEvent | None]:
        """Yield a snapshot, then changes; None is a heartbeat.

        Ends when the account stops or the caller loses access to the conversation.
        """
        collector = Collector()
        with self._subscribed(collector):
            yield await self._load_snapshot()
            while not collector.closed:
                busy = any(view.state in OPEN_STATES for view in self._seen.values())
                pause = self._pause if busy else HEARTBEAT
                changes = await collector.changes(self._services.clock, pause)
                if not await self._allowed():
                    return
                async for event in self._next_events(changes, busy=busy):
                    yield event

    async def _next_events(
        self, changes: PendingChanges, *, busy: bool
    ) -> AsyncIterator[ServerSentEvent | None]:
        if changes.rows:
            self._pause = QUICK
        unknown = any(frame.turn not in self._seen for frame in changes.frames)
        if changes.rows or unknown or (busy and not changes.frames):
            self._pause = min(self._pause * 2, SLOW)
            for view in presenters.visible_turns(await self._load_changed_turns()):
                yield ServerSentEvent("turn", await presenters.present_turn(self._services, self._of, view))
        for frame in changes.frames:
            if (known := self._seen.get(frame.turn)) is not None and _may_grow(known):
                yield await self._part_event(frame)
        if changes.typing:
            yield ServerSentEvent("typing", Typing())
        yield None

    async def _part_event(self, frame: ReplyFrame) -> ServerSentEvent:
        loop = asyncio.get_running_loop()
        began = loop.time()
        part = Part(frame.index, PartKind.TEXT, frame.text, PartState.POSTED)
        event = ServerSentEvent("part", PartGrew(turn=frame.turn, part=await presenters.text_part(part)))
        if len(frame.text) > presenters.LONG:
            await self._services.clock.sleep((loop.time() - began) * REST)
        return event

    async def _load_snapshot(self) -> ServerSentEvent:
        found = await self._services.db.transact(list_turns, self._of.id, limit=WINDOW)
        self._seen = {view.id: view for view in found}
        turns = [
            await presenters.present_turn(self._services, self._of, view)
            for view in presenters.visible_turns(reversed(found))
        ]
        more = str(found[-1].id) if len(found) == WINDOW else None
        shown = presenters.present_conversation(self._services, self._by, self._of)
        return ServerSentEvent("snapshot", FeedSnapshot(conversation=shown, turns=turns, next=more))

    async def _load_changed_turns(self) -> list[TurnView]:
        """Return the turns that have changed since the last read, oldest first."""
        found = await self._services.db.transact(list_turns, self._of.id, limit=WINDOW)
        news = [view for view in reversed(found) if self._seen.get(view.id) != view]
        self._seen = {view.id: view for view in found}
        return news

    @contextmanager
    def _subscribed(self, collector: Collector) -> Iterator[None]:
        adapter = presenters.local_adapter(self._services, self._of.key.account)
        with self._feeds.watch(self._of.id, collector):
            if adapter is None:
                yield
            else:
                with adapter.hub.watch(self._of.key.chat, collector):
                    yield


def _may_grow(view: TurnView) -> bool:
    """Return whether this turn may still receive frames. Frames that arrive after the final text is composed
    are outdated.
    """
    return presenters.is_growing(view) or view.state is TurnState.ACCEPTED


async def encode_events(
    events: AsyncIterator[ServerSentEvent | None], now: Callable[[], float]
) -> AsyncIterator[bytes]:
    """Encode events as an event stream, with ids and heartbeats."""
    count = 0
    last = now()
    yield b"retry: 1000\n\n"
    async for event in events:
        if event is None:
            if now() - last >= HEARTBEAT / 2:
                last = now()
                yield b": still here\n\n"
            continue
        count += 1
        last = now()
        data = event.data.model_dump_json().encode()
        yield b"id: %d\nevent: %s\ndata: %s\n\n" % (count, event.name.encode(), data)
