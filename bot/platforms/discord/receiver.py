"""In-order receiver: a single worker stores the gateway's events, and fills gaps first.

Discord does not send a message again. So everything up to `Cursor.seen` is known to be stored, and after a
connection that did not resume its session the channels are read from there. Ids rise with time, whatever the
channel, so one id says how far all of them are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import structlog

from bot.domain import InboundChange, InboundEvent, InboundMessage
from bot.errors import StoreError
from bot.faults import Step, reach
from bot.platforms.base import AdapterContext
from bot.platforms.connection import AccountHealth
from bot.platforms.discord.callbacks import InteractionCallbacks
from bot.platforms.discord.channel_cache import CachedChannel, ChannelCache
from bot.platforms.discord.components import DiscordClick, DiscordClickAnswers
from bot.platforms.discord.cursor import DiscordCursor
from bot.platforms.discord.events import DiscordCounts, GapFill, GatewayEvent
from bot.platforms.discord.gateway import Reader
from bot.platforms.discord.inbound import DiscordInbound
from bot.platforms.discord.interaction_reader import COMPONENT, DiscordUses
from bot.platforms.discord.interactions import CommandUses
from bot.platforms.discord.lookups import DiscordLookups
from bot.platforms.discord.missed_messages import DiscordBackfill
from bot.platforms.discord.snowflake import optional_snowflake, snowflake, snowflake_at
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_objects,
    get_string,
    get_strings,
)

log = structlog.get_logger(__name__)

QUEUE = 2000
"""Events that may wait; what is beyond is read from the channels later."""
BATCH = 100
OVERLAP = 10.0
"""Seconds before the last stored message from which a gap is read: channels are not in step."""
STORE_PAUSE, LONGEST_PAUSE = 0.5, 15.0
_QUEUED = ("MESSAGE_UPDATE", "MESSAGE_DELETE", "INTERACTION_CREATE")


class DiscordReceiver:
    """Receiving side of an account; the gateway calls `readers`, and `run` is the worker."""

    def __init__(
        self,
        account: str,
        inbound: DiscordInbound,
        places: ChannelCache,
        lookups: DiscordLookups,
        gaps: DiscordBackfill,
        asks: CommandUses,
        clicks: DiscordClickAnswers,
        context: AdapterContext,
        health: AccountHealth,
        cursor: DiscordCursor,
    ) -> None:
        self.counts = DiscordCounts()
        self._account = account
        self._inbound = inbound
        self._uses = DiscordUses(inbound)
        self._places = places
        self._lookups = lookups
        self._gaps = gaps
        self._asks = asks
        self._clicks = clicks
        self._callbacks = InteractionCallbacks(account)
        self._inbox = context.inbox
        self._clock = context.clock
        self._health = health
        self._cursor = cursor
        self._queue: deque[GatewayEvent | GapFill] = deque()
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._waiting: set[str] = set()
        self._held = self._read_to = 0
        self._out: dict[str, int] = {}

    @property
    def event_readers(self) -> Mapping[str, Reader]:
        """Return the handlers by event name; none of them raises."""
        return {
            "READY": self._guard(self._on_ready),
            "RESUMED": self._guard(lambda data: None),
            "GUILD_CREATE": self._guard(self._on_guild),
            "GUILD_DELETE": self._guard(self._on_guild_deleted),
            **{name: self._guard(read) for name, read in self._places.event_readers.items()},
            "MESSAGE_CREATE": self._guard(self._on_message),
            "MESSAGE_DELETE_BULK": self._guard(self._on_bulk_delete),
            **{name: self._guard(self._queue_reader(name)) for name in _QUEUED},
        }

    async def run(self) -> None:
        """Store queued events in order until cancelled."""
        if not self._cursor.seen:
            await self._store([], snowflake_at(self._clock.now()))
        async with self._callbacks.open():
            while True:
                self._idle.set()
                await self._arrived.wait()
                self._arrived.clear()
                await self._empty_queue()

    async def finish(self, seconds: float) -> None:
        """Wait up to `seconds` until everything received is stored and acknowledged."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
                await self._callbacks.finish()

    async def _empty_queue(self) -> None:
        while self._queue:
            head = self._queue[0]
            if isinstance(head, GapFill):
                self._queue.popleft()
                await self._fill_gap(head)
            else:
                await self._store_batch()

    def _guard(self, read: Callable[[Json], object]) -> Reader:
        def reader(data: Json) -> None:
            self.counts.events += 1
            self._health.mark_live()
            try:
                if not isinstance(data, dict):
                    raise Malformed("the event's data is not an object")
                read(data)
            except Malformed as error:
                self._count_malformed(error)

        return reader

    def _count_malformed(self, error: Malformed) -> None:
        self.counts.malformed += 1
        log.warning("discord.event_skipped", account=self._account, reason=str(error))

    def _on_ready(self, data: Json) -> None:
        """Start a new session, for which Discord does not resend events since the old one."""
        self._held = self._gap_start()
        self._waiting = {snowflake(guild, "id") for guild in get_objects(data, "guilds")}
        self._enqueue(GapFill("", self._held))

    def _on_guild(self, data: Json) -> None:
        guild = self._places.put_guild(data)
        since = self._held if guild in self._waiting else self._out.pop(guild, 0)
        if since:
            self._enqueue(GapFill(guild, since))

    def _on_guild_deleted(self, data: Json) -> None:
        guild = snowflake(data, "id")
        if data.get("unavailable"):
            self._out[guild] = self._gap_start()
            return
        self._places.drop_guild(guild)
        self._waiting.discard(guild)
        log.info("discord.removed", account=self._account, guild=guild)

    def _on_message(self, data: Json) -> None:
        self._places.note_message(snowflake(data, "channel_id"), snowflake(data, "id"))
        self._enqueue(GatewayEvent("MESSAGE_CREATE", data))

    def _queue_reader(self, name: str) -> Reader:
        return lambda data: self._enqueue(GatewayEvent(name, data))

    def _on_bulk_delete(self, data: Json) -> None:
        """Process a bulk deletion as individual deletions."""
        for number in get_strings(data, "ids"):
            self._enqueue(GatewayEvent("MESSAGE_DELETE", {**data, "id": number}))

    def _gap_start(self) -> int:
        return self._held if self._waiting else self._cursor.seen

    def _enqueue(self, item: GatewayEvent | GapFill) -> None:
        if len(self._queue) >= QUEUE:
            self._drop_queue()
        self._queue.append(item)
        self._arrived.set()
        self._idle.clear()

    def _drop_queue(self) -> None:
        """Drop an overlong queue; its messages are read from the channels later."""
        since = self._gap_start()
        self._queue.clear()
        log.warning("discord.overflow", account=self._account)
        self._queue.extend(GapFill(guild, since) for guild in ("", *self._places.guilds))

    async def _store_batch(self) -> None:
        """Store the next batch of messages."""
        batch: list[InboundEvent] = []
        used: list[InboundMessage | DiscordClick] = []
        seen = self._cursor.seen
        taken = [found for event in self._take_events() if (found := await self._find_place(event))]
        await self._look_up((event.data, place) for event, place in taken)
        for event, place in taken:
            seen = max(seen, self._convert(event, place, batch, used))
        refused = await self._store(batch, seen)
        for interaction in used:
            self._call_back(interaction, refused)
        if batch:
            reach(Step.ACKNOWLEDGED)

    def _call_back(self, interaction: InboundMessage | DiscordClick, refused: Mapping[str, str]) -> None:
        """Answer an interaction outside the receive loop. Clicks on the same question stay in order: the
        first holds its marker.
        """
        if isinstance(interaction, InboundMessage):
            use, person = interaction.event_id, interaction.origin.sender.id
            if not self._callbacks.start(use, self._asks.defer(use), person):
                self._asks.drop(use)
            return
        clicks, reason = self._clicks, refused.get(interaction.id)
        work = clicks.confirm(interaction) if reason is None else clicks.refuse(interaction, reason)
        self._callbacks.start(interaction.id, work, *interaction.sharing)

    async def _look_up(self, messages: Iterable[tuple[Json, CachedChannel]]) -> None:
        """Look up data referenced by messages that may be for the bot or are recorded, since no one reads
        others.
        """
        await self._lookups.prepare(
            (message, place)
            for message, place in messages
            if not place.guild
            or self._inbox.records(place.chat)
            or self._inbound.may_be_addressed(message, place)
        )

    def _take_events(self) -> list[GatewayEvent]:
        """Take the next events from the queue, up to the next gap."""
        taken: list[GatewayEvent] = []
        while self._queue and len(taken) < BATCH and isinstance(head := self._queue[0], GatewayEvent):
            taken.append(head)
            self._queue.popleft()
        return taken

    async def _find_place(self, event: GatewayEvent) -> tuple[GatewayEvent, CachedChannel] | None:
        """Return an event with its channel, or None if it can't be read."""
        try:
            return event, await self._find_channel(event.data)
        except Malformed as error:
            self._count_malformed(error)
            return None

    def _convert(
        self,
        event: GatewayEvent,
        place: CachedChannel,
        batch: list[InboundEvent],
        used: list[InboundMessage | DiscordClick],
    ) -> int:
        """Add an event's content to the batch; return the id up to which messages are covered (0 if it is not
        a message).
        """
        try:
            number = int(snowflake(event.data, "id"))
            found = self._convert_event(event, place, used)
        except Malformed as error:
            self._count_malformed(error)
            return 0
        if found is None:
            self.counts.ignored += 1
        else:
            batch.append(found)
            self.counts.edits += isinstance(found, InboundChange)
            if not place.guild:
                self._cursor.note_direct_chat(place.id)
        return number if event.name == "MESSAGE_CREATE" else 0

    def _convert_event(
        self, event: GatewayEvent, place: CachedChannel, used: list[InboundMessage | DiscordClick]
    ) -> InboundEvent | None:
        if event.name == "MESSAGE_CREATE":
            return self._inbound.convert(event.data, place)
        if event.name == "MESSAGE_UPDATE":
            return self._inbound.convert_edit(event.data, place, self._clock.now())
        if event.name == "MESSAGE_DELETE":
            return self._inbound.convert_deletion(snowflake(event.data, "id"), place, self._clock.now())
        if event.data.get("type") == COMPONENT:
            click = self._uses.convert_click(event.data, place)
            used.append(click)
            return click.message
        command = self._convert_use(event.data, place)
        used.extend([command] if command else [])
        return command

    def _convert_use(self, data: Json, place: CachedChannel) -> InboundMessage | None:
        found = self._uses.convert_use(data, place)
        if found is not None:
            person, alone = found.origin.sender.id, self._inbox.alone(found)
            self._asks.add(found.event_id, get_string(data, "token"), place.id, person, alone=alone)
        return found

    async def _find_channel(self, data: Json) -> CachedChannel:
        """Return an event's channel, fetching it if the gateway has not reported it."""
        channel, guild = snowflake(data, "channel_id"), optional_snowflake(data, "guild_id")
        if not guild:
            return CachedChannel(channel, 1)
        kind = get_int(data, "channel_type")
        return self._places.get(channel) or await self._gaps.fetch_channel(channel, guild, kind)

    async def _store(self, batch: Sequence[InboundEvent], seen: int) -> Mapping[str, str]:
        """Store a batch; on failure nothing proceeds, and the account reports it. Return the rejected clicks
        with the text for each.
        """
        pause = STORE_PAUSE
        while True:
            written = self._cursor.dump(
                self._held if self._waiting else seen, self._inbound.own_threads, self._asks.open_uses
            )
            try:
                refused = await self._inbox.accept(batch, written)
            except StoreError as error:
                if pause == STORE_PAUSE:
                    log.error("discord.not_stored", account=self._account, reason=str(error))
                self._health.mark_deaf("messages cannot be stored now; they wait")
                await self._clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            self._cursor.seen = seen
            self.counts.messages += sum(isinstance(one, InboundMessage) for one in batch)
            return refused

    async def _fill_gap(self, fill: GapFill) -> None:
        """Read a gap, and store its messages like any others."""
        since = max(0, fill.since - (int(OVERLAP * 1000) << 22))
        channels = (
            self._places.list_channels(fill.guild)
            if fill.guild
            else [CachedChannel(dm, 1) for dm in self._cursor.dms]
        )
        self.counts.gaps += 1
        for place in channels:
            if place.guild and place.newest <= since:
                continue
            async for page in self._gaps.read_pages(place, since):
                await self._look_up((message, place) for message in page)
                await self._store(self._convert_page(page, place), self._cursor.seen)
                self._read_to = max(self._read_to, int(page[-1]["id"]))
        self._waiting.discard(fill.guild)
        if not self._waiting:
            self._cursor.seen = max(self._cursor.seen, self._read_to)

    def _convert_page(self, page: list[Json], place: CachedChannel) -> list[InboundMessage]:
        found: list[InboundMessage] = []
        for message in page:
            try:
                converted = self._inbound.convert(message, place)
            except Malformed as error:
                self._count_malformed(error)
                continue
            if converted is not None:
                found.append(converted)
        self.counts.filled += len(found)
        return found
