"""Reads messages of the past: those sent while the bot was not connected, and the history of a thread."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import structlog

from bot.clock import Clock
from bot.domain import HistoryMessage, PartialHistory, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.discord.channel_cache import CachedChannel, ChannelCache
from bot.platforms.discord.errors import DiscordLimited
from bot.platforms.discord.inbound import DiscordInbound
from bot.platforms.discord.outbound import DiscordOutbound
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.discord.snowflake import snowflake, snowflake_at
from bot.platforms.payload import Json, Malformed

log = structlog.get_logger(__name__)

PAGE = 100
"""Messages of one call (docs.discord.com/developers/resources/message#get-channel-messages)."""
PAGES = 20
"""Maximum number of pages that are read back of one channel."""
OLDEST = 24 * 3600.0
"""Seconds after which a message is no longer answered."""
TRIES = 5
FIRST_PAUSE = 1.0


class DiscordBackfill:
    """Reads the messages that one account missed."""

    def __init__(self, account: str, rest: DiscordRest, places: ChannelCache, clock: Clock) -> None:
        self._account = account
        self._rest = rest
        self._places = places
        self._clock = clock

    async def read_pages(self, place: CachedChannel, since: int) -> AsyncGenerator[list[Json], None]:
        """Yield pages of messages after an id, oldest first. Unreadable pages are skipped and logged."""
        after = max(since, snowflake_at(self._clock.now() - OLDEST))
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=place.id)
        for _ in range(PAGES):
            found = await self._call_patiently(route, params={"after": str(after), "limit": str(PAGE)})
            page = sort_messages(found)
            if page:
                yield page
            if len(page) < PAGE:
                return
            after = int(page[-1]["id"])
        log.warning("discord.gap_too_long", account=self._account, channel=place.id)

    async def fetch_channel(self, channel: str, guild: str) -> CachedChannel:
        """Fetch a channel that the gateway did not report; a plain text channel where that fails."""
        answer = await self._call_patiently(Route("GET", "/channels/{channel_id}", channel_id=channel))
        try:
            if isinstance(answer, dict):
                return self._places.put_channel(answer, guild)
        except Malformed:
            pass
        return CachedChannel(channel, 0, guild)

    async def _call_patiently(self, route: Any, **options: Any) -> Any:
        """Return the answer after up to TRIES attempts; None where Discord refuses or does not answer."""
        pause = FIRST_PAUSE
        for _ in range(TRIES):
            try:
                return await self._rest.request(route, **options)
            except DiscordLimited as error:
                await self._clock.sleep(error.retry_after)
            except discord.HTTPException as error:
                if error.status < 500:
                    return None
                await self._clock.sleep(pause)
            except discord.DiscordException:
                await self._clock.sleep(pause)
            pause *= 2
        log.error("discord.gap_unread", account=self._account, path=route.path)
        return None


def sort_messages(found: Any) -> list[Json]:
    """Sort the messages of a page, oldest first, and drop everything that is not a message."""
    page: list[tuple[int, Json]] = []
    for message in found if isinstance(found, list) else []:
        try:
            page.append((int(snowflake(message, "id")), message))
        except (Malformed, AttributeError):
            continue
    return [message for _, message in sorted(page, key=lambda one: one[0])]


class DiscordThreads:
    """Reads the history of a thread in which somebody addressed the bot."""

    def __init__(self, outbound: DiscordOutbound, inbound: DiscordInbound, places: ChannelCache) -> None:
        self._outbound = outbound
        self._inbound = inbound
        self._places = places

    async def read_history(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        """Return earlier messages, oldest first. The starter message is in its channel.

        Discord counts messages of bots and the system too, which are left out.
        """
        place = self._places.get(address.topic)
        if place is None:
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "the thread is not known")
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=place.id)
        most = min(limit, PAGE)
        params = {"before": before, "limit": str(most)}
        found = await self._outbound.call(route, posting=False, params=params)
        page = sort_messages(found)
        read = [one for message in page if (one := self._read(message, place)) is not None]
        return PartialHistory(read) if len(page) >= most else read

    def _read(self, message: Json, place: CachedChannel) -> HistoryMessage | None:
        try:
            one = self._inbound.convert(message, place)
        except Malformed:
            return None
        if one is None:
            return None
        origin = one.origin
        return HistoryMessage(
            origin.message_id, origin.sender, one.text, one.sent_at, one.link, one.quotations
        )
