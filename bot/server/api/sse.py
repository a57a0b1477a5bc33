"""Server-sent event stream of a conversation.

Every connection begins with a snapshot, turns are sent as a whole, and deltas of a growing text refer to what
this connection has sent, so the result is the same after a reload, in a second tab or after a reconnect. The
text of a reply in progress comes from the hub; the state of a turn comes from the store, which is read after
a change and, while a turn is open, a few times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import BaseModel

from agent.shared.aio import wait_first
from bot.clock import Clock
from bot.core.text_deltas import make_delta
from bot.domain import PartKind, ToolStep
from bot.platforms.local.adapter import LocalAdapter
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
# Minimum interval between deltas (s). At 100 tokens per second, each has about 50 characters.
DELTA_EVERY = 0.1


class Typing(schemas.ApiModel):
    """A reply is being written."""


class PartDelta(schemas.ApiModel):
    """A change of a growing part of a reply: `text` replaces everything from `offset` on (in UTF-16 code
    units). An offset beyond the known text is a gap, after which the client has to reconnect.
    """

    turn: int
    index: int
    offset: int
    text: str


class FeedSnapshot(schemas.ApiModel):
    """First event of a connection: the latest turns, oldest first. `next` is the cursor for earlier ones."""

    conversation: schemas.ConversationInfo
    turns: list[schemas.TurnInfo]
    next: str | None


class StepsChanged(schemas.ApiModel):
    """The steps of a running turn, which replace those known."""

    turn: int
    steps: list[schemas.ToolCallEntry]


FeedEvent = FeedSnapshot | schemas.TurnInfo | PartDelta | StepsChanged | Typing
"""Data of the events, for the OpenAPI document."""


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
        # Texts of open turns that the client has, by part.
        self._sent: dict[int, dict[int, str]] = {}
        self._steps: tuple[int, tuple[ToolStep, ...]] = 0, ()
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
                if changes.frames:
                    await self._services.clock.sleep(DELTA_EVERY)

    async def _next_events(
        self, changes: PendingChanges, *, busy: bool
    ) -> AsyncIterator[ServerSentEvent | None]:
        if changes.rows:
            self._pause = QUICK
        unknown = any(frame.turn not in self._seen for frame in changes.frames)
        if changes.rows or unknown or (busy and not changes.frames):
            self._pause = min(self._pause * 2, SLOW)
            for view in presenters.visible_turns(await self._load_changed_turns()):
                yield ServerSentEvent("turn", await self._present(view))
        for frame in changes.frames:
            if (delta := self._find_delta(frame)) is not None:
                yield ServerSentEvent("delta", delta)
        if (steps := self._find_steps()) is not None:
            yield ServerSentEvent("steps", steps)
        if changes.typing:
            yield ServerSentEvent("typing", Typing())
        yield None

    async def _present(self, view: TurnView) -> schemas.TurnInfo:
        """Return a turn to send as a whole, to which later deltas refer."""
        turn = await presenters.present_turn(self._services, self._by, self._of, view)
        self._sent.pop(view.id, None)
        if view.state in OPEN_STATES:
            self._sent[view.id] = {part.index: part.text for part in turn.parts if part.kind is PartKind.TEXT}
        return turn

    def _find_steps(self) -> StepsChanged | None:
        """Return the steps of the turn in progress if the client has others."""
        turn, steps = self._services.dispatcher.find_live_steps(self._of.id)
        if not steps or turn not in self._seen or self._steps == (turn, steps):
            return None
        self._steps = turn, steps
        return StepsChanged.model_validate({"turn": turn, "steps": steps})

    def _find_delta(self, frame: ReplyFrame) -> PartDelta | None:
        """Return what the client lacks of a growing part. A turn may have been sent with a newer frame."""
        known, adapter = self._seen.get(frame.turn), self._adapter()
        if known is None or adapter is None or not _may_grow(known):
            return None
        newest = adapter.hub.list_frames(self._of.key.chat, frame.turn).get(frame.index)
        texts = self._sent.setdefault(frame.turn, {})
        sent = texts.get(frame.index)
        if newest is None or newest.text == sent:
            return None
        texts[frame.index] = newest.text
        offset, text = make_delta(sent or "", newest.text)
        return PartDelta(turn=frame.turn, index=frame.index, offset=offset, text=text)

    def _adapter(self) -> LocalAdapter | None:
        return presenters.local_adapter(self._services, self._of.key.account)

    async def _load_snapshot(self) -> ServerSentEvent:
        found = await self._services.db.transact(list_turns, self._of.id, limit=WINDOW)
        self._seen = {view.id: view for view in found}
        turns = [await self._present(view) for view in presenters.visible_turns(reversed(found))]
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
        adapter = self._adapter()
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
    """Encode events as an event stream with heartbeats."""
    last = now()
    yield b"retry: 1000\n\n"
    async for event in events:
        if event is None:
            if now() - last >= HEARTBEAT / 2:
                last = now()
                yield b": still here\n\n"
            continue
        last = now()
        data = event.data.model_dump_json().encode()
        yield b"event: %s\ndata: %s\n\n" % (event.name.encode(), data)
