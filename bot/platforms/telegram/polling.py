"""Long polling: the next poll confirms stored updates; all others are delivered again."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from telegram.error import TelegramError

from bot.errors import StoreError
from bot.faults import Step, reach
from bot.platforms.base import AdapterContext
from bot.platforms.connection import AccountHealth, ReconnectBackoff
from bot.platforms.telegram.errors import TelegramRefused, refused_token, without_token
from bot.platforms.telegram.http import TelegramClient
from bot.platforms.telegram.inbound import UPDATE_KINDS
from bot.platforms.telegram.update_handler import TelegramUpdateHandler

log = structlog.get_logger(__name__)

POLL_SECONDS = 25
CONFLICT_TEXT = (
    "another program receives this bot's messages (409): stop it, or give this account a token of its own"
)


class TelegramPoller:
    """The receive loop of one account."""

    def __init__(
        self,
        client: TelegramClient,
        handler: TelegramUpdateHandler,
        context: AdapterContext,
        health: AccountHealth,
        *,
        poll_seconds: int = POLL_SECONDS,
    ) -> None:
        self._account = handler.account
        self._client = client
        self._handler = handler
        self._counts = handler.counts
        self._inbox = context.inbox
        self._clock = context.clock
        self._health = health
        self._seconds = poll_seconds
        self._backoff = ReconnectBackoff(context.clock)
        # The first poll, and the first one after a failure, is short: only its answer proves that it works.
        self._long = False
        self._stopped = False
        self._storing = asyncio.Lock()
        self._unstored = False
        self._unconfirmed = False

    async def finish(self) -> None:
        """Stop polling, and return once the current batch is stored."""
        self._stopped = True
        async with self._storing:
            pass

    async def run(self) -> None:
        """Poll until `finish` is called. Raises AccountRefused or AccountLost."""
        offset = _parse_offset(await self._inbox.cursor())
        self._backoff.mark_connected()
        while not self._stopped:
            updates = await self._poll(offset)
            if updates is not None:
                async with self._storing:
                    following = await self._store(updates)
                offset = offset if following is None else following
                if self._unstored or (updates and following is None):
                    await self._pause()

    async def _poll(self, offset: int | None) -> list[Any] | None:
        """Return the next updates, or None after a failure and its pause."""
        seconds = self._seconds if self._long else 0
        try:
            updates = await self._client.poll_updates(
                offset, seconds, UPDATE_KINDS, self._record_confirmation
            )
        except TelegramRefused as error:
            await self._handle_refusal(error)
            return None
        except TelegramError as error:
            await self._wait_after_failure(without_token(str(error)))
            return None
        self._counts.polls += 1
        self._long = True
        self._backoff.mark_connected()
        if not self._unstored:
            self._health.mark_live()
        return updates if isinstance(updates, list) else []

    async def _store(self, updates: list[Any]) -> int | None:
        """Store a batch in order; return the next offset, or None if the old one stays."""
        try:
            following, stored = await self._handler.store_updates(updates)
        except StoreError as error:
            if not self._unstored:
                log.error("telegram.not_stored", account=self._account, reason=str(error))
            self._unstored = True
            self._health.mark_deaf("messages cannot be stored now; they wait")
            return None
        if self._unstored:
            self._unstored = False
            self._health.mark_live()
        self._unconfirmed = self._unconfirmed or stored
        return following

    def _record_confirmation(self) -> None:
        if self._unconfirmed:
            self._unconfirmed = False
            reach(Step.ACKNOWLEDGED)

    async def _handle_refusal(self, error: TelegramRefused) -> None:
        if error.is_token_refused:
            raise refused_token(self._account)
        if error.status == 409:
            self._counts.conflicts += 1
            self._health.mark_deaf(CONFLICT_TEXT)
            await self._wait_after_failure(CONFLICT_TEXT)
        elif error.status == 429:
            self._health.mark_limited(error.retry_after)
            await self._clock.sleep(error.retry_after)
        else:
            await self._wait_after_failure(without_token(error.description))

    async def _wait_after_failure(self, reason: str) -> None:
        complaint, silent = "nothing heard from Telegram", self._backoff.silent
        self._backoff.give_up_if_lost(complaint, reason)
        if silent > 2 * self._seconds:
            self._health.mark_deaf(f"{complaint} for {silent:.0f} s: {reason}")
        log.warning("telegram.poll_failed", account=self._account, reason=reason, silent=round(silent, 1))
        await self._pause()

    async def _pause(self) -> None:
        self._long = False
        await self._backoff.pause()


def _parse_offset(cursor: str) -> int | None:
    return int(cursor) if cursor.isdecimal() else None
