"""Reads the history of a thread in which somebody addressed the bot."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import HistoryMessage, ReplyAddress
from bot.platforms.discord.backfill import PAGE, sort_messages
from bot.platforms.discord.channel_cache import ChannelCache, DiscordChannel
from bot.platforms.discord.inbound import DiscordInbound
from bot.platforms.discord.outbound import DiscordOutbound
from bot.platforms.discord.rest import Route
from bot.platforms.payload import Json, Malformed


class DiscordThreads:
    """The threads of one account."""

    def __init__(self, outbound: DiscordOutbound, inbound: DiscordInbound, places: ChannelCache) -> None:
        self._outbound = outbound
        self._inbound = inbound
        self._places = places

    async def read_history(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        """Return earlier messages, oldest first. The starter message is in its channel."""
        place = self._places.get(address.topic)
        if place is None:
            return ()
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=place.id)
        params = {"before": before, "limit": str(min(limit, PAGE))}
        found = await self._outbound.call(route, posting=False, params=params)
        read = (self._read(message, place) for message in sort_messages(found))
        return [one for one in read if one is not None]

    def _read(self, message: Json, place: DiscordChannel) -> HistoryMessage | None:
        try:
            one = self._inbound.convert(message, place)
        except Malformed:
            return None
        if one is None:
            return None
        origin = one.origin
        return HistoryMessage(origin.message_id, origin.sender, one.text, one.sent_at, one.link)
