"""Receives in order: the gateway's events wait for one worker that stores them, and gaps come first.

Discord does not send a message again. So everything up to `Cursor.seen` is known to be stored, and after a
connection that did not resume its session the channels are read from there. Ids rise with time, whatever the
channel, so one id says how far all of them are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from bot.domain import InboundChange, InboundEvent, InboundMessage
from bot.errors import StoreError
from bot.faults import Step, reach
from bot.platforms.base import AdapterContext
from bot.platforms.connection import AccountHealth
from bot.platforms.discord.backfill import Gaps
from bot.platforms.discord.channel_cache import Place, Places
from bot.platforms.discord.components import Click, Clicks
from bot.platforms.discord.cursor import Cursor
from bot.platforms.discord.gateway import Reader
from bot.platforms.discord.inbound import Inbound
from bot.platforms.discord.interactions import Asks
from bot.platforms.discord.payload import optional_snowflake, snowflake
from bot.platforms.discord.snowflake import snowflake_at
from bot.platforms.payload import Json, Malformed, get_objects, get_string, get_strings

log = structlog.get_logger(__name__)

QUEUE = 2000
"""Events that may wait; what is beyond is read from the channels later."""
BATCH = 100
OVERLAP = 10.0
"""Seconds before the last stored message from which a gap is read: channels are not in step."""
STORE_PAUSE, LONGEST_PAUSE = 0.5, 15.0
APPLICATION_COMMAND, COMPONENT = 2, 3
"""Types of an interaction
(docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-type)."""
_QUEUED = ("MESSAGE_UPDATE", "MESSAGE_DELETE", "INTERACTION_CREATE")


@dataclass(slots=True)
class Counts:
    """What came in, for people who look."""

    events: int = 0
    messages: int = 0
    filled: int = 0
    gaps: int = 0
    edits: int = 0
    ignored: int = 0
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class _Event:
    """A message, interaction or change as it came; `name` is the gateway's."""

    name: str
    data: Json


@dataclass(frozen=True, slots=True)
class _Fill:
    """Read the direct messages (`guild` "") or a server's channels from an id on."""

    guild: str
    since: int


