"""Reads a thread in which somebody turned to the bot."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import Earlier, ReplyAddress
from bot.platforms.payload import Json, Malformed, get_string
from bot.platforms.slack.directory import Places
from bot.platforms.slack.inbound import Identity, by_person
from bot.platforms.slack.mrkdwn import read_text
from bot.platforms.slack.payload import stamp
from bot.platforms.slack.web_api import Calls


class Threads:
    """The threads of one account."""

    def __init__(self, calls: Calls, places: Places, identity: Identity) -> None:
        self._calls = calls
        self._places = places
        self._identity = identity

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[Earlier]:
        """See ReadsThreads."""
        if address.topic == before:
            return ()
        found = await self._calls.thread(address, "0")
        people = [one for one in found if by_person(one, self._identity.user)]
        return [await self._earlier(address, one) for one in people if self._is_before(one, before)][-limit:]

    async def _earlier(self, address: ReplyAddress, message: Json) -> Earlier:
        ts = stamp(message, "ts")
        sender = await self._places.sender(get_string(message, "user"))
        text = read_text(get_string(message, "text"), self._identity.user).text
        return Earlier(ts, sender, text, float(ts), self._identity.link(address.chat, ts, address.topic))

    @staticmethod
    def _is_before(message: Json, ts: str) -> bool:
        try:
            return float(stamp(message, "ts")) < float(ts)
        except (Malformed, ValueError):
            return False
