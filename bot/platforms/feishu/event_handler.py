"""Event handling: convert, store, and only then acknowledge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

import structlog

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.domain import InboundChange, InboundMessage
from bot.faults import Step, reach
from bot.platforms.base import Inbox
from bot.platforms.connection import AccountHealth
from bot.platforms.feishu.inbound import MESSAGE, FeishuInbound
from bot.platforms.feishu.lookups import EVENT_SECONDS, limit_lookups
from bot.platforms.feishu.received_counts import FeishuCounts
from bot.platforms.payload import Json, Malformed, get_object, get_string

log = structlog.get_logger(__name__)
REMEMBERED = 4096
_CHAT_KEYS = ("chat_id", "open_chat_id")


class FeishuEventHandler:
    """Handles an account's events; `on_choice` receives each stored choice click, and `on_recalled` the id of
    each recalled message.
    """

    def __init__(
        self,
        account: str,
        inbound: FeishuInbound,
        inbox: Inbox,
        clock: Clock,
        health: AccountHealth,
        on_choice: Callable[[InboundMessage], None],
        on_recalled: Callable[[str], None],
    ) -> None:
        self.counts = FeishuCounts()
        self._account = account
        self._inbound = inbound
        self._inbox = inbox
        self._clock = clock
        self._health = health
        self._on_choice = on_choice
        self._on_recalled = on_recalled
        self._stored: RecentValues[bool] = RecentValues(REMEMBERED)
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def store_event(self, payload: Json) -> Json:
        """Store an event and return the response for Feishu. Raises the inbox's exceptions, in which case the
        event is not acknowledged and will be resent.
        """
        self.counts.events += 1
        self._health.mark_live()
        # Names are asked for side by side, but must not let a recall overtake the message that it takes back.
        chat = _find_chat(payload)
        order = self._orders.setdefault(chat, asyncio.Lock()) if chat else asyncio.Lock()
        converting = asyncio.create_task(self._convert(payload), name="feishu-convert")
        try:
            async with order:
                return await self._store(payload, converting)
        finally:
            converting.cancel()
            await asyncio.gather(converting, return_exceptions=True)

    async def _convert(self, payload: Json) -> InboundMessage | InboundChange | None:
        """Convert an event without lookups for a resent message, which the inbox will drop."""
        limit_lookups(0.0 if _find_message(payload) in self._stored else EVENT_SECONDS)
        return await self._inbound.convert(payload, self._clock.now())

    async def _store(
        self, payload: Json, converting: asyncio.Task[InboundMessage | InboundChange | None]
    ) -> Json:
        try:
            happened = await converting
        except Malformed as error:
            self.count_malformed(str(error))
            return {}
        if happened is None:
            self.counts.ignored += 1
            log.debug("feishu.event_ignored", account=self._account, kind=_event_type(payload))
            return {}
        self.counts.messages += isinstance(happened, InboundMessage)
        self.counts.edits += isinstance(happened, InboundChange)
        if isinstance(happened, InboundChange) and happened.text is None:
            # It may be one of the bot's: Feishu reports the id of a recalled message, but not its author.
            self._on_recalled(happened.origin.message_id)
        refused = await self._inbox.accept([happened])
        self._inbound.note_stored(happened)
        if message_id := _find_message(payload):
            self._stored.put(message_id, True)
        if isinstance(happened, InboundChange) or not happened.clicked:
            return {}
        if happened.event_id in refused:
            # Only who clicked sees a toast; the buttons stay.
            reason = refused[happened.event_id]
            return {"toast": {"type": "warning", "content": reason}} if reason else {}
        self._on_choice(happened)
        return {"toast": {"type": "success", "content": f"✓ {happened.text}"}}

    def count_malformed(self, reason: str) -> None:
        """Count and log an unreadable event, which is acknowledged because a repeat would be identical."""
        self.counts.malformed += 1
        log.warning("feishu.event_skipped", account=self._account, reason=reason)

    def mark_acknowledged(self) -> None:
        """Record that the response to an event was sent."""
        reach(Step.ACKNOWLEDGED)


def _find_chat(payload: Json) -> str:
    """Return the chat of a message, change, recall or click, "" for anything else."""
    event = payload.get("event")
    event = event if isinstance(event, dict) else {}
    places = (event.get("message"), event, event.get("context"))
    found = [place.get(key) for place in places if isinstance(place, dict) for key in _CHAT_KEYS]
    return next((chat for chat in found if isinstance(chat, str)), "")


def _find_message(payload: Json) -> str:
    """Return the id of a new message, or "" for any other event."""
    event = payload.get("event")
    message = event.get("message") if isinstance(event, dict) else None
    found = message.get("message_id") if isinstance(message, dict) else None
    return found if isinstance(found, str) and _event_type(payload) == MESSAGE else ""


def _event_type(payload: Json) -> str:
    try:
        return get_string(get_object(payload, "header"), "event_type")
    except Malformed:
        return ""