class Receiver:
    """The receive side of one account; `readers` is what the gateway calls, `run` the worker."""

    def __init__(
        self,
        account: str,
        inbound: Inbound,
        places: Places,
        gaps: Gaps,
        asks: Asks,
        clicks: Clicks,
        context: AdapterContext,
        health: AccountHealth,
        cursor: Cursor,
    ) -> None:
        self.counts = Counts()
        self._account = account
        self._inbound = inbound
        self._places = places
        self._gaps = gaps
        self._asks = asks
        self._clicks = clicks
        self._inbox = context.inbox
        self._clock = context.clock
        self._health = health
        self._cursor = cursor
        self._queue: deque[_Event | _Fill] = deque()
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._waiting: set[str] = set()
        self._held = self._read_to = 0
        self._out: dict[str, int] = {}

    @property
    def readers(self) -> Mapping[str, Reader]:
        """What to do with each event, by its name; none of them raises."""
        return {
            "READY": self._guarded(self._ready),
            "RESUMED": self._guarded(lambda data: None),
            "GUILD_CREATE": self._guarded(self._guild),
            "GUILD_DELETE": self._guarded(self._guild_gone),
            "CHANNEL_CREATE": self._guarded(self._channel),
            "CHANNEL_UPDATE": self._guarded(self._channel),
            "CHANNEL_DELETE": self._guarded(self._places.drop),
            "THREAD_CREATE": self._guarded(self._channel),
            "THREAD_UPDATE": self._guarded(self._channel),
            "THREAD_DELETE": self._guarded(self._places.drop),
            "THREAD_LIST_SYNC": self._guarded(self._places.sync_threads),
            "MESSAGE_CREATE": self._guarded(self._message),
            "MESSAGE_DELETE_BULK": self._guarded(self._deleted),
            **{name: self._guarded(self._queued(name)) for name in _QUEUED},
        }

    async def run(self) -> None:
        """Store what is queued, in order, until cancelled."""
        if not self._cursor.seen:
            await self._store([], snowflake_at(self._clock.now()))
        while True:
            self._idle.set()
            await self._arrived.wait()
            self._arrived.clear()
            while self._queue:
                head = self._queue[0]
                if isinstance(head, _Fill):
                    self._queue.popleft()
                    await self._fill(head)
                else:
                    await self._take()

    async def finish(self, seconds: float) -> None:
        """Wait until all that was heard is stored, so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()

    def _guarded(self, read: Reader) -> Reader:
        def reader(data: Json) -> None:
            self.counts.events += 1
            self._health.mark_live()
            try:
                if not isinstance(data, dict):
                    raise Malformed("the event's data is no object")
                read(data)
            except Malformed as error:
                self._skip(error)

        return reader

    def _skip(self, error: Malformed) -> None:
        self.counts.malformed += 1
        log.warning("discord.event_skipped", account=self._account, reason=str(error))

    def _ready(self, data: Json) -> None:
        """A new session: nothing says what came between the old one and this."""
        self._held = self._since()
        self._waiting = {snowflake(guild, "id") for guild in get_objects(data, "guilds")}
        self._put(_Fill("", self._held))

    def _guild(self, data: Json) -> None:
        guild = self._places.take_guild(data)
        since = self._held if guild in self._waiting else self._out.pop(guild, 0)
        if since:
            self._put(_Fill(guild, since))

    def _guild_gone(self, data: Json) -> None:
        guild = snowflake(data, "id")
        if data.get("unavailable"):
            self._out[guild] = self._since()
            return
        self._places.drop_guild(guild)
        self._waiting.discard(guild)
        log.info("discord.removed", account=self._account, guild=guild)

    def _channel(self, data: Json) -> None:
        self._places.take(data)

    def _message(self, data: Json) -> None:
        self._places.heard(snowflake(data, "channel_id"), snowflake(data, "id"))
        self._put(_Event("MESSAGE_CREATE", data))

    def _queued(self, name: str) -> Reader:
        return lambda data: self._put(_Event(name, data))

    def _deleted(self, data: Json) -> None:
        """Many at once are one after another."""
        for number in get_strings(data, "ids"):
            self._put(_Event("MESSAGE_DELETE", {**data, "id": number}))

    def _since(self) -> int:
        return self._held if self._waiting else self._cursor.seen

    def _put(self, item: _Event | _Fill) -> None:
        if len(self._queue) >= QUEUE:
            self._overflow()
        self._queue.append(item)
        self._arrived.set()
        self._idle.clear()

    def _overflow(self) -> None:
        """Too much waits: forget it, and read it from the channels when there is room."""
        since = self._since()
        self._queue.clear()
        log.warning("discord.overflow", account=self._account)
        self._queue.extend(_Fill(guild, since) for guild in ("", *self._places.guilds))

    async def _take(self) -> None:
        """Store the next messages in one go."""
        batch: list[InboundEvent] = []
        used: list[str | Click] = []
        seen = self._cursor.seen
        while self._queue and len(batch) < BATCH:
            head = self._queue[0]
            if isinstance(head, _Fill):
                break
            self._queue.popleft()
            seen = max(seen, await self._convert(head, batch, used))
        refused = await self._store(batch, seen)
        for interaction in used:
            if not isinstance(interaction, Click):
                await self._asks.defer(interaction)
            elif interaction.id in refused:
                await self._clicks.refuse(interaction, refused[interaction.id])
            else:
                await self._clicks.confirm(interaction)
        if batch:
            reach(Step.ACKNOWLEDGED)

    async def _convert(self, event: _Event, batch: list[InboundEvent], used: list[str | Click]) -> int:
        """Add what an event says; the id up to which messages are known by it (0 where it is no message)."""
        try:
            number = int(snowflake(event.data, "id"))
            place = await self._place(event.data)
            found = self._read(event, place, used)
        except Malformed as error:
            self._skip(error)
            return 0
        if found is None:
            self.counts.ignored += 1
        else:
            batch.append(found)
            self.counts.edits += isinstance(found, InboundChange)
            if not place.guild:
                self._cursor.met(place.id)
        return number if event.name == "MESSAGE_CREATE" else 0

    def _read(self, event: _Event, place: Place, used: list[str | Click]) -> InboundEvent | None:
        if event.name == "MESSAGE_CREATE":
            return self._inbound.convert(event.data, place)
        if event.name == "MESSAGE_UPDATE":
            return self._inbound.edit(event.data, place)
        if event.name == "MESSAGE_DELETE":
            return self._inbound.deletion(snowflake(event.data, "id"), place, self._clock.now())
        if event.data.get("type") == COMPONENT:
            click = self._inbound.click(event.data, place)
            used.append(click)
            return click.message
        command = self._command(event.data, place)
        used.extend([command.event_id] if command else [])
        return command

    def _command(self, data: Json, place: Place) -> InboundMessage | None:
        if data.get("type") != APPLICATION_COMMAND:
            return None
        found = self._inbound.command(data, place)
        if found is not None:
            self._asks.add(
                found.event_id, get_string(data, "token"), place.id, alone=self._inbox.alone(found)
            )
        return found

    async def _place(self, data: Json) -> Place:
        """Where an event happened; a channel that the gateway has not told of is asked for."""
        channel, guild = snowflake(data, "channel_id"), optional_snowflake(data, "guild_id")
        if not guild:
            return Place(channel, 1)
        return self._places.get(channel) or await self._gaps.place(channel, guild)

    async def _store(self, batch: Sequence[InboundEvent], seen: int) -> Mapping[str, str]:
        """Persist; while that fails nothing goes on, and the account says so. The clicks that count for
        nothing, with what to say to them.
        """
        pause = STORE_PAUSE
        while True:
            written = self._cursor.written(
                self._held if self._waiting else seen, self._inbound.ours, self._asks.open
            )
            try:
                refused = await self._inbox.accept(batch, written)
            except StoreError as error:
                log.error("discord.not_stored", account=self._account, reason=str(error))
                self._health.mark_deaf("messages cannot be stored now; they wait")
                await self._clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            self._cursor.seen = seen
            self.counts.messages += sum(isinstance(one, InboundMessage) for one in batch)
            return refused

    async def _fill(self, fill: _Fill) -> None:
        """Read a gap; the messages in it are stored like any others."""
        since = max(0, fill.since - (int(OVERLAP * 1000) << 22))
        channels = self._places.of(fill.guild) if fill.guild else [Place(dm, 1) for dm in self._cursor.dms]
        self.counts.gaps += 1
        for place in channels:
            if place.guild and place.newest <= since:
                continue
            async for page in self._gaps.read(place, since):
                await self._store(self._missed(page, place), self._cursor.seen)
                self._read_to = max(self._read_to, int(page[-1]["id"]))
        self._waiting.discard(fill.guild)
        if not self._waiting:
            self._cursor.seen = max(self._cursor.seen, self._read_to)

    def _missed(self, page: list[Json], place: Place) -> list[InboundMessage]:
        found: list[InboundMessage] = []
        for message in page:
            try:
                converted = self._inbound.convert(message, place)
            except Malformed as error:
                self._skip(error)
                continue
            if converted is not None:
                found.append(converted)
        self.counts.filled += len(found)
        return found
