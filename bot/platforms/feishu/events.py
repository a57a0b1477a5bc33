"""One event, however it came: converted, stored, and only then acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from bot.clock import Clock
from bot.domain import InboundMessage
from bot.faults import Step, reach
from bot.platforms.base import Inbox
from bot.platforms.feishu.health import Health
from bot.platforms.feishu.inbound import RECALLED, Inbound, is_choice
from bot.platforms.payload import Json, Malformed, needed, optional_mapping, string

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Counts:
    """What came in, for people who look."""

    events: int = 0
    messages: int = 0
    ignored: int = 0
    malformed: int = 0
    refused: int = 0
    connections: int = 0


class Events:
    """Takes the events of one account; `on_choice` is told of every click on a choice that was stored, and
    `on_recalled` the id of every message that was taken back."""

    def __init__(
        self,
        account: str,
        inbound: Inbound,
        inbox: Inbox,
        clock: Clock,
        health: Health,
        on_choice: Callable[[InboundMessage], None],
        on_recalled: Callable[[str], None],
    ) -> None:
        self.counts = Counts()
        self._account = account
        self._inbound = inbound
        self._inbox = inbox
        self._clock = clock
        self._health = health
        self._on_choice = on_choice
        self._on_recalled = on_recalled

    async def take(self, payload: Json) -> Json:
        """Store what an event says; returns what Feishu is answered. Raises what the inbox raises: then the
        event is not acknowledged, and comes again."""
        self.counts.events += 1
        self._health.heard()
        if _kind(payload) == RECALLED:
            self._recalled(payload)
            return {}
        try:
            message = await self._inbound.convert(payload, self._clock.now())
        except Malformed as error:
            self.malformed(str(error))
            return {}
        if message is None:
            self.counts.ignored += 1
            log.debug("feishu.event_ignored", account=self._account, kind=_kind(payload))
            return {}
        self.counts.messages += 1
        await self._inbox.accept([message])
        if not is_choice(payload):
            return {}
        self._on_choice(message)
        return {"toast": {"type": "success", "content": f"✓ {message.text}"}}

    def _recalled(self, payload: Json) -> None:
        try:
            message_id = needed(optional_mapping(payload, "event"), "message_id")
        except Malformed as error:
            self.malformed(str(error))
            return
        self.counts.ignored += 1
        self._on_recalled(message_id)

    def malformed(self, reason: str) -> None:
        """Count and log what cannot be read; it is acknowledged, since it would come again as it is."""
        self.counts.malformed += 1
        log.warning("feishu.event_skipped", account=self._account, reason=reason)

    def acknowledged(self) -> None:
        """The answer has left."""
        reach(Step.ACKNOWLEDGED)


def _kind(payload: Json) -> str:
    try:
        return string(optional_mapping(payload, "header"), "event_type")
    except Malformed:
        return ""
