"""Converts updates and stores them in order, however they arrived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from bot.domain import InboundChange, InboundEvent, InboundMessage
from bot.platforms.base import Inbox
from bot.platforms.payload import Malformed
from bot.platforms.telegram.inbound import ChatMigration, TelegramInbound
from bot.platforms.telegram.inline_keyboard import TelegramClick, TelegramClickAnswers

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TelegramCounts:
    """Numbers of received updates, for tests and diagnosis."""

    polls: int = 0
    updates: int = 0
    messages: int = 0
    edits: int = 0
    ignored: int = 0
    malformed: int = 0
    conflicts: int = 0
    forged: int = 0


class TelegramUpdateHandler:
    """Stores the updates of one account and counts them."""

    def __init__(
        self,
        account: str,
        inbound: TelegramInbound,
        inbox: Inbox,
        answers: TelegramClickAnswers,
        counts: TelegramCounts,
    ) -> None:
        self.account = account
        self.counts = counts
        self._inbound = inbound
        self._inbox = inbox
        self._answers = answers

    async def store_updates(self, updates: list[Any]) -> tuple[int | None, bool]:
        """Store updates in order. A migration splits the batch.

        Returns the number that follows the highest update id (None: no update had one), and whether there
        was something to store.
        """
        batch: list[InboundEvent] = []
        clicks: list[TelegramClick] = []
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
                clicks.append(converted)
                batch += [converted.message] if converted.message else []
            elif converted is not None:
                batch.append(converted)
        if following is not None:
            refused |= await self._inbox.accept(batch, cursor=str(following))
        for click in clicks:
            await self._answer_click(click, refused)
        return following, stored or bool(batch)

    async def _answer_click(self, click: TelegramClick, refused: Mapping[str, str]) -> None:
        if click.message is not None and click.message.event_id in refused:
            await self._answers.refuse(click, refused[click.message.event_id])
        else:
            await self._answers.confirm(click)

    def _convert_update(
        self, update: dict[str, Any], number: int
    ) -> InboundMessage | InboundChange | ChatMigration | TelegramClick | None:
        self.counts.updates += 1
        try:
            converted = self._inbound.convert(update)
        except Malformed as error:
            self.counts.malformed += 1
            log.warning("telegram.update_skipped", account=self.account, update_id=number, reason=str(error))
            return None
        if isinstance(converted, InboundMessage):
            self.counts.messages += 1
        elif converted is None:
            self.counts.ignored += 1
        self.counts.edits += isinstance(converted, InboundChange)
        return converted
