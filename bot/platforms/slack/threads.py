"""History of a thread in which the bot is addressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain import HistoryMessage, ReplyAddress
from bot.platforms.payload import Json, Malformed
from bot.platforms.slack.client import SlackWebApi
from bot.platforms.slack.directory import SlackDirectory
from bot.platforms.slack.inbound import SlackIdentity, require_ts
from bot.platforms.slack.lookups import MAX_HISTORY_LOOKUPS, SlackLookups
from bot.platforms.slack.messages import Writer, find_writer, read_message, read_sender
from bot.platforms.slack.names import SlackNames


class SlackThreads:
    """The threads of one account."""

    def __init__(
        self, calls: SlackWebApi, places: SlackDirectory, lookups: SlackLookups, identity: SlackIdentity
    ) -> None:
        self._web_api = calls
        self._places = places
        self._lookups = lookups
        self._identity = identity

    async def read_history(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        """Return messages of people and apps in a thread, including its first message. Raises
        DeliveryError.
        """
        if address.topic == before:
            return ()
        found = await self._web_api.read_thread(address, "0")
        earlier = [one for one in found if _is_before(one, before) and self._is_of_others(one)][-limit:]
        names = SlackNames(self._identity.user, self._identity.name, chat=address.chat)
        messages = self._convert(address, earlier, names)
        if await self._lookups.complete(names, MAX_HISTORY_LOOKUPS):
            messages = self._convert(address, earlier, names)
        return [await self._with_sender(one) for one in messages]

    def _is_of_others(self, message: Json) -> bool:
        try:
            return find_writer(message, self._identity.user, self._identity.bot) is not Writer.NOBODY
        except Malformed:
            return False

    def _convert(
        self, address: ReplyAddress, found: Sequence[Json], names: SlackNames
    ) -> list[HistoryMessage]:
        read = (self._read(address, one, names) for one in found)
        return [message for message in read if message is not None]

    def _read(self, address: ReplyAddress, message: Json, names: SlackNames) -> HistoryMessage | None:
        """Return a message, or None if it can't be read."""
        try:
            writer = find_writer(message, self._identity.user, self._identity.bot)
            ts, sender = require_ts(message, "ts"), read_sender(message, writer, names)
            content = read_message({**message, "root": None}, writer, names)
        except Malformed:
            return None
        quoted = {name for one in content.quotations for name in one.files}
        files = [f"[{one.filename}]" for one in content.attachments if one.filename not in quoted]
        text = "\n".join(filter(None, [content.text, *files]))
        link = self._identity.message_link(address.chat, ts, address.topic)
        return HistoryMessage(ts, sender, text, float(ts), link, content.quotations)

    async def _with_sender(self, message: HistoryMessage) -> HistoryMessage:
        if message.sender.is_bot or not message.sender.id:
            return message
        return replace(message, sender=await self._places.find_sender(message.sender.id))


def _is_before(message: Json, ts: str) -> bool:
    try:
        return float(require_ts(message, "ts")) < float(ts)
    except (Malformed, ValueError):
        return False
