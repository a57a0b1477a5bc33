"""The adapter of one app on Feishu or Lark."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bot.domain import (
    Attachment,
    ChatDescription,
    HistoryMessage,
    MentionKind,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
)
from bot.platforms.base import AdapterContext, WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth, ConnectedAdapter
from bot.platforms.feishu.account import FeishuAccount
from bot.platforms.feishu.cards import MAX_CHOICES
from bot.platforms.feishu.received_counts import FeishuCounts
from bot.platforms.feishu.renderer import FEISHU
from bot.render.renderer import Renderer

if TYPE_CHECKING:
    from bot.platforms.feishu.session import FeishuSession

if find_spec("lark_oapi") is None:
    # Only an account that connects loads it, which would be late to say so.
    raise ModuleNotFoundError("No module named 'lark_oapi'", name="lark_oapi")


class FeishuAdapter(ConnectedAdapter["FeishuSession"]):
    """Receives over the long connection or by callbacks, and answers with cards that grow."""

    title = "Feishu"
    renderer: Renderer = FEISHU
    repeats_safely = True
    """By the `uuid` of im-v1 message/create and reply, kept for an hour."""
    most_choices = MAX_CHOICES
    mention_kinds = frozenset({MentionKind.PERSON})
    mentionable_groups: Mapping[str, str] = {}

    def __init__(self, name: str, config: FeishuAccount) -> None:
        super().__init__(name)
        self.counts = FeishuCounts()
        """Events received since the last start."""
        self._config = config

    async def send(self, message: OutboundMessage) -> str:
        return await self.session.outbound.send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await self.session.outbound.edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        return self._session is None or self._session.outbound.is_streaming(message_id)

    def lists_in(self, address: ReplyAddress) -> bool:
        """Return True: a card has a panel for the agent's steps while it grows."""
        return True

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.delete(message_id)

    def reacts_in(self, address: ReplyAddress) -> bool:
        return bool(self._config.reaction)

    async def react(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.react(message_id, self._config.reaction)

    async def unreact(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.unreact(message_id)

    async def send_file(self, file: OutboundFile) -> str:
        return await self.session.files.send(file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async with aclosing(self.session.files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def describe_chat(self, address: ReplyAddress) -> ChatDescription:
        """Return the name of a group and its number of people."""
        return await self.session.people.describe_chat(address.chat)

    async def list_members(self, kind: str, group: str) -> Mapping[str, str]:
        """Return the people directly in a department."""
        return await self.session.people.list_department(group)

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        return await self.session.threads.read_history(address, before, limit)

    @property
    def verifies_signatures(self) -> bool:
        """Return whether an encrypt key is set; a verification token is not a signature."""
        return self._config.encrypt_key is not None

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """Store one event; 404 in mode socket, 503 while the account is not connected."""
        if self._config.mode == "socket":
            return WebhookAnswer(404)
        return await self._session.receive(request) if self._session is not None else WebhookAnswer(503)

    @asynccontextmanager
    async def connect(self, context: AdapterContext, health: AccountHealth) -> AsyncIterator[FeishuSession]:
        # The SDK takes 0.2 s to load, for which no event loop should wait.
        loaded = await asyncio.to_thread(import_module, "bot.platforms.feishu.session")
        session: FeishuSession
        async with loaded.open_session(self.name, self._config, context, health) as session:
            self.counts = session.counts
            yield session


def create(name: str, config: FeishuAccount) -> FeishuAdapter:
    """Create the adapter of an account; the manifest names this factory."""
    return FeishuAdapter(name, config)
