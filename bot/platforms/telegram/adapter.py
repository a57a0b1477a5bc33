"""One bot account on Telegram."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import Any

from telegram.error import TelegramError

from bot.config import TelegramAccount
from bot.domain import Attachment, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import AccountLost, AccountRefused, DeliveryCategory, DeliveryError
from bot.platforms.base import AdapterContext, CommandHint, WebhookAnswer, WebhookRequest
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.health import AccountHealth
from bot.platforms.telegram.callback_queries import TelegramClickAnswers
from bot.platforms.telegram.client import TelegramClient
from bot.platforms.telegram.files import TelegramFiles
from bot.platforms.telegram.inbound import TelegramInbound
from bot.platforms.telegram.inline_keyboard import MAX_CHOICES
from bot.platforms.telegram.mentions import TelegramIdentity
from bot.platforms.telegram.outbound import TelegramOutbound, is_private
from bot.platforms.telegram.polling import POLL_SECONDS, TelegramPoller, refused_token
from bot.platforms.telegram.redaction import guard_logs, without_token
from bot.platforms.telegram.request import TelegramRefused
from bot.platforms.telegram.update_handler import TelegramCounts, TelegramUpdateHandler
from bot.platforms.telegram.webhook import TelegramWebhook
from bot.render.renderer import TELEGRAM_ENTITIES, Renderer

COMMANDS_LIMIT = 100
"""Commands in the native list (Bot API, setMyCommands)."""
DESCRIPTION_LIMIT = 256
STOP_SECONDS = 1.5


class TelegramAdapter:
    """Receives by long polling or webhook, and answers. Implements every optional capability but
    RepeatsSafely: Telegram has no idempotent send.
    """

    def __init__(self, name: str, config: TelegramAccount, *, poll_seconds: int = POLL_SECONDS) -> None:
        self.name = name
        self._config = config
        self._poll_seconds = poll_seconds
        self._client: TelegramClient | None = None
        self._outbound: TelegramOutbound | None = None
        self._files: TelegramFiles | None = None
        self._receiver: TelegramPoller | TelegramWebhook | None = None
        self._running: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._cut_off = False
        self._signs = ChoiceMarkers()

    @property
    def renderer(self) -> Renderer:
        """See Adapter. Rich messages are split alike: a part that is refused must fit with entities."""
        return TELEGRAM_ENTITIES

    @property
    def counts(self) -> TelegramCounts:
        """What came in since the last start."""
        return self._receiver.counts if self._receiver is not None else TelegramCounts()

    async def start(self, context: AdapterContext) -> None:
        """See Adapter."""
        guard_logs()
        self._ended.clear()
        self._running = running = asyncio.current_task()
        self._cut_off = False
        health = AccountHealth("Telegram", context.report, context.clock)
        health.mark_connecting()
        try:
            receiver = await self._connect(context, health)
            await receiver.run()
            health.mark_stopped()
        except (AccountRefused, AccountLost) as error:
            health.mark_failed(str(error))
            raise
        except asyncio.CancelledError:
            if not self._cut_off:
                raise
            if running is not None:
                running.uncancel()
            health.stopped()
        finally:
            self._running = None
            await self._close()
            self._ended.set()

    async def stop(self) -> None:
        """See Adapter."""
        running = self._running
        if running is None:
            return
        if self._receiver is not None and self._outbound is not None:
            self._receiver.stop()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await self._ended.wait()
        if not self._ended.is_set():  # it still connects, or does not come to an end
            self._cut_off = True
            running.cancel()
            await self._ended.wait()

    async def send(self, message: OutboundMessage) -> str:
        """See Adapter."""
        return await self._out().send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        """See EditsMessages."""
        async with self._signs.guard_edit(f"{message.address.chat}:{message_id}", message):
            await self._out().edit(message, message_id)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        """See DeletesMessages."""
        await self._out().delete(address, message_id)

    async def typing(self, address: ReplyAddress) -> None:
        """See ShowsTyping."""
        await self._out().show_typing(address)

    @property
    def most_choices(self) -> int:
        """See AsksChoice."""
        return MAX_CHOICES

    def frames_in(self, address: ReplyAddress) -> bool:
        """See ChoosesFrames."""
        return self._config.streaming != "off"

    def drafts_in(self, address: ReplyAddress) -> bool:
        """See StreamsDrafts."""
        return self._config.streaming == "draft" and is_private(address)

    async def draft(self, message: OutboundMessage, draft_id: int) -> None:
        """See StreamsDrafts."""
        await self._out().show_draft(message, draft_id)

    async def send_file(self, file: OutboundFile) -> str:
        """See SendsFiles."""
        self._out()
        assert self._files is not None
        return await self._files.send(file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """See FetchesFiles."""
        self._out()
        assert self._files is not None
        async with aclosing(self._files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def register_commands(self, commands: Sequence[CommandHint]) -> None:
        """See RegistersCommands."""
        hints = [
            {"command": command.name, "description": command.summary[:DESCRIPTION_LIMIT]}
            for command in commands[:COMMANDS_LIMIT]
        ]
        outbound = self._out()
        assert self._client is not None
        try:
            await self._client.call("setMyCommands", commands=hints)
        except TelegramError as error:
            raise outbound.to_delivery_error(error, posting=False) from None

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """See ReceivesWebhooks. 404 where the account polls."""
        if not isinstance(self._receiver, TelegramWebhook) or self._client is None:
            return WebhookAnswer(404)
        return await self._receiver.take(request)

    async def _connect(self, context: AdapterContext, health: AccountHealth) -> TelegramPoller | TelegramWebhook:
        token = self._config.bot_token
        if token is None:
            raise AccountRefused(f"account {self.name} has no bot_token")
        self._client = client = TelegramClient(token.get_secret_value(), self._config.base_url)
        await client.open()
        try:
            me = await client.call("getMe")
            if self._config.mode == "polling":
                await client.call("deleteWebhook")
            rich = await self._knows_rich(client)
        except TelegramRefused as error:
            if error.status in (401, 404):
                raise refused_token(self.name) from None
            raise AccountLost(f"Telegram answers: {without_token(error.description)}") from None
        except TelegramError as error:
            raise AccountLost(f"cannot reach Telegram: {without_token(str(error))}") from None
        identity = _identity(me)
        health.identity = f"@{identity.username}"
        self._outbound = TelegramOutbound(client, context.inbox, health, rich=rich)
        self._files = TelegramFiles(client, self._outbound)
        received = TelegramUpdateHandler(
            self.name, TelegramInbound(self.name, identity), context.inbox, TelegramClickAnswers(client, self._signs)
        )
        self._receiver = self._make_receiver(client, received, context, health)
        return self._receiver

    def _make_receiver(
        self, client: TelegramClient, received: TelegramUpdateHandler, context: AdapterContext, health: AccountHealth
    ) -> TelegramPoller | TelegramWebhook:
        url, secret = self._config.webhook_url, self._config.webhook_secret
        if self._config.mode == "webhook":
            if url is None or secret is None:
                raise AccountRefused(
                    f"account {self.name} has mode webhook, but no webhook_url or no webhook_secret"
                )
            address = f"{url.rstrip('/')}/webhooks/{self.name}"
            return TelegramWebhook(
                self.name, client, received, context.clock, health, address, secret.get_secret_value()
            )
        return TelegramPoller(self.name, client, received, context, health, poll_seconds=self._poll_seconds)

    async def _knows_rich(self, client: TelegramClient) -> bool:
        """A method that the server knows refuses an empty call with 400, an unknown one with 404."""
        try:
            await client.call("sendRichMessage")
        except TelegramRefused as error:
            return error.status == 400
        return False

    async def _close(self) -> None:
        client = self._client
        self._files = self._outbound = self._client = None
        if client is not None:
            await client.close()

    def _out(self) -> TelegramOutbound:
        if self._outbound is None:
            raise DeliveryError(DeliveryCategory.TRANSIENT, f"account {self.name} is not connected")
        return self._outbound


def create(name: str, config: TelegramAccount) -> TelegramAdapter:
    """The factory that the manifest names."""
    return TelegramAdapter(name, config)


def _identity(me: Any) -> TelegramIdentity:
    if not isinstance(me, dict) or not isinstance(me.get("id"), int):
        raise AccountLost("Telegram's answer to getMe is not that of the Bot API")
    return TelegramIdentity(me["id"], str(me.get("username") or ""))
