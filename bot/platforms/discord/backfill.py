"""Reads what was said while the bot was not connected, page by page, within bounds."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import structlog

from bot.clock import Clock
from bot.platforms.discord.channel_cache import ChannelCache, DiscordChannel
from bot.platforms.discord.errors import DiscordLimited
from bot.platforms.discord.payload import snowflake
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.discord.snowflake import snowflake_at
from bot.platforms.payload import Json, Malformed

log = structlog.get_logger(__name__)

PAGE = 100
"""Messages of one call (docs.discord.com/developers/resources/message#get-channel-messages)."""
PAGES = 20
"""Pages of one channel: more than that is not read back."""
OLDEST = 24 * 3600.0
"""Seconds: what is older is not answered any more."""
TRIES = 5
FIRST_PAUSE = 1.0


class DiscordBackfill:
    """Reads channels of one account."""

    def __init__(self, account: str, rest: DiscordRest, places: ChannelCache, clock: Clock) -> None:
        self._account = account
        self._rest = rest
        self._places = places
        self._clock = clock

    async def read_pages(self, place: DiscordChannel, since: int) -> AsyncGenerator[list[Json], None]:
        """Pages of messages after an id, oldest first. What cannot be read is left out, and logged."""
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

    async def fetch_channel(self, channel: str, guild: str) -> DiscordChannel:
        """A channel that the gateway has not told of; an ordinary one where it cannot be asked for."""
        found = await self._call_patiently(Route("GET", "/channels/{channel_id}", channel_id=channel))
        try:
            return (
                self._places.put_channel(found, guild)
                if isinstance(found, dict)
                else DiscordChannel(channel, 0, guild)
            )
        except Malformed:
            return DiscordChannel(channel, 0, guild)

    async def _call_patiently(self, route: Any, **options: Any) -> Any:
        """The answer; None where Discord refuses, or where trying again is no use."""
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
    """The messages of a page, oldest first, without what is none."""
    page: list[tuple[int, Json]] = []
    for message in found if isinstance(found, list) else []:
        try:
            page.append((int(snowflake(message, "id")), message))
        except (Malformed, AttributeError):
            continue
    return [message for _, message in sorted(page, key=lambda one: one[0])]
