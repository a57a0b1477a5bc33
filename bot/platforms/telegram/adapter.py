"""The adapter of one bot account on Telegram."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from telegram.error import TelegramError

from bot.domain import Attachment, ChatDescription, MentionKind, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import AccountLost, AccountRefused
from bot.platforms.base import AdapterContext, CommandHint, WebhookAnswer, WebhookRequest
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.connection import AccountHealth, ConnectedAdapter
from bot.platforms.telegram.account import TelegramAccount
from bot.platforms.telegram.entity_renderer import TELEGRAM_ENTITIES
from bot.platforms.telegram.errors import TelegramRefused, guard_logs, refused_token, without_token
from bot.platforms.telegram.files import TelegramFiles
from bot.platforms.telegram.formatted_text import TelegramIdentity
from bot.platforms.telegram.http import TelegramClient
from bot.platforms.telegram.inbound import TelegramInbound
from bot.platforms.telegram.inline_keyboard import MAX_CHOICES, TelegramClickAnswers
from bot.platforms.telegram.outbound import TelegramOutbound, is_private
from bot.platforms.telegram.polling import POLL_SECONDS, TelegramPoller
from bot.platforms.telegram.update_handler import TelegramCounts, TelegramUpdateHandler
from bot.platforms.telegram.webhook import TelegramWebhook
from bot.render.renderer import Renderer

COMMANDS_LIMIT = 100
"""Commands in the native list (Bot API, setMyCommands)."""
DESCRIPTION_LIMIT = 256


@dataclass(frozen=True, slots=True)
class TelegramSession:
    """The parts of a connected account."""

    client: TelegramClient
    outbound: TelegramOutbound
    files: TelegramFiles
    receiver: TelegramPoller | TelegramWebhook
    inbound: TelegramInbound

    async def run(self) -> None:
        await self.receiver.run()

    async def finish(self) -> None:
        await self.receiver.finish()


class TelegramAdapter(ConnectedAdapter[TelegramSession]):
    """Receives by long polling or webhook, and answers. Implements every optional capability but
    RepeatsSafely: Telegram has no idempotent send.
    """

    title = "Telegram"
    most_choices = MAX_CHOICES
    mention_kinds = frozenset({MentionKind.PERSON})
    mentionable_groups: Mapping[str, str] = {}

    def __init__(self, name: str, config: TelegramAccount, *, poll_seconds: int = POLL_SECONDS) -> None:
        super().__init__(name)
        self.counts = TelegramCounts()
        """Events received since the last start."""
        self._config = config
        self._poll_seconds = poll_seconds
        self._markers = ChoiceMarkers()

    @property
    def renderer(self) -> Renderer:
        return self._session.outbound.renderer if self._session is not None else TELEGRAM_ENTITIES

    async def send(self, message: OutboundMessage) -> str:
        return await self.session.outbound.send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        async with self._markers.guard_edit(f"{message.address.chat}:{message_id}", message):
            await self.session.outbound.edit(message, message_id)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.delete(address, message_id)

    async def typing(self, address: ReplyAddress) -> None:
        await self.session.outbound.show_typing(address)

    def reacts_in(self, address: ReplyAddress) -> bool:
        return bool(self._config.reaction)

    async def react(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.set_reaction(address, message_id, self._config.reaction)

    async def unreact(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.set_reaction(address, message_id, "")

    def frames_in(self, address: ReplyAddress) -> bool:
        return self._config.streaming != "off"

    def drafts_in(self, address: ReplyAddress) -> bool:
        return self._config.streaming == "draft" and is_private(address)

    async def draft(self, message: OutboundMessage, draft_id: int) -> None:
        await self.session.outbound.show_draft(message, draft_id)

    async def send_file(self, file: OutboundFile) -> str:
        return await self.session.files.send(file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async with aclosing(self.session.files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def describe_chat(self, address: ReplyAddress) -> ChatDescription:
        """Return the title from the chat's last message."""
        return self.session.inbound.describe_chat(address.chat)

    def forget_person(self, person: str) -> None:
        if self._session is not None:
            self._session.inbound.forget_person(person)

    async def register_commands(self, commands: Sequence[CommandHint]) -> None:
        hints = [
            {"command": command.name, "description": command.summary[:DESCRIPTION_LIMIT]}
            for command in commands[:COMMANDS_LIMIT]
        ]
        session = self.session
        try:
            await session.client.call("setMyCommands", commands=hints)
        except TelegramError as error:
            raise session.outbound.to_delivery_error(error, posting=False) from None

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """Store an update; 404 if the account polls or is not connected."""
        receiver = self._session.receiver if self._session is not None else None
        if not isinstance(receiver, TelegramWebhook):
            return WebhookAnswer(404)
        return await receiver.receive(request)

    @asynccontextmanager
    async def connect(self, context: AdapterContext, health: AccountHealth) -> AsyncIterator[TelegramSession]:
        guard_logs()
        self.counts = TelegramCounts()
        token = self._config.bot_token
        if token is None:
            raise AccountRefused(f"account {self.name} has no bot_token")
        client = TelegramClient(token.get_secret_value(), self._config.base_url)
        try:
            await client.open()
            identity, rich = await self._sign_in(client)
            health.identity = f"@{identity.username}"
            previews = self._config.link_previews
            outbound = TelegramOutbound(client, context.inbox, health, rich=rich, previews=previews)
            inbound = TelegramInbound(self.name, identity, context.inbox.records, context.inbox.reaches_agent)
            handler = TelegramUpdateHandler(
                self.name,
                inbound,
                context.inbox,
                TelegramClickAnswers(client, self._markers),
                self.counts,
            )
            receiver = self._make_receiver(client, handler, context, health)
            files = TelegramFiles(client, outbound)
            yield TelegramSession(client, outbound, files, receiver, inbound)
        finally:
            await client.close()

    async def _sign_in(self, client: TelegramClient) -> tuple[TelegramIdentity, bool]:
        """Return the bot's identity, and whether the server knows rich messages."""
        try:
            me = await client.call("getMe")
            if self._config.mode == "polling":
                await client.call("deleteWebhook")
            return _read_identity(me), await _supports_rich(client)
        except TelegramRefused as error:
            if error.is_token_refused:
                raise refused_token(self.name) from None
            raise AccountLost(f"Telegram answers: {without_token(error.description)}") from None
        except TelegramError as error:
            raise AccountLost(f"cannot reach Telegram: {without_token(str(error))}") from None

    def _make_receiver(
        self,
        client: TelegramClient,
        handler: TelegramUpdateHandler,
        context: AdapterContext,
        health: AccountHealth,
    ) -> TelegramPoller | TelegramWebhook:
        if self._config.mode == "polling":
            return TelegramPoller(client, handler, context, health, poll_seconds=self._poll_seconds)
        url, secret = self._config.webhook_url, self._config.webhook_secret
        if url is None or secret is None:
            raise AccountRefused(
                f"account {self.name} is in webhook mode, but lacks webhook_url or webhook_secret"
            )
        address = f"{url.rstrip('/')}/webhooks/{self.name}"
        return TelegramWebhook(client, handler, context.clock, health, address, secret.get_secret_value())


def create(name: str, config: TelegramAccount) -> TelegramAdapter:
    """Create the adapter of an account; the manifest names this factory."""
    return TelegramAdapter(name, config)


async def _supports_rich(client: TelegramClient) -> bool:
    """Return whether the server supports rich messages: it refuses an empty call with 400, an unknown method
    with 404.
    """
    try:
        await client.call("sendRichMessage")
    except TelegramRefused as error:
        return error.status == 400
    return False


def _read_identity(me: Any) -> TelegramIdentity:
    if not isinstance(me, dict) or not isinstance(me.get("id"), int):
        raise AccountLost("Telegram's response to getMe does not match the Bot API")
    return TelegramIdentity(me["id"], str(me.get("username") or ""))
