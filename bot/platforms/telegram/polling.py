"""Receives by long polling: what is stored is confirmed, what is not stored comes again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog
from telegram.error import TelegramError

from bot.errors import AccountLost, AccountRefused, StoreError
from bot.faults import Step, reach
from bot.platforms.base import AdapterContext
from bot.platforms.health import AccountHealth
from bot.platforms.telegram.client import TelegramClient
from bot.platforms.telegram.inbound import UPDATE_KINDS
from bot.platforms.telegram.redaction import without_token
from bot.platforms.telegram.request import TelegramRefused
from bot.platforms.telegram.update_handler import TelegramUpdateHandler

log = structlog.get_logger(__name__)
T = TypeVar("T")

POLL_SECONDS = 25
LOST_AFTER = 120.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
CONFLICT_TEXT = (
    "another program receives this bot's messages (409): stop it, or give this account a token of its own"
)


def refused_token(account: str) -> AccountRefused:
    """Telegram does not know the token."""
    return AccountRefused(
        f"Telegram refuses the token of account {account}: it is wrong or was revoked; "
        "@BotFather shows the current one (/mybots, API Token)"
    )


class _Stopped(Exception):
    """`stop` was called while something was waited for."""


class TelegramPoller:
    """The receive loop of one account."""

    def __init__(
        self,
        account: str,
        client: TelegramClient,
        received: TelegramUpdateHandler,
        context: AdapterContext,
        health: AccountHealth,
        *,
        poll_seconds: int = POLL_SECONDS,
    ) -> None:
        self._account = account
        self._client = client
        self._received = received
        self.counts = received.counts
        self._inbox = context.inbox
        self._clock = context.clock
        self._health = health
        self._seconds = poll_seconds
        self._heard_at = context.clock.now()
        self._failures = 0
        # The first poll, and the first one after trouble, is short: only its answer says that we are live.
        self._hearing = False
        self._stopped = False
        self._waiting: asyncio.Future[Any] | None = None
        self._unstored = False
        self._unconfirmed = False

    def stop(self) -> None:
        """End the loop: a poll or a pause at once, the storing of a batch when it is done."""
        self._stopped = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def run(self) -> None:
        """Poll until stopped. Raises AccountRefused or AccountLost."""
        offset = _offset(await self._inbox.cursor())
        self._heard_at = self._clock.now()
        while not self._stopped:
            try:
                updates = await self._poll(offset)
                if updates is not None:
                    offset = await self._take(updates, offset)
            except _Stopped:
                return

    async def _poll(self, offset: int | None) -> list[Any] | None:
        try:
            updates = await self._interruptible(
                self._client.poll_updates(
                    offset, self._seconds if self._hearing else 0, UPDATE_KINDS, self._confirmed
                )
            )
        except TelegramRefused as error:
            await self._refused(error)
            return None
        except TelegramError as error:
            await self._trouble(without_token(str(error)))
            return None
        self.counts.polls += 1
        self._failures, self._hearing = 0, True
        self._heard_at = self._clock.now()
        if not self._unstored:
            self._health.mark_live()
        return updates if isinstance(updates, list) else []

    async def _take(self, updates: list[Any], offset: int | None) -> int | None:
        """Store a batch in order and return the next offset; what cannot be stored is asked for again."""
        try:
            following, stored = await self._received.store_updates(updates)
        except StoreError as error:
            log.error("telegram.not_stored", account=self._account, reason=str(error))
            self._unstored = True
            self._health.mark_deaf("messages cannot be stored now; they wait")
            await self._pause()
            return offset
        if self._unstored:
            self._unstored = False
            self._health.mark_live()
        self._unconfirmed = self._unconfirmed or stored
        if updates and following is None:
            await self._pause()
        return offset if following is None else following

    def _confirmed(self) -> None:
        if self._unconfirmed:
            self._unconfirmed = False
            reach(Step.ACKNOWLEDGED)

    async def _refused(self, error: TelegramRefused) -> None:
        if error.status in (401, 404):
            raise refused_token(self._account)
        if error.status == 409:
            self.counts.conflicts += 1
            self._health.mark_deaf(CONFLICT_TEXT)
            await self._trouble(CONFLICT_TEXT)
        elif error.status == 429:
            self._health.mark_limited(error.retry_after)
            await self._interruptible(self._clock.sleep(error.retry_after))
        else:
            await self._trouble(without_token(error.description))

    async def _trouble(self, reason: str) -> None:
        silent = self._clock.now() - self._heard_at
        if silent >= LOST_AFTER:
            raise AccountLost(f"nothing heard from Telegram for {silent:.0f} s: {reason}")
        if silent > 2 * self._seconds:
            self._health.mark_deaf(f"nothing heard from Telegram for {silent:.0f} s: {reason}")
        log.warning("telegram.poll_failed", account=self._account, reason=reason, silent=round(silent, 1))
        await self._pause()

    async def _pause(self) -> None:
        seconds = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures, self._hearing = self._failures + 1, False
        await self._interruptible(self._clock.sleep(seconds))

    async def _interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work` so that `stop` can end it. Raises _Stopped."""
        if self._stopped:
            work.close()
            raise _Stopped
        self._waiting = task = asyncio.ensure_future(work)
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled() and self._ending():
                raise _Stopped from None
            raise
        finally:
            self._waiting = None

    def _ending(self) -> bool:
        return self._stopped


def _offset(cursor: str) -> int | None:
    return int(cursor) if cursor.isdecimal() else None
