"""What came in, converted and stored in order, however it arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import structlog

from bot.domain import InboundChange, InboundEvent, InboundMessage
from bot.platforms.base import Inbox
from bot.platforms.payload import Malformed
from bot.platforms.telegram.callback_queries import TelegramClickAnswers
from bot.platforms.telegram.inbound import TelegramClick, TelegramInbound, ChatMigration

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TelegramCounts:
    """What came in, for people who look."""

    polls: int = 0
    updates: int = 0
    messages: int = 0
    edits: int = 0
    ignored: int = 0
    malformed: int = 0
    conflicts: int = 0
    forged: int = 0


class TelegramUpdateHandler:
    """Takes over updates of one account. `counts` is what it saw."""

    def __init__(self, account: str, inbound: TelegramInbound, inbox: Inbox, clicks: TelegramClickAnswers) -> None:
        self._clicks = clicks
        self.counts = TelegramCounts()
        self._account = account
        self._inbound = inbound
        self._inbox = inbox

    async def store_updates(self, updates: list[Any]) -> tuple[int | None, bool]:
        """Store updates in order: the number that follows the highest of them (None: none had one), and
        whether there was something to store. A migration splits the batch.
        """
        batch: list[InboundEvent] = []
        pressed: list[TelegramClick] = []
        refused: dict[str, str] = {}
        following: int | None = None
        stored = False
        for update in updates:
            number = update.get("update_id") if isinstance(update, dict) else None
            if not isinstance(number, int):
                self.counts.malformed += 1
                continue
            following = max(following or 0, number + 1)
            converted = self._convert_update(update, number)
            if isinstance(converted, ChatMigration):
                refused |= await self._inbox.accept(batch, cursor=str(number))
                stored, batch = stored or bool(batch), []
                await self._inbox.migrate_chat(converted.old, converted.new)
            elif isinstance(converted, TelegramClick):
                pressed.append(converted)
                batch += [converted.message] if converted.message else []
            elif converted is not None:
                batch.append(converted)
        if following is not None:
            refused |= await self._inbox.accept(batch, cursor=str(following))
        for click in pressed:
            if click.message is not None and click.message.event_id in refused:
                await self._clicks.refuse(click, refused[click.message.event_id])
            else:
                await self._clicks.confirm(click)
        return following, stored or bool(batch)

    def _convert_update(
        self, update: dict[str, Any], number: int
    ) -> InboundMessage | InboundChange | ChatMigration | TelegramClick | None:
        self.counts.updates += 1
        try:
            converted = self._inbound.convert(update)
        except Malformed as error:
            self.counts.malformed += 1
            log.warning("telegram.update_skipped", account=self._account, update_id=number, reason=str(error))
            return None
        if isinstance(converted, InboundMessage):
            self.counts.messages += 1
        elif converted is None:
            self.counts.ignored += 1
        self.counts.edits += isinstance(converted, InboundChange)
        return converted
