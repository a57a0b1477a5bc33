"""Reads what was said while the bot was not connected, page by page, within bounds."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import structlog

from bot.clock import Clock
from bot.platforms.discord.channel_cache import Place, Places
from bot.platforms.discord.errors import Limited
from bot.platforms.discord.payload import snowflake
from bot.platforms.discord.rest import Rest, Route
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


class Gaps:
    """Reads channels of one account."""

    def __init__(self, account: str, rest: Rest, places: Places, clock: Clock) -> None:
        self._account = account
        self._rest = rest
        self._places = places
        self._clock = clock

    async def read(self, place: Place, since: int) -> AsyncGenerator[list[Json], None]:
        """Pages of messages after an id, oldest first. What cannot be read is left out, and logged."""
        after = max(since, snowflake_at(self._clock.now() - OLDEST))
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=place.id)
        for _ in range(PAGES):
            found = await self._call(route, params={"after": str(after), "limit": str(PAGE)})
            page = in_order(found)
            if page:
                yield page
            if len(page) < PAGE:
                return
            after = int(page[-1]["id"])
        log.warning("discord.gap_too_long", account=self._account, channel=place.id)

    async def place(self, channel: str, guild: str) -> Place:
        """A channel that the gateway has not told of; an ordinary one where it cannot be asked for."""
        found = await self._call(Route("GET", "/channels/{channel_id}", channel_id=channel))
        try:
            return self._places.take(found, guild) if isinstance(found, dict) else Place(channel, 0, guild)
        except Malformed:
            return Place(channel, 0, guild)

    async def _call(self, route: Any, **options: Any) -> Any:
        """The answer; None where Discord refuses, or where trying again is no use."""
        pause = FIRST_PAUSE
        for _ in range(TRIES):
            try:
                return await self._rest.request(route, **options)
            except Limited as error:
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


def in_order(found: Any) -> list[Json]:
    """The messages of a page, oldest first, without what is none."""
    page: list[tuple[int, Json]] = []
    for message in found if isinstance(found, list) else []:
        try:
            page.append((int(snowflake(message, "id")), message))
        except (Malformed, AttributeError):
            continue
    return [message for _, message in sorted(page, key=lambda one: one[0])]
