"""Reads the history of a thread in which somebody addressed the bot."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import HistoryMessage, ReplyAddress
from bot.platforms.payload import Json, Malformed, get_string
from bot.platforms.slack.client import SlackWebApi
from bot.platforms.slack.directory import SlackDirectory
from bot.platforms.slack.inbound import (
    SlackIdentity,
    is_by_person,
    read_quotations,
    read_text,
    require_ts,
)


class SlackThreads:
    """The threads of one account."""

    def __init__(self, calls: SlackWebApi, places: SlackDirectory, identity: SlackIdentity) -> None:
        self._web_api = calls
        self._places = places
        self._identity = identity

    async def read_history(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        if address.topic == before:
            return ()
        found = await self._web_api.read_thread(address, "0")
        people = [one for one in found if is_by_person(one, self._identity.user)]
        return [await self._convert(address, one) for one in people if self._is_before(one, before)][-limit:]

    async def _convert(self, address: ReplyAddress, message: Json) -> HistoryMessage:
        ts = require_ts(message, "ts")
        sender = await self._places.find_sender(get_string(message, "user"))
        text = read_text(get_string(message, "text"), self._identity.user).text
        link = self._identity.message_link(address.chat, ts, address.topic)
        return HistoryMessage(
            ts, sender, text, float(ts), link, read_quotations(message, self._identity.user)
        )

    @staticmethod
    def _is_before(message: Json, ts: str) -> bool:
        try:
            return float(require_ts(message, "ts")) < float(ts)
        except (Malformed, ValueError):
            return False
