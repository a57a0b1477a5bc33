"""Messages sent while the bot was disconnected."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import structlog

from bot.clock import Clock
from bot.platforms.discord.channel_cache import CachedChannel, ChannelCache
from bot.platforms.discord.errors import DiscordLimited
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

    async def fetch_channel(self, channel: str, guild: str, kind: int = 0) -> CachedChannel:
        """Fetch a channel that the gateway has not reported; on failure, assume this type."""
        answer = await self._call_patiently(Route("GET", "/channels/{channel_id}", channel_id=channel))
        try:
            if isinstance(answer, dict):
                return self._places.put_channel(answer, guild)
        except Malformed:
            pass
        return CachedChannel(channel, kind, guild)

    async def _call_patiently(self, route: Any, **options: Any) -> Any:
        """Return the response after up to TRIES attempts; None if Discord refuses or does not respond."""
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
    """Sort a page's messages, oldest first, dropping other objects."""
    page: list[tuple[int, Json]] = []
    for message in found if isinstance(found, list) else []:
        try:
            page.append((int(snowflake(message, "id")), message))
        except (Malformed, AttributeError):
            continue
    return [message for _, message in sorted(page, key=lambda one: one[0])]
