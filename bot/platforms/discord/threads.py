"""Reads a thread in which somebody turned to the bot."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import Earlier, ReplyAddress
from bot.platforms.discord.backfill import PAGE, in_order
from bot.platforms.discord.channel_cache import Place, Places
from bot.platforms.discord.inbound import Inbound
from bot.platforms.discord.outbound import Outbound
from bot.platforms.discord.rest import Route
from bot.platforms.payload import Json, Malformed


class Threads:
    """The threads of one account."""

    def __init__(self, outbound: Outbound, inbound: Inbound, places: Places) -> None:
        self._outbound = outbound
        self._inbound = inbound
        self._places = places

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[Earlier]:
        """See ReadsThreads. The message that a thread grew from stands in its channel, not in it."""
        place = self._places.get(address.topic)
        if place is None:
            return ()
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=place.id)
        params = {"before": before, "limit": str(min(limit, PAGE))}
        found = await self._outbound.call(route, posting=False, params=params)
        read = (self._read(message, place) for message in in_order(found))
        return [one for one in read if one is not None]

    def _read(self, message: Json, place: Place) -> Earlier | None:
        try:
            one = self._inbound.convert(message, place)
        except Malformed:
            return None
        if one is None:
            return None
        origin = one.origin
        return Earlier(origin.message_id, origin.sender, one.text, one.sent_at, one.link)
