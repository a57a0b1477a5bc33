"""History of a thread in which the bot is addressed."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import HistoryMessage, PartialHistory, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.discord.channel_cache import PRIVATE_THREAD, CachedChannel, ChannelCache
from bot.platforms.discord.inbound import DiscordInbound
from bot.platforms.discord.lookups import DiscordLookups
from bot.platforms.discord.missed_messages import PAGE, sort_messages
from bot.platforms.discord.notices import THREAD_STARTER
from bot.platforms.discord.outbound import DiscordOutbound
from bot.platforms.discord.rest import Route
from bot.platforms.payload import Json, Malformed


class DiscordThreads:
    """Reads the history of a thread in which the bot is addressed."""

    def __init__(
        self,
        outbound: DiscordOutbound,
        inbound: DiscordInbound,
        places: ChannelCache,
        lookups: DiscordLookups,
    ) -> None:
        self._outbound = outbound
        self._inbound = inbound
        self._places = places
        self._lookups = lookups

    async def read_history(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        """Return earlier messages of people and apps, oldest first. If some are omitted, the first is the
        thread's starter message.

        Discord counts the bot's messages too, which are omitted.
        """
        place = self._places.get(address.topic)
        if place is None:
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "unknown thread")
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=place.id)
        most = min(limit, PAGE)
        params = {"before": before, "limit": str(most)}
        found = await self._outbound.call(route, posting=False, params=params)
        page = sort_messages(found)
        is_partial = len(page) >= most
        start = await self._find_start(place, page) if is_partial else []
        await self._lookups.prepare((message, place) for message in (*start, *page))
        read = [one for message in (*start, *page) if (one := self._read(message, place)) is not None]
        return PartialHistory(read) if is_partial else read

    async def _find_start(self, place: CachedChannel, page: list[Json]) -> list[Json]:
        """Return the thread's starter message, which has the thread's id, unless the page contains it.

        A forum's post begins with a message of its own, another thread with one of its channel, and a private
        thread with none.
        """
        if place.type == PRIVATE_THREAD or any(
            one.get("id") == place.id or one.get("type") == THREAD_STARTER for one in page
        ):
            return []
        for channel in (place.id, place.parent):
            route = Route(
                "GET", "/channels/{channel_id}/messages/{message_id}", channel_id=channel,
                message_id=place.id,
            )  # fmt: skip
            try:
                found = await self._outbound.call(route, posting=False)
            except DeliveryError:
                continue
            if isinstance(found, dict):
                return [found] if channel == place.id else [as_starter(found, place.id)]
        return []

    def _read(self, message: Json, place: CachedChannel) -> HistoryMessage | None:
        try:
            one = self._inbound.convert(message, place)
        except Malformed:
            return None
        if one is None:
            return None
        origin = one.origin
        quoted = {name for quotation in one.quotations for name in quotation.files}
        files = [f"[{file.filename}]" for file in one.attachments if file.filename not in quoted]
        text = "\n".join(filter(None, (one.text, *files)))
        return HistoryMessage(origin.message_id, origin.sender, text, one.sent_at, one.link, one.quotations)


def as_starter(message: Json, thread: str) -> Json:
    """Return a channel's message as the first entry of the thread that it started."""
    author = message.get("author")
    reference = {"message_id": message.get("id")}
    return {
        "id": thread,
        "type": THREAD_STARTER,
        "author": author,
        "message_reference": reference,
        "referenced_message": message,
    }
